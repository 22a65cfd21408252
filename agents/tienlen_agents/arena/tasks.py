"""Tasks: the jobs of a run, as an executor plays them (`tienlen_agents.executors`).

A chunk is a pure function of its agents and its `Job` (see `chunk`): it does not depend on the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tienlen_agents
from tienlen_agents.arena.chunk import Chunk, Job, play_chunk
from tienlen_agents.arena.play import warm_up
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


class LocalPlay:
    """Plays tasks with agents that are objects of this process.

    Args:
        agents: all agents of the run.
        on_step: see `play_deals`.
    """

    def __init__(self, agents: Sequence[Agent], on_step: Callable[[float, int], None] | None = None) -> None:
        self._agents = agents
        self._on_step = on_step
        self._warm: set[int] = set()

    def __call__(self, task: Task) -> Chunk:
        """Play a task."""
        seated = [self._agents[index] for index in task.seated]
        if task.match_up not in self._warm:
            warm_up(seated, task.job.rules, task.job.history)
            self._warm.add(task.match_up)
        return play_chunk(seated, task.job, self._on_step)


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
