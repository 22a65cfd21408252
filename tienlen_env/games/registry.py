"""The registry of games, their presets, and what other rooms have for each game.

A package adds a game by one call of `register`, and by an entry point in the group ``tienlen.games`` (name =
the game's, value = a `GameDefinition`, in a module that calls `register`): other processes find it, too.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Final, Generic, TypeVar, cast

from tienlen_env.doors import Door
from tienlen_env.errors import RulesError, expected_one_of, unexpected_keyword
from tienlen_env.games.common.game import ActionTable, AnyGame, AnyRules, GameDefinition
from tienlen_env.games.common.rules import RulesBase
from tienlen_env.games.thirteens.game import THIRTEENS
from tienlen_env.games.tienlen.game import TIENLEN

ENTRY_POINTS: Final = "tienlen.games"
CHECKS: Final = Door("tienlen.game_checks", "check of games")
MAX_PLAYERS: Final = 16
# What a game may have besides its `GameDefinition`, and where it is described.
PARTS: Final = {
    "round": "a subclass of tienlen_env.single.base.BaseRound",
    "picture": "a function like tienlen_env.single.painter.picture",
    "words": "a tienlen_agents.words.GameWords",
    "search": "a function like tienlen_agents.search.uniform.setup_with makes",
    "features": "a tienlen_agents.networks.features.base.Features",
}
RulesT = TypeVar("RulesT", bound=AnyRules)
TableT = TypeVar("TableT", bound=ActionTable)
T = TypeVar("T")

_BUILT_IN: Final = (TIENLEN.name, THIRTEENS.name)  # their tests check them
_games: dict[str, AnyGame] = {}
_parts: dict[tuple[str, str], object] = {}  # by the game's name and that of the part
_looked_outside = False


def register(game: GameDefinition[RulesT, TableT], **parts: object) -> GameDefinition[RulesT, TableT]:
    """Add a game, or add parts to a game.

    Args:
        game: the game; its name and those of its presets must be unique.
        parts: what other rooms have for this game, see `PARTS`: ``round``, ``picture``, ``words``,
            ``search``, ``features``. All have a default that works for any game.

    Returns:
        The game.

    Raises:
        ValueError: the name, or that of a preset, is taken; or the game has another such part.
        TypeError: not the name of a part.
        GameFaultError: an installed check (`CHECKS`) finds a fault. That of this project plays two
            games of each preset; ``tienlen check-game`` tests more.
    """
    known = _games.get(game.name)
    if known is not None and known is not game:
        raise ValueError(f"game {game.name!r}: another game has this name")
    for other in _games.values():
        taken = set(other.presets) & set(game.presets)
        if taken and other.name != game.name:
            raise ValueError(f"game {game.name!r}: {other.name} has a preset {min(taken)!r} already")
    for part, value in parts.items():
        if part not in PARTS:
            raise unexpected_keyword("register", part, PARTS, "a part of a game,")
        if _parts.get((game.name, part), value) is not value:
            raise ValueError(f"game {game.name!r} has another {part} already")
    if known is None and game.name not in _BUILT_IN:
        for check in CHECKS.entries():
            CHECKS.load(check)(game)
    _games[game.name] = cast(AnyGame, game)
    _parts.update({(game.name, part): value for part, value in parts.items()})
    return game


class ByGame(Generic[T]):
    """What a room has for each game, in this order: registered (`register`), or in a module, or the default.

    Args:
        part: its name in `PARTS`. In a module, the name in capital letters.
        package: the room; the module has the game's name, like ``tienlen_env.single.tienlen``.
        default: makes the value of a game that has none, from the game's name.
    """

    def __init__(self, part: str, package: str, default: Callable[[str], T]) -> None:
        self._part = part
        self._package = package
        self._default = default
        self._found: dict[str, T] = {}

    def named(self, game: str) -> T:
        """The value of a game, by the game's name."""
        _look_outside()
        if (game, self._part) in _parts:
            return cast(T, _parts[game, self._part])
        if game not in self._found:
            module = f"{self._package}.{game}"
            has_module = game.isidentifier() and find_spec(module) is not None
            found = getattr(import_module(module), self._part.upper(), None) if has_module else None
            self._found[game] = self._default(game) if found is None else found
        return self._found[game]

    def of(self, rules: AnyRules) -> T:
        """The value of the game of `rules`.

        Raises:
            RulesError: the rules belong to no registered game.
        """
        return self.named(game_of(rules).name)


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


_OR_RULES: Final = ", or a game's rules"


def get_rules(
    rules: str | AnyRules = "cardgames", num_players: int | None = None, **changes: object
) -> AnyRules:
    """Resolve the name of a preset, or rules, optionally with other values in some fields.

    Args:
        rules: a name in `PRESETS`, or the rules of any game.
        num_players: None: as in `rules`.
        changes: fields of the rules and their values; None: as in `rules`.

    Raises:
        RulesError: an unknown name, or a value that the game does not have.
        TypeError: the rules have no such field.
    """
    if isinstance(rules, str):
        if rules not in PRESETS:
            raise RulesError(f"rules={rules!r}: {expected_one_of(rules, PRESETS, _OR_RULES)}")
        found = PRESETS[rules]
    else:
        found = rules
        game_of(found)
    changes["num_players"] = num_players
    known = [field.name for field in fields(found)] if is_dataclass(found) else []
    known += [name for name in found.flat() if name not in known] if isinstance(found, RulesBase) else []
    for name, value in changes.items():
        if name not in known and (name, value) != ("num_players", None):
            raise unexpected_keyword("get_rules", name, known, "a field of the rules,")
    changes = {name: value for name, value in changes.items() if value is not None}
    return replace(found, **changes) if changes else found  # type: ignore[type-var]


def check_game(rules: AnyRules, game: str) -> None:
    """Refuse rules of another game.

    Raises:
        RulesError: the rules are not those of the game of this name.
    """
    if game_of(rules).name != game:
        presets = ", ".join(game_named(game).presets)
        raise RulesError(f"rules={rules.name!r}: expected one of {presets}, or rules of {game!r}")


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
        raise RulesError(f"game {name!r}: {expected_one_of(name, _games)}")
    return _games[name]


copyreg.pickle(GameDefinition, lambda game: (game_named, (game.name,)))  # by their names
register(TIENLEN)
register(THIRTEENS)
