"""Values that a package has for each game, found by the game's name."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Generic, TypeVar

from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

T = TypeVar("T")


class ByGame(Generic[T]):
    """A value for each game: registered, or defined in the module with the game's name.

    A further game needs no entry in a list: its module in the package is enough. A package outside the
    repository calls `register` when it is imported.

    Args:
        package: for example ``"tienlen_env.single"``.
        attribute: name of the value in the module ``<package>.<game's name>``.
        default: the value for games that have none.
    """

    def __init__(self, package: str, attribute: str, default: T) -> None:
        self._package = package
        self._attribute = attribute
        self._default = default
        self._found: dict[str, T] = {}

    def register(self, game: str, value: T) -> None:
        """Set the value of a game, by the game's name; a value that was registered before is replaced."""
        self._found[game] = value

    def named(self, game: str) -> T:
        """The value of a game, by the game's name."""
        if game not in self._found:
            self._found[game] = self._look_up(game)
        return self._found[game]

    def of(self, rules: AnyRules) -> T:
        """The value of the game of `rules`.

        Raises:
            RulesError: the rules belong to no registered game.
        """
        return self.named(game_of(rules).name)

    def _look_up(self, game: str) -> T:
        module = f"{self._package}.{game}"
        if not game.isidentifier() or find_spec(module) is None:
            return self._default
        value: T = getattr(import_module(module), self._attribute, self._default)
        return value
