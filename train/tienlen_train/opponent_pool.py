"""What the iterations of self-play play: the opponents, and plans.

In a share of the games some seats belong to an opponent: a rule-based baseline or an older snapshot of the
policy. Snapshots against which the learner scores worse are sampled more often (prioritised fictitious
self-play).

Plans are drawn in the order of the iterations. With a staleness of S, the games of an iteration are started
when S iterations before it are not yet learned. So the learner and the actors work at the same time, and the
weights that play are exactly S iterations older than those that learn (fewer in the first S). The plan fixes
everything that is random, so a curve depends on S and not on the speed of any machine. PPO's probability
ratio is between the learner's policy and the one that played, which is the correction for the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

import tienlen_agents
from tienlen_agents.external.seeds import seed_key_of
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_train.config import SelfPlayConfig
from tienlen_train.rollout import LEARNER, teachers_of

NUM_SAMPLED: Final = 2  # snapshots that play in an iteration
PRIORITY: Final = 2.0  # a snapshot's sampling weight is exp(-PRIORITY * the learner's score against it)
SCORE_RATE: Final = 0.3  # of the running mean of the scores


def check_agents(baselines: Sequence[str], teachers: Sequence[str], played: Sequence[AnyRules]) -> str:
    """Refuse agents before the first rollout.

    Returns:
        The key of the seeds of those in other processes; empty if there are none.

    Raises:
        ValueError: an unknown agent, or a variant that no teacher plays.
    """
    every = []
    for option, names in (("baselines", baselines), ("teachers", teachers)):
        try:
            agents = [tienlen_agents.load(name) for name in names]
            every += agents
            if option == "teachers" and agents:
                for rules in played:
                    teachers_of(rules, agents)
        except (ValueError, OSError, WrongGameError) as error:
            raise ValueError(f"{option}: {error}") from error
    return seed_key_of(every)


class Seating(NamedTuple):
    """The policies in the seats of the B games of an iteration.

    Attributes:
        seat_policies: int64 (B, P), see `RolloutJob`: the learner, then the sampled snapshots, then the
            baselines.
        snapshots: the sampled snapshots.
    """

    seat_policies: IntArray
    snapshots: list[Snapshot]


@dataclass(eq=False)
class Snapshot:
    """An older policy.

    Attributes:
        version: the iteration after which it was taken.
        weights: the network's parameters by name, on the CPU.
        score: the learner's score against it, a running mean.
    """

    version: int
    weights: Mapping[str, Tensor]
    score: float = 0.0


class OpponentPool:
    """The opponents of a run.

    Args:
        config: the settings of the run.
        baselines: names of the rule-based opponents.
    """

    def __init__(self, config: SelfPlayConfig, baselines: tuple[str, ...]) -> None:
        self.config = config
        self.baselines = baselines
        self.snapshots: list[Snapshot] = []

    def seat(self, rng: np.random.Generator, num_players: int | IntArray) -> Seating:
        """Draw the policies of the seats in the games of an iteration.

        Args:
            rng: the source of the draws.
            num_players: seats at the tables; int64 (B,) where tables differ: `Seating.seat_policies` then
                has as many columns as the largest has seats, and -1 where a table has no seat.
        """
        config = self.config
        sampled: list[int] = []
        if self.snapshots and config.snapshot_share > 0:
            weight = np.exp(-PRIORITY * np.array([snapshot.score for snapshot in self.snapshots]))
            num = min(NUM_SAMPLED, len(self.snapshots))
            sampled = rng.choice(len(self.snapshots), num, replace=False, p=weight / weight.sum()).tolist()
        shares = [config.snapshot_share if sampled else 0.0]
        shares += [config.baseline_share / len(self.baselines) for _ in self.baselines]
        kind = rng.choice(len(shares) + 1, config.num_games, p=[1 - sum(shares), *shares])
        snapshot = np.arange(config.num_games) * len(sampled) // config.num_games
        who = np.select([kind == 0, kind == 1], [LEARNER, 1 + snapshot], kind - 1 + len(sampled))
        seats = config.opponent_seats or rng.integers(1, num_players, config.num_games)
        chosen = [self.snapshots[index] for index in sampled]
        if isinstance(num_players, int):
            order = rng.random((config.num_games, num_players)).argsort(axis=1)
            theirs = order < np.reshape(seats, (-1, 1))
            return Seating(np.where(theirs, who[:, None], LEARNER), chosen)
        is_seat = np.arange(int(num_players.max())) < num_players[:, None]
        draws = np.where(is_seat, rng.random(is_seat.shape), 2.0)
        rank = draws.argsort(axis=1).argsort(axis=1)
        theirs = rank < np.reshape(seats, (-1, 1))
        return Seating(np.where(is_seat, np.where(theirs, who[:, None], LEARNER), -1), chosen)

    def update_scores(self, seating: Seating, scores: Float32Array) -> None:
        """Update the scores of the snapshots that played by the results of an iteration.

        Args:
            seating: the policies in the seats.
            scores: float32 (B, P), the rewards of all seats; P may be more than the tables of the plan have.
        """
        scores = scores[:, : seating.seat_policies.shape[1]]
        for index, snapshot in enumerate(seating.snapshots, 1):
            games = (seating.seat_policies == index).any(axis=1)
            mine = scores[games][seating.seat_policies[games] == LEARNER]
            if mine.size:
                snapshot.score += SCORE_RATE * (float(mine.mean()) - snapshot.score)

    def add(self, version: int, weights: Mapping[str, Tensor]) -> None:
        """Add a snapshot; the oldest is dropped if there are more than `num_snapshots`."""
        self.snapshots = [*self.snapshots, Snapshot(version, weights)][-self.config.num_snapshots :]

    def state(self) -> dict[str, Any]:
        """The snapshots and their scores, for a checkpoint."""
        return {
            "snapshots": [dict(snapshot.weights) for snapshot in self.snapshots],
            "snapshot_scores": [snapshot.score for snapshot in self.snapshots],
            "snapshot_versions": [snapshot.version for snapshot in self.snapshots],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        columns = (state["snapshot_versions"], state["snapshots"], state["snapshot_scores"])
        self.snapshots = [Snapshot(*values) for values in zip(*columns, strict=True)]


@dataclass(eq=False)
class IterationPlan:
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


def plans_state(plans: Iterable[IterationPlan]) -> dict[str, Any]:
    """Plans that are not yet learned, for a checkpoint; nothing if there is none."""
    found = [
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
        for plan in plans
    ]
    return {"plans": found} if found else {}


def restored_plans(state: Mapping[str, Any], pool: OpponentPool) -> Iterator[IterationPlan]:
    """The plans of what `plans_state` returned; they are played again."""
    in_pool = {snapshot.version: snapshot for snapshot in pool.snapshots}
    for values in state.get("plans", []):
        snapshots = [in_pool.get(values_of[0]) or Snapshot(*values_of) for values_of in values["snapshots"]]
        yield IterationPlan(
            values["iteration"],
            np.array(values["keys"].numpy()),
            Seating(np.array(values["seat_policies"].numpy()), snapshots),
            tuple(values["opponent_seeds"]),
            values["version"],
            values["weights"],
        )
