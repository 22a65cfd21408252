"""Executors: where the jobs of a run are played. In this process, in worker processes, or elsewhere.

A result does not depend on the executor, because a chunk is a pure function of its agents and its `Job` (see
`chunk`). An executor of your own, for a cluster, calls `play_task` on its machines:

    class Remote:
        def play(self, tasks):
            for task, chunk in my_cluster.map_unordered(play_task, tasks):
                yield task, chunk

    arena.match("search", "heuristic", executor=Remote())
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for_sentinels
from typing import NamedTuple, Protocol

import tienlen_agents
from tienlen_agents.arena.chunk import Chunk, Job, play_chunk
from tienlen_agents.arena.play import warm_up
from tienlen_agents.arena.store import ArenaRunError
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules


class Task(NamedTuple):
    """A job of a run, and who plays it.

    Attributes:
        match_up: index of the match-up in the run.
        seated: indices of its agents in the run's list.
        names: the texts that `tienlen_agents.load` makes the agents of; empty if the run was given
            objects.
        job: what to play.
    """

    match_up: int
    seated: tuple[int, ...]
    names: tuple[str, ...]
    job: Job


class Executor(Protocol):
    """Plays tasks.

    One whose chunks differ from those of the executors here has an attribute ``header``, a mapping of JSON
    values; a run's file with another header is not continued.
    """

    def play(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Chunk]]:
        """Yield each task with its chunk, in any order.

        Args:
            tasks: yields tasks while there are any. Take few in advance: a match-up may end early, and its
                remaining tasks are then left out.

        Raises:
            IllegalPlayError: an agent chose an action that is not legal.
            ArenaRunError: a worker died.
        """


class LocalExecutor:
    """Plays one task after the other in this process.

    Args:
        agents: all agents of the run, as objects.
        on_step: see `play_deals`.
    """

    def __init__(self, agents: Sequence[Agent], on_step: Callable[[float, int], None] | None = None) -> None:
        self._agents = agents
        self._on_step = on_step

    def play(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Chunk]]:
        """Play the tasks in their order (see `Executor.play`)."""
        warm: set[int] = set()
        for task in tasks:
            seated = [self._agents[index] for index in task.seated]
            if task.match_up not in warm:
                warm_up(seated, task.job.rules, task.job.history)
                warm.add(task.match_up)
            yield task, play_chunk(seated, task.job, self._on_step)


class ProcessExecutor:
    """Plays tasks in worker processes on this machine.

    Args:
        workers: number of processes.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def play(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Chunk]]:
        """Play the tasks as processes become free (see `Executor.play`)."""
        others = set(multiprocessing.active_children())
        waiting: dict[Future[Chunk], Task] = {}
        with worker_pool(self._workers) as pool:
            try:
                while True:
                    # One more than there are workers, so that none waits.
                    while len(waiting) <= self._workers and (task := next(tasks, None)) is not None:
                        waiting[pool.submit(play_task, task)] = task
                    if not waiting:
                        break
                    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                        chunk = future.result()
                        yield waiting.pop(future), chunk
            except BrokenProcessPool as error:
                played = dict.fromkeys(" v. ".join(task.names) for task in waiting.values())
                raise ArenaRunError(
                    f"a worker process of the arena died while it played {' or '.join(played)}: too little "
                    "memory, or an agent that ends its process (isolate=1 shows which); a run with `out` "
                    "resumes from its last chunk"
                ) from error
            except BaseException:  # Ctrl-C, or a chunk cannot be saved: the tasks in work are not needed
                for worker in set(multiprocessing.active_children()) - others:
                    worker.terminate()
                raise
            finally:
                pool.shutdown(cancel_futures=True)


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """Processes that end with this one."""
    # Each is a new interpreter: a fork would copy the threads of Numba and torch in mid-work.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """In a worker: exit when the parent process has died, instead of waiting for work for ever.

    Ctrl-C reaches every process of a terminal; the parent alone answers it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait_for_sentinels([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_loaded: dict[tuple[str, int], Agent] = {}
_warm: set[tuple[tuple[str, ...], AnyRules]] = set()


def forget_agents() -> None:
    """Load agents again from their names at the next `play_task`, since their files may have changed."""
    _loaded.clear()
    _warm.clear()


def play_task(task: Task) -> Chunk:
    """Load the agents of a task by name, and play it.

    The process keeps the agents for later tasks: one object per name, or several if a name is seated more
    than once at a match-up.
    """
    seated = []
    for place, name in enumerate(task.names):
        key = name, task.names[:place].count(name)
        if key not in _loaded:
            _loaded[key] = tienlen_agents.load(name)
        seated.append(_loaded[key])
    if (task.names, task.job.rules) not in _warm:
        warm_up(seated, task.job.rules, task.job.history)
        _warm.add((task.names, task.job.rules))
    return play_chunk(seated, task.job)
