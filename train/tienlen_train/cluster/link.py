"""The connection of a training run to a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from rich.console import Console

from tienlen_agents.cluster import Identity, TaskPool, connected
from tienlen_agents.extras import MissingExtraError
from tienlen_train.cluster.actors import ClusterExecutor
from tienlen_train.command import RunError
from tienlen_train.executor import ThreadExecutor
from tienlen_train.trainer import SelfPlayTrainer

SECONDS_BETWEEN_LINES: Final = 30.0


class ClusterLink:
    """A trainer's connection to the cluster.

    Args:
        trainer: of the run.
        executor: plays its rollouts.
        console: shows a line on the cluster every half a minute.
    """

    def __init__(
        self,
        trainer: SelfPlayTrainer[Any],
        executor: ClusterExecutor,
        console: Console,
    ) -> None:
        self._trainer, self._executor, self._console = trainer, executor, console
        self._shown = time.monotonic()
        self._decisions: dict[str, int] = {}
        self._since = time.monotonic()

    def metrics(self, seconds: float) -> dict[str, float]:
        """Figures of the cluster after an iteration."""
        import ray

        executor, num_nodes = self._executor, sum(node["Alive"] for node in ray.nodes())
        now = time.monotonic()
        if now - self._shown > SECONDS_BETWEEN_LINES:
            self._show(num_nodes, now)
        return {
            "cluster_nodes": float(num_nodes),
            "staleness": float(self._trainer.plans.last_staleness),
            "bytes_per_decision": executor.num_bytes / max(executor.num_decisions, 1),
        }

    def _show(self, num_nodes: int, now: float) -> None:
        """Print the speed of the cluster and of each node, in decisions per second since the last line."""
        executor, elapsed = self._executor, now - self._since
        rates = {
            node: (count - self._decisions.get(node, 0)) / elapsed
            for node, count in executor.decisions_of.items()
        }
        each = ", ".join(f"{node[:8]} {rate:,.0f}" for node, rate in sorted(rates.items()) if rate)
        self._console.print(
            f"cluster: {num_nodes} nodes, {sum(rates.values()):,.0f} decisions/s ({each}), "
            f"staleness {self._trainer.plans.last_staleness}, "
            f"{executor.num_bytes / max(executor.num_decisions, 1):.0f} bytes a decision"
        )
        self._shown = self._since = now
        self._decisions = dict(executor.decisions_of)


@contextmanager
def linked(trainer: SelfPlayTrainer[Any], console: Console) -> Iterator[None]:
    """Connect a trainer to the cluster of its settings.

    Raises:
        RunError: there is no cluster at the address, or ray is not installed.
    """
    config = trainer.config
    with ExitStack() as stack:
        try:
            identity = Identity.here(config.agent_names(), ["tienlen_train"])
            text = stack.enter_context(connected(config.cluster or "auto", identity))
        except (MissingExtraError, ValueError) as error:
            raise RunError(str(error)) from error
        console.print(text)
        trainer.executor = executor = ClusterExecutor(TaskPool(identity), config.actors, config.threads)
        trainer.link = ClusterLink(trainer, executor, console)
        try:
            yield
        finally:
            executor.cancel()
            trainer.link = None
            trainer.executor = ThreadExecutor(config.threads)
