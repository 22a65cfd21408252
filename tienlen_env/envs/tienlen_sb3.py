"""Tiến lên from one seat as a stable-baselines3 `VecEnv`; see `tienlen_env.envs.sb3`."""

from __future__ import annotations

from typing import Unpack

from tienlen_env.envs.one_seat import OneSeatSettings
from tienlen_env.envs.sb3 import OneSeatVecEnv
from tienlen_env.games.common.game import AnyRules


class TienLenVecEnv(OneSeatVecEnv):
    """One learning seat in each of B games, by default of Tiến lên; see `OneSeatVecEnv`.

    Args:
        num_envs: B.
        rules: a preset's name, or the rules of any game.
        copy: see `OneSeatVecEnv`.
        render_mode: see `OneSeatVecEnv`.
        seed: see `OneSeatVecEnv`.
        settings: see `tienlen_env.envs.one_seat.OneSeatGames`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: str | AnyRules = "cardgames",
        copy: bool = True,
        render_mode: str | None = None,
        seed: int | None = None,
        **settings: Unpack[OneSeatSettings],
    ) -> None:
        super().__init__(num_envs, rules=rules, copy=copy, render_mode=render_mode, seed=seed, **settings)
