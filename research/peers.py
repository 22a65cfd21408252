"""Other libraries' card games beside ours: the same loop, in turn, in environments of their own.

    python -m research.peers
    python -m research.peers --only pettingzoo

A decision has the observation and the legal actions of the next player. The first call makes an environment
for each library in ``build/peers`` by pip. Each row is measured by a process of its own,
`research/peer_loops.py`, on one core, in turn with our row of the same kind: one game at a time through
Python, or 4,096 games at once.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from tienlen_agents.settings import parse_args
from tienlen_train.benchmarks import BenchConfig, chosen, new_table, short, write_result
from tienlen_train.config import command

FOLDER: Final = Path("build/peers")
LOOPS: Final = Path(__file__).with_name("peer_loops.py")
PACKAGES: Final = {
    "pettingzoo": ("pettingzoo==1.24.3", "rlcard==1.0.5", "pygame==2.6.1", "setuptools<70", "numpy<2"),
    "rlcard": ("rlcard==1.2.0",),
    "openspiel": ("open_spiel==2.0.2",),
    "pgx": ("pgx==2.6.0",),
}


class Peer(NamedTuple):
    """A game of a library, and our loop of the same kind."""

    library: str
    game: str
    ours: str = "raw_env"


ROWS: Final = {
    f"{row.library} {row.game}": row
    for row in (
        Peer("pettingzoo", "leduc_holdem_v4"),
        Peer("pettingzoo", "texas_holdem_v4"),
        Peer("pettingzoo", "gin_rummy_v4"),
        Peer("rlcard", "doudizhu"),
        Peer("rlcard", "uno"),
        Peer("openspiel", "dou_dizhu"),
        Peer("openspiel", "hearts"),
        Peer("pgx", "sparrow_mahjong", "batch"),
        Peer("pgx", "leduc_holdem", "batch"),
    )
}


def interpreter(library: str) -> Path:
    """The Python of a library's environment, which is made if it is not there.

    Raises:
        subprocess.CalledProcessError: pip cannot install it.
    """
    folder = FOLDER / library
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists() or done.read_text() != "\n".join(PACKAGES[library]):
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES[library]], check=True)
        done.write_text("\n".join(PACKAGES[library]))
    return python


def rate(python: Path | str, library: str, game: str, seconds: float) -> float:
    """Decisions a second of processor time, by one run of the loop on one core."""
    core = min(os.sched_getaffinity(0))
    words = [str(python), str(LOOPS), library, game, str(seconds)]
    settings = {**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    found = subprocess.run(
        words,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        env=settings,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    return float(found.stdout.split()[-1])


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the JSON."""
    config = parse_args(BenchConfig, __doc__, argv)
    console = Console()
    wanted = chosen(config, ROWS)
    pythons = {row.library: interpreter(row.library) for row in wanted.values()}
    theirs: dict[str, list[float]] = {name: [] for name in wanted}
    ours: dict[str, list[float]] = {name: [] for name in wanted}
    for _ in range(config.runs):
        for name, row in wanted.items():
            theirs[name].append(rate(pythons[row.library], row.library, row.game, config.seconds))
            ours[name].append(rate(sys.executable, "tienlen", row.ours, config.seconds))
    table = new_table(title="decisions a second")
    for header in ("library, game", "theirs", "ours", "ratio"):
        table.add_column(header, justify="left" if header == "library, game" else "right")
    rows = {}
    for name, row in wanted.items():
        ratios = [a / b for a, b in zip(ours[name], theirs[name], strict=True)]
        medians = [statistics.median(values) for values in (theirs[name], ours[name], ratios)]
        rows[name] = dict(zip(("theirs", "ours", "ratio"), medians, strict=True)) | {"by": row.ours}
        table.add_row(name, short(medians[0]), short(medians[1]), f"{medians[2]:.1f}")
    console.print(table)
    write_result(config, rows, console, seconds=config.seconds, packages=PACKAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
