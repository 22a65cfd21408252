"""Generalised advantage estimation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tienlen_train.device.trajectories import DeviceTrajectories
from tienlen_train.rollout import FloatArray, Trajectories


def advantages(
    trajectories: Trajectories, values: FloatArray, *, gamma: float = 1.0, gae_lambda: float
) -> tuple[FloatArray, FloatArray]:
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
    _add_up((reward, value, next_index, advantage), steps, gamma, gae_lambda)
    advantage = advantage[:-1]
    return advantage, advantage + values


def device_advantages(
    trajectories: DeviceTrajectories, values: Tensor, *, gamma: float = 1.0, gae_lambda: float
) -> tuple[Tensor, Tensor]:
    """`advantages` on a device: tensors in and out."""
    advantage = torch.zeros(len(trajectories) + 1, device=values.device)
    value = torch.cat([values, values.new_zeros(1)])
    ends = trajectories.ends
    steps = [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    columns = trajectories.reward, value, trajectories.next_index, advantage
    _add_up(columns, reversed(steps), gamma, gae_lambda)
    return advantage[:-1], advantage[:-1] + values


def _add_up(
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
