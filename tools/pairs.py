"""Whether a change made anything slower: the rows of `make bench` here and in another checkout, in turn.

    python -m tools.pairs ../before
    python -m tools.pairs ../before --only Batch --pairs 100

Each row runs in short slices, here and there in turn, so both see the same moments of a machine that other
programs use, too. The table has the median of the ratios, and their quartiles; above 1 this checkout is
faster. The other checkout needs its own ``.venv`` and machine code (`make install` there).
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

SPEED = "tienlen_bench.speed"


class Side:
    """The rows of one checkout, in a process of its own.

    Args:
        folder: the checkout.
        module: has its rows (`tienlen_bench.speed.cases`).

    Raises:
        ValueError: the process does not start.
    """

    def __init__(self, folder: Path, module: str) -> None:
        python, program = folder.resolve() / ".venv/bin/python", Path(__file__).resolve()
        command = [str(python), str(program), "--serve", module]
        try:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise ValueError(f"{folder}: {error}") from None
        self._folder = folder
        self.names = self._line().split("|")

    def prepare(self, name: str) -> None:
        """Make the loop of a row, and run it once."""
        self._ask(name)

    def rate(self, seconds: float) -> float:
        """Steps a second of a slice of the row."""
        return float(self._ask(str(seconds)))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline().strip():
            return line
        self.close()
        raise ValueError(f"{self._folder}: its process ended")


def serve(module: str) -> None:
    """What the process of a side does: say the rows, then answer each line, a row's name or seconds."""
    cases = {case.name: case for case in import_module(module).cases()}
    print("|".join(cases), flush=True)
    case: Any = None
    play: Any = None
    for line in sys.stdin:
        word = line.rstrip("\n")
        if word in cases:
            play = None  # the memory of the last row is free before the next one takes its own
            case, play = cases[word], cases[word].make()
            play(time.perf_counter() + 0.05)
            print("ready", flush=True)
            continue
        clock = time.perf_counter if case.wall else time.process_time
        gc.collect()
        start = clock()
        steps = play(time.perf_counter() + float(word))
        print(steps / (clock() - start), flush=True)


def ratios(here: Side, there: Side, name: str, pairs: int, seconds: float) -> Iterator[float]:
    """The ratios of a row, ours over theirs; who begins changes from pair to pair."""
    for side in (here, there):
        side.prepare(name)
    for i in range(pairs):
        order = (here, there) if i % 2 else (there, here)
        rates = {side: side.rate(seconds) for side in order}
        yield rates[here] / rates[there]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the rows that both have, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tools.pairs", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("other", nargs="?", type=Path, help="the folder of the other checkout")
    parser.add_argument("--only", default="", help="measure only rows whose name contains this text")
    parser.add_argument("--pairs", type=int, default=40, help="slices of each side (40)")
    parser.add_argument("--seconds", type=float, default=0.08, help="of a slice (0.08)")
    parser.add_argument("--module", default=SPEED, help=f"that has the rows there ({SPEED})")
    parser.add_argument("--serve", metavar="MODULE", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.serve:
        serve(options.serve)
        return 0
    if options.other is None or options.pairs < 2 or options.seconds <= 0:
        parser.error("expected the folder of another checkout, at least 2 pairs, and seconds above 0")
    try:
        here = Side(Path(__file__).parents[1], SPEED)
        there = Side(options.other, options.module)
    except ValueError as error:
        parser.error(str(error))
    for name in here.names:
        if name in there.names and options.only in name:
            found = list(ratios(here, there, name, options.pairs, options.seconds))
            low, _, high = statistics.quantiles(found, n=4)
            print(f"{name:32} {statistics.median(found):5.3f}  quartiles {low:4.2f} {high:4.2f}", flush=True)
    here.close()
    there.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
