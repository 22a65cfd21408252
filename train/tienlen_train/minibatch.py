"""Minibatches of an iteration's decisions, as tensors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tienlen_agents.device.network import as_bfloat16
from tienlen_train.rollout import IntArray, Trajectories


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
