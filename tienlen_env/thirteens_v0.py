"""Thirteens under its versioned name: ``thirteens_v0.env()``; see `tienlen_env.thirteens_aec`."""

from __future__ import annotations

from tienlen_env.thirteens_aec import env, raw_env

__all__ = ["env", "raw_env"]
