"""Train a policy that the champion has never met: MaskablePPO of stable-baselines3 against rule-based ones.

python -m research.sb3_player --out sb3.zip
tienlen match champion "policy:sb3.zip,trust=1" --composition 1v3
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from pathlib import Path

from sb3_contrib import MaskablePPO

import tienlen_agents
from tienlen_agents.files import write_atomic
from tienlen_env.envs.sb3 import OneSeatVecEnv

OPPONENTS = ("greedy_long", "heuristic")


def main(argv: Sequence[str] | None = None) -> None:
    """Train, and write the policy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the file, which ends with .zip")
    parser.add_argument("--decisions", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    if options.out.suffix != ".zip" or not options.out.parent.is_dir():
        parser.error(f"--out {options.out}: expected a file of an existing folder that ends with .zip")
    if options.decisions < 1 or options.seed < 0:
        parser.error("--decisions, --seed: expected a number from 1, and one from 0")
    venv = OneSeatVecEnv(64, reward="zero_sum", skip_forced=True, seed=options.seed)
    venv.set_opponents([tienlen_agents.load(name) for name in OPPONENTS])
    model = MaskablePPO(
        "MlpPolicy", venv, n_steps=64, batch_size=512, gamma=1.0, seed=options.seed, device="cpu"
    )
    model.learn(options.decisions)
    buffer = io.BytesIO()
    model.save(buffer)
    write_atomic(options.out, buffer.getvalue())


if __name__ == "__main__":
    main()
