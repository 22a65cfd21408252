"""Environments for PettingZoo, Gymnasium and stable-baselines3; they contain no rules.

These names work with any game, built in or registered by another package:

| name | library |
|---|---|
| `make_aec`, `GameEnv` | PettingZoo (AEC), with and without PettingZoo's wrappers |
| `OneSeatEnv` | Gymnasium; agents play the other seats |
| `OneSeatVectorEnv` | Gymnasium's `VectorEnv`, the same for B games |
| `OneSeatVecEnv` | stable-baselines3's `VecEnv`, the same for B games |
| `SelfPlayEnv` | none: NumPy arrays of B games, the caller plays all seats |

A file whose name begins with a game's name has the parts of that game: names, default rules, pages.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tienlen_env.envs.gymnasium import OneSeatEnv
    from tienlen_env.envs.pettingzoo import GameEnv, make_aec
    from tienlen_env.envs.sb3 import OneSeatVecEnv
    from tienlen_env.envs.vector import OneSeatVectorEnv, SelfPlayEnv

__all__ = ["GameEnv", "OneSeatEnv", "OneSeatVecEnv", "OneSeatVectorEnv", "SelfPlayEnv", "make_aec"]

_HOME = {
    "GameEnv": "pettingzoo",
    "OneSeatEnv": "gymnasium",
    "OneSeatVecEnv": "sb3",
    "OneSeatVectorEnv": "vector",
    "SelfPlayEnv": "vector",
    "make_aec": "pettingzoo",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
