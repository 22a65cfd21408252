"""An executor of the arena whose jobs are Ray tasks."""

from __future__ import annotations

from collections.abc import Iterator

from tienlen_agents.arena.chunk import Chunk
from tienlen_agents.arena.executors import Task, play_task
from tienlen_agents.cluster.tasks import TaskPool


class RayExecutor:
    """Plays tasks of the arena on a cluster.

    Args:
        pool: of the cluster; its identity has the files of all agents.
    """

    def __init__(self, pool: TaskPool) -> None:
        self.pool = pool

    def play(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Chunk]]:
        """Play the tasks as processors of the cluster become free (see `Executor.play`).

        Raises:
            NodeRefusedError: no node has the versions, the code and the files of this process.
            ArenaRunError: the cluster lost a task too often.
            IllegalPlayError: an agent chose an action that is not legal.
        """
        return self.pool.unordered(play_task, tasks)
