"""Tiến lên under its versioned name: ``tienlen_v1.env()``; see `tienlen_env.envs.tienlen`."""

from __future__ import annotations

from tienlen_env.envs.tienlen import env, raw_env

__all__ = ["env", "raw_env"]
