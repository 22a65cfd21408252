"""Perfect play once two players are left and each can work out the other's cards.

With four players all 52 cards are dealt. When just two are left in the round and nobody was knocked out of
it, the cards not seen are the other one's hand: a finite game of perfect information with two outcomes, who
of the two takes the better place. `solve` decides it exactly, `EndgameAgent` plays it.

**What is searched.** Positions are the engine's own rows, moved on by `core.kernels`: no rule is written a
second time, so tables whose owner has gone out, flush locks, bombs after a pass and knock-outs are as in
RULES.md. A position is won for the player to move if some action leads to a position won for that player
(who may be to move again). The search is depth first and stops at the first such action: with two outcomes
that is all that alpha-beta can cut. A line is at most 26 plays, each followed by at most one pass, and two
passes on a table whose owner is out: within `MAX_DEPTH`.

**Order.** Going out is looked for first; then most cards, then the lowest top card; a pass comes last.
Trying first what the other hand cannot answer was measured: a third more positions.

**The memory** of decided positions has ``2 ** MEMORY_BITS`` entries, found by a hash of both hands, the
action on the table and the flags of the trick. An entry holds these in full, so no two positions are ever
taken for one another; the later of two overwrites the other. Each decision starts with an empty memory (by a
stamp), so its outcome and cost do not depend on what was solved before.

**Exact cards.** The search knows the actions of the table, which play the lowest inner cards (RULES.md 7.2).
Without `flush_lock` other inner cards never change who wins. Call a hand *raised* when cards of it are
replaced by higher ones of their ranks. Who wins with a hand wins with the raised one, by the same plays with
the raised cards: shapes and ranks, and so chops, are the same, tops are the same or higher, and whatever the
other player may answer now could be answered before. But the lowest inner cards leave a raise of what any
other choice leaves, under the same top. By the same argument, of two tops of one rank with no card of the
other hand between them, the lower is as good. With `flush_lock` a suit kept may be worth more than a raise,
because it completes a suited run; there nothing is left out, and the result is exact between players of
table actions (exact cards changed it in none of 2,470 endings: small rich hands, and hands of up to seven
cards from `greedy_long` and `random` at play).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt
from numba import njit

from tienlen_env.engine.agent import Agent, CardAgent, FallibleAgent, View, choose_cards, history_of
from tienlen_env.engine.backends import overloads as numba_bits
from tienlen_env.engine.backends.build import build_of
from tienlen_env.engine.batch import NO_ACTION
from tienlen_env.games.common.bits import lowest_index
from tienlen_env.games.common.cards import FULL_DECK
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.game import TIENLEN
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MAX_NODES: Final = 20_000  # 2 to 8 ms
MAX_DEPTH: Final = 60
MEMORY_BITS: Final = 16
UNKNOWN: Final = -1  # where a winning seat is expected
FIRST: Final = 1 << 20  # above every promise

# Odd numbers that mix well, as signed words.
_MIX = tuple(x - (1 << 64) for x in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x9FB21C651E98DF25))
_MIX_HAND, _MIX_OTHER, _MIX_ALL = _MIX


def _jit(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False)


def _inline(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False, forceinline=True)


@_inline
def position_flags(row: Any) -> int:
    """All that the future depends on besides the two hands, in 28 bits."""
    trick = row[R.TABLE] << 18 | row[R.TURN] << 16 | (row[R.OWNER] + 1) << 13
    flags: int = trick | row[R.PASSED] << 9 | row[R.PENDING] << 5 | row[R.BARRED] << 1 | row[R.LOCK]
    return flags


@_inline
def memory_index(hand: int, other: int, flags: int) -> int:
    """Where a position stands in the memory."""
    x = hand * _MIX_HAND ^ (other + (flags << 32)) * _MIX_OTHER
    x = (x ^ x >> 32) * _MIX_ALL
    index: int = (x ^ x >> 29) & ((1 << MEMORY_BITS) - 1)
    return index


@_inline
def better_placed(row: Any, seat: int, other: int) -> int:
    """Which of two seats has the better place, the round being over."""
    return seat if row[R.PLACE + seat] < row[R.PLACE + other] else other


@_inline
def promise(actions: Any, action: int) -> int:
    """How early an action is tried, the highest first: most cards, lowest top card, the pass last."""
    at = action * S.ACTION_FIELDS
    num_cards = actions[at + S.WIDTH] * actions[at + S.LENGTH]
    promised: int = 64 * num_cards - actions[at + S.TOP]
    return promised


@_jit
def list_actions(
    row: Any, spec: Any, actions: Any, ids: Any, cards: Any, order: Any, start: int, other_hand: int
) -> int:
    """Write the legal actions, their cards and promises from index `start` on.

    Of two that differ in the suit of the top card only, the higher is left out where no card of `other_hand`
    is between them; -1 lists all.

    Returns:
        The index after the last one.
    """
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
            order[end] = promise(actions, ids[i])
            end += 1
    return end


@_inline
def goes_out(row: Any, cards: Any, start: int, end: int) -> bool:
    """Whether one of the listed actions empties the hand of the seat to act."""
    found = False
    for i in range(start, end):
        found |= cards[i] == row[R.HAND + row[R.TURN]]
    return found


@_inline
def recall(memory: Any, stamp: int, hand: int, other_hand: int, flags: int) -> int:
    """The seat that was found to win a position, or UNKNOWN."""
    entry = memory[memory_index(hand, other_hand, flags)]
    is_same = entry[0] == hand and entry[1] == other_hand and entry[2] == flags
    return entry[3] & 3 if is_same and entry[3] >> 2 == stamp else UNKNOWN


@_inline
def memorise(memory: Any, stamp: int, hand: int, other_hand: int, flags: int, winner: int) -> None:
    """Keep which seat wins a position."""
    entry = memory[memory_index(hand, other_hand, flags)]
    entry[0], entry[1], entry[2] = hand, other_hand, flags
    entry[3] = stamp << 2 | winner


@_inline
def take_best(ids: Any, cards: Any, order: Any, start: int, end: int) -> None:
    """Move the action of highest promise to the end of its list; among equals the earliest."""
    best = start
    for i in range(start + 1, end):
        if order[i] > order[best]:
            best = i
    last = end - 1
    ids[best], ids[last] = ids[last], ids[best]
    cards[best], cards[last] = cards[last], cards[best]
    order[best], order[last] = order[last], order[best]


@_jit
def move_on(row: Any, new_row: Any, spec: Any, actions: Any, action: int, cards: int, rewards: Any) -> None:
    """Write to `new_row` the row after an action; the new legal actions are not worked out."""
    for i in range(R.LEGAL):
        new_row[i] = row[i]
    kernels.play(new_row, spec, actions, action, cards, rewards)


@_jit
def search(
    stack: Any, spec: Any, actions: Any, ids: Any, cards: Any, order: Any, ends: Any, memory: Any,
    rewards: Any, seat: int, other: int, start: int, stamp: int, max_nodes: int,
) -> tuple[int, int]:  # fmt: skip
    """Find out who wins the position in ``stack[1]``.

    What is left to try at a depth is ``ids[ends[depth - 1] : ends[depth]]``; the lists of deeper ones follow.

    Returns:
        The winner, `seat` or `other`, and the number of positions searched; UNKNOWN beyond `max_nodes`.
    """
    num_nodes = 0
    depth = 1
    ends[0] = start
    while True:
        row = stack[depth]
        if row[R.TURN] < 0:
            winner = better_placed(row, seat, other)
        else:
            winner = recall(memory, stamp, row[R.HAND + seat], row[R.HAND + other], position_flags(row))
            if winner == UNKNOWN:
                if num_nodes == max_nodes:
                    return UNKNOWN, num_nodes
                num_nodes += 1
                begin = ends[depth - 1]
                opposite = row[R.HAND + seat] if row[R.TURN] == other else row[R.HAND + other]
                ends[depth] = list_actions(row, spec, actions, ids, cards, order, begin, opposite)
                if goes_out(row, cards, begin, ends[depth]):
                    winner = row[R.TURN]
        # Hand a result up to the last position that needs more and has something left to try.
        while winner != UNKNOWN:
            depth -= 1
            if depth == 0:
                return winner, num_nodes
            row = stack[depth]
            if winner != row[R.TURN] and ends[depth] > ends[depth - 1]:
                winner = UNKNOWN
            else:
                hand, other_hand = row[R.HAND + seat], row[R.HAND + other]
                memorise(memory, stamp, hand, other_hand, position_flags(row), winner)
        take_best(ids, cards, order, ends[depth - 1], ends[depth])
        ends[depth] -= 1
        i = ends[depth]
        move_on(stack[depth], stack[depth + 1], spec, actions, ids[i], cards[i], rewards)
        depth += 1


@lru_cache(maxsize=1)
def _compile() -> Any:
    """The loop over decisions, compiled."""
    build = build_of((*TIENLEN.sources, numba_bits))

    def solve_rows(  # type: ignore[no-untyped-def]
        rows, wanted, find_all, spec, actions, stack, ids, cards, order, ends, memory, rewards,
        first_stamp, max_nodes, values, best_masks, nodes,
    ):  # fmt: skip
        build  # noqa: B018
        root = stack[0]
        for b in range(rows.shape[0]):
            for i in range(R.LEGAL):
                root[i] = rows[b, i]
            seat = root[R.TURN]
            other = lowest_index(root[R.LIVE] ^ 1 << seat)
            end = list_actions(root, spec, actions, ids, cards, order, 0, -1)
            for i in range(end):
                if ids[i] == wanted[b]:
                    order[i] = FIRST
            value = -1
            for left in range(end, 0, -1):
                take_best(ids, cards, order, 0, left)
                action = ids[left - 1]
                move_on(root, stack[1], spec, actions, action, cards[left - 1], rewards)
                winner, num_nodes = search(
                    stack, spec, actions, ids, cards, order, ends, memory, rewards,
                    seat, other, end, first_stamp + b, max_nodes - nodes[b],
                )  # fmt: skip
                nodes[b] += num_nodes
                if winner == UNKNOWN:
                    value = 0
                    break
                if winner == seat:
                    value = 1
                    best_masks[b, action] = True
                    if not find_all:
                        break
            values[b] = value
            if value < 1:
                for i in range(end):
                    best_masks[b, ids[i]] = value < 0

    return njit(solve_rows, cache=True, nogil=True, _nrt=False)


class Solution(NamedTuple):
    """What was found out about n decisions.

    Attributes:
        value: int8 (n,), 1: the player to move can take the better of the two places that are left, -1: the
            other player can prevent it, 0: not solved.
        best_mask: bool (n, A), the actions that keep the value: those that win, or all legal ones where none
            does; nothing where it is not solved.
        num_nodes: int64 (n,), positions searched.
    """

    value: npt.NDArray[np.int8]
    best_mask: BoolArray
    num_nodes: IntArray


class Solver:
    """The search with its buffers, for one variant. Not for several threads at once.

    Args:
        rules: the variant.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        # The default is a single round: the kernels will not deal the next one at the end of a line.
        self._spec = build_spec(rules)
        self._num_actions = int(self._spec[0][S.NUM_ACTIONS])
        self._stack = np.zeros((MAX_DEPTH, int(self._spec[0][S.ROW_SIZE])), np.int64)
        self._lists = np.zeros((3, MAX_DEPTH * self._num_actions), np.int64)
        self._ends = np.zeros(MAX_DEPTH, np.int64)
        self._memory = np.zeros((1 << MEMORY_BITS, 4), np.int64)
        self._rewards = np.zeros(rules.num_players)
        self._stamp = 1

    def solve(
        self, rows: IntArray, *, wanted: IntArray | None = None, max_nodes: int = MAX_NODES
    ) -> Solution:
        """Solve rounds in which two players are left, with all hands open.

        Args:
            rows: int64 (n, ROW), states of these rules (`tienlen_env.games.tienlen.state`), left as they are.
            wanted: int64 (n,), an action each to try first, and reason to stop at the first action that
                wins, the only one in `best_mask` then. None: find all that win.
            max_nodes: a decision that needs more positions is not solved.

        Raises:
            ValueError: a round in which not exactly two players are left.
        """
        if (np.bitwise_count(rows[:, R.LIVE]) != 2).any() or (rows[:, R.TURN] < 0).any():
            raise ValueError("rows: expected rounds in which exactly two players are left")
        n = len(rows)
        found = Solution(
            np.zeros(n, np.int8), np.zeros((n, self._num_actions), np.bool_), np.zeros(n, np.int64)
        )
        _compile()(
            np.ascontiguousarray(rows),
            np.full(n, NO_ACTION) if wanted is None else np.ascontiguousarray(wanted, np.int64),
            wanted is None,
            *self._spec,
            self._stack,
            *self._lists,
            self._ends,
            self._memory,
            self._rewards,
            self._stamp,
            max_nodes,
            *found,
        )
        self._stamp += n
        return found


@lru_cache(maxsize=8)
def _solver(rules: Rules) -> Solver:
    return Solver(rules)


def can_solve(rules: AnyRules) -> TypeGuard[Rules]:
    """Whether endgames under these rules can be solved."""
    return isinstance(rules, Rules)


def open_endings(view: View) -> tuple[IntArray, IntArray]:
    """The decisions in which the player to move knows all cards and one opponent is left.

    Only what the player may know is used: the other hand is what remains of the deck when the own hand and
    all cards played are taken away, if that is as many cards as the other one holds. It is never so with two
    or three players (undealt cards), nor when somebody was knocked out of the round and kept cards.

    Returns:
        ``(games, rows)``: int64 (m,), indices in the view; int64 (m, ROW), the states with both hands.
    """
    batch, sources = view.source
    games = np.flatnonzero(np.bitwise_count(batch.rows[sources, R.LIVE]) == 2)
    if not games.size:
        return games, batch.rows[:0]
    view = view.select(games)
    rows = view.public_rows  # of this view alone
    others = rows[:, R.LIVE] ^ (np.int64(1) << rows[:, R.TURN])
    other = np.bitwise_count(others - 1).astype(np.int64)
    seen = view.hand | np.bitwise_or.reduce(view.played, axis=1)
    unseen = FULL_DECK & ~seen
    relative = (other - rows[:, R.TURN]) % view.rules.num_players
    is_known = np.bitwise_count(unseen) == view.num_cards_left[np.arange(len(rows)), relative]
    rows[np.arange(len(rows)), R.HAND + other] = unseen
    return games[is_known], rows[is_known]


def solve(view: View, *, max_nodes: int = MAX_NODES) -> Solution:
    """Solve those of n decisions that are endings with known cards; the others have value 0.

    A decision for action a is a blunder if ``value == 1`` and not ``best_mask[a]``.
    """
    games, rows = open_endings(view)
    found = _solver(view.rules).solve(rows, max_nodes=max_nodes)
    n = len(view)
    solution = Solution(
        np.zeros(n, np.int8), np.zeros((n, view.table.num_actions), np.bool_), np.zeros(n, np.int64)
    )
    solution.value[games] = found.value
    solution.best_mask[games] = found.best_mask
    solution.num_nodes[games] = found.num_nodes
    return solution


def winning_actions(view: View) -> BoolArray:
    """bool (n, A): the actions that are proven to force the better place; none where none is."""
    found = solve(view)
    winning: BoolArray = found.best_mask & (found.value == 1)[:, None]
    return winning


def keep_wins(view: View, chosen: IntArray, *, max_nodes: int = MAX_NODES) -> tuple[IntArray, IntArray]:
    """Solve the endings among n decisions that have a choice, and mend choices that let a win go.

    Args:
        view: the decisions.
        chosen: int64 (n,), an action each; those are replaced in place that lose a won ending.
        max_nodes: a decision that needs more positions is not solved.

    Returns:
        ``(won, lost)``: indices of the endings that are won, by `chosen` as it is now; and of those that
        are lost, whatever is played. Others could not be solved.
    """
    games, rows = open_endings(view)
    if not games.size:
        return games, games
    is_choice = view.num_legal[games] > 1
    games, rows = games[is_choice], rows[is_choice]
    found = _solver(view.rules).solve(rows, wanted=chosen[games], max_nodes=max_nodes)
    is_won = found.value == 1
    chosen[games[is_won]] = found.best_mask[is_won].argmax(axis=1)
    return games[is_won], games[found.value == -1]


class EndgameAgent:
    """Plays as another agent does, except that it lets no solved ending go.

    The other agent's action stands if it keeps a won ending won, and where nothing can be gained or proven:
    a lost ending, more players, unknown cards, too many positions. Otherwise it is replaced by one that wins.
    Where the other agent chooses its cards one by one (`CardAgent`) so does this one, but a won ending is
    played with the lowest suits, of which the win is proven. What the other agent forfeits is reported.

    Args:
        base: the other agent.
        nodes: positions searched for a decision before it is handed back.
    """

    plays = "tienlen"

    def __init__(self, base: Agent, *, nodes: int = MAX_NODES) -> None:
        self.name = f"endgame:{base.name}"
        self.base = base
        self.nodes = nodes
        self.history = history_of([base])
        # It offers what the other agent offers, no more: choosing by cards costs a table time.
        if isinstance(base, CardAgent):
            self.act_cards = self._act_cards
        if isinstance(base, FallibleAgent):
            self.take_forfeits = base.take_forfeits

    def reset(self, seed: int) -> None:
        """Start the other agent afresh; the search itself draws nothing and forgets everything."""
        self.base.reset(seed)

    def act(self, view: View) -> IntArray:
        """Choose by the rule above (see `Agent.act`)."""
        chosen = np.array(self.base.act(view))
        keep_wins(view, chosen, max_nodes=self.nodes)
        return chosen

    def _act_cards(self, view: View) -> tuple[IntArray, IntArray]:
        """The same, card by card (see `CardAgent.act_cards`)."""
        actions, cards = choose_cards(self.base, view)
        chosen, played = np.array(actions), np.array(cards)
        won, _ = keep_wins(view, chosen, max_nodes=self.nodes)
        played[won] = view.cards_of(chosen)[won]
        return chosen, played
