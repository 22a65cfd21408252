"""The registry of searches: what `search` and `ismcts` use for each game.

A game's own search is a function from rules to a `SearchSetup`. Ours lie in this package, in a module with
the game's name; another package adds one by `register`. All other games are searched by
`tienlen_agents.search.uniform`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable

from tienlen_agents.search import uniform
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import SearchSetup
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

_setups: dict[str, Callable[..., SearchSetup]] = {}


def register(game_name: str, setup: Callable[..., SearchSetup]) -> None:
    """Set the search of a game.

    Args:
        game_name: ``Game.name``.
        setup: a function from rules to functions and new arrays; `tienlen_agents.search.uniform.setup_with`
            makes one of a baseline policy. A game with payments gets the keyword argument
            ``reward="payments"`` where they are to be maximised.

    Raises:
        ValueError: the game has a search.
    """
    if _setups.setdefault(game_name, setup) is not setup:
        raise ValueError(f"game {game_name!r} has a search already")


def new_context(rules: AnyRules, reward: str = "") -> SearchContext:
    """A context for these rules; `reward` as for `setup_of`."""
    return SearchContext(rules, setup_of(rules, reward))


def setup_of(rules: AnyRules, reward: str = "") -> SearchSetup:
    """The functions and new arrays for a search under `rules`.

    Args:
        rules: the variant.
        reward: what is maximised: ``"payments"``, or empty for the points of the places.

    Raises:
        WrongGameError: see `tienlen_agents.search.uniform.setup`.
    """
    game = game_of(rules)
    module = f"{__package__}.{game.name}"
    if game.name not in _setups and importlib.util.find_spec(module) is not None:
        importlib.import_module(module)  # it registers the game's search
    setup = _setups.get(game.name)
    if setup is None:
        return uniform.setup(game, rules, reward=reward)
    return setup(rules, reward=reward) if reward else setup(rules)
