"""Tiến lên under its versioned name: ``tienlen_v1.env()``; see `tienlen_env.envs.tienlen`."""

from __future__ import annotations

from tienlen_env.envs.tienlen import env as env, raw_env as raw_env
