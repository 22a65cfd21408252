"""Decisions per second of training, compared with MaskablePPO and a network of the same size.

    python -m research.learning

Acting, learning and resets are included; every row trains networks of about 460,000 weights (policy and
critic together). Rows are measured in turn, three times, by wall time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import torch
from rich.console import Console
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import tienlen_env  # noqa: F401  (registers the environment)
from tienlen_agents.command import cpu_name, versions
from tienlen_agents.settings import parse_args
from tienlen_env.envs.sb3 import OneSeatVecEnv
from tienlen_train.benchmarks import BenchConfig, new_table, write_result
from tienlen_train.config import command
from tienlen_train.loop import prepared_process
from tienlen_train.ppo import PPOConfig, PPOTrainer


@dataclass(frozen=True, kw_only=True)
class LearningBenchConfig(BenchConfig):
    """Settings of the benchmark; iterations are completed.

    Attributes:
        seconds: minimum length of one run of one row.
    """

    seconds: float = 8.0
    out: str = "runs/bench_learning.json"

    def __post_init__(self) -> None:
        """Refuse a text that is in no row's name."""
        super().__post_init__()
        if not any(self.only in name for name in ROWS):
            self.refuse("only", f"expected a part of one of: {'; '.join(ROWS)}")


# Trains for at least this number of seconds; returns the decisions trained on, and the share of time outside
# the network (None if unknown).
Learn = Callable[[float], tuple[int, float | None]]


def ours(threads: int, num_games: int = 1024, batch_size: int = 4096) -> tuple[Learn, int]:
    """`tienlen_train.ppo` with two epochs."""
    trainer = PPOTrainer(
        PPOConfig(
            threads=threads,
            num_games=num_games,
            batch_size=batch_size,
            state_width=192,
            critic_width=144,
            final_deals=0,
        )
    )

    def learn(seconds: float) -> tuple[int, float | None]:
        before, shares, begin = trainer.num_decisions, [], time.perf_counter()
        while time.perf_counter() - begin < seconds:
            shares.append(trainer.iterate()["outside_network"])
        return trainer.num_decisions - before, statistics.mean(shares)

    return learn, sum(p.numel() for p in trainer.learner.model.parameters())


def maskable_ppo(env: VecEnv, **settings: int) -> tuple[Learn, int]:
    """MaskablePPO of sb3-contrib."""
    width = 256
    model = MaskablePPO(
        "MlpPolicy", env, policy_kwargs={"net_arch": [width, width]}, device="cpu", seed=1, **settings
    )

    def learn(seconds: float) -> tuple[int, float | None]:
        before, begin = model.num_timesteps, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            model.learn(model.n_steps * model.n_envs, reset_num_timesteps=False)
        return model.num_timesteps - before, None

    return learn, sum(p.numel() for p in model.policy.parameters())


def default_env() -> VecEnv:
    """One game of the Gymnasium environment, as in MaskablePPO's documentation."""
    return DummyVecEnv(
        [
            lambda: ActionMasker(
                gymnasium.make("tienlen_env/TienLen-v1", skip_forced=False),
                lambda env: env.unwrapped.action_masks(),
            )
        ]
    )


def _vector_env(num_envs: int) -> VecEnv:
    return OneSeatVecEnv(num_envs, rules="cardgames", copy=False)


ROWS: Final[dict[str, Callable[[], tuple[Learn, int]]]] = {
    "MaskablePPO, defaults": lambda: maskable_ppo(default_env()),
    "MaskablePPO, 64 games, batches of 2,048, 4 epochs": lambda: maskable_ppo(
        _vector_env(64), n_steps=64, batch_size=2048, n_epochs=4
    ),
    "MaskablePPO, 256 games, batches of 8,192, 2 epochs": lambda: maskable_ppo(
        _vector_env(256), n_steps=64, batch_size=8192, n_epochs=2
    ),
    "tienlen_train.ppo, 1 thread": lambda: ours(1),
    "tienlen_train.ppo, 2 threads": lambda: ours(2),
    "tienlen_train.ppo, 2 threads, 2,048 games, batches of 8,192": lambda: ours(
        2, num_games=2048, batch_size=8192
    ),
}


def measure(
    rows: dict[str, tuple[Learn, int]], config: LearningBenchConfig, console: Console
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Decisions a second of every row, and the share of the time outside the network."""
    rates: dict[str, list[float]] = {name: [] for name in rows}
    outside: dict[str, list[float]] = {name: [] for name in rows}
    for name, (learn, _) in rows.items():  # once to warm up
        learn(0.01)
        console.print(f"warmed up: {name}", style="dim")
    for _ in range(config.runs):
        for name, (learn, _) in rows.items():
            begin = time.perf_counter()
            decisions, share = learn(config.seconds)
            rates[name].append(decisions / (time.perf_counter() - begin))
            if share is not None:
                outside[name].append(share)
            console.print(f"{rates[name][-1]:10,.0f}  {name}", style="dim", highlight=False)
    return rates, outside


@command
@prepared_process()
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the JSON."""
    config = parse_args(LearningBenchConfig, __doc__, argv)
    console = Console()
    validates = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        rows = {name: make() for name, make in ROWS.items() if config.only in name}
        rates, outside = measure(rows, config, console)
    finally:
        torch.distributions.Distribution.set_default_validate_args(validates)
    headers = ("", "weights", "median", "min", "max", "outside the network")
    table = new_table(*headers, title="decisions a second, acting and learning")
    result: dict[str, Any] = {}
    for name, (_, weights) in rows.items():
        found = rates[name]
        share = statistics.median(outside[name]) if outside[name] else None
        result[name] = {"weights": weights, "rates": found, "outside_network": share}
        table.add_row(
            name,
            f"{weights:,}",
            *(f"{x:,.0f}" for x in (statistics.median(found), min(found), max(found))),
            "" if share is None else f"{share:.0%}",
        )
    console.print(f"{cpu_name()} · " + " · ".join(f"{k} {v}" for k, v in versions().items()), style="dim")
    console.print(table)
    write_result(config, result, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
