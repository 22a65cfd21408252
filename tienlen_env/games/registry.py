"""The registry of games and their presets: built-in ones and those of other packages.

A package adds a game by `register`, and by an entry point in the group ``tienlen.games`` (name = the game's,
value = a `Game`), so that other processes find it too.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Final, TypeVar, cast

from tienlen_env.errors import RulesError
from tienlen_env.games.common.game import ActionTable, AnyGame, AnyRules, Game
from tienlen_env.games.thirteens.game import THIRTEENS
from tienlen_env.games.tienlen.game import TIENLEN

ENTRY_POINTS: Final = "tienlen.games"
MAX_PLAYERS: Final = 16
RulesT = TypeVar("RulesT", bound=AnyRules)
TableT = TypeVar("TableT", bound=ActionTable)

_games: dict[str, AnyGame] = {}
_looked_outside = False


def register(game: Game[RulesT, TableT]) -> Game[RulesT, TableT]:
    """Add a game.

    Args:
        game: the game; its name and those of its presets must be unique. Registering it again has no effect.

    Returns:
        The game.

    Raises:
        ValueError: the name, or that of a preset, is taken.
    """
    known = _games.get(game.name)
    if known is not None and known is not game:
        raise ValueError(f"game {game.name!r}: another game has this name")
    for other in _games.values():
        taken = set(other.presets) & set(game.presets)
        if taken and other.name != game.name:
            raise ValueError(f"game {game.name!r}: {other.name} has a preset {min(taken)!r} already")
    _games[game.name] = cast(AnyGame, game)
    return game


def _look_outside() -> None:
    """Register the games of other packages' entry points, once."""
    global _looked_outside
    if not _looked_outside:
        _looked_outside = True
        for found in entry_points(group=ENTRY_POINTS):
            register(found.load())


def games() -> tuple[AnyGame, ...]:
    """All registered games."""
    _look_outside()
    return tuple(_games.values())


class _Presets(Mapping[str, AnyRules]):
    """The presets of all games by name."""

    def __getitem__(self, name: str) -> AnyRules:
        for game in _games.values():
            if name in game.presets:
                return game.presets[name]
        if not _looked_outside:
            _look_outside()
            return self[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for game in games() for name in game.presets)

    def __len__(self) -> int:
        return sum(len(game.presets) for game in games())


PRESETS: Final[Mapping[str, AnyRules]] = _Presets()


def get_rules(rules: str | AnyRules = "cardgames", num_players: int | None = None) -> AnyRules:
    """Resolve the name of a preset, or rules, optionally with another number of players.

    Args:
        rules: a name in `PRESETS`, or the rules of any game.
        num_players: None: as in `rules`.

    Raises:
        RulesError: an unknown name, or a number of players that the game does not have.
    """
    if isinstance(rules, str):
        if rules not in PRESETS:
            raise RulesError(f"rules={rules!r}: expected one of {', '.join(PRESETS)}, or a game's rules")
        found = PRESETS[rules]
    else:
        found = rules
        game_of(found)
    return found if num_players is None else replace(found, num_players=num_players)  # type: ignore[type-var]


def variants_of(game: AnyGame) -> Iterator[tuple[str, AnyRules]]:
    """``(preset, rules)``: the presets of a game, each with every number of players that it allows."""
    for name, preset in game.presets.items():
        for num_players in range(1, MAX_PLAYERS + 1):
            try:
                yield name, get_rules(preset, num_players)
            except RulesError:
                continue


def game_of(rules: AnyRules) -> AnyGame:
    """The game that has rules of this type.

    Raises:
        RulesError: no registered game has.
    """
    for game in _games.values():
        if isinstance(rules, game.rules_type):
            return game
    for game in games():
        if isinstance(rules, game.rules_type):
            return game
    raise RulesError(f"rules={rules!r}: expected a preset's name or a game's rules")


def has_payments(rules: AnyRules) -> bool:
    """Whether anything is paid under these rules.

    Raises:
        RulesError: the rules of no registered game.
    """
    reader = game_of(rules).payments
    return reader is not None and reader.exist(rules)


def main_reward(rules: AnyRules) -> str:
    """The reward scheme that decides who is better: payments where there are some, and otherwise points.

    Matches and single tables have it, so that agents which search maximise it.

    Raises:
        RulesError: the rules of no registered game.
    """
    return "payments" if has_payments(rules) else "points"


def game_named(name: str) -> AnyGame:
    """The game of a name.

    Raises:
        RulesError: no registered game has it.
    """
    if name not in _games:
        _look_outside()
    if name not in _games:
        raise RulesError(f"game {name!r}: expected one of {', '.join(_games)}")
    return _games[name]


def _reduce(game: AnyGame) -> tuple[Callable[[str], AnyGame], tuple[str]]:
    """Games pickle by their names."""
    return game_named, (game.name,)


copyreg.pickle(Game, _reduce)
register(TIENLEN)
register(THIRTEENS)
