"""What a game needs: memory and time, estimated before any work, and measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tienlen_exact import passes
from tienlen_exact.policies import GIB, available_bytes, uniform
from tienlen_exact.small_tienlen import GameTooLargeError, SmallGame
from tienlen_exact.solvers import Solver
from tienlen_exact.tree import Size, build, estimate, part_bytes

# Seconds, measured on one core of a server (AMD EPYC, 2.6 GHz), see docs/exact.md.
SECONDS_A_DEAL: Final = 1.5e-6
SECONDS_A_SLOT: Final = 1.5e-7  # of building
SECONDS_A_PASS: Final = 6e-9  # for each slot and leaf: a third of an iteration of CFR+
REPEATS: Final = 5  # of a measurement

Purpose = Literal["agents", "lookahead", "solver"]
# Most bytes beside the tree in `policy_of`, `lookahead`, and `Solver` with `measure`: for each edge, slot and
# edge that ends the round, and a share of `Size.level_bytes`.
BYTES: Final[dict[Purpose, tuple[int, int, int, float]]] = {
    "agents": (64, 12, 0, 2 / 3),
    "lookahead": (73, 48, 0, 0.0),
    "solver": (32, 40, 8, 0.0),
}


@dataclass(frozen=True)
class Plan:
    """What a computation needs, estimated.

    Attributes:
        game: the game.
        size: of its tree.
        num_bytes: most memory at a time.
        build_seconds: of building the tree.
        iteration_seconds: of one iteration of CFR+; about three best responses take as long.
    """

    game: SmallGame
    size: Size
    num_bytes: int
    build_seconds: float
    iteration_seconds: float

    def __str__(self) -> str:
        about = "" if self.size.is_exact else "about "
        return (
            f"{self.game.rules.name}, {self.game.num_players} players: {self.size.deals:,} deals, "
            f"{about}{self.size.information_sets:,} information sets; "
            f"{self.num_bytes / GIB:.3f} GiB of memory, {self.build_seconds:.1f} s to build the tree, "
            f"{self.iteration_seconds:.3f} s an iteration"
        )


def plan(game: SmallGame, purpose: Purpose) -> Plan:
    """Estimate what a game needs.

    Args:
        game: the game.
        purpose: whether agents are asked, or also look ahead, or an algorithm runs.

    Raises:
        GameTooLargeError: too many deals to list them.
    """
    size, P = estimate(game), game.num_players
    tree = part_bytes(game, size.nodes, size.slots, size.ends, size.leaves)
    tree += 4 * size.edges + (27 + 4 * P) * size.nodes
    an_edge, a_slot, an_end, of_levels = BYTES[purpose]
    beside = an_edge * size.edges + a_slot * size.slots + an_end * size.ends + of_levels * size.level_bytes
    work = size.slots + size.leaves
    return Plan(
        game,
        size,
        round(max(tree + beside, size.build_bytes)),
        SECONDS_A_DEAL * size.deals + SECONDS_A_SLOT * size.slots,
        3 * SECONDS_A_PASS * work * P / 2,
    )


def check_fits(needs: Plan, limit: float | None = None) -> None:
    """Refuse a game that does not fit.

    Args:
        needs: the plan.
        limit: memory that may be used, in GiB; None: nine tenths of what is free.

    Raises:
        GameTooLargeError: it has the numbers.
    """
    most = 0.9 * available_bytes() / GIB if limit is None else limit
    if needs.num_bytes / GIB > most:
        raise GameTooLargeError(
            f"{needs}: expected at most {most:.2g} GiB (--memory); a smaller deck or hand needs less"
        )


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
