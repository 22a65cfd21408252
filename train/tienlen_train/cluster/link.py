"""Training on a cluster: actors play rollouts with the weights that they are sent, a link reports on them.

An actor keeps nothing between jobs but loaded opponents and compiled code: a job says everything, the
weights have a version, and they are sent once to each node. So the cluster may give a job to any process, and
again to another one if the first is lost; the decisions of a job are counted once, when its result is taken.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

import torch
from rich.console import Console

from tienlen_agents.cluster import Identity, TaskPool, connected
from tienlen_agents.extras import MissingExtraError
from tienlen_train.cluster.packing import PackedTrajectories, pack, unpack
from tienlen_train.config import RunError, SelfPlayConfig
from tienlen_train.executor import ThreadExecutor
from tienlen_train.rollout import PolicyWeights, RolloutJob, rollout

SECONDS_BETWEEN_LINES: Final = 30.0

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def play_packed(job: RolloutJob, policies: tuple[PolicyWeights, ...]) -> PackedTrajectories:
    """In an actor: the rollout of a job, packed.

    Args:
        job: without policies.
        policies: of the job.
    """
    torch.set_num_threads(1)  # as in the trainer's process
    return pack(rollout(replace(job, policies=policies)))


def _is_rollout(function: object) -> bool:
    return function is rollout


@dataclass
class _Started:
    """A job on its way."""

    job: RolloutJob
    policies: Any  # a reference in Ray
    reference: Any = None
    result: PackedTrajectories | None = None


class ClusterExecutor(ThreadExecutor):
    """Rollouts on the cluster, everything else in threads of this process.

    Args:
        pool: of the cluster.
        num_actors: jobs that are played at the same time; None for all.
        num_threads: of this process.
        console: shows a line on the cluster every half a minute.

    Attributes:
        num_bytes: bytes of all rollouts that were taken.
        num_decisions: their decisions.
        decisions_of: the decisions that each node played, by its id in Ray.
    """

    def __init__(self, pool: TaskPool, num_actors: int | None, num_threads: int, console: Console) -> None:
        super().__init__(num_threads)
        self._console = console
        self._shown = time.monotonic()
        self._shown_decisions: Counter[str] = Counter()  # `decisions_of` at that time
        self.num_bytes = 0
        self.num_decisions = 0
        self.decisions_of: Counter[str] = Counter()
        self._tasks = pool
        self._num_actors = num_actors
        self._queue: deque[_Started] = deque()
        self._playing: dict[Any, _Started] = {}

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """The results, in the order of the items; rollouts on the cluster."""
        if _is_rollout(function):
            return self.start(function, items)()
        self._advance(0.0)
        return super().map(function, items)

    def start(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Callable[[], list[ResultT]]:
        """Start rollouts; a function that waits for them."""
        if not _is_rollout(function):
            return lambda: ThreadExecutor.map(self, function, items)
        import ray

        jobs = cast("Sequence[RolloutJob]", items)
        policies = ray.put(jobs[0].policies)
        started = [_Started(replace(job, policies=()), policies) for job in jobs]
        self._queue.extend(started)
        self._advance(0.0)

        def results() -> list[ResultT]:
            while any(one.result is None for one in started):
                self._advance(1.0)
            taken = [one.result for one in started if one.result is not None]
            self.num_bytes += sum(packed.num_bytes for packed in taken)
            self.num_decisions += sum(packed.num_decisions for packed in taken)
            return cast("list[ResultT]", [unpack(packed) for packed in taken])

        return results

    def _advance(self, seconds: float) -> None:
        """Take what is finished, and start as many jobs as there are free actors.

        Args:
            seconds: wait so long for a job to finish.
        """
        import ray

        while self._queue and (self._num_actors is None or len(self._playing) < self._num_actors):
            one = self._queue.popleft()
            one.reference = self._tasks.submit(play_packed, one.job, one.policies)
            self._playing[one.reference] = one
        if not self._playing:
            return
        done, _ = ray.wait(list(self._playing), num_returns=1, timeout=seconds)
        for reference in done:
            one = self._playing.pop(reference)
            answer = self._tasks.result(reference)
            if answer is None:  # the node does not take part
                self._queue.appendleft(one)
            else:
                one.result = answer.result
                self.decisions_of[answer.node] += answer.result.num_decisions
        if done:
            self._advance(0.0)

    def cancel(self) -> None:
        """Give up the jobs that no caller waits for any more."""
        import ray

        self._queue.clear()
        for reference in self._playing:
            ray.cancel(reference, force=False)
        self._playing.clear()

    def metrics(self, staleness: int) -> dict[str, float]:
        """Figures of the cluster after an iteration.

        Args:
            staleness: iterations between the weights that played and those that learned.
        """
        import ray

        num_nodes = sum(node["Alive"] for node in ray.nodes())
        bytes_per_decision = self.num_bytes / max(self.num_decisions, 1)
        now = time.monotonic()
        if now - self._shown > SECONDS_BETWEEN_LINES:
            # Decisions per second since the last line, of the cluster and of each node.
            new = self.decisions_of - self._shown_decisions
            rates = {node: count / (now - self._shown) for node, count in sorted(new.items())}
            each = ", ".join(f"{node[:8]} {rate:,.0f}" for node, rate in rates.items())
            self._console.print(
                f"cluster: {num_nodes} nodes, {sum(rates.values()):,.0f} decisions/s ({each}), "
                f"staleness {staleness}, {bytes_per_decision:.0f} bytes a decision"
            )
            self._shown, self._shown_decisions = now, Counter(self.decisions_of)
        return {
            "cluster_nodes": float(num_nodes),
            "staleness": float(staleness),
            "bytes_per_decision": bytes_per_decision,
        }


@contextmanager
def cluster_executor(config: SelfPlayConfig, console: Console) -> Iterator[ClusterExecutor]:
    """An executor on the cluster of a run's settings.

    Raises:
        RunError: there is no cluster at the address, or ray is not installed.
    """
    with ExitStack() as stack:
        try:
            identity = Identity.here(config.agent_names(), ["tienlen_train"])
            text = stack.enter_context(connected(config.cluster or "auto", identity))
        except (MissingExtraError, ValueError) as error:
            raise RunError(str(error)) from error
        console.print(text)
        executor = ClusterExecutor(TaskPool(identity), config.actors, config.threads, console)
        try:
            yield executor
        finally:
            executor.cancel()
