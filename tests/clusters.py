"""Clusters of several Ray nodes on this machine, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NODE = {"num_cpus": 2, "object_store_memory": 100 * 2**20, "include_dashboard": False}
TRIALS = 4
TIMES = ("created", "timing", "latencies", "command", "seconds")


def environment() -> dict[str, str]:
    """The environment of processes that run this checkout."""
    paths = [str(ROOT), str(ROOT / "agents"), str(ROOT / "train")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        # Ray stops work when a machine is short of memory; other tests may run beside this one.
        "RAY_memory_monitor_refresh_ms": "0",
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
    """A `ray.cluster_utils.Cluster` of nodes with two processors each."""
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
