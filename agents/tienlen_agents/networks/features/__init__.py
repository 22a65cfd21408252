"""The inputs of a network: the observation, and features of each legal action and of its result.

Each game has one value of `Features`. `features_of` finds it from the rules, in this order:

1. features that were registered: ``register(Features(game="mine", ...))``, or an entry point of the group
   ``tienlen.features`` of an installed package, whose name is the game's and whose value is its `Features`;
2. ``FEATURES`` of the module of this package with the game's name;
3. the generic ones (`tienlen_agents.networks.features.generic`), which work for any game.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec

from tienlen_agents.networks.features.base import (
    ActionValuesFn,
    Features,
    Inputs,
    Prior,
    PrivilegedFn,
    Reader,
    WinningActionsFn,
)
from tienlen_agents.networks.features.generic import generic_features
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

__all__ = [
    "ActionValuesFn",
    "Features",
    "Inputs",
    "Prior",
    "PrivilegedFn",
    "Reader",
    "WinningActionsFn",
    "features_by_name",
    "features_of",
    "register",
]

ENTRY_POINTS = "tienlen.features"
_registered: dict[str, Features] = {}


def register(features: Features) -> None:
    """Register a game's features for all code that loads or trains networks.

    Raises:
        ValueError: other features of this game are registered already.
    """
    if _registered.setdefault(features.game, features) is not features:
        raise ValueError(f"features of the game {features.game!r} are registered already")


def features_of(rules: AnyRules) -> Features:
    """The features of the game that has these rules.

    Raises:
        RulesError: the rules of no registered game.
    """
    return features_by_name(game_of(rules).name)


def features_by_name(game: str) -> Features:
    """The features of the game of this name; the generic ones if it has none of its own."""
    return _registered.get(game) or _found(game)


@cache
def _found(game: str) -> Features:
    for entry_point in entry_points(group=ENTRY_POINTS, name=game):
        return _checked(entry_point.load(), entry_point.value)
    module = f"{__name__}.{game}"
    if game.isidentifier() and find_spec(module) is not None:
        found = getattr(import_module(module), "FEATURES", None)
        if found is not None:
            return _checked(found, module)
    return generic_features(game)


def _checked(found: object, where: str) -> Features:
    if not isinstance(found, Features):
        raise TypeError(f"{where}: expected a value of Features, got {type(found).__name__}")
    return found
