"""Thirteens from one seat: ``gymnasium.make("tienlen_env/Thirteens-v0")``, and ``make_vec``.

Keyword arguments change single fields of the rules, as on the page `tienlen_env.envs.thirteens`, which also
lists the pieces of the observation, the actions and the rewards.
"""

from __future__ import annotations

from typing import Literal, Unpack

import numpy.typing as npt

from tienlen_env.engine.backends import BackendName
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.one_seat import Opponents, Seat
from tienlen_env.envs.thirteens import ThirteensSettings, make_rules
from tienlen_env.envs.vector import OneSeatVectorEnv
from tienlen_env.games.common.spec import Episode
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.thirteens.spec import Reward


class ThirteensEnv(OneSeatEnv):
    """One seat of one game of Thirteens; see `OneSeatEnv`.

    Args:
        rules: a preset's name or a `ThirteensRules`.
        opponents: see `OneSeatEnv`.
        seat: see `OneSeatEnv`.
        illegal: see `OneSeatEnv`.
        skip_forced: see `OneSeatEnv`.
        render_mode: see `OneSeatEnv`.
        episode: ``"round"`` or ``"game"``.
        reward: ``"points"``, ``"zero_sum"`` or ``"win"``.
        backend: ``"numba"`` or ``"python"``.
        settings: fields of the rules that replace those in `rules`, see `ThirteensSettings`.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        rules: str | ThirteensRules = "thirteens",
        opponents: Opponents = "random",
        *,
        seat: Seat = "random",
        illegal: Literal["terminate", "raise"] = "terminate",
        skip_forced: bool = False,
        render_mode: str | None = None,
        episode: Episode = "round",
        reward: Reward = "points",
        backend: BackendName = "numba",
        **settings: Unpack[ThirteensSettings],
    ) -> None:
        super().__init__(
            make_rules(rules, **settings),
            opponents,
            seat=seat,
            illegal=illegal,
            skip_forced=skip_forced,
            render_mode=render_mode,
            episode=episode,
            reward=reward,
            backend=backend,
        )


class ThirteensVectorEnv(OneSeatVectorEnv):
    """One learning seat in each of B games of Thirteens; see `OneSeatVectorEnv`.

    Args:
        num_envs: B.
        rules: a preset's name or a `ThirteensRules`.
        copy: see `OneSeatVectorEnv`.
        render_mode: see `OneSeatVectorEnv`.
        opponents: see `OneSeatGames`.
        probabilities: see `OneSeatGames`.
        seat: see `OneSeatGames`.
        skip_forced: see `OneSeatGames`.
        episode: ``"round"`` or ``"game"``.
        reward: ``"points"``, ``"zero_sum"`` or ``"win"``.
        backend: ``"numba"`` or ``"python"``.
        settings: fields of the rules that replace those in `rules`, see `ThirteensSettings`.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: str | ThirteensRules = "thirteens",
        copy: bool = True,
        render_mode: str | None = None,
        opponents: Opponents = "random",
        probabilities: npt.ArrayLike | None = None,
        seat: Seat = "random",
        skip_forced: bool = True,
        episode: Episode = "round",
        reward: Reward = "points",
        backend: BackendName = "numba",
        **settings: Unpack[ThirteensSettings],
    ) -> None:
        super().__init__(
            num_envs,
            rules=make_rules(rules, **settings),
            copy=copy,
            render_mode=render_mode,
            opponents=opponents,
            probabilities=probabilities,
            seat=seat,
            skip_forced=skip_forced,
            episode=episode,
            reward=reward,
            backend=backend,
        )
