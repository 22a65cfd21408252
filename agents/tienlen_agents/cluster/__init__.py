"""A connection to a Ray cluster, for the arena and for training: `connect` gives an executor for arena runs.

    from tienlen_agents import arena, cluster

    with cluster.connect("auto", ["heuristic", "policy:runs/a/policy.safetensors"]) as executor:
        arena.match("heuristic", "policy:runs/a/policy.safetensors", executor=executor)

The package ``ray`` is in the extra ``cluster``; this module imports it in `connect` and not before.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from tienlen_agents.arena.chunk import Chunk
from tienlen_agents.arena.executors import Task, play_task
from tienlen_agents.arena.store import ArenaRunError
from tienlen_agents.cluster.tasks import Identity, TaskPool
from tienlen_env.extras import require
from tienlen_env.rendering.view import plural

GROUP_SECONDS: Final = 0.5  # a task of Ray costs milliseconds, so it plays jobs for about this time
MOST_JOBS: Final = 64  # of one task of Ray


def play_group(tasks: Sequence[Task]) -> tuple[list[Chunk], float]:
    """In a worker process: the chunks of some tasks, and the seconds that they took."""
    begin = time.perf_counter()
    return [play_task(task) for task in tasks], time.perf_counter() - begin


class RayExecutor:
    """Plays tasks of the arena on a cluster.

    Args:
        pool: of the cluster; its identity has the files of all agents.
    """

    def __init__(self, pool: TaskPool) -> None:
        self.pool = pool
        self._group_size = 1

    def play(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Chunk]]:
        """Play the tasks as processors of the cluster become free (see `Executor.play`).

        Raises:
            NodeRefusedError: no node has the versions, the code and the files of this process.
            ArenaRunError: the cluster lost a task too often.
            IllegalPlayError: an agent chose an action that is not legal.
        """
        for group, (chunks, seconds) in self.pool.unordered(play_group, self._groups(tasks)):
            self._group_size = min(max(int(GROUP_SECONDS * len(group) / seconds), 1), MOST_JOBS)
            yield from zip(group, chunks, strict=True)

    def _groups(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, ...]]:
        while group := tuple(islice(tasks, self._group_size)):
            yield group


ANSWER_SECONDS: Final = 10.0  # to wait for a connection
# One thread for each task: Ray gives a task one processor.
_ENVIRONMENT: Final = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


class ClusterError(ArenaRunError):
    """A cluster that cannot be reached or used."""


@contextmanager
def connected(address: str, identity: Identity) -> Iterator[str]:
    """Connect this process to a Ray cluster.

    Args:
        address: ``"auto"``: the cluster that this machine is a node of (or that RAY_ADDRESS names);
            ``"local"``: a new one on this machine, which ends with the connection; else ``HOST:PORT`` of the
            head node, or ``ray://HOST:PORT`` from a machine that is not a node.
        identity: its files with relative paths are sent to the nodes.

    Yields:
        One line that describes the cluster, with the address of its dashboard.

    Raises:
        ClusterError: there is no cluster at the address.
        MissingExtraError: ray is not installed (the extra ``cluster``).
    """
    require("ray", "cluster", "--cluster")
    os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
    # A run reports no usage to Ray's authors unless the user has chosen so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        raise ClusterError("this process is connected to a Ray cluster already: end that connection first")
    _check_answers(address)
    with ExitStack() as stack:
        environment: dict[str, Any] = {"env_vars": _ENVIRONMENT}
        if identity.shipped:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tienlen-")))
            for name in identity.shipped:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(name, folder / name)
            environment["working_dir"] = str(folder)
        try:
            context = ray.init(
                address=address,
                runtime_env=environment,
                log_to_driver=False,
                logging_level="ERROR",
                include_dashboard=None,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise _no_answer(address, error) from error
        stack.callback(ray.shutdown)
        alive = [node for node in ray.nodes() if node["Alive"]]
        cpus = sum(node["Resources"].get("CPU", 0) for node in alive)
        text = f"cluster: {plural(len(alive), 'node')}, {plural(int(cpus), 'processor')}"
        yield f"{text}, dashboard http://{context.dashboard_url}" if context.dashboard_url else text


def _check_answers(address: str) -> None:
    """Refuse an address where nothing listens; Ray would wait for minutes.

    Raises:
        ClusterError: nothing listens there, or it is not an address.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if address in ("auto", "local"):
        return
    if not colon or not host or not port.isdecimal():
        raise ClusterError(f"--cluster {address}: expected auto, local, HOST:PORT or ray://HOST:PORT")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS):
            pass
    except (OSError, OverflowError) as error:
        raise _no_answer(address, error) from error


def _no_answer(address: str, error: Exception) -> ClusterError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ClusterError(
        f"--cluster {address}: no Ray cluster answers ({reason}). "
        "Start one with 'ray start --head', or use --cluster local"
    )


@contextmanager
def connect(
    address: str,
    agents: Sequence[str] = (),
    *,
    packages: Iterable[str] = (),
    quiet: bool = False,
) -> Iterator[RayExecutor]:
    """Connect to a Ray cluster; yields an executor for the functions of the arena.

    Args:
        address: see `connected`.
        agents: the names of all agents that will play. Files that they mention are sent to the nodes if their
            paths are relative, and are expected at the same path on every node if they are absolute.
        packages: see `Identity.here`.
        quiet: print nothing.

    Raises:
        ClusterError, MissingExtraError: see `connected`.
    """
    identity = Identity.here(agents, packages)
    with connected(address, identity) as text:
        if not quiet:
            print(text, file=sys.stderr)
        pool = TaskPool(identity)
        yield RayExecutor(pool)
        if not quiet:
            print(pool.summary(), file=sys.stderr)
