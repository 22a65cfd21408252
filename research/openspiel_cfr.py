"""An iteration of CFR+ by OpenSpiel's C++ solver beside this project's laboratory.

Both in turn, in processor time:

    python -m research.openspiel_cfr
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyspiel
from rich.console import Console

import tienlen_bridges.openspiel  # noqa: F401  (registers python_tienlen)
from tienlen_agents.settings import parse_args
from tienlen_exact.small_tienlen import small_game
from tienlen_exact.solvers import Solver
from tienlen_exact.tree import build
from tienlen_train.benchmarks import BenchConfig, chosen, new_table, write_result
from tienlen_train.config import command

DECK: Final = "3s 3c 4s 4c 5s 5c 2s 2c"
CARDS: Final = 2
Start = Callable[
    [], tuple[int, Callable[[], object]]
]  # the information sets, and a function for an iteration


def of_openspiel(name: str, **parameters: Any) -> Start:
    """OpenSpiel's solver on a game of its own, or on ours."""

    def start() -> tuple[int, Callable[[], object]]:
        solver = pyspiel.CFRPlusSolver(pyspiel.load_game(name, parameters))
        solver.evaluate_and_update_policy()
        return num_information_sets(solver), solver.evaluate_and_update_policy

    return start


def num_information_sets(solver: Any) -> int:
    """Of both players, with a choice or without, as OpenSpiel counts them."""
    return len(solver.tabular_average_policy().policy_table())


def of_ours(rules: str) -> Start:
    """`tienlen exact`."""

    def start() -> tuple[int, Callable[[], object]]:
        tree = build(small_game(rules))
        solver = Solver(tree, "cfr+")
        solver.step()
        return tree.size().information_sets, solver.step

    return start


ROWS: Final[dict[str, Start]] = {
    "OpenSpiel, leduc poker": of_openspiel("leduc_poker"),
    "OpenSpiel, liar's dice": of_openspiel("liars_dice"),
    f"OpenSpiel, `python_tienlen` with 4 ranks × 2 suits, {CARDS} cards (states in Python)": of_openspiel(
        "python_tienlen", deck=DECK, cards=CARDS, players=2, reward="zero_sum"
    ),
    "this laboratory, `mini`": of_ours("mini"),
    "this laboratory, `small`": of_ours("small"),
}


def seconds_of(step: Callable[[], object], at_least: float) -> float:
    """Processor time of one iteration."""
    start, num = time.process_time(), 0
    while time.process_time() - start < at_least or num == 0:
        step()
        num += 1
    return (time.process_time() - start) / num


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the JSON."""
    config = parse_args(BenchConfig, __doc__, argv)
    console = Console()
    started = {name: start() for name, start in chosen(config, ROWS).items()}
    times: dict[str, list[float]] = {name: [] for name in started}
    for _ in range(config.runs):
        for name, (_, step) in started.items():
            times[name].append(seconds_of(step, config.seconds))
    table, rows = new_table(title="an iteration of CFR+"), {}
    for header in ("game", "information sets", "ms"):
        table.add_column(header, justify="left" if header == "game" else "right")
    for name, (size, _) in started.items():
        milliseconds = 1000 * statistics.median(times[name])
        rows[name] = {"information_sets": size, "milliseconds": milliseconds}
        table.add_row(name, f"{size:,}", f"{milliseconds:.3g}")
    console.print(table)
    write_result(config, rows, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
