"""Time of the passes, on one core: what docs/exact.md states."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from tienlen_agents.exact import passes
from tienlen_agents.exact.policies import uniform
from tienlen_agents.exact.small_tienlen import SmallGame
from tienlen_agents.exact.solvers import Solver
from tienlen_agents.exact.tree import build

REPEATS = 5


def _milliseconds(work: Callable[[], object]) -> float:
    """Processor time of the fastest of some calls, after one for compilation."""
    work()
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return 1_000 * min(times)


def bench(game: SmallGame) -> str:
    """Measure building, best responses and iterations of each algorithm; a table as text.

    Raises:
        GameTooLargeError: a game that does not fit.
    """
    build(game)  # compiles
    begin = time.process_time()
    tree = build(game)
    lines = [f"build the tree: {1_000 * (time.process_time() - begin):,.1f} ms"]
    size = tree.size()
    policy, none = uniform(tree), np.zeros(0, np.int64)
    reach, values = np.empty((2, tree.num_slots))

    def respond() -> None:
        for seat in range(tree.num_players):
            passes.reach_down(tree.arrays, policy, reach, seat)
            passes.best_up(tree.arrays, policy, reach, seat, values, none)

    lines.append(f"best responses of all seats: {_milliseconds(respond):,.1f} ms")
    for algorithm in ("cfr+", "dcfr", "mmd"):
        solver = Solver(tree, algorithm)
        lines.append(f"an iteration of {algorithm}: {_milliseconds(solver.step):,.1f} ms")
    title = (
        f"{game.rules.name}, {tree.num_players} players: {size.information_sets:,} information sets, "
        f"{tree.num_bytes / 2**20:,.0f} MiB"
    )
    return "\n".join([title, *lines])
