"""The public tree of a small game: all public histories, and for each the hands that the seats may hold.

All actions of Tiến lên are public, only the deal is hidden. So a game is a tree of public histories, and at
each node (a history that goes on) every seat has a list of hands. An information set is a node with one hand
of the seat to act. A pass over the tree moves numbers for hands, not for deals: the probability that a seat
plays so far with a hand (its reach) down, and values of hands up. Deals matter only where the round ends;
there all hands but one are known, because they were played.

Numbering, depth by depth, so that parents come before children and siblings lie side by side:

    nodes    0 .. N-1; the first ones, one for each seat that can lead, have no parent
    slots    0 .. S-1: (node, seat, hand), node by node, seat by seat
    edges    0 .. E-1: (information set, action): first those after which the round goes on, child by child,
             in the order of the child's slots of the seat that moved; then those that end the round
    leaves   0 .. L-1: (edge that ends the round, hands of the other seats)
"""

from __future__ import annotations

import ctypes
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.batch import Batch
from tienlen_env.errors import RulesError
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_exact.expansion import (
    ENDS,
    LEAVES,
    NODES,
    SLOTS,
    Deals,
    ExpandedNodes,
    Level,
    expansion_loops,
    new_chunk,
    new_scratch,
)
from tienlen_exact.small_tienlen import REQUIRED_CARD, GameTooLargeError, SmallGame

Int32Array = npt.NDArray[np.int32]

DEALS_AT_ONCE: Final = 100_000
BYTES_A_DEAL: Final = 1_050  # of those at once: three rows of the engine, measured
MAX_DEALS: Final = 500_000_000
MAX_SLOTS: Final = 2**31 - 1  # int32
NODES_PER_DEPTH: Final = 2_000  # that an estimate expands
FIRST_SIZES: Final = (4_096, 65_536, 65_536, 65_536)


class TreeArrays(NamedTuple):
    """A public tree as compiled passes read it; N nodes, S slots, E edges, L leaves, P seats.

    Attributes:
        actor: int8 (N,), the seat to act.
        mover: int8 (N,), the seat that moved to this node; -1 at a root.
        first_child: int64 (N + 1,), the children of node n are ``first_child[n] .. first_child[n + 1] - 1``.
        slot_start: int64 (N * P + 1,), the slots of seat s at node n begin at ``n * P + s``.
        up: int32 (S,), the slot of the same hand at the parent; at a root the id of the hand.
        edge_start: int64 (N + 1,), edges that lead to a node, one for each slot of the seat that moved.
        edge_slot: int32 (E,), the information set of each edge, as a slot of its node.
        first_end: int64 (N + 1,), the actions that end the round at node n, likewise.
        end_slot: int32 (T,), the hand that plays it, as a slot of the node. Its edge is ``num_inner + t``.
        first_leaf: int64 (T + 1,), its leaves.
        leaf_slots: int32 (L, P - 1), the hands of the other seats, as slots of the node.
        pay: float64 (T, P), or (L, P) where it differs by leaf: the rewards of the seats.
        sizes: int64 (4,): P, the number of roots, that of edges after which the round goes on, and 1 if `pay`
            is by leaf.
    """

    actor: npt.NDArray[np.int8]
    mover: npt.NDArray[np.int8]
    first_child: IntArray
    slot_start: IntArray
    up: Int32Array
    edge_start: IntArray
    edge_slot: Int32Array
    first_end: IntArray
    end_slot: Int32Array
    first_leaf: IntArray
    leaf_slots: Int32Array
    pay: FloatArray
    sizes: IntArray


@dataclass(frozen=True)
class Size:
    """How large a game is: counted, or estimated by `estimate`.

    Attributes:
        deals: number of deals.
        nodes: N.
        information_sets: those where the seat to act has one legal action, too.
        slots: S.
        edges: E.
        ends: T, the edges that end the round.
        leaves: L.
        depth: most decisions of a round.
        level_bytes: most memory of the levels while the tree is built; 0 in a count.
        build_bytes: most memory while the tree is built; 0 in a count.
        is_exact: counted.
    """

    deals: int
    nodes: int
    information_sets: int
    slots: int
    edges: int
    ends: int
    leaves: int
    depth: int
    level_bytes: int = 0
    build_bytes: int = 0
    is_exact: bool = True


@dataclass(eq=False)
class PublicTree:
    """The public tree of a small game.

    Attributes:
        game: the game.
        arrays: the tree for compiled passes.
        deals: which hands go together.
        parent: int32 (N,), -1 at a root.
        action: int16 (N,), the action that leads to a node; -1 at a root.
        cards: int64 (N,), and its cards.
        end_action: int16 (T,), actions that end the round.
        depths: int64 (D + 1,), the first node of each depth.
        root_rows: int64 (R, ROW), the engine's state at each root, with some hands.
        root_group: int64 (R,), the deals of each root (see `Deals.pairs`).
        num_deals: number of deals; all are equally likely.
    """

    game: SmallGame
    arrays: TreeArrays
    deals: Deals
    parent: Int32Array
    action: npt.NDArray[np.int16]
    cards: IntArray
    end_action: npt.NDArray[np.int16]
    depths: IntArray
    root_rows: IntArray
    root_group: IntArray
    num_deals: int

    @property
    def num_players(self) -> int:
        """P."""
        return self.game.num_players

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.parent)

    @property
    def num_slots(self) -> int:
        """S."""
        return len(self.arrays.up)

    @property
    def num_inner(self) -> int:
        """Edges after which the round goes on; those that end it have higher numbers."""
        return int(self.arrays.sizes[2])

    @property
    def num_edges(self) -> int:
        """E."""
        return self.num_inner + len(self.arrays.end_slot)

    def edge_slots(self) -> IntArray:
        """int64 (E,): the information set of each edge, as a slot of its node."""
        return self.arrays.edge_slot.astype(np.int64)

    def edge_actions(self) -> IntArray:
        """int64 (E,): the action of each edge."""
        inner = np.repeat(self.action, np.diff(self.arrays.edge_start))
        return np.concatenate([inner, self.end_action]).astype(np.int64)

    def size(self) -> Size:
        """The numbers of its parts."""
        t = self.arrays
        index = np.arange(self.num_nodes) * self.num_players + t.actor
        return Size(
            deals=self.num_deals,
            nodes=self.num_nodes,
            information_sets=int((t.slot_start[index + 1] - t.slot_start[index]).sum()),
            slots=self.num_slots,
            edges=self.num_edges,
            ends=len(t.end_slot),
            leaves=len(t.leaf_slots),
            depth=len(self.depths) - 1,
        )

    @property
    def num_bytes(self) -> int:
        """Memory of its arrays."""
        parts = [*self.arrays, self.parent, self.action, self.cards, self.end_action, *self.deals]
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


def _all_deals(game: SmallGame) -> Iterator[IntArray]:
    """int64 (n, P) hand ids of all deals, some at a time."""
    hands = _hands(game)

    def deal(first: list[int], used: int) -> Iterator[IntArray]:
        free = np.flatnonzero(hands & used == 0)
        if len(first) == game.num_players - 1:
            yield np.column_stack([*(np.full(len(free), one) for one in first), free])
            return
        for one in free:
            yield from deal([*first, int(one)], used | int(hands[one]))

    yield from deal([], 0)


def _hands(game: SmallGame) -> IntArray:
    """int64 (H,): the masks of all hands, ascending."""
    deck = [1 << card for card in range(52) if game.rules.deck_mask >> card & 1]
    return np.sort(np.array([sum(cards) for cards in combinations(deck, game.rules.cards_each)], np.int64))


def _start(game: SmallGame) -> tuple[Deals, Level]:
    """Deal all deals with the engine: which hands go together, and the roots.

    A root is all that is public at the deal, and the opening card, which its holder must play at once: so
    no seat that does not know it decides before it is on the table.

    Raises:
        RulesError: rules whose deals show something, such as an instant win.
        GameTooLargeError: too many deals to list them; it has the number.
    """
    P = game.num_players
    if game.num_deals > MAX_DEALS:
        raise GameTooLargeError(
            f"the {game.rules.name} rules for {P} players have {game.num_deals:.3g} deals: "
            f"expected at most {MAX_DEALS:,}, which can be listed; a smaller deck or hand has fewer"
        )
    hands = _hands(game)
    batch = Batch(game.rules, 1, reward=game.reward)
    columns = batch.game.columns
    not_public = [*columns.hidden, *range(columns.legal, columns.legal + batch.state.num_words)]
    roots: dict[bytes, tuple[int, IntArray, npt.NDArray[np.bool_]]] = {}  # group, row, hands held (P, H)
    groups: dict[bytes, int] = {}  # of roots that differ in the opening card only
    pairs: list[IntArray] = []
    for ids in _in_chunks(_all_deals(game)):
        state = game.batch(hands[ids]).state
        if (state.turn < 0).any():
            raise RulesError(f"{game.rules.name}: expected rounds that do not end at the deal")
        public = state.rows.copy()
        public[:, not_public] = 0
        first, kind_of = _kinds(public)
        for kind, row in enumerate(public[first]):
            which = np.flatnonzero(kind_of == kind)
            common = row.copy()
            common[REQUIRED_CARD] = 0
            group = groups.setdefault(common.tobytes(), len(groups))
            if group == len(pairs):
                pairs.append(np.zeros((P * (P - 1) // 2, len(hands), (len(hands) + 63) // 64), np.int64))
            example = state.rows[first[kind]].copy()
            _, _, held = roots.setdefault(
                row.tobytes(), (group, example, np.zeros((P, len(hands)), np.bool_))
            )
            for s in range(P):
                held[s, ids[which, s]] = True
            for k, (s, other) in enumerate(combinations(range(P), 2)):
                i, j = ids[which, s], ids[which, other]
                np.bitwise_or.at(pairs[group][k], (i, j >> 6), np.left_shift(np.int64(1), j & 63))
    found = sorted(roots.values(), key=lambda root: (root[1][columns.turn], root[1][REQUIRED_CARD], root[0]))
    lists = [np.flatnonzero(held[s]) for _, _, held in found for s in range(P)]
    level = Level(
        np.array([row for _, row, _ in found]),
        np.array([group for group, _, _ in found], np.int64),
        _starts(np.array([len(one) for one in lists])),
        np.concatenate(lists).astype(np.int64),
        np.zeros((len(found), P)),
    )
    spec, actions = batch.variant.spec, batch.variant.actions
    return Deals(hands, np.array(pairs), spec, actions, np.array([P])), level


def _kinds(rows: IntArray) -> tuple[IntArray, IntArray]:
    """The first of each kind of equal rows, and the kind of each row."""
    code = np.zeros(len(rows), np.int64)
    for column in np.flatnonzero((rows != rows[0]).any(axis=0)):
        _, value = np.unique(rows[:, column], return_inverse=True)
        _, code = np.unique(code * (int(value.max()) + 1) + value, return_inverse=True)
    _, first, kind_of = np.unique(code, return_index=True, return_inverse=True)
    return first, kind_of


def _in_chunks(parts: Iterator[IntArray]) -> Iterator[IntArray]:
    """Arrays of about `DEALS_AT_ONCE` rows."""
    waiting: list[IntArray] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= DEALS_AT_ONCE:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


class _Expander:
    """Expands levels chunk by chunk, in buffers that grow."""

    def __init__(self, game: SmallGame, deals: Deals, level: Level) -> None:
        self._game, self._deals = game, deals
        batch = Batch(game.rules, 1)
        self._expand = expansion_loops(batch.game).expand
        self._row_size = level.rows.shape[1]
        self._scratch = new_scratch(self._row_size, batch.num_actions, game.num_players, len(deals.hands))
        self._sizes = FIRST_SIZES
        self._chunk = self._new_chunk()

    def _new_chunk(self) -> ExpandedNodes:
        return new_chunk(self._row_size, self._game.num_players, self._sizes, self._game.pays_by_deal)

    @property
    def num_bytes(self) -> int:
        """Memory of its buffers."""
        return sum(array.nbytes for array in (*self._chunk, *self._scratch))

    def run(self, level: Level) -> Iterator[ExpandedNodes]:
        """The children of all nodes; each chunk is valid until the next one.

        Raises:
            GameTooLargeError: a node has more children than the tables of this module.
        """
        node, end = 0, len(level.rows)
        while node < end:
            self._chunk.counts[:] = 0
            after = self._expand(self._deals, level, node, end, self._scratch, self._chunk)
            if after < 0:
                raise GameTooLargeError("a position has too many different plays")
            if after == node:
                self._sizes = tuple(4 * size for size in self._sizes)  # type: ignore[assignment]
                self._chunk = self._new_chunk()
                continue
            node = after
            yield self._chunk


def _kept(
    chunk: ExpandedNodes, num_players: int
) -> tuple[IntArray, IntArray, IntArray, Int32Array, FloatArray]:
    """Copies of what the next level needs of a chunk."""
    nodes, slots = int(chunk.counts[NODES]), int(chunk.counts[SLOTS])
    return (
        chunk.rows[:nodes].copy(),
        chunk.parent[:nodes].copy(),
        chunk.length[: nodes * num_players].copy(),
        chunk.up[:slots].astype(np.int32),
        chunk.earned[:nodes].copy(),
    )


def _next_level(above: Level, kept: list[Any]) -> Level:
    """The level below another one, put together from its chunks."""
    rows, parent, length, up, earned = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return Level(rows, above.group[parent], _starts(length), above.ids[up], earned)


def build(game: SmallGame, *, progress: Callable[[int], None] | None = None) -> PublicTree:
    """Build the public tree.

    Args:
        game: the game.
        progress: called with the number of nodes.

    Raises:
        RulesError: rules whose deals show something, such as an instant win.
        GameTooLargeError: too many deals, or more than 2**31 slots.
    """
    P = game.num_players
    deals, level = _start(game)
    roots = level
    expander = _Expander(game, deals, level)
    parts: defaultdict[str, list[Any]] = defaultdict(list)
    num_roots = len(level.rows)
    parts["parent"].append(np.full(num_roots, -1, np.int32))
    parts["action"].append(np.full(num_roots, -1, np.int16))
    parts["cards"].append(np.zeros(num_roots, np.int64))
    parts["up"].append(level.ids.astype(np.int32))
    parts["length"].append(np.diff(level.starts).astype(np.int32))
    TURN = Batch(game.rules, 1).game.columns.turn
    parts["actor"].append(level.rows[:, TURN].astype(np.int8))
    depths = [0, num_roots]
    first_node, first_slot = 0, 0
    while len(level.rows):
        n = len(level.rows)
        kept: list[Any] = []
        for chunk in expander.run(level):
            c = chunk.counts
            nodes, slots, ends, leaves = (int(c[i]) for i in (NODES, SLOTS, ENDS, LEAVES))
            kept.append(_kept(chunk, P))
            parts["parent"].append((chunk.parent[:nodes] + first_node).astype(np.int32))
            parts["action"].append(chunk.action[:nodes].astype(np.int16))
            parts["cards"].append(chunk.cards[:nodes].copy())
            parts["actor"].append(chunk.rows[:nodes, TURN].astype(np.int8))
            parts["length"].append(chunk.length[: nodes * P].astype(np.int32))
            parts["up"].append((chunk.up[:slots] + first_slot).astype(np.int32))
            parts["end_slot"].append((chunk.end_slot[:ends] + first_slot).astype(np.int32))
            parts["end_node"].append((chunk.end_node[:ends] + first_node).astype(np.int32))
            parts["end_action"].append(chunk.end_action[:ends].astype(np.int16))
            parts["end_leaves"].append(chunk.end_leaves[:ends].astype(np.int32))
            parts["leaf_slots"].append((chunk.leaf_slots[:leaves] + first_slot).astype(np.int32))
            pay = chunk.leaf_pay[:leaves] if game.pays_by_deal else chunk.end_pay[:ends]
            parts["pay"].append(pay.copy())
        first_node += n
        first_slot += len(level.ids)
        if first_slot > MAX_SLOTS:
            raise GameTooLargeError(f"more than {MAX_SLOTS:,} pairs of a history and a hand")
        level = _next_level(level, kept)
        depths.append(depths[-1] + len(level.rows))
        if progress:
            progress(depths[-1])
    tree = _assemble(game, deals, parts, depths[:-1], roots)
    # glibc keeps what was freed in small pieces, as much as the tree itself in large games.
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
    return tree


def _starts(counts: npt.NDArray[Any]) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _assemble(
    game: SmallGame, deals: Deals, parts: dict[str, list[Any]], depths: list[int], roots: Level
) -> PublicTree:
    """Put the parts of all depths together."""
    P = game.num_players
    whole = {name: np.concatenate(parts.pop(name)) for name in list(parts)}
    parent, actor = whole["parent"], whole["actor"]
    N, num_roots = len(parent), len(roots.rows)
    slot_start = _starts(whole["length"])
    mover = np.full(N, -1, np.int8)
    mover[num_roots:] = actor[parent[num_roots:]]
    first_child = num_roots + _starts(np.bincount(parent[num_roots:], minlength=N))
    # The slots of the seats that moved: one edge each.
    has_moved = mover[:, None] == np.arange(P)
    edge_start = _starts((whole["length"].reshape(N, P) * has_moved).sum(axis=1))
    inner_slots = whole["up"][np.repeat(has_moved.ravel(), whole["length"])]
    arrays = TreeArrays(
        actor=actor,
        mover=mover,
        first_child=first_child,
        slot_start=slot_start,
        up=whole["up"],
        edge_start=edge_start,
        edge_slot=np.concatenate([inner_slots, whole["end_slot"]]),
        first_end=_starts(np.bincount(whole["end_node"], minlength=N)),
        end_slot=whole["end_slot"],
        first_leaf=_starts(whole["end_leaves"]),
        leaf_slots=whole["leaf_slots"],
        pay=whole["pay"],
        sizes=np.array([P, num_roots, edge_start[-1], int(game.pays_by_deal)]),
    )
    return PublicTree(
        game,
        arrays,
        deals,
        parent=parent,
        action=whole["action"],
        cards=whole["cards"],
        end_action=whole["end_action"],
        depths=np.array(depths),
        root_rows=roots.rows,
        root_group=roots.group,
        num_deals=game.num_deals,
    )


def estimate(game: SmallGame) -> Size:
    """How large the tree is, from a random part of it.

    At each depth only some nodes are expanded, drawn uniformly, and stand for all (Knuth 1975, "Estimating
    the efficiency of backtrack programs", with many probes at once). A game whose depths have no more nodes
    is counted.
    """
    rng, P = np.random.default_rng(0), game.num_players
    deals, level = _start(game)
    expander = _Expander(game, deals, level)
    TURN = Batch(game.rules, 1).game.columns.turn
    weight, total = 1.0, np.zeros(6)  # nodes, information sets, slots, edges, ends, leaves
    depth, is_exact = 0, True
    level_bytes, build_bytes, above = 0.0, 0.0, 0.0
    node_bytes = 8 * level.rows.shape[1] + 16 * P + 8
    while len(level.rows):
        n = len(level.rows)
        depth += 1
        lengths = np.diff(level.starts).reshape(n, P)
        acting = lengths[np.arange(n), level.rows[:, TURN]]
        total[:3] += weight * np.array([n, acting.sum(), lengths.sum()])
        # The level above, this one in parts, and put together.
        here, slots_here = weight * node_bytes * n, weight * lengths.sum()
        levels = above + 2 * here + 16 * slots_here
        level_bytes = max(level_bytes, levels)
        build_bytes = max(build_bytes, levels + part_bytes(game, *total[[0, 2, 4, 5]]))
        above = here + 8 * slots_here
        if n > NODES_PER_DEPTH:
            keep = np.sort(rng.choice(n, NODES_PER_DEPTH, replace=False))
            weight *= n / NODES_PER_DEPTH
            is_exact = False
            level = _some_of(level, keep, P)
        kept: list[Any] = []
        for chunk in expander.run(level):
            kept.append(_kept(chunk, P))
            nodes, ends, leaves = (int(chunk.counts[i]) for i in (NODES, ENDS, LEAVES))
            length = chunk.length[: nodes * P].reshape(nodes, P)
            mover = level.rows[chunk.parent[:nodes], TURN]
            total[3] += weight * (length[np.arange(nodes), mover].sum() + ends)
            total[4:] += weight * np.array([ends, leaves])
        level = _next_level(level, kept)
    nodes, information_sets, slots, edges, ends, leaves = (round(float(x)) for x in total)
    largest = max(4 * slots, 8 * P * ends, 4 * (P - 1) * leaves)  # each part is put together by a copy
    build_bytes = max(
        build_bytes,
        part_bytes(game, nodes, slots, ends, leaves) + largest,
        BYTES_A_DEAL * min(game.num_deals, DEALS_AT_ONCE),
    )
    return Size(
        deals=game.num_deals,
        nodes=nodes,
        information_sets=information_sets,
        slots=slots,
        edges=edges,
        ends=ends,
        leaves=leaves,
        depth=depth,
        level_bytes=round(level_bytes),
        build_bytes=round(build_bytes) + expander.num_bytes,
        is_exact=is_exact,
    )


def part_bytes(game: SmallGame, nodes: float, slots: float, ends: float, leaves: float) -> float:
    """Memory of the parts of a tree, before they are put together."""
    P = game.num_players
    pay = 8 * P * (leaves if game.pays_by_deal else ends)
    return (15 + 4 * P) * nodes + 4 * slots + 14 * ends + 4 * (P - 1) * leaves + pay


def _some_of(level: Level, keep: IntArray, num_players: int) -> Level:
    """A level with some of its nodes."""
    index = (keep[:, None] * num_players + np.arange(num_players)).ravel()
    first, length = level.starts[index], np.diff(level.starts)[index]
    starts = _starts(length)
    where = np.repeat(first - starts[:-1], length) + np.arange(starts[-1])
    return Level(level.rows[keep], level.group[keep], starts, level.ids[where], level.earned[keep])
