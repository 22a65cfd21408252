"""Generalised advantage estimation."""

from __future__ import annotations

import numpy as np

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
    begin = 0
    for end in ends.tolist():
        now = order[begin:end]
        after = next_index[now]
        delta = reward[now] + gamma * value[after] - value[now]
        advantage[now] = delta + gamma * gae_lambda * advantage[after]
        begin = end
    advantage = advantage[:-1]
    return advantage, advantage + values
