"""Tiến lên as it was before `tienlen_env.tienlen_v1`, for results of before.

The preset ``foicica`` is the only difference: a bomb reopens every trick to players who have passed, also one
without a 2 (RULES.md 3.6). Everything else, also of a `Rules` that is given, is as in v1.
"""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv

from tienlen_env.envs import tienlen
from tienlen_env.envs.pettingzoo import wrap
from tienlen_env.envs.tienlen_older_rules import rules_of_v0
from tienlen_env.games.tienlen.rules import Rules

__all__ = ["env", "raw_env"]


class raw_env(tienlen.raw_env):
    """The environment without wrappers; see the module.

    Args:
        rules: a preset's name or a `Rules`.
        num_players: 2..4; None keeps the number in `rules`.
        settings: the other arguments of `tienlen_env.envs.tienlen.raw_env`.
    """

    metadata = {**tienlen.raw_env.metadata, "name": "tienlen_v0"}  # noqa: RUF012 - PettingZoo's convention

    def __init__(
        self, rules: str | Rules = "cardgames", num_players: int | None = None, *args: Any, **settings: Any
    ) -> None:
        super().__init__(rules_of_v0(rules), num_players, *args, **settings)


def env(
    rules: str | Rules = "cardgames", num_players: int | None = None, *args: Any, **settings: Any
) -> AECEnv:
    """The environment behind the wrappers of PettingZoo's classic games; arguments as of `raw_env`."""
    return wrap(raw_env(rules, num_players, *args, **settings))
