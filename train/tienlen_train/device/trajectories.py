"""The trajectories of an iteration on a device, and minibatches of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tienlen_agents.device.network import aligned
from tienlen_agents.networks.features import Inputs
from tienlen_train.learner import Minibatch, Picked, add_up_advantages
from tienlen_train.rollout import Trajectories


@dataclass(frozen=True)
class DeviceTrajectories:
    """n decisions of learning seats in the order of play, as tensors on a device.

    See `tienlen_train.rollout.Trajectories` for what is not described here. Action features are bfloat16,
    (N, X') with columns of 0 behind X.

    Attributes:
        ends: the index after the last decision of each step.
        dtype: of the minibatches' observations and features.
        num_features: X.
    """

    inputs: Inputs
    privileged: Tensor
    chosen: Tensor
    log_probability: Tensor
    action_values: Tensor
    reward: Tensor
    next_index: Tensor
    game: Tensor
    seat: Tensor
    scores: Tensor
    ends: list[int]
    dtype: torch.dtype
    num_features: int

    def __len__(self) -> int:
        """n."""
        return len(self.chosen)

    @property
    def device(self) -> torch.device:
        """Of the tensors."""
        return self.chosen.device

    def minibatches(self, generator: torch.Generator, batch_size: int) -> list[Picked]:
        """One pass over all decisions in random order, in parts of about `batch_size`.

        Args:
            generator: of the device.
            batch_size: decisions.
        """
        num_batches = max(1, round(len(self) / batch_size))
        order = torch.randperm(len(self), generator=generator, device=self.device)
        return self.picked(list(torch.tensor_split(order, num_batches)))

    def picked(self, parts: list[Tensor]) -> list[Picked]:
        """Minibatches by their indices; the processor waits for the device once."""
        num_legal: Any = self.inputs.num_legal
        totals = torch.stack([num_legal[part].sum() for part in parts]).tolist()
        return [Picked(part, total) for part, total in zip(parts, totals, strict=True)]

    def gather(self, picked: Picked) -> Minibatch:
        """The minibatch of m decisions."""
        inputs: Any = self.inputs
        index = picked.index
        num_legal = inputs.num_legal.index_select(0, index)
        start = torch.cumsum(num_legal, 0) - num_legal
        own_start = inputs.segment_start.index_select(0, index)
        decision = torch.arange(len(index), device=self.device)
        owner = torch.repeat_interleave(decision, num_legal, output_size=picked.num_actions)
        rows = torch.arange(picked.num_actions, device=self.device) + (own_start - start)[owner]
        return Minibatch(
            aligned([inputs.observation.index_select(0, index)], self.dtype),
            inputs.action_features.index_select(0, rows).to(self.dtype),
            owner,
            inputs.prior.index_select(0, rows),
            self.chosen.index_select(0, index) - own_start + start,
            self.privileged.index_select(0, index).to(self.dtype),
            index,
            rows,
            num_legal,
        )

    def critic_inputs(self, part: slice) -> tuple[Tensor, Tensor]:
        """The observations and privileged features of some decisions."""
        observation: Any = self.inputs.observation
        return aligned([observation[part]], self.dtype), self.privileged[part].to(self.dtype)

    def to_host(self) -> Trajectories:
        """The same trajectories in the processor's memory."""
        tensors: dict[str, Any] = self.inputs._asdict()
        tensors |= {field.name: getattr(self, field.name) for field in fields(self) if field.name != "inputs"}
        tensors["action_features"] = tensors["action_features"].view(torch.int16)[:, : self.num_features]
        columns = {
            name: tensor.contiguous().cpu().numpy()
            for name, tensor in tensors.items()
            if isinstance(tensor, Tensor)
        }
        sizes = np.diff(self.ends, prepend=0)
        return Trajectories.of(
            columns
            | {
                "action_features": columns["action_features"].view(np.uint16),
                "winning_actions": np.empty(0, np.uint8),
                "teacher_probabilities": np.empty(0, np.float32),
                "step": np.repeat(np.arange(len(sizes)), sizes),
            },
            seconds_acting=0.0,
        )


def device_advantages(
    trajectories: DeviceTrajectories, values: Tensor, *, gamma: float = 1.0, gae_lambda: float
) -> tuple[Tensor, Tensor]:
    """`advantages` on a device: tensors in and out."""
    advantage = torch.zeros(len(trajectories) + 1, device=values.device)
    value = torch.cat([values, values.new_zeros(1)])
    ends = trajectories.ends
    steps = [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    columns = trajectories.reward, value, trajectories.next_index, advantage
    add_up_advantages(columns, reversed(steps), gamma, gae_lambda)
    return advantage[:-1], advantage[:-1] + values
