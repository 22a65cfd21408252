"""Growing a public tree by one level, compiled, over a game's own kernels.

A node is a public history: everything that was played, by whom, in which order. For each seat it has the
list of hands that the seat may hold. All hands of a seat at a node have equally many cards, and whether an
action is legal depends on the hand of the seat to act and on public information only; so one row of the
engine stands for the node, and the kernels list the actions of one hand after the other in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.per_game import advance, columns, kernels, legal, parts_of
from tienlen_env.games.common.arrays import ActionFields, FloatArray, IntArray, Spec
from tienlen_env.games.common.bits import shift_right
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.specialise import each, specialise

# Counters of a `ExpandedNodes`.
NODES, SLOTS, ENDS, LEAVES = range(4)

MAX_CHILDREN: Final = 1 << 15  # of one node
_TABLE_SIZE: Final = 2 * MAX_CHILDREN
_MIX: Final = 0x9E3779B97F4A7C15 - (1 << 64)


class Deals(NamedTuple):
    """Which hands exist, and which go together.

    Attributes:
        hands: int64 (H,), the card masks of all hands that can be dealt, by id.
        pairs: int64 (G, P * (P - 1) / 2, H, ceil(H / 64)): bit j of row i for a pair of seats says whether
            some deal gives hand i to the one and hand j to the other; G groups of deals, by who leads.
        spec: the variant.
        actions: its action table.
        num_seats: int64 (1,), P.
    """

    hands: IntArray
    pairs: IntArray
    spec: Spec
    actions: ActionFields
    num_seats: IntArray


class Level(NamedTuple):
    """The nodes of one depth.

    Attributes:
        rows: int64 (n, ROW), the engine's state at each node, with any hands that agree with it.
        group: int64 (n,), which of ``Deals.pairs`` says what hands go together.
        starts: int64 (n * P + 1,), where the hands of a seat begin: those of seat s at node i are at
            ``starts[i * P + s] : starts[i * P + s + 1]``.
        ids: int64 (m,), ids of hands, as they were dealt.
        earned: float64 (n, P), rewards of the seats so far.
    """

    rows: IntArray
    group: IntArray
    starts: IntArray
    ids: IntArray
    earned: FloatArray


class Scratch(NamedTuple):
    """Arrays that `expand` needs; see `new_scratch`.

    ``within`` is a seat, -1 for none, and the number of its hands, which are in ``members``.
    """

    row: IntArray
    exact: IntArray
    ids: IntArray
    cards: IntArray
    table: IntArray
    child_action: IntArray
    child_cards: IntArray
    head: IntArray
    tail: IntArray
    size: IntArray
    used: IntArray
    edge_next: IntArray
    edge_slot: IntArray
    members: IntArray
    within: IntArray
    at: IntArray
    chosen: IntArray
    rewards: FloatArray


class ExpandedNodes(NamedTuple):
    """What `expand` writes: the children of some nodes.

    Attributes:
        rows: int64 (n, ROW), children where the round goes on.
        parent: int64 (n,), the node, as an index in its level.
        action: int64 (n,), the action that leads there.
        cards: int64 (n,), and its cards.
        length: int64 (n * P,), number of hands of each seat.
        up: int64 (m,), for each hand its index in ``Level.ids``; seat by seat, child by child.
        end_slot: int64 (e,), actions that end the round: the hand that plays it, as an index in the level.
        end_node: int64 (e,), the node.
        end_action: int64 (e,), the action.
        end_leaves: int64 (e,), number of deals in which it can happen here.
        end_pay: float64 (e, P), rewards of the seats; where they differ by deal, those of the last one.
        leaf_slots: int64 (l, P - 1), for each such deal the hands of the other seats, in order of seats.
        leaf_pay: float64 (l, P), rewards of the seats in this deal; (0, P) where hidden cards do not matter.
        earned: float64 (n, P), rewards of the seats on the way to the children.
        counts: int64 (4,), the numbers of nodes, hands, ends and deals written.
    """

    rows: IntArray
    parent: IntArray
    action: IntArray
    cards: IntArray
    length: IntArray
    up: IntArray
    end_slot: IntArray
    end_node: IntArray
    end_action: IntArray
    end_leaves: IntArray
    end_pay: FloatArray
    leaf_slots: IntArray
    leaf_pay: FloatArray
    earned: FloatArray
    counts: IntArray


def new_scratch(row_size: int, num_actions: int, num_players: int, most_hands: int) -> Scratch:
    """Scratch arrays for nodes with at most `most_hands` hands a seat."""

    def words(size: int) -> IntArray:
        return np.zeros(size, np.int64)

    # A hand of 13 cards has at most 486 legal plays (RULES.md 7.3), and small hands have few.
    edges = most_hands * 64 + num_actions
    return Scratch(
        words(row_size),
        words(row_size),
        words(num_actions),
        words(num_actions),
        np.full(_TABLE_SIZE, -1, np.int64),
        words(MAX_CHILDREN),
        words(MAX_CHILDREN),
        words(MAX_CHILDREN),
        words(MAX_CHILDREN),
        words(MAX_CHILDREN),
        words(MAX_CHILDREN),
        words(edges),
        words(edges),
        words(most_hands),
        np.array([-1, 0]),
        words(num_players),
        words(num_players),
        np.zeros(num_players),
    )


def new_chunk(
    row_size: int, num_players: int, sizes: tuple[int, int, int, int], pays_by_deal: bool
) -> ExpandedNodes:
    """Room for this many nodes, hands, ends and deals."""
    nodes, slots, ends, leaves = sizes

    def words(*shape: int) -> IntArray:
        return np.empty(shape, np.int64)

    return ExpandedNodes(
        words(nodes, row_size),
        words(nodes),
        words(nodes),
        words(nodes),
        words(nodes * num_players),
        words(slots),
        words(ends),
        words(ends),
        words(ends),
        words(ends),
        np.empty((ends, num_players)),
        words(leaves, num_players - 1),
        np.empty((leaves if pays_by_deal else 0, num_players)),
        np.empty((nodes, num_players)),
        np.zeros(4, np.int64),
    )


def goes_with(deals: Deals, group: int, seat: int, hand: int, other: int, other_hand: int) -> bool:
    """Whether some deal gives these two hands, by id, to these two seats."""
    if seat > other:
        seat, other, hand, other_hand = other, seat, other_hand, hand
    pair = seat * (2 * deals.num_seats[0] - seat - 1) // 2 + other - seat - 1
    return bool(deals.pairs[group, pair, hand, other_hand >> 6] >> (other_hand & 63) & 1)


@noinline
def find_others(
    deals: Deals, level: Level, node: int, seat: int, hand: int, scratch: Scratch, goes_on: bool
) -> bool:  # fmt: skip
    """Find hands of the other seats that go with one hand: the first ones, or the next ones.

    Args:
        deals: which hands go together.
        level: the nodes.
        node: the node.
        seat: the seat that holds `hand`.
        hand: its id.
        scratch: ``at`` has the positions found, by seat; they are where the search goes on. One seat's hands
            may be in ``members``, see `Scratch`; those of the others are the node's.
        goes_on: go on after those that were found last.
    """
    num_seats = deals.num_seats[0]
    at, chosen, group = scratch.at, scratch.chosen, level.group[node]
    actor, num_members = scratch.within[0], scratch.within[1]
    first = 1 if seat == 0 else 0
    last = num_seats - 2 if seat == num_seats - 1 else num_seats - 1
    other = last if goes_on else first
    if goes_on:
        at[other] += 1
    else:
        at[other] = 0
    while True:
        start = level.starts[node * num_seats + other]
        length = level.starts[node * num_seats + other + 1] - start
        if other == actor:
            length = num_members
        fits = False
        while at[other] < length and not fits:
            candidate = scratch.members[at[other]] if other == actor else level.ids[start + at[other]]
            fits = goes_with(deals, group, seat, hand, other, candidate)
            before = first
            while fits and before < other:
                if before != seat:
                    fits = goes_with(deals, group, before, chosen[before], other, candidate)
                before += 1
            if fits:
                chosen[other] = candidate
            else:
                at[other] += 1
        if fits:
            if other == last:
                return True
            other += 1
            if other == seat:
                other += 1
            at[other] = 0
        else:
            if other == first:
                return False
            other -= 1
            if other == seat:
                other -= 1
            at[other] += 1


def index_of(scratch: Scratch, num_children: int, action: int, cards: int) -> int:
    """The child of an action with these cards; `num_children` if it is new."""
    key = (cards ^ action * _MIX) * _MIX
    index = shift_right(key, 40) & (_TABLE_SIZE - 1)
    while scratch.table[index] >= 0:
        child = scratch.table[index]
        if scratch.child_action[child] == action and scratch.child_cards[child] == cards:
            return int(child)
        index = (index + 1) & (_TABLE_SIZE - 1)
    scratch.table[index] = num_children
    scratch.used[num_children] = index
    return num_children


@noinline
def write_child(
    deals: Deals, level: Level, node: int, actor: int, scratch: Scratch, child: int, out: ExpandedNodes
) -> bool:
    """Write a child where the round goes on, with the hands that are still possible; False: no room."""
    num_seats, counts = deals.num_seats[0], out.counts
    n, size = counts[NODES], scratch.size[child]
    if n == out.rows.shape[0]:
        return False
    edge = scratch.head[child]
    for i in range(size):
        scratch.members[i] = level.ids[scratch.edge_slot[edge]]
        edge = scratch.edge_next[edge]
    scratch.within[0], scratch.within[1] = actor, size
    actors = level.starts[node * num_seats + actor + 1] - level.starts[node * num_seats + actor]
    for seat in range(num_seats):
        first, end = level.starts[node * num_seats + seat], level.starts[node * num_seats + seat + 1]
        start = counts[SLOTS]
        if start + end - first > out.up.shape[0]:
            return False
        at = start
        if seat == actor:
            edge = scratch.head[child]
            for i in range(size):
                out.up[at + i] = scratch.edge_slot[edge]
                edge = scratch.edge_next[edge]
            at += size
        else:
            for slot in range(first, end):
                # If every hand of the actor can play it, it shows nothing of the others.
                if size == actors or find_others(deals, level, node, seat, level.ids[slot], scratch, False):
                    out.up[at] = slot
                    at += 1
        out.length[n * num_seats + seat] = at - start
        counts[SLOTS] = at
    for column in range(scratch.row.shape[0]):
        out.rows[n, column] = scratch.row[column]
    for seat in range(num_seats):
        out.earned[n, seat] = scratch.rewards[seat]
    out.parent[n], out.action[n] = node, scratch.child_action[child]
    out.cards[n] = scratch.child_cards[child]
    counts[NODES] += 1
    return True


@noinline
def list_edges(deals: Deals, level: Level, node: int, scratch: Scratch) -> int:
    """Sort the legal actions of all hands at a node by child; the number of children, or -1: too many."""
    row, num_seats = scratch.row, deals.num_seats[0]
    for column in range(row.shape[0]):
        row[column] = level.rows[node, column]
    actor = row[columns.turn]
    num_children, num_edges, is_full = 0, 0, False
    first = level.starts[node * num_seats + actor]
    for slot in range(first, level.starts[node * num_seats + actor + 1]):
        row[columns.hand + actor] = deals.hands[level.ids[slot]] & ~row[columns.played + actor]
        kernels.update_legal(row, deals.spec, deals.actions)
        end = legal.list_legal(row, deals.spec, deals.actions, scratch.ids, scratch.cards, 0)
        for i in range(end):
            if num_children == MAX_CHILDREN or num_edges == scratch.edge_slot.shape[0]:
                is_full = True
                break
            child = index_of(scratch, num_children, scratch.ids[i], scratch.cards[i])
            if child == num_children:
                scratch.child_action[child] = scratch.ids[i]
                scratch.child_cards[child] = scratch.cards[i]
                scratch.head[child] = num_edges
                scratch.size[child] = 0
                num_children += 1
            else:
                scratch.edge_next[scratch.tail[child]] = num_edges
            scratch.tail[child] = num_edges
            scratch.size[child] += 1
            scratch.edge_slot[num_edges] = slot
            num_edges += 1
    for child in range(num_children):
        scratch.table[scratch.used[child]] = -1
    return -1 if is_full else num_children


def play_child(deals: Deals, level: Level, node: int, scratch: Scratch, child: int, hand: int) -> bool:
    """Play a child's action from a hand in ``scratch.row``; whether the round is over."""
    row = scratch.row
    for column in range(row.shape[0]):
        row[column] = level.rows[node, column]
    actor = row[columns.turn]
    row[columns.hand + actor] = deals.hands[hand] & ~row[columns.played + actor]
    for seat in range(deals.num_seats[0]):
        scratch.rewards[seat] = level.earned[node, seat]
    action, cards = scratch.child_action[child], scratch.child_cards[child]
    return advance(row, deals.spec, deals.actions, action, cards, scratch.rewards)


@noinline
def pay_of_deal(deals: Deals, level: Level, node: int, scratch: Scratch, child: int, hand: int) -> None:
    """The rewards of the deal in ``scratch.chosen``, in which the actor has this hand."""
    row, num_seats = scratch.exact, deals.num_seats[0]
    for column in range(row.shape[0]):
        row[column] = level.rows[node, column]
    actor = row[columns.turn]
    for seat in range(num_seats):
        dealt = deals.hands[hand if seat == actor else scratch.chosen[seat]]
        row[columns.hand + seat] = dealt & ~row[columns.played + seat]
        scratch.rewards[seat] = level.earned[node, seat]
    action, cards = scratch.child_action[child], scratch.child_cards[child]
    advance(row, deals.spec, deals.actions, action, cards, scratch.rewards)


@noinline
def write_ends(
    deals: Deals, level: Level, node: int, actor: int, scratch: Scratch, child: int, out: ExpandedNodes
) -> bool:
    """Write an action that ends the round, once for each hand; False: no room."""
    num_seats, counts = deals.num_seats[0], out.counts
    edge = scratch.head[child]
    scratch.within[0] = -1
    for _ in range(scratch.size[child]):
        if counts[ENDS] == out.end_slot.shape[0]:
            return False
        slot, e, first = scratch.edge_slot[edge], counts[ENDS], counts[LEAVES]
        hand = level.ids[slot]
        edge = scratch.edge_next[edge]
        for seat in range(num_seats):
            out.end_pay[e, seat] = scratch.rewards[seat]
        found = find_others(deals, level, node, actor, hand, scratch, False)
        while found:
            leaf, k = counts[LEAVES], 0
            if leaf == out.leaf_slots.shape[0]:
                return False
            for seat in range(num_seats):
                if seat != actor:
                    out.leaf_slots[leaf, k] = level.starts[node * num_seats + seat] + scratch.at[seat]
                    k += 1
            if out.leaf_pay.shape[0] > 0:
                pay_of_deal(deals, level, node, scratch, child, hand)
                for seat in range(num_seats):
                    out.leaf_pay[leaf, seat] = scratch.rewards[seat]
            counts[LEAVES] += 1
            found = find_others(deals, level, node, actor, hand, scratch, True)
        out.end_slot[e], out.end_node[e] = slot, node
        out.end_action[e] = scratch.child_action[child]
        out.end_leaves[e] = counts[LEAVES] - first
        counts[ENDS] += 1
    return True


def expand(deals: Deals, level: Level, first: int, end: int, scratch: Scratch, out: ExpandedNodes) -> int:
    """Write the children of nodes, until there is no more room.

    Returns:
        The first node that is left; -1 - node for a node with too many children.
    """
    counts = out.counts
    for node in range(first, end):
        num_nodes, num_slots, num_ends, num_leaves = counts[0], counts[1], counts[2], counts[3]
        actor = level.rows[node, columns.turn]
        num_children = list_edges(deals, level, node, scratch)
        if num_children < 0:
            return -1 - node
        has_room = True
        for child in range(num_children):
            hand = level.ids[scratch.edge_slot[scratch.head[child]]]
            if play_child(deals, level, node, scratch, child, hand):
                has_room = write_ends(deals, level, node, actor, scratch, child, out)
            else:
                has_room = write_child(deals, level, node, actor, scratch, child, out)
            if not has_room:
                break
        if not has_room:
            counts[0], counts[1], counts[2], counts[3] = num_nodes, num_slots, num_ends, num_leaves
            return node
    return end


class ExpansionLoops(NamedTuple):
    """Compiled loops over a game's kernels; see the functions of this module."""

    expand: Callable[[Deals, Level, int, int, Scratch, ExpandedNodes], int]


@cache
def expansion_loops(game: AnyGame) -> ExpansionLoops:
    """The loops over a game's kernels, compiled when first called."""
    return each(specialise(ExpansionLoops(expand), **parts_of(game)), jit.loop)
