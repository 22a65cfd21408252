"""The searches of games: what `search` and `ismcts` use for each game.

A game's own search is a function from rules to a `SearchSetup`: ``SEARCH`` in the module of this package with
the game's name, or what another package registers with its game (``tienlen_env.games.register(GAME,
search=...)``). All other games are searched by `tienlen_agents.search.uniform`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from tienlen_agents.search import uniform
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import SearchSetup
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import ByGame, game_named

_SETUPS: Final[ByGame[Callable[..., SearchSetup]]] = ByGame(
    "search", "tienlen_agents.search", lambda game: partial(uniform.setup, game_named(game))
)


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
    setup = _SETUPS.of(rules)
    return setup(rules, reward=reward) if reward else setup(rules)
