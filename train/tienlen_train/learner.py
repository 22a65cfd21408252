"""The learner: a model, its optimiser, and gradient steps on minibatches."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from tienlen_agents.device.network import ActionNetwork
from tienlen_train.config import SelfPlayConfig
from tienlen_train.device.trajectories import Picked
from tienlen_train.executor import Executor
from tienlen_train.rollout import IntArray


class Model(nn.Module):
    """A trainable model.

    Attributes:
        network: the policy's network.
    """

    network: ActionNetwork


ModelT = TypeVar("ModelT", bound=Model)

# The decisions of a minibatch: int64 (m,), or on a device `Picked`.
Decisions = IntArray | Picked
# The mean loss of some decisions, float32 (), and the metrics of the step, float32 (k,).
Loss = Callable[[ModelT, Any], tuple[Tensor, Tensor]]


class Learner(Generic[ModelT]):
    """A model, its optimiser, and gradient steps on minibatches.

    Every gradient step is computed in `config.shards` parts, which may run at the same time; the result does
    not depend on that.

    Args:
        model: the trained model.
        config: the settings of the run.
        device: of the model.
        executor: runs the shards.
        num_shards: number of parts; None for that of the settings.
    """

    def __init__(
        self,
        model: ModelT,
        config: SelfPlayConfig,
        device: torch.device,
        executor: Executor,
        num_shards: int | None = None,
    ) -> None:
        self.model = model.to(device)
        self.max_grad_norm = config.max_grad_norm
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=config.learning_rate, eps=1e-5, fused=True
        )
        self.num_shards = config.shards if num_shards is None else num_shards
        self._executor = executor
        # Each shard sums its gradients on a copy of the model that shares its weights.
        self._shards = [self.model, *(copy.deepcopy(self.model) for _ in range(self.num_shards - 1))]
        for shard in self._shards[1:]:
            for ours, theirs in zip(self.model.parameters(), shard.parameters(), strict=True):
                theirs.data = ours.data

    def set_learning_rate(self, learning_rate: float) -> None:
        """Use this learning rate from now on."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate

    def step(self, loss: Loss[ModelT], decisions: Decisions) -> Tensor:
        """Take one gradient step on the mean loss of a minibatch.

        Args:
            loss: the loss and the metrics of some of the decisions.
            decisions: the minibatch.

        Returns:
            float32 (k,), the metrics, averaged over the minibatch.
        """

        def backward(shard: tuple[ModelT, Decisions]) -> Tensor:
            model, part = shard
            weight = len(part) / len(decisions)
            value, metrics = loss(model, part)
            torch.autograd.backward(value * weight)
            return metrics.detach() * weight

        if isinstance(decisions, Picked):
            metrics = [backward((self.model, decisions))]
        else:
            parts = np.array_split(decisions, self.num_shards)
            metrics = self._executor.map(backward, list(zip(self._shards, parts, strict=True)))
        self._apply_gradients()
        return torch.stack(metrics).sum(0)

    def _apply_gradients(self) -> None:
        for shard in self._shards[1:]:
            for ours, theirs in zip(self.model.parameters(), shard.parameters(), strict=True):
                if ours.grad is not None and theirs.grad is not None:
                    ours.grad += theirs.grad
            shard.zero_grad()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def state(self) -> dict[str, Any]:
        """Weights and optimiser, for a checkpoint."""
        return {"learner": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.model.load_state_dict(state["learner"])
        self.optimizer.load_state_dict(state["optimizer"])
