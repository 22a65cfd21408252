"""What the iterations of a run play: drawn in their order, and played ahead of the learner if asked.

With a staleness of S, the games of an iteration are started when S iterations before it are not yet learned.
So the learner and the actors work at the same time, and the weights that play are exactly S iterations older
than those that learn (fewer in the first S). The plan fixes everything that is random, so a curve depends on
S and not on the speed of any machine. PPO's probability ratio is between the learner's policy and the one
that played, which is the correction for the difference.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from tienlen_env.games.common.arrays import IntArray
from tienlen_train.opponent_pool import OpponentPool, Seating, Snapshot


@dataclass(eq=False)
class Plan:
    """What an iteration plays.

    Attributes:
        iteration: its number.
        keys: int64 (B,), deal keys.
        seating: the policies in the seats.
        opponent_seeds: the seed of each rule-based opponent.
        version: the iteration after which the learner had these weights.
        weights: of the policy that plays, by name, on the CPU.
        results: waits for the rollouts: `Trajectories`, or those of a device.
    """

    iteration: int
    keys: IntArray
    seating: Seating
    opponent_seeds: tuple[int, ...]
    version: int
    weights: Mapping[str, Tensor]
    results: Callable[[], list[Any]] = list


class Planner(Protocol):
    """A trainer, as far as it plans.

    Attributes:
        iteration: its iteration.
    """

    iteration: int

    def plan(self, iteration: int) -> Plan:
        """What is played in an iteration, with the present weights."""

    def start(self, plan: Plan) -> Callable[[], list[Any]]:
        """Start to play a plan, if the executor can do that; a function that waits for the rollouts."""


class Plans:
    """The plans that have been started and not yet learned.

    Args:
        staleness: S.

    Attributes:
        last_staleness: of the plan that was taken last: iterations between its weights and the learner's.
    """

    def __init__(self, staleness: int) -> None:
        self.staleness = staleness
        self.last_staleness = 0
        self._waiting: deque[Plan] = deque()

    def next(self, planner: Planner) -> Plan:
        """The plan of the trainer's iteration; those of the next S iterations are started as well."""
        for plan in self._waiting:
            if plan.results is list:  # of a checkpoint
                self._start(planner, plan)
        while len(self._waiting) <= self.staleness:
            plan = planner.plan(planner.iteration + len(self._waiting))
            self._start(planner, plan)
            self._waiting.append(plan)
        plan = self._waiting.popleft()
        self.last_staleness = planner.iteration - plan.version
        return plan

    def _start(self, planner: Planner, plan: Plan) -> None:
        plan.results = planner.start(plan)

    def state(self) -> dict[str, Any]:
        """The plans in a checkpoint; nothing without staleness."""
        if not self._waiting:
            return {}
        return {
            "plans": [
                {
                    "iteration": plan.iteration,
                    "keys": torch.from_numpy(plan.keys),
                    "seat_policies": torch.from_numpy(plan.seating.seat_policies),
                    "snapshots": [
                        (snapshot.version, dict(snapshot.weights), snapshot.score)
                        for snapshot in plan.seating.snapshots
                    ],
                    "opponent_seeds": list(plan.opponent_seeds),
                    "version": plan.version,
                    "weights": dict(plan.weights),
                }
                for plan in self._waiting
            ]
        }

    def restore(self, state: Mapping[str, Any], pool: OpponentPool) -> None:
        """Continue from what `state` returned; the plans are played again."""
        self._waiting.clear()
        in_pool = {snapshot.version: snapshot for snapshot in pool.snapshots}
        for values in state.get("plans", []):
            snapshots = [
                in_pool.get(values_of[0]) or Snapshot(*values_of) for values_of in values["snapshots"]
            ]
            self._waiting.append(
                Plan(
                    values["iteration"],
                    np.array(values["keys"].numpy()),
                    Seating(np.array(values["seat_policies"].numpy()), snapshots),
                    tuple(values["opponent_seeds"]),
                    values["version"],
                    values["weights"],
                )
            )
