"""Thirteens under its versioned name: ``thirteens_v0.env()``; see `tienlen_env.envs.thirteens`."""

from __future__ import annotations

from tienlen_env.envs.thirteens import env as env, raw_env as raw_env
