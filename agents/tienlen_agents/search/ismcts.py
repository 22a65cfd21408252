"""Single-observer information-set Monte Carlo tree search (Cowling, Powley, Whitehouse 2012), compiled.

A node is a sequence of actions from the decision on. Each iteration draws a world, descends by the actions
that are legal in it, adds a node, plays the round out by the baseline and backs up each mover's own return.
Availability counts take the place of the parent's visits in the confidence bound.

The root tries all its actions. Below it a node starts with the baseline's choice and gets another action for
every `WIDEN` visits (progressive widening): with some hundred iterations the opponents' answers would
otherwise be random ones.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from tienlen_agents.rule_based.rollout import Rollout, RolloutGame
from tienlen_agents.search.interface import SearchGame
from tienlen_agents.search.randomness import draw_below
from tienlen_env.games.common import floats
from tienlen_env.games.common.arrays import FloatArray, IntArray, Row
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.specialise import GIVEN

# Columns of a node.
ACTION: Final = 0
MOVER: Final = 1  # the seat that takes the action
VISITS: Final = 2
AVAILABLE: Final = 3  # iterations where it was legal
CHILD: Final = 4  # its first child, 0 for none
SIBLING: Final = 5  # the next child of its parent, 0 for none
NUM_CHILDREN: Final = 6
NODE_FIELDS: Final = 7

WIDEN: Final = 12
MAX_PATH: Final = 256

search_game: SearchGame = GIVEN
rollout_game: RolloutGame = GIVEN


class Tree(NamedTuple):
    """Arrays of a tree of up to M nodes.

    Attributes:
        nodes: int64 (M, NODE_FIELDS); node 0 is the decision.
        totals: float64 (M,), return of each node's mover, summed over its visits.
        path: int64 (MAX_PATH,), scratch.
        size: int64 (1,), nodes in use.
    """

    nodes: IntArray
    totals: FloatArray
    path: IntArray
    size: IntArray


@noinline
def find_child(nodes: IntArray, parent: int, action: int) -> int:
    """The node of an action, 0 if there is none."""
    child: int = nodes[parent, CHILD]
    while child != 0 and nodes[child, ACTION] != action:
        child = nodes[child, SIBLING]
    return child


@noinline
def add_child(nodes: IntArray, parent: int, child: int, action: int, mover: int) -> None:
    """Put a new node under its parent."""
    for field in range(NODE_FIELDS):
        nodes[child, field] = 0
    nodes[child, ACTION], nodes[child, MOVER] = action, mover
    nodes[child, SIBLING] = nodes[parent, CHILD]
    nodes[parent, CHILD] = child
    nodes[parent, NUM_CHILDREN] += 1


@noinline
def select(nodes: IntArray, totals: FloatArray, parent: int, ids: Row, end: int, explore: float) -> int:
    """Index of the legal action with the highest upper confidence bound among those in the tree; -1: none.

    The availability count of each of them grows by 1.
    """
    chosen, best = -1, -math.inf
    for i in range(end):
        child = find_child(nodes, parent, ids[i])
        if child != 0:
            nodes[child, AVAILABLE] += 1
            visits = nodes[child, VISITS]
            log = floats.log(float(nodes[child, AVAILABLE]))
            bound = totals[child] / visits + explore * math.sqrt(log / visits)
            if bound > best:
                chosen, best = i, bound
    return chosen


@noinline
def nth_new(nodes: IntArray, parent: int, ids: Row, end: int, n: int) -> int:
    """Index of the n-th legal action, from 0, that is not in the tree."""
    index = -1
    for i in range(end):
        if find_child(nodes, parent, ids[i]) == 0:
            if n == 0:
                index = i
            n -= 1
    return index


@noinline
def iterate(tree: Tree, line: Rollout, stream: Row, explore: float) -> None:
    """Descend from the decision in ``line.row``, in one world; add a node, play out, back up."""
    nodes, totals, path = tree.nodes, tree.totals, tree.path
    row, spec, actions, ids, cards = line.row, line.spec, line.actions, line.ids, line.cards
    node, depth, is_inside = 0, 0, True
    while row[rollout_game.turn] >= 0:
        if is_inside and depth < MAX_PATH:
            search_game.update_legal(row, spec, actions)
            end = search_game.list_legal(row, spec, actions, ids, cards, 0)
            index = select(nodes, totals, node, ids, end, explore)
            num_new = end - (0 if index < 0 else num_known(nodes, node, ids, end))
            is_wide = node != 0 and nodes[node, NUM_CHILDREN] * WIDEN > nodes[node, VISITS]
            if num_new > 0 and (index < 0 or not is_wide) and tree.size[0] < nodes.shape[0]:
                if node != 0 and nodes[node, NUM_CHILDREN] == 0:
                    index = rollout_game.choose(line.policy, spec, actions, row, ids, cards)
                else:
                    index = nth_new(nodes, node, ids, end, draw_below(stream, num_new))
                child = tree.size[0]
                add_child(nodes, node, child, ids[index], row[rollout_game.turn])
                nodes[child, AVAILABLE] = 1
                totals[child] = 0.0
                tree.size[0] += 1
                node, is_inside = child, False
            elif index < 0:
                index, is_inside = rollout_game.choose(line.policy, spec, actions, row, ids, cards), False
                node = -1
            else:
                node = find_child(nodes, node, ids[index])
            if node >= 0:
                path[depth] = node
                depth += 1
        else:
            index = rollout_game.choose(line.policy, spec, actions, row, ids, cards)
        rollout_game.play(row, spec, actions, ids[index], cards[index], line.rewards)
    nodes[0, VISITS] += 1
    for i in range(depth):
        nodes[path[i], VISITS] += 1
        totals[path[i]] += line.rewards[nodes[path[i], MOVER]]


@noinline
def num_known(nodes: IntArray, parent: int, ids: Row, end: int) -> int:
    """The number of legal actions that are in the tree."""
    known = 0
    for i in range(end):
        known += 1 if find_child(nodes, parent, ids[i]) != 0 else 0
    return known
