"""Thirteens under its versioned name: ``thirteens_v0.env()``; see `tienlen_env.envs.thirteens`."""

from __future__ import annotations

from tienlen_env.envs.thirteens import env, raw_env

__all__ = ["env", "raw_env"]
