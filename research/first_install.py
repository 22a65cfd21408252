"""What a newcomer waits for: the first installation, and the way from there to the first line of learning.

    python -m research.first_install

It clones the repository into an empty folder and calls make there as the README says, without the cache of
pip. Times are of the processor, since the line to the index differs from place to place.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console

from tienlen_agents.settings import parse_args
from tienlen_train.benchmarks import BenchConfig, write_result
from tienlen_train.config import command

ROOT: Final = Path(__file__).parents[1]
STEPS: Final = {
    "installation": [".venv/.learner"],
    "first line of learning": [
        "train",
        "ARGS=--stop-after 1 --eval-every 0 --final-deals 0 --out runs/first",
    ],
}


def processor_seconds() -> float:
    """Of all child processes so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*"))


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write the JSON."""
    config, console = parse_args(BenchConfig, __doc__, argv), Console()
    rows: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        settings = {
            name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")
        }
        settings |= {"PIP_NO_CACHE_DIR": "1", "XDG_CACHE_HOME": str(Path(folder) / "cache")}
        for name, words in STEPS.items():
            before = processor_seconds()
            subprocess.run(["make", *words], cwd=clone, env=settings, check=True, stdout=subprocess.DEVNULL)
            rows[name] = {"processor_seconds": round(processor_seconds() - before, 1)}
            console.print(f"{name}: {rows[name]['processor_seconds']:.0f} s of processor time")
        rows["installation"]["megabytes"] = round(size_of(clone / ".venv") / 1e6)
        console.print(f"the environment has {rows['installation']['megabytes']:,} MB")
    write_result(config, rows, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
