"""Blunders: decisions that forfeit a proven win. For games whose endgames can be solved exactly."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tienlen_agents.arena.play import IntArray
from tienlen_agents.endgame import SolvableRules, Solver, open_endings
from tienlen_env.engine.agent import View


@lru_cache(maxsize=8)
def _solver(rules: SolvableRules) -> Solver:
    return Solver(rules)


class BlunderCounter:
    """Callback of `play_deals` that counts blunders in endgames that can be solved exactly.

    An endgame is a position in which two of four players are left and each can infer the other's cards (see
    `tienlen_agents.endgame`). A decision in an endgame counts if there was a choice and the solver
    finished. It is a blunder if the player could force the better of the two places before it, but not
    after it.

    Args:
        rules: the variant.
        num_deals: D; only decisions in the first D deals of the chunk count.
        num_games: games of each deal; they are adjacent in the batch.
        num_agents: E.

    Attributes:
        counts: int64 (D, E, 2), blunders and counted decisions.
    """

    def __init__(self, rules: SolvableRules, num_deals: int, num_games: int, num_agents: int) -> None:
        self.counts = np.zeros((num_deals, num_agents, 2), np.int64)
        self._num_games = num_games
        self._rules = rules

    def __call__(self, index: int, view: View, chosen: IntArray) -> None:
        """Count the blunders among the actions (n,) that an agent chose in n decisions."""
        deals = view.games // self._num_games
        # The games of a deal are adjacent, so the decisions of the first deals come first.
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
