"""Thirteens from one seat: ``gymnasium.make("tienlen_env/Thirteens-v1")``, and ``make_vec``.

Both make the same decision process. By default decisions with a single legal action are played automatically,
and an illegal action ends the episode (``illegal="terminate"``; ``"random"`` and ``"raise"`` can be chosen).
`OneSeatEnv` and `OneSeatVectorEnv` describe observations, infos and the modes of automatic resets.

Keyword arguments change single fields of the rules, as on the page `tienlen_env.envs.thirteens`, which also
lists the pieces of the observation, the actions and the rewards.
"""

from __future__ import annotations

from typing import Unpack

import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from tienlen_env.engine.backends import BackendName
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.one_seat import Illegal, Opponents, Seat
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
        line_up: see `OneSeatEnv`.
        probabilities: see `OneSeatEnv`.
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
        line_up: bool = True,
        probabilities: npt.ArrayLike | None = None,
        seat: Seat = "random",
        illegal: Illegal = "terminate",
        skip_forced: bool = True,
        render_mode: str | None = None,
        episode: Episode = "round",
        reward: Reward = "points",
        backend: BackendName = "numba",
        **settings: Unpack[ThirteensSettings],
    ) -> None:
        super().__init__(
            make_rules(rules, **settings),
            opponents,
            line_up=line_up,
            probabilities=probabilities,
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
        autoreset_mode: see `OneSeatVectorEnv`.
        copy: see `OneSeatVectorEnv`.
        render_mode: see `OneSeatVectorEnv`.
        opponents: see `OneSeatEnv`.
        line_up: see `OneSeatEnv`.
        probabilities: see `OneSeatGames`.
        seat: see `OneSeatGames`.
        illegal: see `OneSeatVectorEnv`.
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
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        opponents: Opponents = "random",
        line_up: bool = True,
        probabilities: npt.ArrayLike | None = None,
        seat: Seat = "random",
        illegal: Illegal = "terminate",
        skip_forced: bool = True,
        episode: Episode = "round",
        reward: Reward = "points",
        backend: BackendName = "numba",
        **settings: Unpack[ThirteensSettings],
    ) -> None:
        super().__init__(
            num_envs,
            rules=make_rules(rules, **settings),
            autoreset_mode=autoreset_mode,
            copy=copy,
            render_mode=render_mode,
            opponents=opponents,
            line_up=line_up,
            probabilities=probabilities,
            seat=seat,
            illegal=illegal,
            skip_forced=skip_forced,
            episode=episode,
            reward=reward,
            backend=backend,
        )
