"""What a Ray cluster costs, and what it gains.

    python -m tienlen_train.benchmarks.cluster                   # measure, predict, simulate (five minutes)
    python -m tienlen_train.benchmarks.cluster --nodes "" --pairs 0    # the simulation alone
    python -m tienlen_train.benchmarks.cluster --nodes "" --deals 60000 --pairs 5     # the overhead, longer

Three parts. The overhead: the same match with a pool of processes and on a cluster, alternately, both with
two processors of this machine; the start of the cluster is left out, that of its worker processes is not. The
rates: training on clusters of some nodes, one processor each, all on this machine, beside what the simulation
predicts. The simulation: decisions a second of clusters of any size, from the times and sizes measured here
(`tienlen_train.cluster.simulation`).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tienlen_agents import arena
from tienlen_agents.cluster import Identity, TaskPool, connect, connected
from tienlen_agents.extras import require
from tienlen_agents.ranges import FreeText, Range
from tienlen_train.cluster.packing import PackedTrajectories, pack, unpack
from tienlen_train.cluster.simulation import Cluster, Measured, simulate
from tienlen_train.command import command
from tienlen_train.config import (
    AGENTS,
    COUNT,
    COUNT_OR_NONE,
    DEALS,
    Config,
    Several,
    parse_args,
    setting,
)
from tienlen_train.loop import train
from tienlen_train.minibatch import TrajectoryTensors
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.rollout import PolicyWeights, RolloutJob, join, rollout

MEMORY = 150 * 2**20  # bytes of each node's object store


@dataclass(frozen=True, kw_only=True)
class ClusterBenchConfig(Config):
    """Settings of the benchmark.

    Attributes:
        pairs: matches with each executor; 0 for none.
        deals: of each match.
        agents: of each match, two names separated by a blank.
        nodes: sizes of clusters on this machine whose training is measured, separated by blanks.
        iterations: of each training run, and of the run in this process whose parts are timed. The first
            half of them is not measured.
        simulated: sizes of clusters that are simulated, separated by blanks.
        games: of a job.
        learner_speed: speed of the learner in the second half of the simulation, for example of a GPU,
            relative to one processor here.
    """

    pairs: int = setting(3, COUNT_OR_NONE)
    deals: int = setting(20_000, DEALS)
    agents: str = setting("heuristic greedy", AGENTS)
    nodes: str = setting("1 2 3", FreeText("numbers separated by blanks"))
    iterations: int = setting(40, Range(4))
    simulated: str = setting("1 10 100 1000", Several(COUNT))
    games: int = setting(128, COUNT)
    learner_speed: float = setting(50.0, Range(0, above=True))


@contextmanager
def nodes_here(num_nodes: int, cpus: int = 1) -> Iterator[str]:
    """A cluster of several nodes on this machine; its address."""
    from ray.cluster_utils import Cluster as Nodes

    node = {"num_cpus": cpus, "object_store_memory": MEMORY, "include_dashboard": False}
    cluster = Nodes(initialize_head=True, head_node_args=node)
    try:
        for _ in range(num_nodes - 1):
            cluster.add_node(**node)
        cluster.wait_for_nodes()
        yield cluster.address
    finally:
        cluster.shutdown()


def overhead(config: ClusterBenchConfig, console: Console) -> list[float]:
    """Time on the cluster relative to the pool of processes, one number for each pair."""
    agents = config.agents.split()

    def match(**where: Any) -> float:
        begin = time.perf_counter()
        arena.match(*agents, num_deals=config.deals, **where)
        return time.perf_counter() - begin

    found = []
    with nodes_here(1, cpus=2) as address:
        for number in range(config.pairs):
            seconds = {}
            for kind in ("pool", "cluster") if number % 2 else ("cluster", "pool"):
                if kind == "pool":
                    seconds[kind] = match(workers=2)
                else:
                    with connect(address, agents, quiet=True) as executor:
                        seconds[kind] = match(executor=executor)
            found.append(seconds["cluster"] / seconds["pool"])
            console.print(
                f"pair {number + 1}: pool {seconds['pool']:.1f} s, cluster {seconds['cluster']:.1f} s, "
                f"{found[-1] - 1:+.1%}",
                highlight=False,
            )
    return found


def settings(games: int, shards: int = 1) -> PPOConfig:
    """The measured run: PPO as `make train` has it, with jobs of some games."""
    return PPOConfig(
        num_games=games * shards,
        shards=shards,
        threads=1,
        eval_every=0,
        final_deals=0,
        checkpoint_every=10**6,
    )


def measure(config: ClusterBenchConfig, address: str) -> Measured:
    """Times and sizes on this machine, each the median of several iterations of a run with one job each.

    The run is the one of `training_rate`, without a cluster: with the iterations the pool of opponents grows,
    and with it the weights that are sent and the time to play.

    Args:
        config: of the benchmark.
        address: of a cluster with one node.
    """
    run = settings(config.games)
    PPOTrainer.prepare_process(run)
    trainer = PPOTrainer(run)
    names = ("play", "unpack", "value", "learn")
    times: dict[str, list[float]] = {name: [] for name in names}
    decisions, sizes, weights = [], [], []
    for number in range(config.iterations):
        (job,) = trainer.jobs(trainer.plan(number))
        clock = [time.process_time()]
        packed = pack(rollout(job))
        clock.append(time.process_time())
        trajectories = join([unpack(packed)])
        clock.append(time.process_time())
        trainer.values(TrajectoryTensors(trajectories, trainer.device, trainer.dtype))
        clock.append(time.process_time())
        trainer.learn(trajectories)
        clock.append(time.process_time())
        if number >= config.iterations // 2:
            for name, seconds in zip(names, np.diff(clock), strict=True):
                times[name].append(float(seconds))
            decisions.append(len(trajectories))
            sizes.append(packed.num_bytes)
            weights.append(sum(value.nbytes for one in job.policies for value in one.weights.values()))
        trainer.iteration += 1
        trainer.end_iteration()
    middle = {name: median(values) for name, values in times.items()}
    task_seconds, trip_seconds = seconds_of_a_task(address, job, packed)
    gradient = sum(value.nbytes for value in trainer.learner.model.parameters())
    mean = float(np.mean(decisions))
    return Measured(
        job_decisions=mean,
        play_seconds=middle["play"],
        play_spread=float(np.std(times["play"]) / np.mean(times["play"])),
        task_seconds=task_seconds,
        trip_seconds=trip_seconds,
        unpack_seconds=middle["unpack"],
        value_seconds=middle["value"],
        step_seconds=middle["learn"] - middle["value"],
        steps=max(1.0, mean / run.batch_size) * run.update_epochs,
        job_bytes=float(np.mean(sizes)),
        weight_bytes=float(median(weights)),
        gradient_bytes=float(gradient),
    )


def nothing(item: int) -> int:
    """A task without content."""
    return item


def carry(result: PackedTrajectories, policies: tuple[PolicyWeights, ...]) -> PackedTrajectories:
    """A task that gets the messages of a job, and sends them, but plays nothing."""
    return result


def seconds_of_a_task(
    address: str, job: RolloutJob, packed: PackedTrajectories, num_tasks: int = 300
) -> tuple[float, float]:
    """What a task costs.

    Args:
        address: of a cluster with one node.
        job: with the weights that a node gets in an iteration.
        packed: the result of a job.
        num_tasks: how many are timed.

    Returns:
        The driver's processor time for a task without content; and the time from the driver's first step to
        the result, by the clock, for a task that carries the messages of a job.
    """
    import ray

    identity = Identity.here([], ["tienlen_train"])
    trips = []
    with connected(address, identity):
        tasks = TaskPool(identity)
        tasks.map(nothing, range(20))
        begin = time.process_time()
        tasks.map(nothing, range(num_tasks))
        task_seconds = (time.process_time() - begin) / num_tasks
        for _ in range(30):
            begin = time.perf_counter()
            tasks.result(tasks.submit(carry, packed, ray.put(job.policies)))
            trips.append(time.perf_counter() - begin)
    return task_seconds, float(median(trips))


def training_rate(num_nodes: int, config: ClusterBenchConfig) -> float:
    """Decisions a second of a run on nodes of one processor each, without its first half."""
    with nodes_here(num_nodes) as address, tempfile.TemporaryDirectory() as folder:
        run = settings(config.games, num_nodes)
        out = Path(folder) / "run"
        values = {**vars(run), "cluster": address, "out": str(out), "stop_after": config.iterations}
        train(PPOTrainer, PPOConfig(**values), Console(quiet=True))
        lines = (out / "metrics.jsonl").read_text().splitlines()
        rates = [json.loads(line)["decisions_per_second"] for line in lines[len(lines) // 2 :]]
        return float(median(rates))


def show_simulation(measured: Measured, config: ClusterBenchConfig, console: Console) -> None:
    """Print the table of clusters of any size: one learner, one on every node, and a fast one."""
    table = Table(title="simulated: 16 actors a node, 10 Gbit/s, one job an actor and iteration", box=None)
    for name in ("nodes", "learners", "speed", "stale", "decisions/s", "actors", "learner", "link", "limit"):
        table.add_column(name, justify="right", no_wrap=True)
    sizes = [int(nodes) for nodes in config.simulated.split()]
    for learners, speed in ((1, 1.0), (None, 1.0), (1, config.learner_speed)):
        for staleness in (0, 1):
            for nodes in sizes:
                found = simulate(
                    measured,
                    Cluster(nodes, learners=learners or nodes, staleness=staleness, learner_speed=speed),
                )
                table.add_row(
                    f"{nodes:,}",
                    f"{learners or nodes:,}",
                    f"{speed:g}",
                    str(staleness),
                    f"{found.decisions_per_second:,.0f}",
                    f"{found.playing:.1%}",
                    f"{found.learning + found.unpacking:.0%}",
                    f"{found.receiving:.1%}",
                    found.limit,
                )
    console.print(table)


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print what was measured."""
    config = parse_args(ClusterBenchConfig, "Measure the cost and the gain of a Ray cluster.", argv)
    console = Console()
    require("ray", "cluster", "this benchmark")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray runs its workers at nice 15; the pool's processes, with which they are compared, are not.
    os.environ.setdefault("RAY_worker_niceness", "0")
    if config.pairs:
        ratios = overhead(config, console)
        console.print(
            f"overhead of the cluster: {median(ratios) - 1:+.1%}, the median of {config.pairs} pairs"
        )
    with nodes_here(1) as address:
        measured = measure(config, address)
    for name, value in measured._asdict().items():
        console.print(f"{name} {value:,.5g}", highlight=False)
    console.print(f"bytes a decision {measured.job_bytes / measured.job_decisions:.0f}", highlight=False)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for num_nodes in map(int, config.nodes.split()):
        local = Cluster(num_nodes, actors_per_node=1, processors=processors, bytes_per_second=4e9)
        predicted = simulate(measured, local).decisions_per_second
        rate = training_rate(num_nodes, config)
        console.print(
            f"{num_nodes} nodes here: {rate:,.0f} decisions/s, predicted {predicted:,.0f} "
            f"({predicted / rate - 1:+.0%})",
            highlight=False,
        )
    show_simulation(measured, config, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
