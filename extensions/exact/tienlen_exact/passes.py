"""Compiled passes over a public tree: reaches go down, values come up.

Conventions. `policy` float64 (E,) has the probability of every edge. The reach of a slot is the probability
that its seat, holding this hand, plays as the history says. The value of a slot for a seat (its
counterfactual value) is a sum over the deals that agree with the history and the hand: the reaches of the
other seats times what the seat earns from there. So a pass costs the sum of the lists of hands, not their
product, and a seat's values at the roots, added up and divided by the number of deals, are what it earns.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tienlen_env.engine.backends import jit
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.common.floats import exp, log
from tienlen_env.games.common.hints import noinline
from tienlen_exact.tree import TreeArrays

LOWEST: Final = -1.7e308  # below every value


class Regrets(NamedTuple):
    """What an algorithm of the CFR family keeps, and its constants.

    Attributes:
        regret: float64 (E,), cumulative regrets.
        average: float64 (E,), cumulative probabilities, weighted.
        positive: factor of positive regrets before each update.
        negative: factor of negative regrets.
        floor: regrets are at least this.
        forget: factor of `average` before each update.
        weight: weight of the present policy in `average`.
    """

    regret: FloatArray
    average: FloatArray
    positive: float
    negative: float
    floor: float
    forget: float
    weight: float


def ends_of(tree: TreeArrays, reach: FloatArray, t: int, seat: int) -> float:
    """What `seat` earns where its own action t ends the round, weighted by the reaches of the others."""
    others, by_leaf = tree.leaf_slots.shape[1], tree.sizes[3]
    total = 0.0
    if others == 1 and not by_leaf:
        for leaf in range(tree.first_leaf[t], tree.first_leaf[t + 1]):
            total += reach[tree.leaf_slots[leaf, 0]]
        return total * float(tree.pay[t, seat])
    for leaf in range(tree.first_leaf[t], tree.first_leaf[t + 1]):
        weight = 1.0
        for k in range(others):
            weight *= reach[tree.leaf_slots[leaf, k]]
        total += weight * tree.pay[leaf if by_leaf else t, seat]
    return total


def add_ends(
    tree: TreeArrays, probability: float, reach: FloatArray, t: int, seat: int, actor: int, values: FloatArray
) -> None:
    """Add what `seat` earns where action t of another seat ends the round."""
    others, by_leaf = tree.leaf_slots.shape[1], tree.sizes[3]
    own = seat if seat < actor else seat - 1
    played = probability * reach[tree.end_slot[t]]
    if others == 1 and not by_leaf:
        earned = played * tree.pay[t, seat]
        for leaf in range(tree.first_leaf[t], tree.first_leaf[t + 1]):
            values[tree.leaf_slots[leaf, 0]] += earned
        return
    for leaf in range(tree.first_leaf[t], tree.first_leaf[t + 1]):
        weight = played
        for k in range(others):
            if k != own:
                weight *= reach[tree.leaf_slots[leaf, k]]
        values[tree.leaf_slots[leaf, own]] += weight * tree.pay[leaf if by_leaf else t, seat]


def pull_reach(tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int) -> None:
    """Write the reaches of one seat, from the roots down."""
    P, num_roots = tree.sizes[0], tree.sizes[1]
    for node in range(num_roots):
        for slot in range(tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]):
            reach[slot] = 1.0
    for node in range(num_roots, tree.actor.shape[0]):
        start, end = tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]
        if tree.mover[node] == seat:
            shift = tree.edge_start[node] - start
            for slot in range(start, end):
                reach[slot] = reach[tree.up[slot]] * policy[slot + shift]
        else:
            for slot in range(start, end):
                reach[slot] = reach[tree.up[slot]]


@jit.loop
def reach_down(tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int) -> None:
    """Write the reaches of all seats, or of all but `seat`, to float64 (S,)."""
    for other in range(tree.sizes[0]):
        if other != seat:
            pull_reach(tree, policy, reach, other)


def root_total(tree: TreeArrays, values: FloatArray, seat: int) -> float:
    """The sum of a seat's values at the roots."""
    P, total = tree.sizes[0], 0.0
    for node in range(tree.sizes[1]):
        for slot in range(tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]):
            total += values[slot]
    return total


def pull_others(
    tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int, node: int, values: FloatArray
) -> None:
    """Write the values of `seat` at a node where another seat acts."""
    P, actor = tree.sizes[0], tree.actor[node]
    for slot in range(tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]):
        values[slot] = 0.0
    for child in range(tree.first_child[node], tree.first_child[node + 1]):
        for slot in range(tree.slot_start[child * P + seat], tree.slot_start[child * P + seat + 1]):
            values[tree.up[slot]] += values[slot]
    for t in range(tree.first_end[node], tree.first_end[node + 1]):
        add_ends(tree, policy[tree.sizes[2] + t], reach, t, seat, actor, values)


def pull_own(
    tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int, node: int, values: FloatArray,
    earned: FloatArray,
) -> None:  # fmt: skip
    """Write the values of `seat` at a node where it acts, and to `earned` (T,) what its last actions earn.

    With an `earned` of size 0 that is not written.
    """
    P, inner = tree.sizes[0], tree.sizes[2]
    for slot in range(tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]):
        values[slot] = 0.0
    for child in range(tree.first_child[node], tree.first_child[node + 1]):
        start = tree.slot_start[child * P + seat]
        shift = tree.edge_start[child] - start
        for slot in range(start, tree.slot_start[child * P + seat + 1]):
            values[tree.up[slot]] += policy[slot + shift] * values[slot]
    for t in range(tree.first_end[node], tree.first_end[node + 1]):
        pay = ends_of(tree, reach, t, seat)
        values[tree.end_slot[t]] += policy[inner + t] * pay
        if earned.shape[0] > 0:
            earned[t] = pay


@jit.loop
def values_up(
    tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int, values: FloatArray
) -> float:
    """Write the values of a seat that plays `policy`, too, to float64 (S,); what it earns in all deals."""
    for node in range(tree.actor.shape[0] - 1, -1, -1):
        if tree.actor[node] == seat:
            pull_own(tree, policy, reach, seat, node, values, reach[:0])
        else:
            pull_others(tree, policy, reach, seat, node, values)
    return root_total(tree, values, seat)


@jit.loop
def best_up(
    tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int, values: FloatArray, best: IntArray
) -> float:
    """Write the values of a seat that plays its best response, and its choices; what it earns in all deals.

    Args:
        tree: the tree.
        policy: the probabilities of the others.
        reach: their reaches.
        seat: the seat.
        values: float64 (S,), written.
        best: int64 (S,), written: the edge with the greatest value, the first of several; (0,): not wanted.
    """
    P, wanted = tree.sizes[0], best.shape[0] > 0
    for node in range(tree.actor.shape[0] - 1, -1, -1):
        if tree.actor[node] != seat:
            pull_others(tree, policy, reach, seat, node, values)
            continue
        for slot in range(tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]):
            values[slot] = LOWEST
        for child in range(tree.first_child[node], tree.first_child[node + 1]):
            start = tree.slot_start[child * P + seat]
            shift = tree.edge_start[child] - start
            for slot in range(start, tree.slot_start[child * P + seat + 1]):
                up = tree.up[slot]
                if values[slot] > values[up]:
                    values[up] = values[slot]
                    if wanted:
                        best[up] = slot + shift
        for t in range(tree.first_end[node], tree.first_end[node + 1]):
            earned, up = ends_of(tree, reach, t, seat), tree.end_slot[t]
            if earned > values[up]:
                values[up] = earned
                if wanted:
                    best[up] = tree.sizes[2] + t
    return root_total(tree, values, seat)


@jit.loop
def normalise(tree: TreeArrays, weights: FloatArray, policy: FloatArray, sums: FloatArray) -> None:
    """Write the policy in proportion to weights of edges, those above 0; uniform where there are none.

    Args:
        tree: the tree.
        weights: float64 (E,).
        policy: float64 (E,), written.
        sums: float64 (S,), scratch.
    """
    for slot in range(sums.shape[0]):
        sums[slot] = 0.0
    for node in range(tree.actor.shape[0]):
        match_node(tree, weights, policy, sums, node)


def first_edge(tree: TreeArrays, node: int, ends: int) -> int:
    """The first edge of a node after which the round goes on, or (`ends` 1) of those that end it.

    The edges after them are those of the next node.
    """
    if ends:
        return int(tree.sizes[2] + tree.first_end[node])
    return int(tree.edge_start[tree.first_child[node]])


def match_node(
    tree: TreeArrays, weights: FloatArray, policy: FloatArray, sums: FloatArray, node: int
) -> None:
    """`normalise` at one node; `sums` of the slots of its actor are 0 before, and changed."""
    for ends in range(2):
        for edge in range(first_edge(tree, node, ends), first_edge(tree, node + 1, ends)):
            if weights[edge] > 0.0:
                sums[tree.edge_slot[edge]] += weights[edge]
    # Of a slot without weights the sum becomes minus the number of its actions.
    for ends in range(2):
        for edge in range(first_edge(tree, node, ends), first_edge(tree, node + 1, ends)):
            if sums[tree.edge_slot[edge]] <= 0.0:
                sums[tree.edge_slot[edge]] -= 1.0
    for ends in range(2):
        for edge in range(first_edge(tree, node, ends), first_edge(tree, node + 1, ends)):
            policy[edge] = share(weights[edge], sums[tree.edge_slot[edge]])


def share(weight: float, total: float) -> float:
    """The share of a weight in a total; where the total is ``-n``, that of one of n equal parts."""
    if total < 0.0:
        return -1.0 / total
    return weight / total if weight > 0.0 else 0.0


@jit.loop
def regret_pass(
    tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int, values: FloatArray, sums: FloatArray,
    earned: FloatArray, keep: Regrets,
) -> float:  # fmt: skip
    """One update of a seat's regrets, average and policy, against the present policies of the others.

    Args:
        tree: the tree.
        policy: float64 (E,), the present policies of all seats; that of `seat` is replaced by the next one.
        reach: float64 (S,), scratch.
        seat: the seat.
        values: float64 (S,), scratch.
        sums: float64 (S,), scratch.
        earned: float64 (T,), scratch.
        keep: regrets and average, which are updated, and the constants.

    Returns:
        What the seat earns with its policy before the update, in all deals.
    """
    P, inner = tree.sizes[0], tree.sizes[2]
    for other in range(P):
        pull_reach(tree, policy, reach, other)
    for node in range(tree.actor.shape[0] - 1, -1, -1):
        if tree.actor[node] != seat:
            pull_others(tree, policy, reach, seat, node, values)
            continue
        pull_own(tree, policy, reach, seat, node, values, earned)
        for slot in range(tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]):
            sums[slot] = 0.0
        for child in range(tree.first_child[node], tree.first_child[node + 1]):
            start = tree.slot_start[child * P + seat]
            shift = tree.edge_start[child] - start
            for slot in range(start, tree.slot_start[child * P + seat + 1]):
                up = tree.up[slot]
                update_edge(keep, policy, reach[up], slot + shift, values[slot], values[up])
        for t in range(tree.first_end[node], tree.first_end[node + 1]):
            up = tree.end_slot[t]
            update_edge(keep, policy, reach[up], inner + t, earned[t], values[up])
        match_node(tree, keep.regret, policy, sums, node)
    return root_total(tree, values, seat)


def update_edge(
    keep: Regrets, policy: FloatArray, reach: float, edge: int, worth: float, value: float
) -> None:
    """Update the regret and the average of an action that earns `worth`, where the policy earns `value`."""
    before = keep.regret[edge]
    before *= keep.positive if before > 0.0 else keep.negative
    keep.regret[edge] = max(before + worth - value, keep.floor)
    keep.average[edge] = keep.forget * keep.average[edge] + keep.weight * reach * policy[edge]


def add_mass(
    tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int, node: int, mass: FloatArray
) -> None:
    """Write the counterfactual reaches of `seat` at a node: the sum over deals of the others' reaches."""
    P, inner, actor = tree.sizes[0], tree.sizes[2], tree.actor[node]
    is_own, others = actor == seat, tree.leaf_slots.shape[1]
    own = seat if seat < actor else seat - 1
    for slot in range(tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]):
        mass[slot] = 0.0
    for child in range(tree.first_child[node], tree.first_child[node + 1]):
        start = tree.slot_start[child * P + seat]
        shift = tree.edge_start[child] - start
        for slot in range(start, tree.slot_start[child * P + seat + 1]):
            mass[tree.up[slot]] += mass[slot] * (policy[slot + shift] if is_own else 1.0)
    for t in range(tree.first_end[node], tree.first_end[node + 1]):
        for leaf in range(tree.first_leaf[t], tree.first_leaf[t + 1]):
            weight = policy[inner + t]
            if not is_own:
                weight *= reach[tree.end_slot[t]]
            for k in range(others):
                if is_own or k != own:
                    weight *= reach[tree.leaf_slots[leaf, k]]
            mass[tree.end_slot[t] if is_own else tree.leaf_slots[leaf, own]] += weight


@jit.loop
def mass_up(tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int, mass: FloatArray) -> float:
    """Write the counterfactual reaches of a seat to float64 (S,); their sum at the roots.

    With any policies the sum is the number of deals: each deal ends with certainty.
    """
    for node in range(tree.actor.shape[0] - 1, -1, -1):
        add_mass(tree, policy, reach, seat, node, mass)
    return root_total(tree, mass, seat)


@noinline
def mirror_node(
    tree: TreeArrays, policy: FloatArray, gains: FloatArray, magnet: float, rate: float, node: int,
    sums: FloatArray,
) -> None:  # fmt: skip
    """Replace a policy at a node by the next one of magnetic mirror descent with a uniform magnet.

    The next probability is in proportion to ``(p * exp(rate * q)) ** (1 / (1 + rate * magnet))``, where q is
    the value of the action less that of the policy; `gains` of edges are q.
    """
    P, seat = tree.sizes[0], tree.actor[node]
    power = 1.0 / (1.0 + rate * magnet)
    for slot in range(tree.slot_start[node * P + seat], tree.slot_start[node * P + seat + 1]):
        sums[slot] = 0.0
    for ends in range(2):
        for edge in range(first_edge(tree, node, ends), first_edge(tree, node + 1, ends)):
            weight = max(exp(power * (log(policy[edge]) + rate * gains[edge])), 1e-300)
            gains[edge] = weight
            sums[tree.edge_slot[edge]] += weight
    for ends in range(2):
        for edge in range(first_edge(tree, node, ends), first_edge(tree, node + 1, ends)):
            policy[edge] = gains[edge] / sums[tree.edge_slot[edge]]


@jit.loop
def mirror_pass(
    tree: TreeArrays, policy: FloatArray, reach: FloatArray, seat: int, values: FloatArray, mass: FloatArray,
    gains: FloatArray, steps: FloatArray,
) -> float:  # fmt: skip
    """One step of magnetic mirror descent for a seat, against the present policies of the others.

    The values of actions are given the information set: divided by its counterfactual reach.

    Args:
        tree: the tree.
        policy: float64 (E,), that of `seat` is replaced by the next one.
        reach: float64 (S,), scratch; the slots of the seat itself are free for sums.
        seat: the seat.
        values: float64 (S,), scratch.
        mass: float64 (S,), scratch.
        gains: float64 (E,), scratch.
        steps: float64 (2,), the weight of the magnet and the learning rate.

    Returns:
        What the seat earns with its policy before the step, in all deals.
    """
    P, earned = tree.sizes[0], gains[tree.sizes[2] :]
    for other in range(P):
        if other != seat:
            pull_reach(tree, policy, reach, other)
    for node in range(tree.actor.shape[0] - 1, -1, -1):
        add_mass(tree, policy, reach, seat, node, mass)
        if tree.actor[node] != seat:
            pull_others(tree, policy, reach, seat, node, values)
            continue
        pull_own(tree, policy, reach, seat, node, values, earned)
        for child in range(tree.first_child[node], tree.first_child[node + 1]):
            start = tree.slot_start[child * P + seat]
            for slot in range(start, tree.slot_start[child * P + seat + 1]):
                gains[tree.edge_start[child] + slot - start] = values[slot]
        for ends in range(2):
            for edge in range(first_edge(tree, node, ends), first_edge(tree, node + 1, ends)):
                up = tree.edge_slot[edge]
                gains[edge] = (gains[edge] - values[up]) / mass[up] if mass[up] > 0.0 else 0.0
        mirror_node(tree, policy, gains, steps[0], steps[1], node, reach)
    return root_total(tree, values, seat)
