"""The rule-based players in WebAssembly: entries for `tienlen_env.engine.backends.wasm.build`.

The same functions as in `tienlen_agents.rule_based`; nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.rule_based import greedy, trickster
from tienlen_agents.rule_based.heuristic import HeuristicAgent, decide, splits
from tienlen_env.engine.backends.wasm.entries import Entry, agent_entries
from tienlen_env.games.common.arrays import ActionFields, Row, Spec
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.actions import PASS
from tienlen_env.games.tienlen.kernels import list_legal

# Constants of the compiled code: the weights of the defaults.
_HEURISTIC: Final = decide.new_workspace()[splits.WEIGHTS : splits.RANK_SPLITS].astype(np.int32)
_TRICKSTER: Final = np.array(astuple(trickster.Weights()))
_FIRST, _NUM = splits.WEIGHTS, len(_HEURISTIC)


def start_heuristic(state: Any) -> None:
    """Write the weights into a workspace of zeros."""
    for i in range(_NUM):
        state[_FIRST + i] = _HEURISTIC[i]


def choose_heuristic(spec: Spec, actions: ActionFields, row: Row, state: Any, ids: Any, cards: Any) -> int:
    """The choice of `HeuristicAgent`."""
    splits.set_rules(state, spec)
    return int(ids[decide.choose_row(state, spec, actions, row, ids, cards)])


def choose_trickster(spec: Spec, actions: ActionFields, row: Row, state: Any, ids: Any, cards: Any) -> int:
    """The choice of `TricksterAgent`."""
    return trickster.choose_row(spec, actions, row, _TRICKSTER, ids, cards)


def choose_greedy(spec: Spec, actions: ActionFields, row: Row, state: Any, ids: Any, cards: Any) -> int:
    """The choice of `GreedyAgent`."""
    count = list_legal(row, spec, actions, ids, cards, 0)
    return int(ids[greedy.choose_row(spec, actions, ids, cards, 0, count, 0)])


def choose_greedy_long(spec: Spec, actions: ActionFields, row: Row, state: Any, ids: Any, cards: Any) -> int:
    """The choice of `GreedyLongAgent`."""
    count = list_legal(row, spec, actions, ids, cards, 0)
    hand = row[R.HAND + row[R.TURN]]
    lead_from = hand & -hand if row[R.TABLE] == PASS else 0
    return int(ids[greedy.choose_row(spec, actions, ids, cards, 0, count, lead_from)])


class Player(NamedTuple):
    """A rule-based player in WebAssembly.

    Attributes:
        name: as `tienlen_agents.load` knows it.
        game: the name of the game that it plays.
        choose: see `tienlen_env.engine.backends.wasm.entries.agent_entries`, as the others.
        state_size: length of its state.
        write_state: writes its initial state; None: zeros.
    """

    name: str
    game: str
    choose: Callable[..., int]
    state_size: int = 0
    write_state: Callable[[Any], None] | None = None


PLAYERS: Final = (
    Player(greedy.GreedyAgent.name, greedy.GreedyAgent.plays, choose_greedy),
    Player(greedy.GreedyLongAgent.name, greedy.GreedyLongAgent.plays, choose_greedy_long),
    Player(
        HeuristicAgent.name, HeuristicAgent.plays, choose_heuristic, splits.WORKSPACE_SIZE, start_heuristic
    ),
    Player(trickster.TricksterAgent.name, trickster.TricksterAgent.plays, choose_trickster),
)


def players_of(game: AnyGame) -> list[Player]:
    """The players of a game, the strongest last; none for a game that they do not play."""
    return [player for player in PLAYERS if player.game == game.name]


def entries_of(game: AnyGame) -> list[Entry]:
    """The entries of the players of a game."""
    return [
        entry
        for player in players_of(game)
        for entry in agent_entries(game, player.name, player.choose, player.state_size, player.write_state)
    ]
