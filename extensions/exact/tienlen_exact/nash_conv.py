"""Learning curves of NashConv in small games: policy gradients beside algorithms that visit every history.

    tienlen bench nash-conv                       # under two hours on two cores; docs/exact.md has the result
    tienlen bench nash-conv --seeds 2 --rules mini

Every run is a file in the folder `out`; the same command goes on from there after a stop. NashConv is exact
(`tienlen_exact`), so seeds are the only source of chance.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, Final, cast

import numpy as np
from rich.table import Table

from tienlen_agents.arena.stats import estimate
from tienlen_agents.command import cpu_name, versions
from tienlen_agents.executors import WorkerPool
from tienlen_agents.files import write_atomic
from tienlen_agents.settings import COUNT, Config, ConfigError, FreeText, Range, parse_args, setting
from tienlen_env.errors import expected_one_of
from tienlen_exact import Solver, build, measure, small_game
from tienlen_exact.evaluator import NashConv
from tienlen_exact.solvers import Algorithm
from tienlen_train.benchmarks import new_table
from tienlen_train.config import ANY_SEED, FOLDER, command
from tienlen_train.dmc import DMCConfig, DMCTrainer
from tienlen_train.loop import make_console, prepared_process
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.trainer import SelfPlayTrainer

POINTS: Final = 5  # measurements of a run, the last at its end, each after twice as much as the one before
GROWTH: Final = 2.0
# Few games at once and small minibatches: with those of `tienlen train` a run of this length has 200 steps of
# the optimiser, and every algorithm is still near its beginning.
SMALL: Final[dict[str, Any]] = {
    "state_width": 64,
    "action_width": 32,
    "threads": 1,
    "shards": 1,
    "num_games": 256,
    "batch_size": 512,
}
ALONE: Final[dict[str, Any]] = {"prior": "none", "baseline_share": 0.0, "snapshot_share": 0.0}
PPO: Final[dict[str, Any]] = {**SMALL, "critic_width": 64}
# Name to the trainer and its settings; the rest are the defaults of `tienlen train`.
LEARNERS: Final[dict[str, tuple[type[PPOTrainer | DMCTrainer], dict[str, Any]]]] = {
    "ppo": (PPOTrainer, {**PPO, **ALONE}),
    "ppo, pool and prior": (PPOTrainer, PPO),
    "mmd": (PPOTrainer, {**PPO, **ALONE, "ent_coef": 0.4, "kl_coef": 1.0, "clip_coef": 1.0}),
    "dmc": (DMCTrainer, {**SMALL, **ALONE}),
}
SOLVERS: Final[dict[str, Algorithm]] = {"cfr+": "cfr+", "mccfr": "mccfr"}
Point = tuple[int, float, float]  # decisions (of solvers: iterations), seconds of processor time, NashConv


@dataclass(frozen=True, kw_only=True)
class NashConvConfig(Config):
    """Settings of the benchmark.

    Attributes:
        rules: small games, separated by blanks.
        algorithms: names, separated by semicolons; empty for all.
        seeds: runs of each algorithm; `cfr+` draws nothing and has one.
        seed: of the first run.
        decisions: of a run.
        solver_seconds: processor time of a solver.
        workers: processes.
        out: folder of the results.
    """

    rules: str = setting("mini small large", FreeText("small games"))
    algorithms: str = setting("", FreeText("algorithms"))
    seeds: int = setting(10, COUNT)
    seed: int = setting(1, ANY_SEED)
    decisions: int = setting(100_000, COUNT)
    solver_seconds: float = setting(3.0, Range(0, 86_400, above=True))
    workers: int = setting(2, Range(1, 1024))
    out: str = setting("runs/nash_conv", FOLDER)

    def __post_init__(self) -> None:
        """Refuse unknown games and algorithms."""
        super().__post_init__()
        for name in self.rules.split():
            small_game(name)
        known = [*LEARNERS, *SOLVERS]
        if unknown := next((name for name in self.chosen if name not in known), None):
            problem = f"{unknown!r}: {expected_one_of(unknown, known, what='some of')}"
            raise ConfigError(type(self).__name__, "algorithms", problem)

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the algorithms."""
        given = tuple(name.strip() for name in self.algorithms.split(";") if name.strip())
        return given or (*LEARNERS, *SOLVERS)


def learn(name: str, rules: str, seed: int, decisions: int) -> Iterator[Point]:
    """Train, and measure `POINTS` times."""
    make, settings = LEARNERS[name]
    config_class = PPOConfig if make is PPOTrainer else DMCConfig
    config = config_class(**settings, rules=rules, seed=seed, decisions=decisions)
    trainer = cast("type[SelfPlayTrainer[Any]]", make)(config)
    nash_conv = NashConv(trainer.rules)
    due = [decisions / GROWTH**k for k in range(POINTS)]
    while not trainer.is_done:
        trainer.iterate()
        if trainer.num_decisions >= due[-1]:
            while due and trainer.num_decisions >= due[-1]:
                due.pop()
            found = nash_conv(trainer.drawing_agent())["nash_conv"]
            yield trainer.num_decisions, trainer.cpu_seconds, found


def solve(name: str, rules: str, seed: int, seconds: float) -> Iterator[Point]:
    """Iterate for some processor time; measure after 1, 2, 4, ... iterations and at the end."""
    tree = build(small_game(rules))
    Solver(tree, SOLVERS[name], seed=seed).step()  # compiles
    solver, spent, due = Solver(tree, SOLVERS[name], seed=seed), 0.0, 1
    while spent < seconds:
        begin = process_time()
        solver.step()
        spent += process_time() - begin
        if solver.iteration >= due or spent >= seconds:
            due *= 2
            yield solver.iteration, spent, measure(tree, solver.policy()).nash_conv


def run(path: Path, name: str, rules: str, seed: int, config: NashConvConfig) -> str:
    """One run, to its file; returns a line about it."""
    if name in LEARNERS:
        points = list(learn(name, rules, seed, config.decisions))
    else:
        points = list(solve(name, rules, seed, config.solver_seconds))
    about = {"algorithm": name, "rules": rules, "seed": seed, "cpu": cpu_name(), "versions": versions()}
    if name in LEARNERS:
        about["decisions"] = config.decisions
    write_atomic(path, (json.dumps({**about, "points": points}) + "\n").encode())
    return f"{rules}, {name}, seed {seed}: NashConv {points[-1][2]:.5f} after {points[-1][1]:.1f} s"


def geometric_mean(values: Sequence[float]) -> tuple[float, float, float]:
    """The geometric mean and its 95 % interval: a t interval of the logarithms.

    NashConv of seeds differs by factors, so its logarithm is nearer to a normal distribution than itself.

    Args:
        values: above 0, at least two.
    """
    found = estimate(np.log(np.asarray(values, np.float64)), 1)
    return math.exp(found.mean), math.exp(found.low), math.exp(found.high)


def jobs(config: NashConvConfig) -> Iterator[tuple[Path, str, str, int]]:
    """The file, the algorithm, the rules and the seed of every run; a seed of everything before the next."""
    for seed in range(config.seed, config.seed + config.seeds):
        for rules in config.rules.split():
            for name in config.chosen:
                if name != "cfr+" or seed == config.seed:
                    label = "".join(c if c.isalnum() else "-" for c in name)
                    yield Path(config.out) / rules / f"{label}-{seed}.json", name, rules, seed


def result_table(config: NashConvConfig) -> Table:
    """The last NashConv of each algorithm and its seconds, over the seeds."""
    games = config.rules.split()
    table = new_table("", *games, title="NashConv at the end (seconds of one core)")
    for name in config.chosen:
        cells = []
        for rules in games:
            found = [path.read_bytes() for path, *job in jobs(config) if job[:2] == [name, rules]]
            ends = [json.loads(text)["points"][-1] for text in found]
            seconds = float(np.mean([end[1] for end in ends]))
            last = [end[2] for end in ends]
            if len(last) > 1 and min(last) > 0:
                mean, low, high = geometric_mean(last)
                cells.append(f"{mean:.4f} ({low:.4f} to {high:.4f}), {seconds:.0f} s")
            else:
                cells.append(f"{np.mean(last):.5f}, {seconds:.0f} s")
        table.add_row(name, *cells)
    return table


@command
@prepared_process()
def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing, print the table."""
    config = parse_args(NashConvConfig, __doc__, argv)
    console = make_console()
    missing = [job for job in jobs(config) if not job[0].exists()]
    console.print(f"{len(missing)} runs to do, results in {config.out}", highlight=False)
    for path, *_ in missing:
        path.parent.mkdir(parents=True, exist_ok=True)
    with WorkerPool(config.workers) as pool:
        tasks = [pool.submit(run, *job, config) for job in missing]
        try:
            for task in as_completed(tasks):
                console.print(task.result(), highlight=False)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    console.print(result_table(config))
    return 0


if __name__ == "__main__":
    sys.exit(main())
