"""Executors: where pure functions run for many items. In this process, in worker processes, or elsewhere.

The arena plays its jobs through an executor, training its rollouts and the learners of a league. A result
does not depend on the executor, because the functions are pure; they and their items can be pickled. An
executor of your own, for a cluster, has one method:

    class Remote(Executor):
        def unordered(self, function, items):
            yield from my_cluster.pairs_in_any_order(function, items)

    arena.match("search", "heuristic", executor=Remote())

A package adds it by name, for ``--executor`` of all commands: an entry point of the group `EXECUTORS` names a
function like `opened`, which gets the text after the name and its colon.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from functools import partial
from multiprocessing.connection import wait as wait_for_sentinels
from types import MappingProxyType
from typing import Final, ParamSpec, Protocol, TypeVar

from tienlen_agents.settings import Config
from tienlen_env.doors import Door

ItemT = TypeVar("ItemT")
ArgumentsT = ParamSpec("ArgumentsT")
ResultT = TypeVar("ResultT")


class ExecutorError(ValueError):
    """An executor that cannot be reached, or that has lost what it ran."""


class WorkerDiedError(ExecutorError):
    """A worker process that ended by itself.

    Args:
        items: what was submitted and has no result; the process ran one of them.
    """

    def __init__(self, items: Iterable[object]) -> None:
        super().__init__("a worker process died")
        self.items = tuple(items)


class Executor(ABC):
    """Runs pure functions.

    Attributes:
        header: JSON values by name, of an executor whose results differ from those of the others; a run's
            file with another header is not continued.
    """

    header: Mapping[str, object] = MappingProxyType({})

    @abstractmethod
    def unordered(
        self, function: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Iterator[tuple[ItemT, ResultT]]:
        """Each item with its result, in any order.

        Args:
            function: pure.
            items: yields items while there are any. Take few in advance: a run may end early, and the rest is
                then left out.

        Raises:
            ExecutorError: the executor has lost an item.
            Exception: what the function raises.
        """

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """The results, in the order of the items."""
        pairs = self.unordered(partial(_of_second, function), enumerate(items))
        found = {place: result for (place, _), result in pairs}
        return [found[place] for place in range(len(items))]

    def start(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Callable[[], list[ResultT]]:
        """Start what can run while this process goes on; a function that waits for the results."""
        return lambda: self.map(function, items)

    def poll(self) -> None:
        """Give free workers what waits; called often while this process goes on."""
        return

    def metrics(self, staleness: int) -> dict[str, float]:
        """Figures after an iteration of training, none here; `staleness`: of the weights that played it."""
        return {}

    def check(self, settings: Config) -> None:
        """Refuse a run before anything is played.

        Args:
            settings: `tienlen_agents.arena.run.ArenaSettings`, or those of a training run.

        Raises:
            ValueError: a setting that the executor does not have.
        """
        return


def _of_second(function: Callable[[ItemT], ResultT], pair: tuple[int, ItemT]) -> ResultT:
    return function(pair[1])


class Opener(Protocol):
    """What an entry point of `EXECUTORS` names."""

    def __call__(
        self, where: str, agents: Sequence[str], *, say: Callable[[str], None], at_once: int | None
    ) -> AbstractContextManager[Executor]:
        """An executor until the block ends.

        Args:
            where: the text after the executor's name, for example an address; empty for none.
            agents: all agents that will play, by their names in `tienlen_agents.load`; other machines need
                their files.
            say: shows a line to the user.
            at_once: the most rollouts at the same time; None for no limit.

        Raises:
            ExecutorError: it cannot be reached.
            ValueError: an agent cannot play there, or `where` is not understood.
            MissingExtraError: a package is not installed.
        """


EXECUTORS: Final = Door[Opener]("tienlen.executors", "executor")


def opened(
    text: str, agents: Sequence[str], *, say: Callable[[str], None], at_once: int | None = None
) -> AbstractContextManager[Executor]:
    """The executor of a name, ``NAME`` or ``NAME:WHERE``; see `Opener`.

    Raises:
        ValueError: there is no such executor.
    """
    name, _, where = text.partition(":")
    return EXECUTORS.load(name)(where, agents, say=say, at_once=at_once)


class Threads(Executor):
    """Threads of this process: torch and compiled code release the interpreter's lock.

    Args:
        num_threads: 1 uses the calling thread alone.
    """

    def __init__(self, num_threads: int = 1) -> None:
        self._pool = ThreadPoolExecutor(num_threads) if num_threads > 1 else None

    def unordered(
        self, function: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Iterator[tuple[ItemT, ResultT]]:
        """See `Executor.unordered`; in their order, and one after the other if there is one thread."""
        if self._pool is None:
            for item in items:
                yield item, function(item)
            return
        given = list(items)
        yield from zip(given, self._pool.map(function, given), strict=True)

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """See `Executor.map`."""
        return [result for _, result in self.unordered(function, items)]


class Processes(Executor):
    """Worker processes on this machine.

    Args:
        workers: number of processes.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def unordered(
        self, function: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Iterator[tuple[ItemT, ResultT]]:
        """See `Executor.unordered`; as processes become free."""
        others = set(multiprocessing.active_children())
        waiting: dict[Future[ResultT], ItemT] = {}
        remaining = iter(items)
        with WorkerPool(self._workers) as pool:
            try:
                while True:
                    # One more than there are workers, so that none waits.
                    for item in remaining:
                        waiting[pool.submit(function, item)] = item
                        if len(waiting) > self._workers:
                            break
                    if not waiting:
                        break
                    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                        result = future.result()
                        yield waiting.pop(future), result
            except BrokenProcessPool as error:
                raise WorkerDiedError(waiting.values()) from error
            except BaseException:  # Ctrl-C, or a result cannot be saved: what is in work is not needed
                for worker in set(multiprocessing.active_children()) - others:
                    worker.terminate()
                raise
            finally:
                pool.shutdown(cancel_futures=True)


class WorkerPool(ProcessPoolExecutor):
    """Processes that end with this one and leave Ctrl-C to it, also while they start.

    Args:
        workers: number of processes.
    """

    def __init__(self, workers: int) -> None:
        # Each is a new interpreter: a fork would copy the threads of Numba and torch in mid-work.
        context = multiprocessing.get_context("spawn")
        super().__init__(workers, mp_context=context, initializer=_end_with_parent)

    # A process inherits which signals its parent blocks. Without this, Ctrl-C in the second in which a worker
    # imports its modules makes it print a traceback.
    def submit(
        self, function: Callable[ArgumentsT, ResultT], /, *args: ArgumentsT.args, **named: ArgumentsT.kwargs
    ) -> Future[ResultT]:
        """See `ProcessPoolExecutor.submit`, which may start a process."""
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            return super().submit(function, *args, **named)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(function, *args, **named)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """In a worker: exit when the parent process has died, instead of waiting for work for ever.

    Ctrl-C reaches every process of a terminal; the parent alone answers it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # a worker may start programs, which shall not block it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait_for_sentinels([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
