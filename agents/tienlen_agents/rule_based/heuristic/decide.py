"""The compiled part of the heuristic player: how a hand is best split into plays, and the choice.

Scalar functions in the style of `tienlen_env.games.tienlen.kernels`, on one int64 array, the *desk*: the
variant and the weights, what is worked out once a decision, and two memos of the splits found so far. These
are tagged by decision, so what they hold of earlier decisions is never seen and a decision depends on its
arguments alone.

A *split* is one word of three numbers: its cost from bit 16 on, below that the number of plays, 8 bits, and
the number of those that can be beaten. They are minimised apart from one another, each over all splits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numba import njit

from tienlen_agents.rule_based.heuristic import parameters
from tienlen_agents.rule_based.heuristic import parameters as W
from tienlen_env.engine.backends import overloads as numba_bits
from tienlen_env.engine.backends.build import build_of
from tienlen_env.games.common.bits import (
    FULL,
    LOWEST_SUIT,
    highest_index,
    lowest_index,
    lowest_of_rank,
    popcount,
    ranks_of,
    rotate,
    shift_right,
)
from tienlen_env.games.tienlen import actions as combos
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.game import TIENLEN
from tienlen_env.games.tienlen.kernels import sequence_hand, tops_of_shape

# The desk. What a variant fixes:
KIND: Final = 0  # 4 × 16: kind of a shape (width - 1, length); `parameters.BOMB` for bombs
# What a decision fixes:
TOPS: Final = 64  # 4 × 16: tops of the unseen cards' combinations of a shape
CHOPPED: Final = 128  # 5: 1 where an unseen bomb may beat so many 2s
MOST_LEFT: Final = 133  # cards in the longest hand of an opponent
SCALE: Final = 134  # 512 × the share of unseen cards that opponents hold
SHORTEST: Final = 135  # fewest ranks of any sequence, 16 without sequences
COSTS: Final = 136  # where the costs for this decision begin
TWOS: Final = 137  # 1: an opponent may hold a 2, so bombs are bombs
STAMP: Final = 138  # number of the decision, 1..STAMPS
LADDER: Final = 139  # not 0: bombs beat bombs of other shapes (RULES.md 4.1), so none is safe
STEP: Final = 140  # NUM_KINDS: cost of each better play
WEIGHTS: Final = STEP + W.NUM_KINDS
SETS: Final = WEIGHTS + W.NUM_WEIGHTS  # 13 × 16: the best split of some cards of a rank << 12 | its decision
MEMO: Final = SETS + 13 * 16
MEMO_BITS: Final = 11
STAMP_BITS: Final = 12  # what 52 cards leave of a word
STAMPS: Final = (1 << STAMP_BITS) - 1
DESK_SIZE: Final = MEMO + (2 << MEMO_BITS)

_PASS: Final = combos.PASS
PLAYS_SHIFT: Final = 8  # where in a split the number of plays begins, ...
COST_SHIFT: Final = 16  # ... and where the cost
HASH: Final = 0x9E3779B97F4A7C15 - (1 << 64)
_SURE: Final = 1 << 40  # above any score: goes out for certain
_NEVER: Final = -(1 << 40)


def _jit(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False)


def _inline(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False, forceinline=True)


# ---------------------------------------------------------------- what a play costs


@_inline
def num_better(desk: Any, width: int, length: int, top: int) -> int:
    """How many tops of unseen combinations beat this one; none where no opponent has cards enough."""
    if width * length > desk[MOST_LEFT]:
        return 0
    return popcount(desk[TOPS + (width - 1) * 16 + length] & (FULL << (top + 1)))


@_inline
def is_chopped(desk: Any, width: int, length: int, top: int) -> bool:
    """Whether another shape may beat the play: a bomb on 2s, or on a bomb where there is a ladder."""
    if length == 1 and top >= 48:
        return bool(desk[CHOPPED + width])
    return bool(desk[LADDER] and desk[KIND + (width - 1) * 16 + length] == W.BOMB)


@_inline
def plain_kind(width: int, length: int) -> int:
    """The kind of a shape that is no bomb."""
    if length == 1:
        return min(width - 1, W.TRIPLE)
    return W.SEQUENCE + min(max(width * length - 3, 0), W.NUM_SEQUENCES - 1)


@_inline
def play_cost(desk: Any, width: int, length: int, top: int) -> int:
    """The split that is this one play."""
    better = num_better(desk, width, length, top)
    kind = desk[KIND + (width - 1) * 16 + length]
    if kind == W.BOMB and desk[TWOS] == 0:
        kind = plain_kind(width, length)
    cost: int = (
        desk[desk[COSTS] + kind * W.NUM_STEPS + (better * desk[SCALE] >> 8)] + better * desk[STEP + kind]
    )
    is_beatable = 1 if better > 0 or is_chopped(desk, width, length, top) else 0
    return (cost << COST_SHIFT) + (1 << PLAYS_SHIFT) + is_beatable


@_inline
def cheaper(first: int, second: int) -> int:
    """The least of each of the numbers of two splits."""
    cost: int = min(first, second) & (-1 << COST_SHIFT)
    num_plays = min(first & 255 << PLAYS_SHIFT, second & 255 << PLAYS_SHIFT)
    return cost | num_plays | min(first & 255, second & 255)


@_jit
def split_of_rank(desk: Any, cards: int) -> int:
    """The best split of cards of one rank: the last set is of the 1..4 highest cards left."""
    top = lowest_index(cards)
    before_3 = before_2 = before_1 = 0  # best splits without the last three, two, one of the cards so far
    best: int = play_cost(desk, 1, 1, top)
    count = 1
    cards &= cards - 1
    while cards != 0:
        top = lowest_index(cards)
        cards &= cards - 1
        count += 1
        before_3, before_2, before_1 = before_2, before_1, best
        best = cheaper(before_1 + play_cost(desk, 1, 1, top), before_2 + play_cost(desk, 2, 1, top))
        if count > 2:
            best = cheaper(best, before_3 + play_cost(desk, 3, 1, top))
        if count > 3:
            best = cheaper(best, play_cost(desk, 4, 1, top))
    return best


@_inline
def set_cost(desk: Any, cards: int) -> int:
    """The best split of cards of one rank, worked out once a decision: most splits ask for the same ones."""
    rank = lowest_index(cards) & ~3
    slot = SETS + 4 * rank + (cards >> rank)
    if desk[slot] & STAMPS != desk[STAMP]:
        desk[slot] = split_of_rank(desk, cards) << STAMP_BITS | desk[STAMP]
    cost: int = desk[slot] >> STAMP_BITS
    return cost


@_jit
def split_cost(desk: Any, spec: Any, cards: int) -> int:
    """The best split of some cards: exact, over all splits into sets and sequences.

    Ranks that are in no chain long enough for a sequence are in sets. Of the others the lowest rank's cards
    are in sets or at the bottom of sequences, so the rest is always a smaller problem of the same kind, and
    different ways lead to the same rest: the memo makes each one solved once. Sequences take the lowest
    suits, which leaves the highest for sets.
    """
    ranks = ranks_of(cards)
    chains = ranks  # where so many ranks follow one another, and then all these ranks
    for k in range(1, desk[SHORTEST]):
        chains &= ranks >> (4 * k)
    for _ in range(1, desk[SHORTEST]):
        chains |= chains << 4
    total: int = 0
    alone = cards & ~(chains * 15)
    cards ^= alone
    while alone != 0:
        lowest = alone & (15 << (lowest_index(alone) & ~3))
        total += set_cost(desk, lowest)
        alone ^= lowest
    if cards == 0:
        return total

    key = cards | desk[STAMP] << 52
    slot = MEMO + (shift_right(key * HASH, 64 - MEMO_BITS) << 1)
    if desk[slot] == key:
        known: int = desk[slot + 1]
        return total + known
    rank = lowest_index(cards) & ~3
    lowest = cards & (15 << rank)
    best: int = set_cost(desk, lowest) + split_cost(desk, spec, cards ^ lowest)
    layer, taken = cards, 0
    for width in range(1, 5):
        # `layer` is what is left of each rank, `taken` its lowest `width` cards.
        bottom = lowest_of_rank(layer)
        taken |= bottom
        minimum = spec[S.SEQUENCE_MIN + width - 1]
        if minimum != 0:
            gap = ~(ranks_of(sequence_hand(spec, width, layer)) >> rank) & LOWEST_SUIT
            chain = (lowest_index(gap) if gap != 0 else 52) >> 2
            for length in range(minimum, chain + 1):
                play = taken & (((1 << (4 * length)) - 1) << rank)
                cost = play_cost(desk, width, length, highest_index(play))
                best = cheaper(best, cost + split_cost(desk, spec, cards ^ play))
        layer ^= bottom
        if layer & (15 << rank) == 0:
            break
    desk[slot] = key
    desk[slot + 1] = best
    return total + best


# ---------------------------------------------------------------- what a decision knows


@_inline
def set_variant(desk: Any, spec: Any) -> None:
    """Fill in the kinds of shapes, the bombs among them, and the shortest sequence."""
    desk[LADDER] = spec[S.BEATERS + 5 * 16]
    desk[SHORTEST] = 16
    for width in range(1, 5):
        for length in range(16):
            desk[KIND + (width - 1) * 16 + length] = plain_kind(width, length)
        minimum = spec[S.SEQUENCE_MIN + width - 1]
        if minimum != 0:
            desk[SHORTEST] = min(desk[SHORTEST], minimum)
    for num_twos in range(1, 5):
        beater = S.BEATERS + num_twos * 16
        while spec[beater]:
            desk[KIND + ((spec[beater] >> 4) - 1) * 16 + (spec[beater] & 15)] = W.BOMB
            beater += 1


@_inline
def look_around(desk: Any, spec: Any, hand: int, unseen: int, num_held: int, fewest: int, most: int) -> None:
    """Work out what all plays of this decision are measured by.

    Args:
        desk: the desk.
        spec: the variant.
        hand: own cards.
        unseen: cards neither held nor played.
        num_held: how many of these the opponents hold.
        fewest: cards in the shortest hand among the opponents.
        most: and in the longest.
    """
    num_unseen = max(popcount(unseen), 1)
    desk[MOST_LEFT] = most
    desk[SCALE] = 512 * num_held // num_unseen
    desk[COSTS] = WEIGHTS + W.COST + fewest * W.NUM_KINDS * W.NUM_STEPS
    for kind in range(W.NUM_KINDS):
        desk[STEP + kind] = desk[WEIGHTS + W.SLOPE + kind] // num_unseen
    desk[TWOS] = 1 if unseen >> 48 else 0

    mine, others = hand, unseen
    for width in range(1, 5):
        desk[TOPS + (width - 1) * 16 + 1] = others
        minimum = spec[S.SEQUENCE_MIN + width - 1]
        if minimum != 0 and mine != 0:
            ends = sequence_hand(spec, width, others)
            ranks = ranks_of(ends)
            my_ranks = ranks_of(sequence_hand(spec, width, mine))
            chain, my_chain = ranks, my_ranks
            length = 1
            # As long as own sequences go: no others are asked for.
            while my_chain != 0:
                if length >= minimum:
                    desk[TOPS + (width - 1) * 16 + length] = ends & (chain * 15)
                chain &= ranks << (4 * length)
                my_chain &= my_ranks << (4 * length)
                length += 1
        mine ^= lowest_of_rank(mine)
        others ^= lowest_of_rank(others)

    for num_twos in range(1, popcount(hand >> 48) + 1):
        desk[CHOPPED + num_twos] = 0
        beater = S.BEATERS + num_twos * 16
        while spec[beater]:
            width, length = spec[beater] >> 4, spec[beater] & 15
            if width * length <= most and tops_of_shape(spec, unseen, width, length):
                desk[CHOPPED + num_twos] = 1
                break
            beater += 1

    desk[STAMP] += 1
    if desk[STAMP] > STAMPS:
        desk[STAMP] = 1
        for slot in range(SETS, DESK_SIZE):
            desk[slot] = 0


# ---------------------------------------------------------------- the choice


@_inline
def prepare(
    desk: Any,
    spec: Any,
    hand: int,
    unseen: int,
    left: int,
    live: int,
    passed: int,
    table: int,
) -> Any:
    """Set the desk for a decision; see `choose` for the arguments; what `judge` needs of it."""
    rivals = live & ~1
    pending = rivals if table == _PASS or not spec[S.PASS_LOCK] else rivals & ~passed
    fewest, most, num_held = 13, 0, 0
    most_pending, num_pending, ones, twos = 0, 0, 0, 0
    for seat in range(1, 4):
        if rivals >> seat & 1:
            count = left >> (4 * seat) & 15
            fewest, most, num_held = min(fewest, count), max(most, count), num_held + count
            if pending >> seat & 1:
                most_pending, num_pending = max(most_pending, count), num_pending + count
                ones += count == 1
                twos += count == 2
    look_around(desk, spec, hand, unseen, num_held, fewest, most)
    num_unseen = max(popcount(unseen), 1)
    pending_scale = 512 * num_pending // num_unseen
    return table == _PASS, pending, most_pending, most, ones, twos, fewest, num_unseen, pending_scale


@_inline
def judge(
    desk: Any,
    spec: Any,
    actions: Any,
    around: Any,
    hand: int,
    unseen: int,
    left: int,
    live: int,
    table: int,
    owner: int,
    action: int,
    cards: int,
) -> Any:
    """How good one action is by the rules of `tienlen_agents.rule_based.heuristic`.

    Args:
        desk: set by `prepare`.
        spec: the variant.
        actions: its action table.
        around: what `prepare` returned.
        hand: see `choose`, as for what follows.
        unseen: cards neither held nor played.
        left: cards in each hand.
        live: who is still in the round.
        table: action on the table.
        owner: seat that played it.
        action: a legal action ...
        cards: ... and what it plays.

    Returns:
        ``(score, split, better, is_safe)``: the split is of the hand that is left, `better` counts unseen
        plays that beat this one (0 for the pass) and `is_safe` is 1 where nobody can.
    """
    leading, pending, most_pending, most, ones, twos, fewest, num_unseen, pending_scale = around
    at = table * S.ACTION_FIELDS
    table_width, table_length = actions[at + S.WIDTH], actions[at + S.LENGTH]
    rest = hand ^ cards
    if rest == 0:
        return 2 * _SURE, 0, 0, 1
    split = split_cost(desk, spec, rest)
    num_beatable = split & 255
    score = -(split >> COST_SHIFT) - num_beatable * desk[WEIGHTS + W.BEATABLE]
    is_safe = 0
    if action == _PASS:
        num_cards = table_width * table_length
        better = popcount(unseen & (FULL << (actions[at + S.TOP] + 1))) if num_cards == 1 else 0
        score += desk[WEIGHTS + W.PASS_BONUS + fewest] + popcount(hand) * desk[WEIGHTS + W.PASS_CARD]
        score -= max((split >> COST_SHIFT + 16) - fewest, 0) * desk[WEIGHTS + W.PLACE]
        if live >> owner & 1:
            score -= desk[WEIGHTS + W.PASS_OWNER + (left >> (4 * owner) & 15)]
            if pending & ~(1 << owner) == 0:
                score -= desk[WEIGHTS + W.PASS_LAST]
    else:
        fields = action * S.ACTION_FIELDS
        width, length = actions[fields + S.WIDTH], actions[fields + S.LENGTH]
        top = actions[fields + S.TOP]
        num_cards = width * length
        # Who has passed may still put a bomb on some plays (3.6).
        reach = most if actions[fields + S.REOPENS] else most_pending
        better = num_better(desk, width, length, top) if num_cards <= reach else 0
        if better == 0 and not (reach > 0 and is_chopped(desk, width, length, top)):
            is_safe = 1
        kind = desk[KIND + (width - 1) * 16 + length]
        hold = desk[WEIGHTS + W.HOLD + kind * W.NUM_STEPS + (better * pending_scale >> 8)]
        gain = desk[WEIGHTS + (W.LEAD_TEMPO if leading else W.FOLLOW_TEMPO)]
        if num_beatable <= 1:
            gain += desk[WEIGHTS + W.FINISH]
            if is_safe:
                score += _SURE
        elif num_beatable == 2:
            gain += desk[WEIGHTS + W.FINISH_TWO]
        score += hold * gain >> 16
        if leading:
            score += num_cards * desk[WEIGHTS + W.LEAD_CARDS]
            if num_cards == 1 and ones > 0 and not is_safe:
                score += _NEVER + (top << 24)
        elif table_width != width or table_length != length:
            score += desk[WEIGHTS + W.CHOP]
    if num_cards == 1:
        score -= better * ones * desk[WEIGHTS + W.DANGER_ONE] // num_unseen
    if num_cards <= 2:
        score -= better * twos * desk[WEIGHTS + W.DANGER_TWO] // num_unseen
    return score, split, better, is_safe


@_jit
def choose(
    desk: Any,
    spec: Any,
    actions: Any,
    hand: int,
    unseen: int,
    left: int,
    live: int,
    passed: int,
    table: int,
    owner: int,
    ids: Any,
    cards: Any,
    start: int,
    end: int,
) -> int:
    """The rules of `tienlen_agents.rule_based.heuristic`, in their order.

    Args:
        desk: the desk, its variant and weights set.
        spec: the variant.
        actions: its action table.
        hand: own cards.
        unseen: cards neither held nor played.
        left: cards in each hand, 4 bits a seat; seats are relative, 0 is the player to move.
        live: seat mask: still in the round.
        passed: seat mask: passed in this trick.
        table: action on the table, 0 when leading.
        owner: seat that played it.
        ids: legal actions ...
        cards: ... and what each would play, from index `start` to `end`.
        start: see `ids`.
        end: see `ids`.

    Returns:
        One of the actions.
    """
    best: int = ids[start]
    if end - start == 1:
        return best
    around = prepare(desk, spec, hand, unseen, left, live, passed, table)
    best_score = 2 * _NEVER
    for i in range(start, end):
        judged = judge(desk, spec, actions, around, hand, unseen, left, live, table, owner, ids[i], cards[i])
        if judged[0] > best_score:
            best_score, best = judged[0], ids[i]
    return best


@_inline
def look(spec: Any, row: Any) -> Any:
    """What `choose` asks about a round: ``(hand, unseen, left, live, passed, table, owner)``.

    Of the other hands it takes only their numbers of cards.
    """
    num_players, turn = spec[S.NUM_PLAYERS], row[R.TURN]
    hand = row[R.HAND + turn]
    seen, left = hand, 0
    for seat in range(num_players):
        seen |= row[R.PLAYED + seat]
        relative = seat - turn if seat >= turn else seat - turn + num_players
        left |= popcount(row[R.HAND + seat]) << (4 * relative)
    owner = row[R.OWNER] - turn
    return (
        hand,
        FULL & ~seen,
        left,
        rotate(row[R.LIVE], turn, num_players),
        rotate(row[R.PASSED], turn, num_players),
        row[R.TABLE],
        owner if owner >= 0 else owner + num_players,
    )


@_inline
def judge_row(
    desk: Any,
    spec: Any,
    actions: Any,
    row: Any,
    ids: Any,
    cards: Any,
    start: int,
    end: int,
    scores: Any,
    facts: Any,
) -> None:
    """Judge all legal actions of a round, from index `start` to `end` (see `HeuristicAgent.judge`)."""
    hand, unseen, left, live, passed, table, owner = look(spec, row)
    around = prepare(desk, spec, hand, unseen, left, live, passed, table)
    for i in range(start, end):
        score, split, better, is_safe = judge(
            desk, spec, actions, around, hand, unseen, left, live, table, owner, ids[i], cards[i]
        )
        scores[i] = score
        facts[i, 0] = (split >> COST_SHIFT) / W.ONE
        facts[i, 1] = split & 255
        facts[i, 2] = better
        facts[i, 3] = is_safe
        facts[i, 4] = split >> PLAYS_SHIFT & 255


@lru_cache(maxsize=8)
def _weights(parameters: W.Parameters) -> W.IntArray:
    return parameters.weights()


def new_desk(parameters: W.Parameters) -> W.IntArray:
    """A desk with these weights; its variant is not set."""
    desk = np.zeros(DESK_SIZE, np.int64)
    desk[WEIGHTS:SETS] = _weights(parameters)
    return desk


def _compile() -> Any:
    build = build_of((*TIENLEN.sources, combos, numba_bits, parameters))

    def choose_all(desk, spec, actions, rows, games, ids, cards, out):  # type: ignore[no-untyped-def]
        build  # noqa: B018
        set_variant(desk, spec)
        for b in range(games.shape[0]):
            row = rows[games[b]]
            end = kernels.list_legal(row, spec, actions, ids, cards, 0)
            hand, unseen, left, live, passed, table, owner = look(spec, row)
            out[b] = choose(
                desk, spec, actions, hand, unseen, left, live, passed, table, owner, ids, cards, 0, end
            )

    def judge_all(  # type: ignore[no-untyped-def]
        desk, spec, actions, rows, games, ids, cards, start, scores, facts
    ):
        build  # noqa: B018
        set_variant(desk, spec)
        for b in range(games.shape[0]):
            end = start[b + 1] if b + 1 < games.shape[0] else ids.shape[0]
            judge_row(desk, spec, actions, rows[games[b]], ids, cards, start[b], end, scores, facts)

    def split_all(desk, spec, hand, unseen, num_held, fewest, most, out):  # type: ignore[no-untyped-def]
        build  # noqa: B018
        set_variant(desk, spec)
        for b in range(out.shape[0]):
            look_around(desk, spec, hand[b], unseen[b], num_held[b], fewest[b], most[b])
            out[b] = split_cost(desk, spec, hand[b])

    def compiled(function: Any) -> Any:
        return njit(function, nogil=True, cache=True, _nrt=False)

    return compiled(choose_all), compiled(judge_all), compiled(split_all)


choose_all, judge_all, split_all = _compile()
