"""Information-set Monte Carlo tree search: one tree over what the searching player can see.

A node is a sequence of actions from the decision on. Every iteration draws a world, goes down the tree by
the actions that are legal in it, adds a node, plays the round out by the heuristic player and hands each
mover on the way its own points (single-observer ISMCTS, with availability counts in place of the parent's
visits: Cowling, Powley, Whitehouse 2012).

The root tries all its actions. Below it a node starts with the heuristic player's choice, and gets another
action for every `WIDEN` visits: with some hundred iterations the opponents' answers would otherwise be random
ones.
"""

from __future__ import annotations

import math
from typing import Any, Final

from numba import njit

from tienlen_agents.rule_based.heuristic.playout import choose_index
from tienlen_agents.search.worlds import draw_below
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen import state as R

# Columns of a node.
ACTION: Final = 0
MOVER: Final = 1  # the seat that takes the action
VISITS: Final = 2
AVAILABLE: Final = 3  # how often it could have been taken
CHILD: Final = 4  # its first child, 0 for none
SIBLING: Final = 5  # the next child of its parent, 0 for none
NUM_CHILDREN: Final = 6
NODE_FIELDS: Final = 7

WIDEN: Final = 12
MAX_PATH: Final = 256


def _jit(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False)


@_jit
def find_child(nodes: Any, parent: int, action: int) -> int:
    """The node of an action, 0 if there is none."""
    child: int = nodes[parent, CHILD]
    while child != 0 and nodes[child, ACTION] != action:
        child = nodes[child, SIBLING]
    return child


@_jit
def add_child(nodes: Any, parent: int, child: int, action: int, mover: int) -> None:
    """Put a new node under its parent."""
    for field in range(NODE_FIELDS):
        nodes[child, field] = 0
    nodes[child, ACTION], nodes[child, MOVER] = action, mover
    nodes[child, SIBLING] = nodes[parent, CHILD]
    nodes[parent, CHILD] = child
    nodes[parent, NUM_CHILDREN] += 1


@_jit
def select(nodes: Any, totals: Any, parent: int, ids: Any, end: int, explore: float) -> int:
    """Index of the legal action with the highest upper confidence bound among those in the tree; -1: none.

    Every one of them counts as available once more.
    """
    chosen, best = -1, -math.inf
    for i in range(end):
        child = find_child(nodes, parent, ids[i])
        if child != 0:
            nodes[child, AVAILABLE] += 1
            visits = nodes[child, VISITS]
            bound = totals[child] / visits + explore * math.sqrt(math.log(nodes[child, AVAILABLE]) / visits)
            if bound > best:
                chosen, best = i, bound
    return chosen


@_jit
def iterate(
    nodes: Any, totals: Any, size: int, path: Any, stream: Any, explore: float, desk: Any, spec: Any,
    actions: Any, row: Any, ids: Any, cards: Any, rewards: Any,
) -> int:  # fmt: skip
    """Go down the tree in one world, add a node, play out and hand the points up.

    Args:
        nodes: int64 (M, NODE_FIELDS), the tree; node 0 is the decision.
        totals: float64 (M,), points of each node's mover, over its visits.
        size: nodes in use.
        path: int64 (MAX_PATH,), scratch.
        stream: of randomness.
        explore: weight of the confidence bound, in points.
        desk: see `playout.choose_index`.
        spec: the variant.
        actions: its action table.
        row: the decision, in a world; it is changed.
        ids: scratch, as `cards`.
        cards: scratch.
        rewards: zeros (P,), get the points.

    Returns:
        Nodes in use.
    """
    node, depth, is_inside = 0, 0, True
    while row[R.TURN] >= 0:
        if is_inside and depth < MAX_PATH:
            kernels.update_legal(row, spec, actions)
            end = kernels.list_legal(row, spec, actions, ids, cards, 0)
            index = select(nodes, totals, node, ids, end, explore)
            num_new = 0
            for i in range(end):
                num_new += find_child(nodes, node, ids[i]) == 0
            is_wide = node != 0 and nodes[node, NUM_CHILDREN] * WIDEN > nodes[node, VISITS]
            if num_new > 0 and (index < 0 or not is_wide) and size < nodes.shape[0]:
                if node != 0 and nodes[node, NUM_CHILDREN] == 0:
                    index = choose_index(desk, spec, actions, row, ids, cards)
                else:
                    nth = draw_below(stream, num_new)
                    for i in range(end):
                        if find_child(nodes, node, ids[i]) == 0:
                            if nth == 0:
                                index = i
                            nth -= 1
                add_child(nodes, node, size, ids[index], row[R.TURN])
                nodes[size, AVAILABLE] = 1
                node, size, is_inside = size, size + 1, False
            elif index < 0:
                index, is_inside = choose_index(desk, spec, actions, row, ids, cards), False
                node = -1
            else:
                node = find_child(nodes, node, ids[index])
            if node >= 0:
                path[depth] = node
                depth += 1
        else:
            index = choose_index(desk, spec, actions, row, ids, cards)
        kernels.play(row, spec, actions, ids[index], cards[index], rewards)
    nodes[0, VISITS] += 1
    for i in range(depth):
        nodes[path[i], VISITS] += 1
        totals[path[i]] += rewards[nodes[path[i], MOVER]]
    return size
