"""Environments for PettingZoo, Gymnasium and stable-baselines3; they contain no rules.

These names work with any game, built in or registered by another package:

| module | name | library |
|---|---|---|
| `pettingzoo` | `make_aec`, `GameEnv` | PettingZoo (AEC), with and without PettingZoo's wrappers |
| `gymnasium` | `OneSeatEnv` | Gymnasium; agents play the other seats |
| `vector` | `OneSeatVectorEnv` | Gymnasium's `VectorEnv`, the same for B games |
| `sb3` | `OneSeatVecEnv` | stable-baselines3's `VecEnv`, the same for B games |
| `vector` | `SelfPlayEnv` | none: NumPy arrays of B games, the caller plays all seats |

A file whose name begins with a game's name has the parts of that game: names, default rules, pages.
"""
