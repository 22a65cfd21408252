"""The PettingZoo environment under its versioned name: ``tienlen_v0.env()``; see `tienlen_env.aec`."""

from __future__ import annotations

from tienlen_env.aec import env, raw_env

__all__ = ["env", "raw_env"]
