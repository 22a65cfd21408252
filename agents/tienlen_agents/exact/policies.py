"""Policies on a public tree, and what they are worth: values, best responses, NashConv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tienlen_agents.exact import passes
from tienlen_agents.exact.errors import PolicyError
from tienlen_agents.exact.tree import Tree
from tienlen_env.games.common.arrays import FloatArray, IntArray

SUM_TOLERANCE: Final = 1e-6
GAIN_TOLERANCE: Final = 1e-9  # of sums over deals: below it actions earn the same
_NONE: Final = np.zeros(0, np.int64)


def uniform(tree: Tree) -> FloatArray:
    """float64 (E,): the uniform policy of all seats."""
    return normalised(tree, np.zeros(tree.num_edges))


def normalised(tree: Tree, weights: FloatArray) -> FloatArray:
    """float64 (E,): probabilities in proportion to weights; uniform where no weight is above 0."""
    policy = np.empty(tree.num_edges)
    passes.normalise(tree.arrays, weights, policy, np.empty(tree.num_slots))
    return policy


def check_policy(tree: Tree, policy: FloatArray) -> None:
    """Refuse what is not a policy.

    Args:
        tree: the tree.
        policy: float64 (E,), the probability of each edge.

    Raises:
        PolicyError: another shape, or probabilities of an information set that are negative, not numbers, or
            do not add up to 1.
    """
    policy = np.asarray(policy)
    if policy.shape != (tree.num_edges,) or policy.dtype != np.float64:
        raise PolicyError(f"policy: expected float64 ({tree.num_edges},), got {policy.dtype} {policy.shape}")
    if not np.isfinite(policy).all() or (policy < 0).any():
        raise PolicyError("policy: expected probabilities of 0 and above")
    slots = tree.edge_slots()
    sums = np.bincount(slots, policy, tree.num_slots)[slots]
    if (worst := np.abs(sums - 1).max(initial=0)) > SUM_TOLERANCE:
        raise PolicyError(f"policy: expected probabilities that add up to 1, they miss it by {worst:.3g}")


@dataclass(frozen=True)
class Response:
    """A seat's best response.

    Attributes:
        seat: the seat.
        value: what it earns a round on average.
        choice: int64 (S,), the edge that it plays at its information sets, elsewhere -1.
    """

    seat: int
    value: float
    choice: IntArray


@dataclass(frozen=True)
class Measure:
    """What a policy of all seats is worth.

    Attributes:
        values: what each seat earns a round on average.
        best: what each seat would earn with its best response to the others.
    """

    values: tuple[float, ...]
    best: tuple[float, ...]

    @property
    def gains(self) -> tuple[float, ...]:
        """What each seat gains by its best deviation from the policy, the others keeping to it."""
        return tuple(best - value for best, value in zip(self.best, self.values, strict=True))

    @property
    def nash_conv(self) -> float:
        """The sum of the gains.

        With two players it is the distance of the upper from the lower bound of the game's value. With more
        players a sum of 0 is an equilibrium, too, but the sum bounds nothing else; read `gains` there.
        """
        return sum(self.gains)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of what seat 0 earns in an equilibrium; of two-player zero-sum games."""
        return -self.best[1], self.best[0]


def _merged(tree: Tree, policies: FloatArray | Sequence[FloatArray]) -> FloatArray:
    """One policy of all seats, from one policy or from one for each seat."""
    if isinstance(policies, np.ndarray):
        check_policy(tree, policies)
        return policies
    if len(policies) != tree.num_players:
        raise PolicyError(f"policies: expected {tree.num_players}, one for each seat, got {len(policies)}")
    for one in policies:
        check_policy(tree, one)
    seats = edge_seats(tree)
    merged = np.empty(tree.num_edges)
    for seat, one in enumerate(policies):
        merged[seats == seat] = one[seats == seat]
    return merged


def edge_seats(tree: Tree) -> IntArray:
    """int64 (E,): the seat that acts at each edge."""
    t, P = tree.arrays, tree.num_players
    seat_of_slot = np.repeat(np.tile(np.arange(P), tree.num_nodes), np.diff(t.slot_start))
    seats: IntArray = seat_of_slot[tree.edge_slots()]
    return seats


def measure(tree: Tree, policies: FloatArray | Sequence[FloatArray]) -> Measure:
    """Values, best responses and NashConv.

    Args:
        tree: the tree.
        policies: float64 (E,), of all seats; or P of them, one for each seat.

    Raises:
        PolicyError: what is not a policy.
    """
    policy = _merged(tree, policies)
    reach, values = np.empty(tree.num_slots), np.empty(tree.num_slots)
    passes.reach_down(tree.arrays, policy, reach, -1)
    earned, best = [], []
    for seat in range(tree.num_players):
        earned.append(passes.values_up(tree.arrays, policy, reach, seat, values) / tree.num_deals)
        best.append(passes.best_up(tree.arrays, policy, reach, seat, values, _NONE) / tree.num_deals)
    return Measure(tuple(earned), tuple(best))


def nash_conv(tree: Tree, policies: FloatArray | Sequence[FloatArray]) -> float:
    """The sum over seats of what the best deviation gains; see `Measure.nash_conv`."""
    return measure(tree, policies).nash_conv


def best_response(tree: Tree, policies: FloatArray | Sequence[FloatArray], seat: int) -> Response:
    """The best response of a seat to the others.

    Args:
        tree: the tree.
        policies: as in `measure`; what they say of `seat` is not used.
        seat: 0..P-1.

    Raises:
        PolicyError: what is not a policy.
        ValueError: not a seat.
    """
    if not 0 <= seat < tree.num_players:
        raise ValueError(f"seat={seat!r}: expected 0..{tree.num_players - 1}")
    policy = _merged(tree, policies)
    reach, values = np.empty(tree.num_slots), np.empty(tree.num_slots)
    passes.reach_down(tree.arrays, policy, reach, seat)
    choice = np.full(tree.num_slots, -1)
    value = passes.best_up(tree.arrays, policy, reach, seat, values, choice)
    return Response(seat, value / tree.num_deals, choice)


def best_responses(tree: Tree, policies: FloatArray | Sequence[FloatArray]) -> FloatArray:
    """float64 (E,): the policy in which every seat plays its best response to the others' policies."""
    chosen = np.zeros(tree.num_edges)
    for seat in range(tree.num_players):
        choice = best_response(tree, policies, seat).choice
        chosen[choice[choice >= 0]] = 1.0
    return chosen


def lookahead(tree: Tree, policy: FloatArray, trust: float) -> FloatArray:
    """float64 (E,): the policy that looks one play ahead, with all hands that the others may hold.

    At each information set it plays the action that earns the most if all seats go on with `policy`. Actions
    that earn the same have the same probability; where none earns more than `policy` itself, it stays. A
    search with rollouts by `policy` comes to this with all deals and without noise.

    Args:
        tree: the tree.
        policy: float64 (E,), of all seats.
        trust: 0..1, how far the others' plays tell of their hands: a play with probability p multiplies the
            weight of a hand by ``1 - trust + trust * p``. With 0 all hands weigh the same; with 1 it is the
            exact posterior, if the others play `policy`.

    Raises:
        PolicyError: what is not a policy.
        ValueError: `trust` is not in 0..1.
    """
    if not 0 <= trust <= 1:
        raise ValueError(f"trust={trust!r}: expected 0..1")
    check_policy(tree, policy)
    slots, seats, depths = tree.edge_slots(), edge_seats(tree), edge_depths(tree)
    gain = np.zeros(tree.num_edges)
    reach, values, sums = np.empty((3, tree.num_slots))
    for depth in range(int(depths.max()) + 1):
        # The weights of hands change with the depth of the decision; what is played from there does not.
        past = np.where(depths < depth, 1 - trust + trust * policy, policy)
        for seat in range(tree.num_players):
            regret, none = np.zeros((2, tree.num_edges))
            keep = passes.Regrets(regret, none, 1.0, 1.0, floor=-np.inf, forget=1.0, weight=0.0)
            passes.regret_pass(tree.arrays, past.copy(), reach, seat, values, sums, keep)
            here = (seats == seat) & (depths == depth)
            gain[here] = regret[here]
    best = np.zeros(tree.num_slots)
    np.maximum.at(best, slots, gain)
    best[best < GAIN_TOLERANCE] = 0.0
    chosen = np.where(best[slots] > 0, 1.0 * (gain > best[slots] - GAIN_TOLERANCE), policy)
    return normalised(tree, chosen)


def edge_depths(tree: Tree) -> IntArray:
    """int64 (E,): the number of plays before each edge."""
    depth = np.zeros(tree.num_nodes, np.int64)
    for node, parent in enumerate(tree.parent):
        if parent >= 0:
            depth[node] = depth[parent] + 1
    of_slot = np.repeat(np.repeat(depth, tree.num_players), np.diff(tree.arrays.slot_start))
    depths: IntArray = of_slot[tree.edge_slots()]
    return depths
