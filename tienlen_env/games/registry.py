"""The games that there are, found by their rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from tienlen_env.errors import RulesError
from tienlen_env.games.common.game import AnyRules, Definition
from tienlen_env.games.thirteens.game import THIRTEENS
from tienlen_env.games.tienlen.game import TIENLEN

GAMES: Final = (TIENLEN, THIRTEENS)
PRESETS: Final[Mapping[str, Any]] = MappingProxyType(
    {name: rules for game in GAMES for name, rules in game.presets.items()}
)


def get_rules(rules: str | AnyRules = "cardgames", num_players: int | None = None) -> AnyRules:
    """The rules of a preset's name, or the given ones, for so many players.

    Args:
        rules: a name in `PRESETS`, or the rules of any game.
        num_players: None keeps the number in `rules`.

    Raises:
        RulesError: an unknown name or a number of players that cannot be.
    """
    if isinstance(rules, str):
        if rules not in PRESETS:
            raise RulesError(f"rules={rules!r}: expected one of {', '.join(PRESETS)}, or a game's rules")
        found: AnyRules = PRESETS[rules]
    else:
        found = rules
        game_of(found)
    return found if num_players is None else replace(found, num_players=num_players)  # type: ignore[type-var]


def game_of(rules: AnyRules) -> Definition:
    """The game whose rules these are.

    Raises:
        RulesError: no game's.
    """
    for game in GAMES:
        if isinstance(rules, game.rules):
            return game
    raise RulesError(f"rules={rules!r}: expected a preset's name or a game's rules")
