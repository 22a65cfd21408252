"""Tiến lên from one seat: ``gymnasium.make("tienlen_env/TienLen-v1")``, and ``make_vec``.

Both make the same decision process. By default decisions with a single legal action are played automatically,
and an illegal action ends the episode (``illegal="terminate"``; ``"random"`` and ``"raise"`` can be chosen).
`OneSeatEnv` and `OneSeatVectorEnv` describe observations, infos and the modes of automatic resets. With
``tienlen_env/TienLen-v0`` the two differ: `TienLenEnvV0`, `TienLenVectorEnvV0`.

The pieces of the observation, the actions and the rewards are on the page `tienlen_env.envs.tienlen`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from tienlen_env.engine.agent import Agent
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.one_seat import GameSettings, Illegal, Opponents, PoolSettings, Seat
from tienlen_env.envs.tienlen_older_rules import rules_of_v0
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
        if isinstance(rules, Agent | list | tuple) or rules == "random":
            raise TypeError("the rules come first: TienLenEnv(rules, opponents)")
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


class TienLenEnvV0(TienLenEnv):
    """``gymnasium.make("tienlen_env/TienLen-v0")``: `TienLenEnv` as it was before v1.

    The preset ``foicica`` is that of `tienlen_env.tienlen_v0`. By default forced decisions are not skipped.
    ``info["illegal"]`` is there only after an illegal action,
    and then ``info["place"]`` is not.

    Args:
        rules: see `TienLenEnv`.
        opponents: see `OneSeatEnv`.
        skip_forced: see `OneSeatEnv`.
        settings: see `TienLenEnv`.
    """

    _version: ClassVar[int] = 0

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        opponents: Opponents = "random",
        *,
        skip_forced: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(rules_of_v0(rules), opponents, skip_forced=skip_forced, **settings)


class TienLenVectorEnvV0(TienLenVectorEnv):
    """``gymnasium.make_vec("tienlen_env/TienLen-v0")``: `TienLenVectorEnv` as it was before v1.

    The preset ``foicica`` is that of `tienlen_env.tienlen_v0`. By default an illegal action is an error, and
    a sequence of opponents is a pool. The infos have the mask, and at the end of an episode the place.

    Args:
        num_envs: B.
        illegal: see `OneSeatVectorEnv`.
        line_up: see `OneSeatVectorEnv`.
        settings: see `TienLenVectorEnv`.
    """

    _version: ClassVar[int] = 0

    def __init__(
        self, num_envs: int = 1, *, illegal: Illegal = "raise", line_up: bool = False, **settings: Any
    ) -> None:
        rules = rules_of_v0(settings.pop("rules", "cardgames"))
        super().__init__(num_envs, illegal=illegal, line_up=line_up, rules=rules, **settings)
