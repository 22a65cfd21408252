"""The rule-based players in WebAssembly: entries for `tienlen_env.engine.backends.wasm.build`.

The same functions as in `tienlen_agents.rule_based`; nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any, Final

import numpy as np

from tienlen_agents.rule_based import trickster
from tienlen_agents.rule_based.heuristic import HeuristicAgent, decide, splits
from tienlen_agents.rule_based.heuristic.parameters import Parameters
from tienlen_env.engine.backends.wasm.entries import Entry, agent_entries
from tienlen_env.games.common.game import AnyGame

# Constants of the compiled code: the weights of the defaults.
_HEURISTIC: Final = decide.new_workspace(Parameters())[splits.WEIGHTS : splits.RANK_SPLITS].astype(np.int32)
_TRICKSTER: Final = np.array(astuple(trickster.Weights()))
_FIRST, _NUM = splits.WEIGHTS, len(_HEURISTIC)


def start_heuristic(state: Any) -> None:
    """Write the weights into a workspace of zeros."""
    for i in range(_NUM):
        state[_FIRST + i] = _HEURISTIC[i]


def choose_heuristic(spec: Any, actions: Any, row: Any, state: Any, ids: Any, cards: Any) -> int:
    """The choice of `HeuristicAgent`."""
    splits.set_rules(state, spec)
    return int(ids[decide.choose_row(state, spec, actions, row, ids, cards)])


def choose_trickster(spec: Any, actions: Any, row: Any, state: Any, ids: Any, cards: Any) -> int:
    """The choice of `TricksterAgent`."""
    return trickster.choose_row(spec, actions, row, _TRICKSTER, ids, cards)


def _heuristic(game: AnyGame) -> list[Entry]:
    name, size = HeuristicAgent.name, splits.WORKSPACE_SIZE
    return agent_entries(game, name, choose_heuristic, size, start_heuristic)


def _trickster(game: AnyGame) -> list[Entry]:
    return agent_entries(game, trickster.TricksterAgent.name, choose_trickster)


_BY_GAME: Final[dict[str, Callable[[AnyGame], list[Entry]]]] = {
    HeuristicAgent.plays: _heuristic,
    trickster.TricksterAgent.plays: _trickster,
}


def entries_of(game: AnyGame) -> list[Entry]:
    """The entries of the players of a game; none for a game that they do not play."""
    found = _BY_GAME.get(game.name)
    return found(game) if found else []
