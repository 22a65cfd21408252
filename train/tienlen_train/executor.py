"""Executors of the parts of an iteration: rollouts, and the shards of gradient steps.

`ThreadExecutor` runs them in this process: torch and compiled code release the interpreter lock. Another
executor can run `tienlen_train.rollout.rollout` on other machines; its jobs and results can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar, runtime_checkable

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

# Parts of the games and of every gradient step if the settings name no number. Results depend on it, but not
# on the threads, processes or machines that do the work.
NUM_SHARDS: Final = 2


class Executor(Protocol):
    """Runs a function on several items."""

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """The results, in the order of the items."""


@runtime_checkable
class StartingExecutor(Executor, Protocol):
    """An executor that can work on items while the caller does something else."""

    def start(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Callable[[], list[ResultT]]:
        """Start to run a function on several items; a function that waits for the results, in order."""


def start(
    executor: Executor, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
) -> Callable[[], list[ResultT]]:
    """Start to run a function on several items, if the executor can do that.

    Returns:
        A function that gives the results, in the order of the items.
    """
    if isinstance(executor, StartingExecutor):
        return executor.start(function, items)
    return lambda: executor.map(function, items)


class ThreadExecutor:
    """Runs a function on several items in threads.

    Args:
        num_threads: 1 uses the calling thread alone.
    """

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads
        self._pool = ThreadPoolExecutor(num_threads) if num_threads > 1 else None

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """The results, in the order of the items."""
        if self._pool is None:
            return list(map(function, items))
        return list(self._pool.map(function, items))
