"""Machine code that was compiled ahead of time beside Numba's code for this very processor.

    python -m research.native
    python -m research.native --only Batch

Two processes take turns, one with the machine code and one without it (``TIENLEN_NATIVE=0``). A row is the
median of the ratios of the runs, decisions a second of processor time; above 1 the machine code is faster.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache, partial
from typing import Final
from unittest.mock import patch

from rich.console import Console

import tienlen_agents
from tienlen_agents.settings import parse_args
from tienlen_env import Batch
from tienlen_env.engine.agent import View, history_of
from tienlen_env.engine.backends import native
from tienlen_env.games.registry import PRESETS
from tienlen_train.benchmarks import (
    BenchConfig,
    PlayUntil,
    batched,
    chosen,
    measure,
    new_table,
    rounds,
    short,
    write_result,
)
from tienlen_train.config import command

TARGET: Final = 0.95


def choices(name: str, rules: str, num_games: int) -> PlayUntil:
    """An agent plays games against itself."""
    agent = tienlen_agents.load(name)
    batch = Batch(rules, num_games, auto_reset=True, history_length=history_of([agent]))
    batch.reset(1)
    agent.reset(1)

    def step() -> int:
        batch.step(agent.act(View(batch)))
        return num_games

    return rounds(step)


ROWS: Final[dict[str, Callable[[], PlayUntil]]] = {
    **{f"Batch {rules}": partial(batched, rules, 4096) for rules in PRESETS},
    "Batch cardgames, one game": partial(batched, "cardgames", 1),
    "heuristic": partial(choices, "heuristic", "cardgames", 500),
    "trickster": partial(choices, "trickster", "thirteens_manual", 500),
    "endgame:heuristic": partial(choices, "endgame:heuristic", "cardgames", 100),
    "reference": partial(choices, "reference", "cardgames", 500),
    "champion:worlds=0": partial(choices, "champion:worlds=0", "cardgames", 500),
    "champion": partial(choices, "champion", "cardgames", 4),
    "search": partial(choices, "search", "cardgames", 4),
    "ismcts": partial(choices, "ismcts", "cardgames", 4),
}


@cache
def _play(row: str) -> PlayUntil:
    return ROWS[row]()


def _rate(row: str, seconds: float) -> float:
    return measure(_play(row), seconds)


def _level() -> str:
    found = native.library()
    return "" if found is None else found.level


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print a table and write a JSON file."""
    config = parse_args(BenchConfig, __doc__, argv)
    names = chosen(config, ROWS)
    console = Console()
    table = new_table("", "native / Numba", "native, decisions/s", "Numba")
    rows = {}
    with ExitStack() as stack:
        pools, levels = [], []
        for value in ("1", "0"):
            pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            pools.append(stack.enter_context(pool))
            with patch.dict(os.environ, {"TIENLEN_NATIVE": value}):
                levels.append(pool.submit(_level).result())
        if not levels[0]:
            raise ValueError("there is no machine code here: `make native` compiles it")
        for row in names:
            runs = [
                [pool.submit(_rate, row, config.seconds).result() for pool in pools]
                for _ in range(config.runs + 1)
            ][1:]  # the first run compiles
            ratio = statistics.median(ours / theirs for ours, theirs in runs)
            ours, theirs = (statistics.median(rates) for rates in zip(*runs, strict=True))
            rows[row] = {"ratio": ratio, "runs": runs}
            style = "" if ratio >= TARGET else "red"
            table.add_row(row, f"{ratio:.2f}", short(ours), short(theirs), style=style)
    console.print(table)
    write_result(config, rows, console, machine_code=levels[0], seconds=config.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
