"""How long the first step, match or hand takes, from a new process without stored code.

    python -m tienlen_bench.startup
    python -m tienlen_bench.startup --only import

Each row is a process of its own with an empty cache of Numba; seconds of wall time and of processor time, and
the most memory that it used. "Again" is the same with the cache of the run before. With the machine code of
`make native` or of a wheel both are alike.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from typing import Final

from rich.console import Console

from tienlen_agents.settings import parse_args
from tienlen_env.engine.backends import native
from tienlen_train.benchmarks import BenchConfig, chosen, new_table, run_program, write_result
from tienlen_train.config import command

# `tienlen ...`, or a program.
ROWS: Final = {
    "import tienlen_env": "import tienlen_env",
    "first step of gymnasium.make": "import gymnasium, tienlen_env\n"
    "env = gymnasium.make('tienlen_env/TienLen-v1')\n"
    "env.step(env.reset(seed=1)[1]['action_mask'].argmax())",
    "first step of tienlen_v1.env()": "from tienlen_env import tienlen_v1\n"
    "env = tienlen_v1.env()\nenv.reset(seed=1)\nenv.step(env.last()[0]['action_mask'].argmax())",
    "first step of a Batch": "from tienlen_env import Batch\nimport numpy as np\n"
    "batch = Batch('cardgames', 1)\nbatch.reset(1)\nbatch.step(batch.sample(np.random.default_rng(1)))",
    "match heuristic greedy, 50 deals": "tienlen match heuristic greedy --deals 50 --quiet",
    "champion v. heuristic, 5 deals": "tienlen match champion heuristic --deals 5 --quiet",
    "play to the first hand": "tienlen play --seats human heuristic greedy random --rounds 1 --key 5",
}


def packages() -> dict[str, str]:
    """A row for each package that comes with this one, without its extras, and one without an import."""
    names = ["tienlen-env"]
    for name in names:
        for line in metadata.requires(name) or []:
            # A marker of a version of Python that is not this one leaves a name that is not installed.
            needed = re.split(r"[^\w.-]", line, maxsplit=1)[0]
            if "extra ==" not in line and needed not in names and _is_installed(needed):
                names.append(needed)
    modules = {name: module for module, found in metadata.packages_distributions().items() for name in found}
    found = [modules[metadata.distribution(name).metadata["Name"]] for name in names[1:]]
    return {"import nothing": "pass"} | {f"import {module}": f"import {module}" for module in found}


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print a table and write a JSON file."""
    config = parse_args(BenchConfig, __doc__, argv)
    console = Console()
    table = new_table("", "first, s", "processor, s", "again, s", "memory, MB")
    rows = {}
    for name, program in chosen(config, ROWS | packages()).items():
        pairs = []
        for _ in range(config.runs):
            with tempfile.TemporaryDirectory() as cache:
                pairs.append((run_program(program, cache), run_program(program, cache)))
        wall, processor, memory = (
            statistics.median(column) for column in zip(*(f for f, _ in pairs), strict=True)
        )
        again = statistics.median(second.wall for _, second in pairs)
        rows[name] = {"first": wall, "processor": processor, "again": again, "memory": memory}
        table.add_row(name, f"{wall:.2f}", f"{processor:.2f}", f"{again:.2f}", f"{memory:.0f}")
    console.print(table)
    found = native.library()
    write_result(config, rows, console, machine_code=None if found is None else found.level)
    return 0


if __name__ == "__main__":
    sys.exit(main())
