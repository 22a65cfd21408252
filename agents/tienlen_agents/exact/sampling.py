"""External sampling: one traversal of Monte Carlo CFR in compiled code.

Of the deal and of the actions of the other seats one is drawn; of the traverser all actions are tried
(Lanctot et al. 2009, "Monte Carlo Sampling for Regret Minimization in Extensive Games").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tienlen_agents.exact.expansion import Deals, goes_with
from tienlen_agents.exact.passes import share
from tienlen_agents.exact.tree import Tree, TreeArrays
from tienlen_agents.search.randomness import random_word
from tienlen_env.engine.backends import jit
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.common.bits import shift_right
from tienlen_env.games.common.hints import noinline

NOT_TRIED = -1


class Line(NamedTuple):
    """The line of play of a traversal; D depths, K most actions of an information set.

    Attributes:
        node: int64 (D,), the node at each depth.
        slots: int64 (D, P), the hand of each seat, as a slot.
        edges: int64 (D, K), the edges of the information set.
        children: int64 (D, K), the nodes behind them; -1 - t for action t that ends the round.
        policy: float64 (D, K), the present policy.
        worth: float64 (D, K), the values of the actions.
        sizes: int64 (D, 2), the number of edges; the one that is tried.
        stream: int64 (1,), of random numbers.
    """

    node: IntArray
    slots: IntArray
    edges: IntArray
    children: IntArray
    policy: FloatArray
    worth: FloatArray
    sizes: IntArray
    stream: IntArray


class Roots(NamedTuple):
    """How deals are drawn.

    Attributes:
        cumulative: float64 (R,), the probability of a root or one before it.
        group: int64 (R,), the deals of each root (see `Deals.pairs`).
    """

    cumulative: FloatArray
    group: IntArray


def new_line(tree: Tree) -> Line:
    """The arrays of a traversal."""
    depths, P = len(tree.depths), tree.num_players
    most = int(np.bincount(tree.edge_slots(), minlength=1).max(initial=1))

    def table() -> FloatArray:
        return np.zeros((depths, most))

    return Line(
        np.zeros(depths, np.int64),
        np.zeros((depths, P), np.int64),
        np.zeros((depths, most), np.int64),
        np.zeros((depths, most), np.int64),
        table(),
        table(),
        np.zeros((depths, 2), np.int64),
        np.zeros(1, np.int64),
    )


def draw_unit(line: Line) -> float:
    """A number in [0, 1)."""
    return shift_right(random_word(line.stream), 11) * 2.0**-53


def slot_below(tree: TreeArrays, child: int, seat: int, slot: int) -> int:
    """The slot of the same hand at a child; -1 if there is none."""
    P = tree.sizes[0]
    low, high = tree.slot_start[child * P + seat], tree.slot_start[child * P + seat + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if tree.up[middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low if low < end and tree.up[low] == slot else -1


@noinline
def draw_deal(tree: TreeArrays, deals: Deals, roots: Roots, line: Line) -> None:
    """Draw a deal, and begin the line at its root."""
    P, draw, root = tree.sizes[0], draw_unit(line), 0
    while root < tree.sizes[1] - 1 and draw >= roots.cumulative[root]:
        root += 1
    line.node[0] = root
    fits = False
    while not fits:  # uniform among the deals of the root, by rejection
        fits = True
        for seat in range(P):
            start, end = tree.slot_start[root * P + seat], tree.slot_start[root * P + seat + 1]
            line.slots[0, seat] = start + int(draw_unit(line) * (end - start))
        for seat in range(P):
            for other in range(seat + 1, P):
                hand, other_hand = tree.up[line.slots[0, seat]], tree.up[line.slots[0, other]]
                fits = fits and goes_with(deals, roots.group[root], seat, hand, other, other_hand)


@noinline
def open_node(tree: TreeArrays, line: Line, depth: int, regret: FloatArray) -> None:
    """List the edges of the information set at a depth, with its present policy."""
    node, P = line.node[depth], tree.sizes[0]
    actor = tree.actor[node]
    slot, k, total = line.slots[depth, actor], 0, 0.0
    for child in range(tree.first_child[node], tree.first_child[node + 1]):
        below = slot_below(tree, child, actor, slot)
        if below >= 0:
            line.edges[depth, k] = tree.edge_start[child] + below - tree.slot_start[child * P + actor]
            line.children[depth, k] = child
            k += 1
    for t in range(tree.first_end[node], tree.first_end[node + 1]):
        if tree.end_slot[t] == slot:
            line.edges[depth, k] = tree.sizes[2] + t
            line.children[depth, k] = -1 - t
            k += 1
    for i in range(k):
        total += max(regret[line.edges[depth, i]], 0.0)
    if total <= 0.0:
        total = -float(k)
    for i in range(k):
        line.policy[depth, i] = share(regret[line.edges[depth, i]], total)
    line.sizes[depth, 0], line.sizes[depth, 1] = k, NOT_TRIED


@noinline
def pay_at(tree: TreeArrays, line: Line, depth: int, t: int, seat: int) -> float:
    """What a seat earns where the round ends with the hands of the line."""
    if not tree.sizes[3]:
        return float(tree.pay[t, seat])
    actor = tree.actor[line.node[depth]]
    for leaf in range(tree.first_leaf[t], tree.first_leaf[t + 1]):
        k, same = 0, True
        for other in range(tree.sizes[0]):
            if other != actor:
                same = same and tree.leaf_slots[leaf, k] == line.slots[depth, other]
                k += 1
        if same:
            return float(tree.pay[leaf, seat])
    return 0.0


@jit.loop
def sample_passes(
    tree: TreeArrays, deals: Deals, roots: Roots, seat: int, num: int, line: Line, regret: FloatArray,
    average: FloatArray,
) -> float:  # fmt: skip
    """Some traversals of a seat: its regrets are updated, and the average of the others.

    Args:
        tree: the tree.
        deals: which hands go together.
        roots: how deals are drawn.
        seat: the traverser.
        num: how many.
        line: scratch, and the stream of random numbers.
        regret: float64 (E,), updated.
        average: float64 (E,), updated: present policies are added where others act.

    Returns:
        The sum of what the seat earned.
    """
    P, total = tree.sizes[0], 0.0
    for _ in range(num):
        draw_deal(tree, deals, roots, line)
        open_node(tree, line, 0, regret)
        depth, value, has_value = 0, 0.0, False
        while depth >= 0:
            actor = tree.actor[line.node[depth]]
            size = line.sizes[depth, 0]
            if has_value:
                has_value = False
                if actor != seat:  # one action was drawn, and its value is that of the node
                    has_value = True
                    depth -= 1
                    continue
                line.worth[depth, line.sizes[depth, 1]] = value
                if line.sizes[depth, 1] == size - 1:
                    value = 0.0
                    for i in range(size):
                        value += line.policy[depth, i] * line.worth[depth, i]
                    for i in range(size):
                        regret[line.edges[depth, i]] += line.worth[depth, i] - value
                    has_value = True
                    depth -= 1
                    continue
            if actor == seat:
                chosen = line.sizes[depth, 1] + 1
            else:
                draw, chosen = draw_unit(line), 0
                for i in range(size):
                    average[line.edges[depth, i]] += line.policy[depth, i]
                while chosen < size - 1 and draw >= line.policy[depth, chosen]:
                    draw -= line.policy[depth, chosen]
                    chosen += 1
            line.sizes[depth, 1] = chosen
            child = line.children[depth, chosen]
            if child < 0:
                value, has_value = pay_at(tree, line, depth, -1 - child, seat), True
                if actor != seat:
                    depth -= 1
                    continue
                # The value of the traverser's own action is taken at its own node.
                continue
            line.node[depth + 1] = child
            for other in range(P):
                line.slots[depth + 1, other] = slot_below(tree, child, other, line.slots[depth, other])
            depth += 1
            open_node(tree, line, depth, regret)
        total += value
    return total
