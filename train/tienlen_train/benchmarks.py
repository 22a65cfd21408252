"""What measurements have in common: settings, rows, tables, loops and processes; each of them is a command.

Rows that are compared with one another are measured in turn, so that ratios hold when the machine's speed
drifts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tienlen_agents.command import cpu_name, versions
from tienlen_agents.files import write_atomic
from tienlen_agents.settings import COUNT, Config, FreeText, Range, setting

AnyRow = TypeVar("AnyRow")
PlayUntil = Callable[[float], int]  # plays until a time.perf_counter() deadline, returns the steps taken


@dataclass(frozen=True, kw_only=True)
class BenchConfig(Config):
    """Settings of a benchmark.

    Attributes:
        seconds: length of one run of one row.
        runs: runs of each row, in turn.
        only: measure only rows whose name contains this text.
        out: the JSON file of the result.
    """

    seconds: float = setting(2.0, Range(0, 86_400, above=True))
    runs: int = setting(3, COUNT)
    only: str = setting("", FreeText())
    out: str = setting("runs/bench.json", FreeText("a file"))


def chosen(config: BenchConfig, rows: Mapping[str, AnyRow]) -> dict[str, AnyRow]:
    """The rows, by their names, that ``--only`` chooses, in their order.

    Raises:
        ConfigError: it chooses none.
    """
    found = {name: row for name, row in rows.items() if config.only in name}
    if not found:
        config.refuse("only", f"expected a part of one of {', '.join(rows)}")
    return found


def short(rate: float) -> str:
    """A rate to three digits, in thousands or millions."""
    return f"{rate / 1e6:.3g} M" if rate >= 1e6 else f"{rate / 1e3:.3g} k"


def new_table(*headers: str, **options: Any) -> Table:
    """A table of results; columns that have a header are of numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, **options)
    for header in headers:
        table.add_column(header, justify="right" if header else "left")
    return table


def write_result(config: BenchConfig, rows: dict[str, Any], console: Console, **about: Any) -> None:
    """Write the JSON file: the processor, the versions, the rows, and what else is known about them."""
    result = {"cpu": cpu_name(), "versions": versions(), **about, "rows": rows}
    write_atomic(Path(config.out), (json.dumps(result, indent=1) + "\n").encode())
    console.print(f"written to {config.out}", style="dim")


# ---------------------------------------------------------------- loops


def rounds(play_round: Callable[[], int]) -> PlayUntil:
    """Plays round after round by a function that returns the steps of one."""

    def play(deadline: float) -> int:
        steps = play_round()
        while time.perf_counter() < deadline:
            steps += play_round()
        return steps

    return play


def batched(rules: str, num_games: int, threads: int = 1, packed: bool = False) -> PlayUntil:
    """The batched engine: a uniform legal choice, the step, the full mask and observation, with resets."""
    from tienlen_env.engine.batch import Batch

    batch = Batch(rules, num_games, auto_reset=True, threads=threads)
    rng = np.random.default_rng(0)
    batch.reset(rng)
    mask: Any = batch.packed_mask() if packed else batch.action_mask()
    observation: Any = batch.packed_observation() if packed else batch.observe()
    actions, draws = batch.sample(rng), np.empty(num_games)
    next_actions = np.empty_like(actions)

    def step() -> int:
        nonlocal actions, next_actions
        rng.random(out=draws)
        batch.step(actions, mask=mask, observation=observation, draws=draws, next_actions=next_actions)
        actions, next_actions = next_actions, actions
        return num_games

    return rounds(step)


def measure(play: PlayUntil, seconds: float, clock: Callable[[], float] = time.process_time) -> float:
    """Steps a second of one run: of CPU time, or of the time of another clock."""
    start = clock()
    steps = play(time.perf_counter() + seconds)
    return steps / (clock() - start)


# ---------------------------------------------------------------- processes


class Run(NamedTuple):
    """One process: seconds of wall time and of processor time, and MB of memory at its peak."""

    wall: float
    processor: float
    memory: float


def run_program(program: str, cache: str) -> Run:
    """Run a program in a process of its own.

    Args:
        program: a command that begins with ``tienlen``, or Python.
        cache: the folder in which Numba keeps compiled code.

    Raises:
        RuntimeError: it failed; with the last line of its error.
    """
    if program.startswith("tienlen "):
        words = program.split()[1:]
        program = f"import sys; from tienlen_train.cli import main; sys.exit(main({words}))"
    # The child's own figures: those of all children of this process would be the largest of all rows.
    code = (
        "import resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "done = subprocess.run([sys.executable, '-c', sys.argv[1]], input='q\\n', text=True,\n"
        "    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)\n"
        "wall = time.perf_counter() - start\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
        "sys.exit(done.stderr if done.returncode else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, program],
        env={**os.environ, "NUMBA_CACHE_DIR": cache}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    wall, processor, memory = map(float, done.stdout.split())
    return Run(wall, processor, memory / (1 << 20 if sys.platform == "darwin" else 1 << 10))
