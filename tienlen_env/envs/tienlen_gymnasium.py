"""Tiến lên from one seat: ``gymnasium.make("tienlen_env/TienLen-v0")``, and ``make_vec``.

The pieces of the observation, the actions and the rewards are on the page `tienlen_env.envs.tienlen`.
"""

from __future__ import annotations

from typing import Literal, Unpack

from tienlen_env.engine.agent import Agent
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.one_seat import GameSettings, OneSeatSettings, Opponents, Seat
from tienlen_env.envs.vector import OneSeatVectorEnv
from tienlen_env.games.common.game import AnyRules


class TienLenEnv(OneSeatEnv):
    """One seat of one game, by default of Tiến lên; see `OneSeatEnv`.

    Args:
        rules: a preset's name, or the rules of any game.
        opponents: see `OneSeatEnv`.
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
        seat: Seat = "random",
        illegal: Literal["terminate", "raise"] = "terminate",
        skip_forced: bool = False,
        render_mode: str | None = None,
        **settings: Unpack[GameSettings],
    ) -> None:
        if isinstance(rules, Agent | list | tuple) or rules == "random":
            raise TypeError("the rules come first: TienLenEnv(rules, opponents)")
        super().__init__(
            rules,
            opponents,
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
        copy: see `OneSeatVectorEnv`.
        render_mode: see `OneSeatVectorEnv`.
        settings: see `tienlen_env.envs.one_seat.OneSeatGames`.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: str | AnyRules = "cardgames",
        copy: bool = True,
        render_mode: str | None = None,
        **settings: Unpack[OneSeatSettings],
    ) -> None:
        super().__init__(num_envs, rules=rules, copy=copy, render_mode=render_mode, **settings)
