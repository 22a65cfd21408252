"""Blunders: won endings that an agent lets go. An optional measure, for games whose endings can be solved."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tienlen_agents.arena.play import IntArray
from tienlen_agents.endgame import Solver, open_endings
from tienlen_env.engine.agent import View
from tienlen_env.games.tienlen.rules import Rules


@lru_cache(maxsize=8)
def _solver(rules: Rules) -> Solver:
    return Solver(rules)


class BlunderCounter:
    """Is told of all decisions of a chunk and judges those in endings that can be solved exactly.

    An ending: two of four players are left and each can work out the other's cards (see
    `tienlen_agents.endgame`). A decision in it counts if there was a choice and the search came to an end; it
    is a blunder if the better of the two places could be forced before it and no more after it.

    Args:
        rules: the variant.
        num_deals: D, the first deals of the chunk, whose decisions are judged.
        num_games: games of each deal, side by side in the batch.
        num_agents: E.

    Attributes:
        counts: int64 (D, E, 2), blunders and decisions that counted.
    """

    def __init__(self, rules: Rules, num_deals: int, num_games: int, num_agents: int) -> None:
        self.counts = np.zeros((num_deals, num_agents, 2), np.int64)
        self._num_games = num_games
        self._rules = rules

    def __call__(self, index: int, view: View, chosen: IntArray) -> None:
        """Judge the actions (n,) that an agent chose in n decisions."""
        deals = view.games // self._num_games
        # Deals are side by side, so the decisions looked at come first.
        if deals[0] >= len(self.counts):
            return
        found, rows = open_endings(view)
        is_wanted = (view.num_legal[found] > 1) & (deals[found] < len(self.counts))
        found, rows = found[is_wanted], rows[is_wanted]
        if not found.size:
            return
        solution = _solver(self._rules).solve(rows)
        is_blunder = (solution.value == 1) & ~solution.best_mask[np.arange(len(found)), chosen[found]]
        np.add.at(self.counts[:, index, 0], deals[found], is_blunder)
        np.add.at(self.counts[:, index, 1], deals[found], solution.value != 0)
