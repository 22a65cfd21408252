"""What all algorithms learn with: advantages, minibatches, and the gradient steps of a model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from tienlen_agents.device.network import ActionNetwork, as_bfloat16
from tienlen_env.games.common.arrays import Float32Array, IntArray
from tienlen_train.config import SelfPlayConfig
from tienlen_train.executor import Executor
from tienlen_train.rollout import Trajectories

# ---------------------------------------------------------------- advantages


def advantages(
    trajectories: Trajectories, values: Float32Array, *, gamma: float = 1.0, gae_lambda: float
) -> tuple[Float32Array, Float32Array]:
    """Generalised advantage estimates within each (game, seat).

    Args:
        trajectories: n decisions.
        values: float32 (n,), the critic's expected return from each decision on.
        gamma: discount from one decision of a seat to its next.
        gae_lambda: trace decay; 1 gives the return minus the value.

    Returns:
        ``(advantages, returns)``, float32 (n,) each; the returns are the critic's targets.

    Source: Schulman et al., High-dimensional continuous control using generalized advantage estimation, 2016.
    """
    reward, next_index, step = trajectories.reward, trajectories.next_index, trajectories.step
    advantage = np.zeros(len(trajectories) + 1, np.float32)  # the last one stands for "no next decision"
    value = np.append(values, np.float32(0))
    # Backwards over steps: a decision and its next one are never in one step. Joined rollouts have
    # the same step numbers, so all decisions of a step are taken together.
    order = np.argsort(-step, kind="stable")
    ends = np.flatnonzero(np.diff(step[order], append=np.iinfo(np.int64).min)) + 1
    steps = np.split(order, ends[:-1].tolist())
    add_up_advantages((reward, value, next_index, advantage), steps, gamma, gae_lambda)
    advantage = advantage[:-1]
    return advantage, advantage + values


def add_up_advantages(
    columns: tuple[Any, Any, Any, Any], steps: Iterable[Any], gamma: float, gae_lambda: float
) -> None:
    """Write the advantages of the decisions of each step, the last step first.

    Args:
        columns: the reward, the value, the next decision, and the advantage, which is written; arrays or
            tensors. Index -1 of values and advantages stands for "no next decision".
        steps: the indices of the decisions of each step.
        gamma: see `advantages`.
        gae_lambda: see `advantages`.
    """
    reward, value, next_index, advantage = columns
    for now in steps:
        after = next_index[now]
        delta = reward[now] + gamma * value[after] - value[now]
        advantage[now] = delta + gamma * gae_lambda * advantage[after]


# ---------------------------------------------------------------- minibatches


@dataclass(frozen=True)
class Picked:
    """The decisions of a minibatch.

    Attributes:
        index: int64 (m,), a tensor.
        num_actions: M, the number of their legal actions.
    """

    index: Tensor
    num_actions: int

    def __len__(self) -> int:
        """m."""
        return len(self.index)


def minibatches(rng: np.random.Generator, num_decisions: int, batch_size: int) -> list[IntArray]:
    """One pass over all decisions in random order: indices, in parts of about `batch_size`."""
    num_batches = max(1, round(num_decisions / batch_size))
    return np.array_split(rng.permutation(num_decisions), num_batches)


class Minibatch(NamedTuple):
    """m decisions with M legal actions in total.

    Attributes:
        observation: (m, O + E), or with a play summary (m, O + R + E).
        action_features: (M, X).
        segment_ids: int64 (M,), ascending: the decision of each action, 0 to m - 1.
        prior: float32 (M,).
        chosen: int64 (m,), index of each decision's action among the M.
        privileged: (m, H), for the critic.
        decisions: int64 (m,), their indices in the trajectories.
        rows: int64 (M,), their legal actions there.
        num_legal: int64 (m,), number of legal actions of each decision.
    """

    observation: Tensor
    action_features: Tensor
    segment_ids: Tensor
    prior: Tensor
    chosen: Tensor
    privileged: Tensor
    decisions: Tensor
    rows: Tensor
    num_legal: Tensor


class TrajectoryTensors:
    """The trajectories of an iteration as tensors, the source of minibatches.

    Args:
        trajectories: n decisions.
        device: of the tensors.
        dtype: of observations and features.
    """

    def __init__(self, trajectories: Trajectories, device: torch.device, dtype: torch.dtype) -> None:
        inputs = trajectories.inputs
        self.device = device
        self.observation = torch.from_numpy(inputs.observation).to(device, dtype)
        self.privileged = torch.from_numpy(trajectories.privileged).to(device, dtype)
        self.action_features = as_bfloat16(inputs.action_features).to(device, dtype)
        self.prior = torch.from_numpy(inputs.prior).to(device)
        self.segment_start = inputs.segment_start
        self.num_legal = inputs.num_legal
        self.position = trajectories.chosen - inputs.segment_start  # of the chosen action in its segment

    def __len__(self) -> int:
        """n."""
        return len(self.num_legal)

    def action_rows(self, decisions: IntArray) -> tuple[Tensor, Tensor, IntArray]:
        """Where the legal actions of some decisions are.

        Returns:
            ``(rows, segment_ids, segment_start)``: int64 (M,), indices into the ragged actions; int64 (M,)
            and int64 (m,), see `Minibatch` and `Inputs`.
        """
        num_legal = self.num_legal[decisions]
        segment_start = np.cumsum(num_legal) - num_legal
        segment_ids = np.repeat(np.arange(len(decisions)), num_legal)
        rows = np.arange(len(segment_ids)) + (self.segment_start[decisions] - segment_start)[segment_ids]
        return self.tensor(rows), self.tensor(segment_ids), segment_start

    def gather(self, decisions: IntArray) -> Minibatch:
        """The minibatch of m decisions, int64 (m,)."""
        rows, segment_ids, segment_start = self.action_rows(decisions)
        index = self.tensor(decisions)
        return Minibatch(
            self.observation.index_select(0, index),
            self.action_features.index_select(0, rows),
            segment_ids,
            self.prior.index_select(0, rows),
            self.tensor(segment_start + self.position[decisions]),
            self.privileged.index_select(0, index),
            index,
            rows,
            self.tensor(self.num_legal[decisions]),
        )

    def critic_inputs(self, part: slice) -> tuple[Tensor, Tensor]:
        """The observations and privileged features of some decisions."""
        return self.observation[part], self.privileged[part]

    def tensor(self, array: IntArray) -> Tensor:
        """An array on the device."""
        return torch.from_numpy(array).to(self.device)


# ---------------------------------------------------------------- gradient steps


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

    def train(self, loss: Loss[ModelT], epochs: Iterable[Iterable[Decisions]]) -> list[float]:
        """Take a gradient step for every minibatch of every epoch; the means of the metrics of the steps."""
        totals, num_updates = torch.zeros(()), 0
        for epoch in epochs:
            for decisions in epoch:
                totals = totals + self.step(loss, decisions)
                num_updates += 1
        means: list[float] = (totals / num_updates).tolist()
        return means

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
