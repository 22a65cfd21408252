"""What all algorithms learn with: advantages, minibatches, and the gradient steps of a model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from tienlen_agents.networks.features import Inputs
from tienlen_env.games.common.arrays import Float32Array, IntArray
from tienlen_train.config import SelfPlayConfig
from tienlen_train.network import ActionNetwork, aligned, as_bfloat16
from tienlen_train.rollout import Trajectories

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


@dataclass(frozen=True, kw_only=True)
class TrajectoryTensors:
    """n decisions with N legal actions as tensors, the source of minibatches.

    Attributes:
        inputs: the inputs of the network.
        privileged: (n, H), inputs of the critic alone.
        chosen: int64 (n,), indices into the ragged actions.
        dtype: of the minibatches' observations and features.
        for_device: whether observations end with columns of 0, see `aligned`.
    """

    inputs: Inputs
    privileged: Tensor
    chosen: Tensor
    dtype: torch.dtype
    for_device: ClassVar[bool] = False

    @classmethod
    def of(cls, trajectories: Trajectories, device: torch.device, dtype: torch.dtype) -> Self:
        """The tensors of trajectories in the processor's memory."""
        inputs: dict[str, Any] = {
            name: torch.from_numpy(array) for name, array in trajectories.inputs._asdict().items()
        }
        inputs["observation"] = inputs["observation"].to(dtype)
        inputs["action_features"] = as_bfloat16(trajectories.inputs.action_features).to(dtype)
        return cls(
            inputs=Inputs(**{name: tensor.to(device) for name, tensor in inputs.items()}),
            privileged=torch.from_numpy(trajectories.privileged).to(device, dtype),
            chosen=torch.from_numpy(trajectories.chosen).to(device),
            dtype=dtype,
        )

    def __len__(self) -> int:
        """n."""
        return len(self.chosen)

    @property
    def device(self) -> torch.device:
        """Of the tensors."""
        return self.chosen.device

    def gather(self, decisions: IntArray | Picked) -> Minibatch:
        """The minibatch of m decisions."""
        inputs: Any = self.inputs
        index = decisions.index if isinstance(decisions, Picked) else torch.from_numpy(decisions)
        index = index.to(self.device)
        num_legal = inputs.num_legal.index_select(0, index)
        end = torch.cumsum(num_legal, 0)
        num_actions = decisions.num_actions if isinstance(decisions, Picked) else int(end[-1])
        # From where the decision's actions are to where they come in the minibatch.
        shift = inputs.segment_start.index_select(0, index) - (end - num_legal)
        decision = torch.arange(len(index), device=self.device)
        owner = torch.repeat_interleave(decision, num_legal, output_size=num_actions)
        rows = torch.arange(num_actions, device=self.device) + shift[owner]
        return Minibatch(
            self._aligned(inputs.observation.index_select(0, index)),
            inputs.action_features.index_select(0, rows).to(self.dtype),
            owner,
            inputs.prior.index_select(0, rows),
            self.chosen.index_select(0, index) - shift,
            self.privileged.index_select(0, index).to(self.dtype),
            index,
            rows,
            num_legal,
        )

    def critic_inputs(self, part: slice) -> tuple[Tensor, Tensor]:
        """The observations and privileged features of some decisions."""
        observation: Any = self.inputs.observation
        return self._aligned(observation[part]), self.privileged[part].to(self.dtype)

    def _aligned(self, observation: Tensor) -> Tensor:
        return aligned([observation], self.dtype) if self.for_device else observation


@dataclass(frozen=True, kw_only=True)
class DeviceTrajectories(TrajectoryTensors):
    """n decisions of learning seats in the order of play, as tensors on a device.

    See `tienlen_train.rollout.Trajectories` for what is not described here. Action features are bfloat16,
    (N, X') with columns of 0 behind X.

    Attributes:
        ends: the index after the last decision of each step.
        scores: float32 (B, P), on the processor.
    """

    for_device: ClassVar[bool] = True
    log_probability: Tensor
    action_values: Tensor
    reward: Tensor
    next_index: Tensor
    game: Tensor
    seat: Tensor
    ends: list[int]
    scores: Float32Array

    def steps(self) -> list[slice]:
        """The decisions of each step."""
        return [slice(begin, end) for begin, end in zip([0, *self.ends[:-1]], self.ends, strict=True)]

    def picked(self, parts: Sequence[Tensor]) -> list[Picked]:
        """Minibatches by their indices; the processor waits for the device once."""
        num_legal: Any = self.inputs.num_legal
        totals = torch.stack([num_legal[part].sum() for part in parts]).tolist()
        return [Picked(part, total) for part, total in zip(parts, totals, strict=True)]


# What an iteration has played: on the processor, or on a device.
AnyTrajectories = Trajectories | DeviceTrajectories


def minibatches(
    played: AnyTrajectories, seed: tuple[int, ...], batch_size: int, num_epochs: int
) -> Iterator[Any]:
    """The passes over all decisions in random order: `DecisionIndices` in parts of about `batch_size`.

    Args:
        played: n decisions.
        seed: of the order; a device draws other numbers.
        batch_size: decisions.
        num_epochs: passes.
    """
    num_batches = max(1, round(len(played) / batch_size))
    if isinstance(played, Trajectories):
        rng = np.random.default_rng(seed)
        for _ in range(num_epochs):
            yield np.array_split(rng.permutation(len(played)), num_batches)
        return
    words = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    generator = torch.Generator(played.device).manual_seed(int(words[0]) >> 1)
    for _ in range(num_epochs):
        order = torch.randperm(len(played), generator=generator, device=played.device)
        yield played.picked(torch.tensor_split(order, num_batches))


# ---------------------------------------------------------------- advantages


def advantages(
    trajectories: AnyTrajectories, values: Any, *, gamma: float = 1.0, gae_lambda: float
) -> tuple[Any, Any]:
    """Generalised advantage estimates within each (game, seat).

    Args:
        trajectories: n decisions, on the processor or on a device.
        values: float32 (n,), the critic's expected return from each decision on: an array, or a tensor of
            the device.
        gamma: discount from one decision of a seat to its next.
        gae_lambda: trace decay; 1 gives the return minus the value.

    Returns:
        ``(advantages, returns)``, float32 (n,) each, as the values; the returns are the critic's targets.

    Source: Schulman et al., High-dimensional continuous control using generalized advantage estimation, 2016.
    """
    reward, next_index = trajectories.reward, trajectories.next_index
    # The last value and the last advantage stand for "no next decision".
    value: Any
    advantage: Any
    if isinstance(values, Tensor):
        value = nn.functional.pad(values, (0, 1))
        advantage = torch.zeros_like(value)
    else:
        value = np.append(values, np.float32(0))
        advantage = np.zeros_like(value)
    # Backwards over steps: a decision and its next one are never in one step.
    for now in reversed(trajectories.steps()):
        after = next_index[now]
        delta = reward[now] + gamma * value[after] - value[now]
        advantage[now] = delta + gamma * gae_lambda * advantage[after]
    return advantage[:-1], advantage[:-1] + values


# ---------------------------------------------------------------- gradient steps


class Model(nn.Module):
    """A trainable model: the policy's network, alone or with more.

    Args:
        network: the policy's network.
    """

    def __init__(self, network: ActionNetwork) -> None:
        super().__init__()
        self.network = network

    def logits(self, batch: Minibatch) -> Tensor:
        """The scores of the legal actions, float32 (M,)."""
        num_legal = batch.num_legal if self.network.for_device else None
        scores: Tensor = self.network(
            batch.observation, batch.action_features, batch.segment_ids, batch.prior, num_legal
        )
        return scores


ModelT = TypeVar("ModelT", bound=Model)

# The decisions of a minibatch: int64 (m,), or on a device `Picked`.
DecisionIndices = IntArray | Picked
# The mean loss of some decisions, float32 (), and the metrics of the step, float32 (k,).
Loss = Callable[[ModelT, Any], tuple[Tensor, Tensor]]


class Learner(Generic[ModelT]):
    """A model, its optimiser, and gradient steps on minibatches.

    Args:
        model: the trained model.
        config: the settings of the run.
        device: of the model.
        map_here: runs a function for each shard, in threads of this process.
        num_shards: number of parts of every gradient step, which may be computed at the same time; the
            result does not depend on that.
    """

    def __init__(
        self,
        model: ModelT,
        config: SelfPlayConfig,
        device: torch.device,
        map_here: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]],
        num_shards: int,
    ) -> None:
        self.model = model.to(device)
        self.max_grad_norm = config.max_grad_norm
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=config.learning_rate, eps=1e-5, fused=True
        )
        self.num_shards = num_shards
        self._map = map_here
        # Each shard sums its gradients on a copy of the model that shares its weights.
        self._shards = [self.model, *(copy.deepcopy(self.model) for _ in range(self.num_shards - 1))]
        for shard in self._shards[1:]:
            for ours, theirs in zip(self.model.parameters(), shard.parameters(), strict=True):
                theirs.data = ours.data

    def set_learning_rate(self, learning_rate: float) -> None:
        """Use this learning rate from now on."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate

    def train(self, loss: Loss[ModelT], epochs: Iterable[Iterable[DecisionIndices]]) -> list[float]:
        """Take a gradient step for every minibatch of every epoch; the means of the metrics of the steps."""
        totals, num_updates = torch.zeros(()), 0
        for epoch in epochs:
            for decisions in epoch:
                totals = totals + self.step(loss, decisions)
                num_updates += 1
        means: list[float] = (totals / num_updates).tolist()
        return means

    def step(self, loss: Loss[ModelT], decisions: DecisionIndices) -> Tensor:
        """Take one gradient step on the mean loss of a minibatch.

        Args:
            loss: the loss and the metrics of some of the decisions.
            decisions: the minibatch.

        Returns:
            float32 (k,), the metrics, averaged over the minibatch.
        """

        def backward(shard: tuple[ModelT, DecisionIndices]) -> Tensor:
            model, part = shard
            weight = len(part) / len(decisions)
            value, metrics = loss(model, part)
            torch.autograd.backward(value * weight)
            return metrics.detach() * weight

        if isinstance(decisions, Picked):
            metrics = [backward((self.model, decisions))]
        else:
            parts = np.array_split(decisions, self.num_shards)
            metrics = self._map(backward, list(zip(self._shards, parts, strict=True)))
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
