"""An executor of the arena whose jobs are Ray tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from tienlen_agents.arena.chunk import Chunk
from tienlen_agents.arena.executors import Task, play_task
from tienlen_agents.cluster.tasks import TaskPool

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
