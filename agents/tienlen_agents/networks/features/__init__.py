"""The inputs of a network: the observation, and features of each legal action and of its result.

Each game has one value of `Features`. `features_of` finds it from the rules, in this order: what a package
registers with its game (``tienlen_env.games.register(GAME, features=...)``); ``FEATURES`` of the module of
this package with the game's name; the generic ones (`tienlen_agents.networks.features.generic`), which work
for any game.
"""

from __future__ import annotations

from typing import Final

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
from tienlen_env.games.registry import ByGame

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
]

_FEATURES: Final[ByGame[Features]] = ByGame("features", __name__, generic_features)


def features_of(rules: AnyRules) -> Features:
    """The features of the game that has these rules.

    Raises:
        RulesError: the rules of no registered game.
    """
    return _FEATURES.of(rules)


def features_by_name(game: str) -> Features:
    """The features of the game of this name; the generic ones if it has none of its own."""
    return _FEATURES.named(game)
