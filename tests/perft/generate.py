"""Perft: the number of play sequences of each length from a position.

A node is a position after some plays and passes; a round that is over has no next plays. "exact"
counts every legal set of cards, "table" the actions of the action table.

``python tests/perft/generate.py`` counts the positions of `positions.txt` again and writes the file anew; the
comments in it stay.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tienlen_env.engine.batch import Batch
from tienlen_env.single.tienlen import Round

DEPTH = 4
FILE = Path(__file__).parent / "positions.txt"


class Position(NamedTuple):
    """One entry: its name, the record of the plays so far, and its counts for depths 1..4."""

    name: str
    record: str
    exact: tuple[int, ...]
    table: tuple[int, ...]


def perft_exact(round_: Round, depth: int) -> int:
    """Sequences of `depth` legal sets of cards."""
    plays = round_.legal_plays(exact=True)
    if depth == 1:
        return len(plays)
    count = 0
    for play in plays:
        child = round_.copy()
        child.play(play)
        count += perft_exact(child, depth - 1)
    return count


def perft_table(round_: Round, depth: int) -> int:
    """Sequences of `depth` actions: all positions of one depth side by side in a batch."""
    batch = Batch(round_.rules, 1, backend=round_.backend)
    batch.state.rows[:] = round_._rows
    for _ in range(depth - 1):
        legal = batch.list_legal()
        if not len(legal.game):
            return 0
        batch = batch.select(legal.game)
        batch.step(legal.action)
        batch = batch.select(np.flatnonzero(batch.state.turn >= 0))
    return int(batch.count_legal().sum())


def read(path: Path = FILE) -> list[Position]:
    """The positions of a file: blocks of ``id``, ``position``, ``exact`` and ``table`` lines."""
    positions, block = [], {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, rest = line.partition(" ")
        if key in ("id", "position", "exact", "table"):
            block[key] = rest
        if key == "table":
            counts = (tuple(map(int, block[k].split())) for k in ("exact", "table"))
            positions.append(Position(block["id"], block["position"], *counts))
            block = {}
    return positions


def main() -> None:
    """Count again and rewrite the file."""
    lines, round_ = [], None
    for line in FILE.read_text(encoding="utf-8").splitlines():
        key, _, rest = line.partition(" ")
        if key == "position":
            round_ = Round.from_record(rest)
        if key in ("exact", "table") and round_ is not None:
            count = perft_exact if key == "exact" else perft_table
            line = " ".join([key, *(str(count(round_, depth + 1)) for depth in range(DEPTH))])
        lines.append(line)
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
