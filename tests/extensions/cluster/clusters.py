"""Clusters of several Ray nodes on this machine, and the short runs that tests play on them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from tests.needs import FOLDERS
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import Network, NetworkConfig, shapes_of
from tienlen_env.games.registry import get_rules
from tienlen_train.loop import train
from tienlen_train.ppo import PPOConfig, PPOTrainer

# One processor each: every worker process costs seconds of importing.
NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
TRIALS = 4
# Of an arena report, what differs between two runs of the same match.
TIMES = ("created", "timing", "latencies", "command", "seconds")
# Of a run's metrics, figures of time and place; all others must agree.
FREE = {"time", "seconds", "cpu_seconds", "decisions_per_second", "outside_network"}
FREE |= {"cluster_nodes", "bytes_per_decision", "staleness"}

# The network and the steps of every short training run here.
SMALL: dict[str, Any] = {
    "num_games": 48,
    "batch_size": 256,
    "state_width": 16,
    "action_width": 8,
    "critic_width": 16,
    "threads": 1,
}
# A whole run of PPO in five iterations, with a checkpoint after each.
SMALL_RUN: dict[str, Any] = {
    **SMALL,
    "snapshot_every": 2,
    "eval_every": 0,
    "final_deals": 0,
    "checkpoint_every": 1,
    "stop_after": 5,
}


def environment() -> dict[str, str]:
    """The environment of processes that run this checkout."""
    paths = [str(folder) for folder in FOLDERS]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        # Ray stops work when a machine is short of memory; other tests may run beside this one.
        "RAY_memory_monitor_refresh_ms": "0",
        # Ray runs its workers at nice 15, so that other tests would take their time.
        "RAY_worker_niceness": "0",
        # A busy machine answers late.
        "RAY_health_check_timeout_ms": "60000",
    }


def add_node(cluster: Any, **options: Any) -> Any:
    """Start a node; Ray waits 30 s for it, which can be too short on a busy machine."""
    for _ in range(TRIALS - 1):
        with suppress(Exception):
            return cluster.add_node(**NODE, **options)
    return cluster.add_node(**NODE, **options)


@contextmanager
def running_cluster(num_nodes: int) -> Iterator[Any]:
    """A `ray.cluster_utils.Cluster` of nodes with one processor each."""
    from ray.cluster_utils import Cluster

    before = dict(os.environ)
    os.environ.update(environment())
    for _ in range(TRIALS):
        cluster = Cluster()
        with suppress(Exception):
            cluster.add_node(**NODE)
            break
        cluster.shutdown()
    try:
        for _ in range(num_nodes - 1):
            add_node(cluster)
        cluster.wait_for_nodes(60)
        yield cluster
    finally:
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)


def without_times(value: Any) -> Any:
    """A report as JSON values, without what differs between two runs of the same match."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def figures(path: Path) -> str:
    """The figures of an arena.json, as text."""
    return json.dumps(without_times(json.loads(path.read_text())), indent=1)


def a_policy(path: Path, seed: int = 1) -> None:
    """Write a policy of random weights."""
    config = NetworkConfig.of(get_rules("cardgames"), record=True, state_width=16, action_width=8)
    rng = np.random.default_rng(seed)
    weights = {
        name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes_of(config).items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    NetworkAgent(Network(config, weights), "small").save(path)


def curve(out: Path) -> list[dict[str, float]]:
    """The lines of a run's metrics, without times."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in FREE} for line in lines]


def small_run(out: Path, **settings: Any) -> PPOTrainer:
    """Train `SMALL_RUN`; the trainer after it."""
    config = PPOConfig(**{**SMALL_RUN, **settings}, out=str(out))
    return train(PPOTrainer, config, Console(quiet=True))[0]


def assert_same_run(one: Path, other: Path) -> None:
    """Every figure and every bit of the policy is the same, and every decision is counted once."""
    assert curve(one) == curve(other)
    assert [line["iteration"] for line in curve(one)] == list(range(1, SMALL_RUN["stop_after"] + 1))
    assert (one / "policy.safetensors").read_bytes() == (other / "policy.safetensors").read_bytes()


class Change:
    """Progress of the arena that removes a node and adds another while the run plays."""

    def __init__(self, nodes: Any) -> None:
        self.nodes = nodes
        self.num_chunks = 0

    def start(self, title: str, num_games: int) -> None:
        pass

    def advance(self, num_games: int, num_decisions: int) -> None:
        self.num_chunks += 1
        if self.num_chunks == 2:
            remove_a_node(self.nodes)
        if self.num_chunks == 4:
            add_node(self.nodes)


def remove_a_node(nodes: Any) -> None:
    """Kill all processes of a node that is not the head."""
    nodes.remove_node(sorted(nodes.worker_nodes, key=id)[0], allow_graceful=False)


def kill_an_actor(nodes: Any) -> None:
    """Kill a process that plays, as soon as there is one."""
    kill_a_process(nodes, b"ray::run_here")


def kill_a_process(nodes: Any, title: bytes) -> None:
    """Kill the newest process of the nodes whose command begins with a title, as soon as there is one.

    Only what tasks run in: Ray's own agents have such titles, too, and a node ends with its agents.
    """
    while not (found := children(nodes, title)):
        time.sleep(0.005)
    os.kill(found[-1], signal.SIGKILL)


class Moment:
    """Does something once at a random moment of a run of `SMALL_RUN`, before the run ends.

    The earliest moment is that of the first checkpoint: before it there is no run that could be resumed
    (tests/project/test_kill_points.py has what happens then). The block of a ``with`` statement is the run.
    It fails if the moment came after the run.

    Args:
        out: the folder of the run.
        seed: of the moment.
        act: what to do.
    """

    def __init__(self, out: Path, seed: int, act: Callable[[], None]) -> None:
        rng = random.Random(seed)
        self._metrics, self._act = out / "metrics.jsonl", act
        # Whole iterations, and a share of the time of one more.
        self._after, self._share = rng.randrange(SMALL_RUN["stop_after"] - 2), rng.random()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._has_ended = False
        self._error: BaseException | None = None
        self.iteration = -1  # how many iterations had ended at the moment

    def num_iterations(self) -> int:
        """How many iterations the run has ended."""
        return self._metrics.read_text().count("\n") if self._metrics.exists() else 0

    def _watch(self) -> None:
        times = [time.monotonic()]  # of the start, and of the end of each iteration
        checkpoints = self._metrics.parent / "checkpoints"
        while not any(checkpoints.glob("*.pt")) or self.num_iterations() < self._after:
            if self._has_ended:
                return
            times += [time.monotonic()] * (1 + self.num_iterations() - len(times))
            time.sleep(0.005)
        times += [time.monotonic()] * (1 + self.num_iterations() - len(times))
        # The first iteration also starts processes and compiles: it does not say how long another one takes.
        # On a busy machine the last one may have taken longer than all that follow: it waits for one at most.
        end = time.monotonic() + (self._share * (times[-1] - times[-2]) if len(times) > 2 else 0.0)
        num_ended = self.num_iterations()
        while time.monotonic() < end and self.num_iterations() == num_ended:
            time.sleep(0.005)
        try:
            self.iteration = self.num_iterations()
            self._act()
        except BaseException as error:
            self._error = error

    def __enter__(self) -> Moment:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._has_ended = True
        self._thread.join(60)
        if error[0] is None:
            assert self._error is None, self._error
            assert not self._thread.is_alive(), "the run ended before it was disturbed"
            assert 0 <= self.iteration < SMALL_RUN["stop_after"], "the moment came after the run"


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start a command of this checkout: the words after ``python -m``."""
    command = [sys.executable, "-m", *arguments]
    return subprocess.Popen(
        command, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )


def children(cluster: Any, title: bytes) -> list[int]:
    """The processes of a cluster's nodes whose command begins with a title, by their ids."""
    raylets = {
        process.process.pid
        for node in cluster.list_all_nodes()
        for process in node.all_processes.get("raylet", [])
    }
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue  # it has ended
        if parent in raylets and command.startswith(title):
            found.append(int(folder.name))
    return sorted(found)
