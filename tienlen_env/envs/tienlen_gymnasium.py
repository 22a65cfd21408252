"""Tiến lên from one seat: ``gymnasium.make("tienlen_env/TienLen-v1")``, and ``make_vec``.

Both make the same decision process. By default decisions with a single legal action are played automatically,
and an illegal action ends the episode (``illegal="terminate"``; ``"random"`` and ``"raise"`` can be chosen).
`OneSeatEnv` and `OneSeatVectorEnv` describe observations, infos and the modes of automatic resets.

The pieces of the observation, the actions and the rewards are on the page `tienlen_env.envs.tienlen`.
"""

from __future__ import annotations

from typing import Unpack

import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.one_seat import GameSettings, Illegal, Opponents, PoolSettings, Seat
from tienlen_env.envs.vector import OneSeatVectorEnv
from tienlen_env.games.common.game import AnyRules


class TienLenEnv(OneSeatEnv):
    """One seat of one game, by default of Tiến lên; see `OneSeatEnv`.

    Args:
        rules: a preset's name, or the rules of any game.
        opponents: see `OneSeatEnv`.
        line_up: see `OneSeatEnv`.
        probabilities: see `OneSeatEnv`.
        seat: see `OneSeatEnv`.
        illegal: see `OneSeatEnv`.
        skip_forced: see `OneSeatEnv`.
        render_mode: see `OneSeatEnv`.
        settings: see `tienlen_env.engine.Batch`.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        opponents: Opponents = "random",
        *,
        line_up: bool = True,
        probabilities: npt.ArrayLike | None = None,
        seat: Seat = "random",
        illegal: Illegal = "terminate",
        skip_forced: bool = True,
        render_mode: str | None = None,
        **settings: Unpack[GameSettings],
    ) -> None:
        super().__init__(
            rules,
            opponents,
            line_up=line_up,
            probabilities=probabilities,
            seat=seat,
            illegal=illegal,
            skip_forced=skip_forced,
            render_mode=render_mode,
            **settings,
        )


class TienLenVectorEnv(OneSeatVectorEnv):
    """One learning seat in each of B games, by default of Tiến lên; see `OneSeatVectorEnv`.

    Args:
        num_envs: B.
        rules: a preset's name, or the rules of any game.
        autoreset_mode: see `OneSeatVectorEnv`.
        copy: see `OneSeatVectorEnv`.
        render_mode: see `OneSeatVectorEnv`.
        illegal: see `OneSeatVectorEnv`.
        line_up: see `OneSeatVectorEnv`.
        settings: see `tienlen_env.envs.one_seat.OneSeatGames`.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: str | AnyRules = "cardgames",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        illegal: Illegal = "terminate",
        line_up: bool = True,
        **settings: Unpack[PoolSettings],
    ) -> None:
        super().__init__(
            num_envs,
            rules=rules,
            autoreset_mode=autoreset_mode,
            copy=copy,
            render_mode=render_mode,
            illegal=illegal,
            line_up=line_up,
            **settings,
        )
