"""Exact solution of Tiến lên endgames: two players are left, and each can deduce the other's cards.

With four players all cards are dealt. If two players are left in the round and no player was knocked
out of it, the unseen cards are the opponent's hand. This is a finite game of perfect information with two
outcomes: one of the two players takes the better place. With payments there are more; such rules are
refused. `solve` computes the result exactly, `EndgameAgent`
uses it.

**Positions** are the engine's rows, and its kernels make the moves. No rule is written a second time, so
tables whose owner has gone out, flush locks, bombs after a pass and knock-outs are as in
RULES.md. A position is won for the player to move if some action leads to a position won for that player
(who may be to move again). The search is depth first and stops at the first such action: with two outcomes
that is all that alpha-beta can cut. A line is at most 26 plays, each followed by at most one pass, and two
passes on a table whose owner is out: within `MAX_DEPTH`.

**Order.** An action that empties the hand comes first; then most cards, then the lowest top card; a pass
comes last. Trying actions first that the other hand cannot beat needed a third more positions.

**The transposition table** of solved positions has ``2 ** TABLE_BITS`` entries, found by a hash of both
hands, the action on the table and the flags of the trick. An entry stores these in full, so two positions
are never confused; of two entries with one index the later overwrites the earlier. Each decision starts with
an empty table (by a generation number), so its outcome and cost do not depend on earlier decisions.

**Exact cards.** The search uses the actions of the action table, which play the lowest inner cards (RULES.md
7.2). Without `flush_lock` other inner cards never change who wins. Call a hand *raised* when cards of it are
replaced by higher ones of their ranks. Who wins with a hand wins with the raised one, by the same plays with
the raised cards: shapes and ranks, and so chops, are the same, tops are the same or higher, and whatever the
other player may answer now could be answered before. The lowest inner cards leave a raise of the hand that
any other choice leaves, under the same top. By the same argument, of two tops of one rank with no card of the
other hand between them, the lower is as good. With `flush_lock` a suit may be worth more than a raise,
because it completes a suited run; there no action is left out, and the result is exact if both players use
the action table (exact cards changed it in none of 2,470 endgames: small hands with many combinations, and
hands of up to seven cards from games of `greedy_long` and `random`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from tienlen_agents.external.seeds import close, close_others
from tienlen_agents.rule_based.heuristic.playout import apply_to
from tienlen_env.engine.agent import (
    Agent,
    CardAgent,
    FallibleAgent,
    Forfeit,
    choose_cards,
    history_of,
)
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.engine.checks import as_index
from tienlen_env.engine.view import View
from tienlen_env.errors import RulesError
from tienlen_env.games.common.arrays import ActionFields, BoolArray, FloatArray, IntArray, Row, Spec
from tienlen_env.games.common.bits import lowest_index
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import kernels, spec as S, state as R
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec

MAX_NODES: Final = 20_000  # 2 to 8 ms
MOST_NODES: Final = 10**15  # that may take its place; compiled code counts in int64
MAX_DEPTH: Final = 72  # two hands of 17 cards, and a pass after each play
TABLE_BITS: Final = 16
UNKNOWN: Final = -1  # where a winning seat is expected
FIRST: Final = 1 << 20  # above every key of move ordering

# Odd numbers that mix well, as signed words.
_MIX = tuple(x - (1 << 64) for x in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x9FB21C651E98DF25))
_MIX_HAND, _MIX_OTHER, _MIX_ALL = _MIX


class EndgameMemory(NamedTuple):
    """Arrays of the search, for one variant; see `new_memory`.

    Attributes:
        spec: the variant, without history.
        actions: its action table.
        stack: int64 (MAX_DEPTH, ROW), the positions of the current line; the first is the decision.
        ids: int64 (MAX_DEPTH * A,), the legal actions at all depths, one list after the other ...
        cards: int64, ... their cards ...
        order: int64, ... and their keys of move ordering.
        ends: int64 (MAX_DEPTH,), where the list of each depth ends.
        table: int64 (2 ** TABLE_BITS, 4), the transposition table.
        rewards: float64 (P,), scratch.
        generation: int64 (1,), number of the decision; entries of the table with another one are empty.
    """

    spec: Spec
    actions: ActionFields
    stack: Any
    ids: Any
    cards: Any
    order: Any
    ends: Any
    table: Any
    rewards: FloatArray
    generation: Any


def new_memory(rules: Rules) -> EndgameMemory:
    """Arrays for a variant. One search at a time may use them."""
    # The default is a single round: the kernels do not deal the next one at the end of a line.
    spec, actions = build_spec(rules)
    size = MAX_DEPTH * int(spec[S.NUM_ACTIONS])
    ids, cards, order = np.zeros((3, size), np.int64)
    return EndgameMemory(
        spec,
        actions,
        np.zeros((MAX_DEPTH, int(spec[S.ROW_SIZE])), np.int64),
        ids,
        cards,
        order,
        np.zeros(MAX_DEPTH, np.int64),
        np.zeros((1 << TABLE_BITS, 4), np.int64),
        np.zeros(rules.num_players),
        np.zeros(1, np.int64),
    )


def num_columns(spec: Spec) -> int:
    """Columns that a position is copied with: up to the legal actions, or up to those of some variants."""
    end: int = R.LEGAL
    if spec[S.PLAY_SUMMARY] != spec[S.EXTRA]:
        end = spec[S.PLAY_SUMMARY]
    return end


def position_flags(spec: Spec, row: Row) -> int:
    """The part of a position besides the two hands that decides its result, in 29 bits."""
    trick = row[R.TABLE] << 18 | row[R.TURN] << 16 | (row[R.OWNER] + 1) << 13
    flags: int = trick | row[R.PASSED] << 9 | row[R.PENDING] << 5 | row[R.KNOCKED_OUT] << 1 | row[R.LOCK]
    if spec[S.REJOIN_TWOS]:
        flags |= row[spec[S.EXTRA] + R.TWOS_IN_TRICK] << 28
    return flags


def table_index(hand: int, other: int, flags: int) -> int:
    """The entry of a position in the transposition table."""
    x = hand * _MIX_HAND ^ (other + (flags << 32)) * _MIX_OTHER
    x = (x ^ x >> 32) * _MIX_ALL
    index: int = (x ^ x >> 29) & ((1 << TABLE_BITS) - 1)
    return index


def better_placed(row: Row, seat: int, other: int) -> int:
    """Which of two seats has the better place, when the round is over."""
    return seat if row[R.PLACE + seat] < row[R.PLACE + other] else other


def move_order_key(actions: ActionFields, action: int) -> int:
    """The key of move ordering, highest first: most cards, then lowest top card, the pass last."""
    at = action * S.ACTION_FIELDS
    num_cards = actions[at + S.WIDTH] * actions[at + S.LENGTH]
    key: int = 64 * num_cards - actions[at + S.TOP]
    return key


@noinline
def list_actions(memory: EndgameMemory, row: Row, start: int, other_hand: int) -> int:
    """Write the legal actions, their cards and their keys of move ordering from index `start` on.

    If two actions differ in the suit of the top card only, and no card of `other_hand` lies between the two
    top cards, the higher one is left out; -1 lists all.

    Returns:
        The index after the last one.
    """
    spec, actions, ids, cards, order = memory.spec, memory.actions, memory.ids, memory.cards, memory.order
    kernels.update_legal(row, spec, actions)
    num_listed: int = kernels.list_legal(row, spec, actions, ids, cards, start)
    end = start
    shape, last_top = -1, -1  # of the action listed before
    for i in range(start, num_listed):
        at = ids[i] * S.ACTION_FIELDS
        top = actions[at + S.TOP]
        is_twin = actions[at + S.SHAPE_BITS] == shape and top >> 2 == last_top >> 2
        between = (1 << top) - (2 << last_top) if is_twin else 0
        shape, last_top = actions[at + S.SHAPE_BITS], top
        if not is_twin or other_hand & between != 0 or other_hand < 0 or spec[S.FLUSH_LOCK]:
            ids[end], cards[end] = ids[i], cards[i]
            order[end] = move_order_key(actions, ids[i])
            end += 1
    return end


def goes_out(row: Row, cards: Row, start: int, end: int) -> bool:
    """Whether one of the listed actions empties the hand of the seat to act."""
    found = False
    for i in range(start, end):
        found |= cards[i] == row[R.HAND + row[R.TURN]]
    return found


def tt_probe(memory: EndgameMemory, hand: int, other_hand: int, flags: int) -> int:
    """The seat that wins a position, from the transposition table, or UNKNOWN."""
    entry = memory.table[table_index(hand, other_hand, flags)]
    is_same = entry[0] == hand and entry[1] == other_hand and entry[2] == flags
    return entry[3] & 3 if is_same and entry[3] >> 2 == memory.generation[0] else UNKNOWN


def tt_store(memory: EndgameMemory, hand: int, other_hand: int, flags: int, winner: int) -> None:
    """Store which seat wins a position."""
    entry = memory.table[table_index(hand, other_hand, flags)]
    entry[0], entry[1], entry[2] = hand, other_hand, flags
    entry[3] = memory.generation[0] << 2 | winner


def select_next(memory: EndgameMemory, start: int, end: int) -> None:
    """Move the action with the highest key to the end of its list; of equal keys the earliest."""
    ids, cards, order = memory.ids, memory.cards, memory.order
    best = start
    for i in range(start + 1, end):
        if order[i] > order[best]:
            best = i
    last = end - 1
    ids[best], ids[last] = ids[last], ids[best]
    cards[best], cards[last] = cards[last], cards[best]
    order[best], order[last] = order[last], order[best]


@noinline
def search(memory: EndgameMemory, seat: int, other: int, start: int, max_nodes: int) -> tuple[int, int]:
    """Find out who wins the position in ``memory.stack[1]``.

    The actions still to try at a depth are ``ids[ends[depth - 1] : ends[depth]]``; the lists of greater
    depths follow.

    Returns:
        The winner, `seat` or `other`, and the number of positions searched; UNKNOWN beyond `max_nodes`.
    """
    stack, ends = memory.stack, memory.ends
    num_nodes = 0
    depth = 1
    ends[0] = start
    while True:
        row = stack[depth]
        if row[R.TURN] < 0:
            winner = better_placed(row, seat, other)
        else:
            winner = tt_probe(
                memory, row[R.HAND + seat], row[R.HAND + other], position_flags(memory.spec, row)
            )
            if winner == UNKNOWN:
                if num_nodes == max_nodes:
                    return UNKNOWN, num_nodes
                num_nodes += 1
                begin = ends[depth - 1]
                opposite = row[R.HAND + seat] if row[R.TURN] == other else row[R.HAND + other]
                ends[depth] = list_actions(memory, row, begin, opposite)
                if goes_out(row, memory.cards, begin, ends[depth]):
                    winner = row[R.TURN]
        # Pass a result up to the last position that needs more and has an action left to try.
        while winner != UNKNOWN:
            depth -= 1
            if depth == 0:
                return winner, num_nodes
            row = stack[depth]
            if winner != row[R.TURN] and ends[depth] > ends[depth - 1]:
                winner = UNKNOWN
            else:
                tt_store(
                    memory, row[R.HAND + seat], row[R.HAND + other], position_flags(memory.spec, row), winner
                )
        select_next(memory, ends[depth - 1], ends[depth])
        ends[depth] -= 1
        i = ends[depth]
        apply_to(
            stack[depth], stack[depth + 1], num_columns(memory.spec), memory.spec, memory.actions,
            memory.ids[i],
            memory.cards[i], memory.rewards,
        )  # fmt: skip
        depth += 1


@noinline
def solve_row(
    memory: EndgameMemory, row: Row, wanted: int, find_all: bool, max_nodes: int, best_mask: BoolArray
) -> tuple[int, int]:
    """Solve a round with exactly two players left.

    Args:
        memory: arrays of the search.
        row: the state, both hands included.
        wanted: the action to try first; NO_ACTION for none.
        find_all: whether to find all actions that win, instead of one.
        max_nodes: positions to search at most.
        best_mask: bool (A,), see `Solution`; all False before.

    Returns:
        ``(value, num_nodes)``, see `Solution`.
    """
    root, order = memory.stack[0], memory.order
    memory.generation[0] += 1
    for i in range(num_columns(memory.spec)):
        root[i] = row[i]
    seat = root[R.TURN]
    other = lowest_index(root[R.LIVE] ^ 1 << seat)
    end = list_actions(memory, root, 0, -1)
    for i in range(end):
        if memory.ids[i] == wanted:
            order[i] = FIRST
    value, num_nodes = -1, 0
    for left in range(end, 0, -1):
        select_next(memory, 0, left)
        action = memory.ids[left - 1]
        apply_to(
            root, memory.stack[1], num_columns(memory.spec), memory.spec, memory.actions, action,
            memory.cards[left - 1],
            memory.rewards,
        )  # fmt: skip
        winner, num_more = search(memory, seat, other, end, max_nodes - num_nodes)
        num_nodes += num_more
        if winner == UNKNOWN:
            value = 0
            break
        if winner == seat:
            value = 1
            best_mask[action] = True
            if not find_all:
                break
    if value < 1:
        for i in range(end):
            best_mask[memory.ids[i]] = value < 0
    return value, num_nodes


@jit.loop
def _solve_rows(  # type: ignore[no-untyped-def]
    memory, rows, wanted, find_all, max_nodes, values, best_masks, nodes
):
    for b in range(rows.shape[0]):
        values[b], nodes[b] = solve_row(memory, rows[b], wanted[b], find_all, max_nodes, best_masks[b])


class Solution(NamedTuple):
    """The results of n decisions.

    Attributes:
        value: int8 (n,), 1: the player to move can take the better of the two places that are left, -1: the
            other player can prevent it, 0: not solved.
        best_mask: bool (n, A), the best actions: those that win, or all legal ones if none wins; all False if
            the decision is not solved.
        num_nodes: int64 (n,), positions searched.
    """

    value: npt.NDArray[np.int8]
    best_mask: BoolArray
    num_nodes: IntArray


class EndgameSolver:
    """The search with its buffers, for one variant. Not for several threads at once.

    Args:
        rules: the variant.

    Raises:
        RulesError: rules with payments: more than the better place is at stake.
    """

    def __init__(self, rules: Rules) -> None:
        if rules.has_payments:
            raise RulesError(f"endgames of the {rules.name} rules are not solved: they have payments")
        self.rules = rules
        self._memory = new_memory(rules)
        self._num_columns = Batch(rules).state.rows.shape[1]

    def solve(
        self, rows: IntArray, *, wanted: IntArray | None = None, max_nodes: int = MAX_NODES
    ) -> Solution:
        """Solve rounds with two players left and all hands open.

        Args:
            rows: int64 (n, ROW), states under the solver's rules (`tienlen_env.games.tienlen.state`).
            wanted: int64 (n,), one action each to try first; the search then stops at the first action that
                wins, and `best_mask` has only this one. None: find all actions that win.
            max_nodes: a decision that needs more positions is not solved.

        Raises:
            ValueError: another type or shape, an action or a number of positions out of range, or a round in
                which not exactly two players are left.
        """
        max_nodes = as_index(max_nodes, MOST_NODES + 1, "max_nodes")
        num_actions = int(self._memory.spec[S.NUM_ACTIONS])
        rows = np.asarray(rows)
        if rows.dtype != np.int64 or rows.ndim != 2 or rows.shape[1] < self._num_columns:
            raise ValueError(f"rows: expected int64 (n, ROW) with ROW at least {self._num_columns}")
        first = np.full(len(rows), NO_ACTION) if wanted is None else np.asarray(wanted)
        if first.shape != (len(rows),) or first.dtype.kind not in "iu":
            raise ValueError(f"wanted: expected integers ({len(rows)},)")
        if wanted is not None and len(first) and not 0 <= first.min() <= first.max() < num_actions:
            raise ValueError(f"wanted: expected actions, 0..{num_actions - 1}")
        if (np.bitwise_count(rows[:, R.LIVE]) != 2).any() or (rows[:, R.TURN] < 0).any():
            raise ValueError("rows: expected rounds with exactly two players left")
        self._check_states(rows, num_actions)
        n = len(rows)
        found = Solution(np.zeros(n, np.int8), np.zeros((n, num_actions), np.bool_), np.zeros(n, np.int64))
        _solve_rows(
            self._memory,
            np.ascontiguousarray(rows),
            np.ascontiguousarray(first, np.int64),
            wanted is None,
            max_nodes,
            *found,
        )
        return found

    def _check_states(self, rows: IntArray, num_actions: int) -> None:
        """Refuse seats, actions and hands that compiled code would use as indices beyond its tables.

        Raises:
            ValueError: there are such.
        """
        num_players = int(self._memory.spec[S.NUM_PLAYERS])
        hands = rows[:, R.HAND : R.HAND + 4]
        masks = rows[:, [R.LIVE, R.PASSED, R.PENDING, R.KNOCKED_OUT]]
        table, owner, turn = rows[:, R.TABLE], rows[:, R.OWNER], rows[:, R.TURN]
        is_right = (table >= 0) & (table < num_actions) & (owner >= -1) & (owner < num_players)
        is_right &= (turn < num_players) & (masks >> num_players == 0).all(axis=1)
        is_right &= rows[:, R.LIVE] >> np.minimum(turn, 63) & 1 == 1
        is_right &= (hands & ~self.rules.deck_mask == 0).all(axis=1)
        is_right &= (np.bitwise_count(hands) <= self.rules.cards_each).all(axis=1)
        if not is_right.all():
            raise ValueError("rows: expected states under the solver's rules")


@lru_cache(maxsize=8)
def solver_of(rules: Rules) -> EndgameSolver:
    """The solver of a variant that this process shares."""
    return EndgameSolver(rules)


def can_solve(rules: AnyRules) -> TypeGuard[Rules]:
    """Whether endgames under these rules can be solved; with payments more than two outcomes are possible."""
    return isinstance(rules, Rules) and not rules.has_payments


def open_endings(view: View) -> tuple[IntArray, IntArray]:
    """The decisions where the player to move knows all cards and one opponent is left.

    Only information of the player to move is used: the other hand is the deck without the own hand and all
    cards played, if this is as many cards as the opponent holds. It never is where cards are
    undealt, nor if a player was knocked out of the round with cards in the hand.

    Returns:
        ``(games, rows)``: int64 (m,), indices in the view; int64 (m, ROW), the states with both hands.
    """
    batch, sources = view.source
    games = np.flatnonzero(np.bitwise_count(batch.kernel_arrays.rows[sources, R.LIVE]) == 2)
    if not games.size:
        return games, batch.kernel_arrays.rows[:0]
    view = view.select(games)
    rows = view.public_rows  # of this view alone
    others = rows[:, R.LIVE] ^ (np.int64(1) << rows[:, R.TURN])
    other = np.bitwise_count(others - 1).astype(np.int64)
    seen = view.hand | np.bitwise_or.reduce(view.played, axis=1)
    unseen = batch.kernel_arrays.spec[S.DECK] & ~seen
    relative = (other - rows[:, R.TURN]) % view.rules.num_players
    is_known = np.bitwise_count(unseen) == view.num_cards_left[np.arange(len(rows)), relative]
    rows[np.arange(len(rows)), R.HAND + other] = unseen
    return games[is_known], rows[is_known]


def solve(view: View, *, max_nodes: int = MAX_NODES, solver: EndgameSolver | None = None) -> Solution:
    """Solve those of n decisions that are endgames with known cards; the others have value 0.

    A decision for action a is a blunder if ``value == 1`` and not ``best_mask[a]``.

    Args:
        view: the decisions.
        max_nodes: a decision that needs more positions is not solved.
        solver: for these rules; None for `solver_of`.
    """
    games, rows = open_endings(view)
    found = (solver or solver_of(view.rules)).solve(rows, max_nodes=max_nodes)
    n = len(view)
    solution = Solution(
        np.zeros(n, np.int8), np.zeros((n, view.action_table.num_actions), np.bool_), np.zeros(n, np.int64)
    )
    solution.value[games] = found.value
    solution.best_mask[games] = found.best_mask
    solution.num_nodes[games] = found.num_nodes
    return solution


def keep_wins(view: View, chosen: IntArray, *, max_nodes: int = MAX_NODES) -> tuple[IntArray, IntArray]:
    """Solve the endgames among n decisions with a choice, and replace actions that forfeit a proven win.

    Args:
        view: the decisions.
        chosen: int64 (n,), one action each; actions that lose a won endgame are replaced in place.
        max_nodes: a decision that needs more positions is not solved.

    Returns:
        ``(won, lost)``: indices of the endgames that the actions in `chosen` now win, and of those that every
        action loses. The others could not be solved.
    """
    if not can_solve(view.rules):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    games, rows = open_endings(view)
    if not games.size:
        return games, games
    is_choice = view.num_legal[games] > 1
    games, rows = games[is_choice], rows[is_choice]
    found = solver_of(view.rules).solve(rows, wanted=chosen[games], max_nodes=max_nodes)
    is_won = found.value == 1
    chosen[games[is_won]] = found.best_mask[is_won].argmax(axis=1)
    return games[is_won], games[found.value == -1]


class EndgameAgent:
    """Wraps another agent and overrides it in solved endgames.

    The other agent's action is played if it wins the endgame too, or if no win is proven: a lost endgame,
    more players, unknown cards, too many positions, rules with payments. Otherwise an action that wins
    replaces it.

    ``EndgameAgent(base)`` is an `EndgameCardAgent` or `EndgameFallibleAgent` if `base` chooses its cards one
    by one (`CardAgent`) or may fail to answer (`FallibleAgent`).

    Args:
        base: the other agent.
        nodes: positions searched for a decision at most; if this is not enough, the other agent's action is
            played.
    """

    plays = "tienlen"

    def __new__(cls, base: Agent, *, nodes: int = MAX_NODES) -> EndgameAgent:
        """Make an agent of the class with the same optional methods as `base`."""
        kind = cls
        if cls is EndgameAgent and isinstance(base, FallibleAgent):
            kind = EndgameFallibleAgent
        elif cls is EndgameAgent and isinstance(base, CardAgent):
            kind = EndgameCardAgent
        return super().__new__(kind)

    def __init__(self, base: Agent, *, nodes: int = MAX_NODES) -> None:
        self.name = f"endgame:{base.name}"
        self.base = base
        self.nodes = as_index(nodes, MOST_NODES + 1, "nodes")
        self.history = history_of([base])

    def __getnewargs_ex__(self) -> tuple[tuple[Agent], dict[str, int]]:
        return (self.base,), {"nodes": self.nodes}

    @property
    def seed_key(self) -> str | None:
        """That of the other agent, if it is in another process (`tienlen_agents.external.seeds`)."""
        return getattr(self.base, "seed_key", None)

    @seed_key.setter
    def seed_key(self, key: str) -> None:
        self.base.seed_key = key  # type: ignore[attr-defined]

    def reset(self, seed: int) -> None:
        """Reset the other agent. The endgame search has no state and draws nothing."""
        self.base.reset(seed)

    def act(self, view: View) -> IntArray:
        """Choose by the rule above (see `Agent.act`)."""
        chosen = np.array(self.base.act(view))
        keep_wins(view, chosen, max_nodes=self.nodes)
        return chosen


class EndgameCardAgent(EndgameAgent):
    """`EndgameAgent` over an agent that chooses its cards one by one; the arena calls `act_cards`."""

    def act_cards(self, view: View) -> tuple[IntArray, IntArray]:
        """Choose card by card (see `CardAgent.act_cards`).

        In a won endgame the lowest suits are played; the win is proven for these.
        """
        actions, cards = choose_cards(self.base, view)
        chosen, played = np.array(actions), np.array(cards)
        won, _ = keep_wins(view, chosen, max_nodes=self.nodes)
        played[won] = view.cards_of(chosen)[won]
        return chosen, played


class EndgameFallibleAgent(EndgameCardAgent):
    """`EndgameAgent` over an agent that may fail to answer."""

    def take_forfeits(self) -> list[Forfeit]:
        """The rounds that the other agent has forfeited since the last call."""
        return self.base.take_forfeits() if isinstance(self.base, FallibleAgent) else []

    def close(self) -> None:
        """End what the other agent runs; a later decision starts it again."""
        close_others(self)
        close(self.base)
