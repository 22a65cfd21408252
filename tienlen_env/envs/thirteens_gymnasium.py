"""Thirteens from one seat under Gymnasium: ``gymnasium.make("tienlen_env/Thirteens-v0")``, and ``make_vec``.

The adapters are those of Tiến lên; only the rules are named by arguments of their own, as on the page
`tienlen_env.envs.thirteens`.
"""

from __future__ import annotations

from typing import Any

from tienlen_env.envs.gymnasium import TienLenEnv
from tienlen_env.envs.one_seat import Opponents
from tienlen_env.envs.thirteens import make_rules
from tienlen_env.envs.vector import TienLenVectorEnv
from tienlen_env.games.thirteens.rules import Melding, ThirteensRules


class ThirteensEnv(TienLenEnv):
    """One seat of one game.

    Args:
        opponents: see `TienLenEnv`.
        num_players: 3..7.
        jokers: 0..2.
        melding: ``"auto"`` or ``"manual"``.
        dummy: play with a dummy's hand.
        target: points of a game.
        rules: a preset's name or a `ThirteensRules`, instead of the five before it.
        settings: of `TienLenEnv`.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        opponents: Opponents = "random",
        *,
        num_players: int = 4,
        jokers: int = 1,
        melding: Melding = "auto",
        dummy: bool = False,
        target: int = 50,
        rules: str | ThirteensRules | None = None,
        **settings: Any,
    ) -> None:
        chosen = make_rules(num_players, jokers, melding, dummy, target, rules)
        super().__init__(opponents, chosen, **settings)


class ThirteensVectorEnv(TienLenVectorEnv):
    """One learning seat in each of B games.

    Args:
        num_envs: B.
        num_players: 3..7.
        jokers: 0..2.
        melding: ``"auto"`` or ``"manual"``.
        dummy: play with a dummy's hand.
        target: points of a game.
        rules: a preset's name or a `ThirteensRules`, instead of the five before it.
        settings: of `TienLenVectorEnv`.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        num_players: int = 4,
        jokers: int = 1,
        melding: Melding = "auto",
        dummy: bool = False,
        target: int = 50,
        rules: str | ThirteensRules | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(num_envs, make_rules(num_players, jokers, melding, dummy, target, rules), **settings)
