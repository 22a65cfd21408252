"""Executors of the parts of an iteration: rollouts, and the shards of gradient steps.

`ThreadExecutor` runs them in this process: torch and compiled code release the interpreter lock. Another
executor can run `tienlen_train.rollout.rollout` on other machines; its jobs and results can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

# Parts of the games and of every gradient step if the settings name no number. Results depend on it, but not
# on the threads, processes or machines that do the work.
NUM_SHARDS: Final = 2


class Executor(Protocol):
    """Runs a function on several items.

    It may have two more methods: ``start`` takes the same arguments, begins to work, and returns a function
    that waits for the results; ``metrics`` takes the staleness of an iteration and returns figures.
    """

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """The results, in the order of the items."""


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
