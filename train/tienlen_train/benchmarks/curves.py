"""Train every algorithm with several seeds, one core each, for learning curves side by side.

    python -m tienlen_train.benchmarks.curves
    python docs/plot_runs.py runs/curves/* --over cpu --out docs/pictures/curves

Complete runs are not repeated and stopped ones continue, so the command can be repeated.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tienlen_agents.ranges import FreeText, Range
from tienlen_train.command import command
from tienlen_train.config import FOLDER, Config, parse_args, setting

COMMON = ("--threads", "1", "--final-deals", "0")
# These numbers of decisions take one to three minutes on one core.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "PPO": ("tienlen_train.ppo", "--decisions", "1500000", "--eval-every", "6"),
    "PPO, prior none": (
        "tienlen_train.ppo",
        "--prior",
        "none",
        "--decisions",
        "1500000",
        "--eval-every",
        "6",
    ),
    "DMC": ("tienlen_train.dmc", "--decisions", "1500000", "--eval-every", "6"),
    "DMC, counterfactual": (
        *("tienlen_train.dmc", "--returns", "counterfactual", "--decisions", "800000", "--eval-every", "3"),
    ),
    "MaskablePPO": (
        "tienlen_train.ppo_sb3",
        "--decisions",
        "600000",
        "--eval-every",
        "8",
        "--eval-deals",
        "250",
    ),
}


@dataclass(frozen=True, kw_only=True)
class CurvesConfig(Config):
    """Settings.

    Attributes:
        seeds: runs of each algorithm.
        at_once: runs at the same time.
        out: folder of the run folders, ``<algorithm>-<seed>``.
        more: further options for all of them, separated by blanks.
    """

    seeds: int = setting(3, Range(1, 1000))
    at_once: int = setting(2, Range(1, 256))
    out: str = setting("runs/curves", FOLDER)
    more: str = setting("", FreeText("options"))


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the missing runs; the exit status is 1 if one failed."""
    config = parse_args(CurvesConfig, (__doc__ or "").partition("\n")[0], argv)
    console = Console()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def run(name: str, seed: int) -> bool:
        folder = Path(config.out) / f"{name}-{seed}"
        command = [
            sys.executable,
            "-m",
            *ALGORITHMS[name],
            *COMMON,
            "--seed",
            str(seed),
            "--out",
            str(folder),
        ]
        command += config.more.split()
        if (folder / "config.json").is_file():
            command.append("--resume")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        console.print(f"{folder}: {'done' if done.returncode == 0 else done.stderr.strip()}", highlight=False)
        return done.returncode == 0

    jobs = [(name, seed) for seed in range(1, config.seeds + 1) for name in ALGORITHMS]
    with ThreadPoolExecutor(config.at_once) as pool:
        succeeded = list(pool.map(run, *zip(*jobs, strict=True)))
    return 0 if all(succeeded) else 1


if __name__ == "__main__":
    sys.exit(main())
