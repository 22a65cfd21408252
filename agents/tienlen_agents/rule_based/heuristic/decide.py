"""Compiled code of the rule-based agent: the cheapest split of a hand into plays, and the choice.

Scalar functions in the style of `tienlen_env.games.tienlen.kernels`. They share one int64 array, the
*workspace*: tables of the variant, the weights, tables that are computed once per decision, and two caches of
splits. Each cache entry holds the generation (the number of the decision) that wrote it, so entries of
earlier decisions are never read, and a decision depends on its arguments alone.

A *split* of cards into plays is one int64: its cost in bits 16 and up, its number of plays in bits 8 to 15,
the number of beatable plays in bits 0 to 7. Each number is the minimum over all splits, separately.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.rule_based.heuristic import parameters as W
from tienlen_env.engine.backends import jit
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
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import actions as combos
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.kernels import sequence_hand, tops_of_shape

# Columns of the workspace. Fixed by the variant:
KIND: Final = 0  # 4 × 16: kind of a shape (width - 1, length); `parameters.BOMB` for bombs
# Fixed by the decision:
UNSEEN_TOPS: Final = 64  # 4 × 16: tops of the unseen cards' combinations of a shape
CAN_BE_BOMBED: Final = 128  # 5: 1 where an unseen bomb may beat so many 2s
MOST_LEFT: Final = 133  # cards in the longest hand of an opponent
SCALE: Final = 134  # 512 × the share of unseen cards that opponents hold
SHORTEST: Final = 135  # fewest ranks of any sequence, 16 without sequences
COSTS: Final = 136  # where the costs for this decision begin
TWOS: Final = 137  # 1: an opponent may hold a 2, so bombs are bombs
GENERATION: Final = 138  # number of the decision, 1..LAST_GENERATION
LADDER: Final = 139  # not 0: bombs beat bombs of other shapes (RULES.md 4.1), so none is safe
STEP: Final = 140  # NUM_KINDS: cost of each better play
WEIGHTS: Final = STEP + W.NUM_KINDS
RANK_SPLITS: Final = (
    WEIGHTS + W.NUM_WEIGHTS
)  # 13 × 16: the best split of some cards of a rank << 12 | its decision
MEMO: Final = RANK_SPLITS + 13 * 16
MEMO_BITS: Final = 11
GENERATION_BITS: Final = 12  # the bits of a word beyond 52 cards
LAST_GENERATION: Final = (1 << GENERATION_BITS) - 1
WORKSPACE_SIZE: Final = MEMO + (2 << MEMO_BITS)

_PASS: Final = combos.PASS
PLAYS_SHIFT: Final = 8  # where in a split the number of plays begins, ...
COST_SHIFT: Final = 16  # ... and where the cost
HASH: Final = 0x9E3779B97F4A7C15 - (1 << 64)
_CERTAIN: Final = 1 << 40  # above any other score: the hand goes out for certain
_LAST_RESORT: Final = -(1 << 40)  # below any other score


class PublicView(NamedTuple):
    """The information of the player to move; seats are relative, 0 is that player.

    Attributes:
        hand: own cards.
        unseen: cards neither held nor played.
        left: number of cards in each hand, 4 bits a seat.
        live: seat mask: still in the round.
        passed: seat mask: passed in this trick.
        table: action on the table, 0 when leading.
        owner: seat that played it.
    """

    hand: int
    unseen: int
    left: int
    live: int
    passed: int
    table: int
    owner: int


class Context(NamedTuple):
    """Inputs of `evaluate_action` besides the workspace, one value per decision; seats are relative.

    Attributes:
        is_lead: whether the table is empty.
        pending: seat mask: opponents who may still play in this trick.
        most_pending: cards in the longest hand of `pending`.
        most: cards in the longest hand of all opponents.
        num_with_one: opponents among `pending` with one card.
        num_with_two: opponents among `pending` with two cards.
        fewest: cards in the shortest hand of all opponents.
        num_unseen: number of unseen cards, at least 1.
        pending_scale: 512 × the share of unseen cards that `pending` hold.
    """

    is_lead: bool
    pending: int
    most_pending: int
    most: int
    num_with_one: int
    num_with_two: int
    fewest: int
    num_unseen: int
    pending_scale: int


class Evaluation(NamedTuple):
    """Output of `evaluate_action` for one action.

    Attributes:
        score: the higher the better.
        split: the split of the remaining hand.
        better: number of unseen plays that beat the action; 0 for the pass.
        is_safe: 1 where no opponent can beat it.
    """

    score: int
    split: int
    better: int
    is_safe: int


# ---------------------------------------------------------------- costs of plays


def num_better(workspace: Any, width: int, length: int, top: int) -> int:
    """The number of unseen tops that beat this one; 0 if no opponent has enough cards."""
    if width * length > workspace[MOST_LEFT]:
        return 0
    return popcount(workspace[UNSEEN_TOPS + (width - 1) * 16 + length] & (FULL << (top + 1)))


def can_be_bombed(workspace: Any, width: int, length: int, top: int) -> bool:
    """Whether another shape may beat the play: a bomb on 2s, or on a bomb where there is a ladder."""
    if length == 1 and top >= 48:
        return bool(workspace[CAN_BE_BOMBED + width])
    return bool(workspace[LADDER] and workspace[KIND + (width - 1) * 16 + length] == W.BOMB)


def plain_kind(width: int, length: int) -> int:
    """The kind of a shape that is not a bomb."""
    if length == 1:
        return min(width - 1, W.TRIPLE)
    return W.SEQUENCE + min(max(width * length - 3, 0), W.NUM_SEQUENCES - 1)


def play_cost(workspace: Any, width: int, length: int, top: int) -> int:
    """The split of a hand that is one play."""
    better = num_better(workspace, width, length, top)
    kind = workspace[KIND + (width - 1) * 16 + length]
    if kind == W.BOMB and workspace[TWOS] == 0:
        kind = plain_kind(width, length)
    cost: int = (
        workspace[workspace[COSTS] + kind * W.NUM_STEPS + (better * workspace[SCALE] >> 8)]
        + better * workspace[STEP + kind]
    )
    is_beatable = 1 if better > 0 or can_be_bombed(workspace, width, length, top) else 0
    return (cost << COST_SHIFT) + (1 << PLAYS_SHIFT) + is_beatable


def cheaper(first: int, second: int) -> int:
    """The minimum of each number of two splits."""
    cost: int = min(first, second) & (-1 << COST_SHIFT)
    num_plays = min(first & 255 << PLAYS_SHIFT, second & 255 << PLAYS_SHIFT)
    return cost | num_plays | min(first & 255, second & 255)


@noinline
def split_of_rank(workspace: Any, cards: int) -> int:
    """The best split of cards of one rank: the last set is of the 1..4 highest cards left."""
    top = lowest_index(cards)
    before_3 = before_2 = before_1 = 0  # best splits without the last three, two, one of the cards so far
    best: int = play_cost(workspace, 1, 1, top)
    count = 1
    cards &= cards - 1
    while cards != 0:
        top = lowest_index(cards)
        cards &= cards - 1
        count += 1
        before_3, before_2, before_1 = before_2, before_1, best
        best = cheaper(before_1 + play_cost(workspace, 1, 1, top), before_2 + play_cost(workspace, 2, 1, top))
        if count > 2:
            best = cheaper(best, before_3 + play_cost(workspace, 3, 1, top))
        if count > 3:
            best = cheaper(best, play_cost(workspace, 4, 1, top))
    return best


def set_cost(workspace: Any, cards: int) -> int:
    """The best split of cards of one rank; cached, because most splits need the same ones."""
    rank = lowest_index(cards) & ~3
    slot = RANK_SPLITS + 4 * rank + (cards >> rank)
    if workspace[slot] & LAST_GENERATION != workspace[GENERATION]:
        workspace[slot] = split_of_rank(workspace, cards) << GENERATION_BITS | workspace[GENERATION]
    cost: int = workspace[slot] >> GENERATION_BITS
    return cost


@noinline
def split_cost(workspace: Any, spec: Any, cards: int) -> int:
    """The best split of some cards: exact, over all splits into sets and sequences.

    Ranks that are not in a chain long enough for a sequence are in sets. Of the other ranks, the cards of the
    lowest are in sets or at the bottom of sequences. The remaining cards are a smaller problem of the same
    kind; the memo solves each of these once. Sequences take the lowest suits and leave the highest for sets.
    """
    ranks = ranks_of(cards)
    chains = ranks  # where so many ranks follow one another, and then all these ranks
    for k in range(1, workspace[SHORTEST]):
        chains &= ranks >> (4 * k)
    for _ in range(1, workspace[SHORTEST]):
        chains |= chains << 4
    total: int = 0
    alone = cards & ~(chains * 15)
    cards ^= alone
    while alone != 0:
        lowest = alone & (15 << (lowest_index(alone) & ~3))
        total += set_cost(workspace, lowest)
        alone ^= lowest
    if cards == 0:
        return total

    key = cards | workspace[GENERATION] << 52
    slot = MEMO + (shift_right(key * HASH, 64 - MEMO_BITS) << 1)
    if workspace[slot] == key:
        known: int = workspace[slot + 1]
        return total + known
    rank = lowest_index(cards) & ~3
    lowest = cards & (15 << rank)
    best: int = set_cost(workspace, lowest) + split_cost(workspace, spec, cards ^ lowest)
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
                cost = play_cost(workspace, width, length, highest_index(play))
                best = cheaper(best, cost + split_cost(workspace, spec, cards ^ play))
        layer ^= bottom
        if layer & (15 << rank) == 0:
            break
    workspace[slot] = key
    workspace[slot + 1] = best
    return total + best


# ---------------------------------------------------------------- tables of a decision


def set_rules(workspace: Any, spec: Any) -> None:
    """Fill in the kinds of shapes, the bombs among them, and the shortest sequence."""
    workspace[LADDER] = spec[S.BEATERS + 5 * S.BEATERS_SIZE]
    workspace[SHORTEST] = 16
    for width in range(1, 5):
        for length in range(16):
            workspace[KIND + (width - 1) * 16 + length] = plain_kind(width, length)
        minimum = spec[S.SEQUENCE_MIN + width - 1]
        if minimum != 0:
            workspace[SHORTEST] = min(workspace[SHORTEST], minimum)
    for num_twos in range(1, 5):
        beater = S.BEATERS + num_twos * S.BEATERS_SIZE
        while spec[beater]:
            workspace[KIND + ((spec[beater] >> 4) - 1) * 16 + (spec[beater] & 15)] = W.BOMB
            beater += 1


def measure_plays(
    workspace: Any, spec: Any, hand: int, unseen: int, num_held: int, fewest: int, most: int
) -> None:
    """Compute the tables that all plays of this decision use.

    Args:
        workspace: the workspace.
        spec: the variant.
        hand: own cards.
        unseen: cards neither held nor played.
        num_held: how many unseen cards the opponents hold.
        fewest: cards in the shortest hand among the opponents.
        most: cards in the longest hand among the opponents.
    """
    num_unseen = max(popcount(unseen), 1)
    workspace[MOST_LEFT] = most
    workspace[SCALE] = 512 * num_held // num_unseen
    workspace[COSTS] = WEIGHTS + W.COST + fewest * W.NUM_KINDS * W.NUM_STEPS
    for kind in range(W.NUM_KINDS):
        workspace[STEP + kind] = workspace[WEIGHTS + W.SLOPE + kind] // num_unseen
    workspace[TWOS] = 1 if unseen >> 48 else 0

    mine, others = hand, unseen
    for width in range(1, 5):
        workspace[UNSEEN_TOPS + (width - 1) * 16 + 1] = others
        minimum = spec[S.SEQUENCE_MIN + width - 1]
        if minimum != 0 and mine != 0:
            ends = sequence_hand(spec, width, others)
            ranks = ranks_of(ends)
            my_ranks = ranks_of(sequence_hand(spec, width, mine))
            chain, my_chain = ranks, my_ranks
            length = 1
            # Only lengths up to those of own sequences are needed.
            while my_chain != 0:
                if length >= minimum:
                    workspace[UNSEEN_TOPS + (width - 1) * 16 + length] = ends & (chain * 15)
                chain &= ranks << (4 * length)
                my_chain &= my_ranks << (4 * length)
                length += 1
        mine ^= lowest_of_rank(mine)
        others ^= lowest_of_rank(others)

    for num_twos in range(1, popcount(hand >> 48) + 1):
        workspace[CAN_BE_BOMBED + num_twos] = 0
        beater = S.BEATERS + num_twos * S.BEATERS_SIZE
        while spec[beater]:
            width, length = spec[beater] >> 4, spec[beater] & 15
            if width * length <= most and tops_of_shape(spec, unseen, width, length):
                workspace[CAN_BE_BOMBED + num_twos] = 1
                break
            beater += 1

    workspace[GENERATION] += 1
    if workspace[GENERATION] > LAST_GENERATION:
        workspace[GENERATION] = 1
        for slot in range(RANK_SPLITS, WORKSPACE_SIZE):
            workspace[slot] = 0


# ---------------------------------------------------------------- the choice


def public_view(spec: Any, row: Any) -> PublicView:
    """The information of the seat to act. Of the other hands only the numbers of cards are read."""
    num_players, turn = spec[S.NUM_PLAYERS], row[R.TURN]
    hand = row[R.HAND + turn]
    seen, left = hand, 0
    for seat in range(num_players):
        seen |= row[R.PLAYED + seat]
        relative = seat - turn if seat >= turn else seat - turn + num_players
        left |= popcount(row[R.HAND + seat]) << (4 * relative)
    owner = row[R.OWNER] - turn
    return PublicView(
        hand,
        FULL & ~seen,
        left,
        rotate(row[R.LIVE], turn, num_players),
        rotate(row[R.PASSED], turn, num_players),
        row[R.TABLE],
        owner if owner >= 0 else owner + num_players,
    )


def compute_context(workspace: Any, spec: Any, view: PublicView) -> Context:
    """Fill in the workspace for a decision, and return the other inputs of `evaluate_action`."""
    opponents = view.live & ~1
    pending = opponents if view.table == _PASS or not spec[S.PASS_LOCK] else opponents & ~view.passed
    fewest, most, num_held = 13, 0, 0
    most_pending, num_pending, num_with_one, num_with_two = 0, 0, 0, 0
    for seat in range(1, 4):
        if opponents >> seat & 1:
            count = view.left >> (4 * seat) & 15
            fewest, most, num_held = min(fewest, count), max(most, count), num_held + count
            if pending >> seat & 1:
                most_pending, num_pending = max(most_pending, count), num_pending + count
                num_with_one += count == 1
                num_with_two += count == 2
    measure_plays(workspace, spec, view.hand, view.unseen, num_held, fewest, most)
    num_unseen = max(popcount(view.unseen), 1)
    pending_scale = 512 * num_pending // num_unseen
    return Context(
        view.table == _PASS,
        pending,
        most_pending,
        most,
        num_with_one,
        num_with_two,
        fewest,
        num_unseen,
        pending_scale,
    )


def evaluate_action(
    workspace: Any, spec: Any, actions: Any, context: Context, view: PublicView, action: int, cards: int
) -> Evaluation:
    """Score one action by the rules of `tienlen_agents.rule_based.heuristic`.

    Args:
        workspace: filled in by `compute_context`.
        spec: the variant.
        actions: its action table.
        context: what `compute_context` returned.
        view: the decision.
        action: a legal action ...
        cards: ... and its cards.
    """
    at = view.table * S.ACTION_FIELDS
    table_width, table_length = actions[at + S.WIDTH], actions[at + S.LENGTH]
    rest = view.hand ^ cards
    if rest == 0:
        return Evaluation(2 * _CERTAIN, 0, 0, 1)
    split = split_cost(workspace, spec, rest)
    num_beatable = split & 255
    score = -(split >> COST_SHIFT) - num_beatable * workspace[WEIGHTS + W.BEATABLE]
    is_safe = 0
    if action == _PASS:
        num_cards = table_width * table_length
        better = popcount(view.unseen & (FULL << (actions[at + S.TOP] + 1))) if num_cards == 1 else 0
        score += workspace[WEIGHTS + W.PASS_BONUS + context.fewest]
        score += popcount(view.hand) * workspace[WEIGHTS + W.PASS_CARD]
        score -= max((split >> COST_SHIFT + 16) - context.fewest, 0) * workspace[WEIGHTS + W.PLACE]
        if view.live >> view.owner & 1:
            score -= workspace[WEIGHTS + W.PASS_OWNER + (view.left >> (4 * view.owner) & 15)]
            if context.pending & ~(1 << view.owner) == 0:
                score -= workspace[WEIGHTS + W.PASS_LAST]
    else:
        fields = action * S.ACTION_FIELDS
        width, length = actions[fields + S.WIDTH], actions[fields + S.LENGTH]
        if width == 0:
            return Evaluation(2 * _CERTAIN, split, 0, 1)  # the declaration of an instant win (4.12)
        top = actions[fields + S.TOP]
        num_cards = width * length
        # Players who have passed may still put a bomb on some plays (3.6).
        reach = context.most if actions[fields + S.REOPENS_TRICK] else context.most_pending
        better = num_better(workspace, width, length, top) if num_cards <= reach else 0
        if better == 0 and not (reach > 0 and can_be_bombed(workspace, width, length, top)):
            is_safe = 1
        kind = workspace[KIND + (width - 1) * 16 + length]
        hold = workspace[WEIGHTS + W.HOLD + kind * W.NUM_STEPS + (better * context.pending_scale >> 8)]
        gain = workspace[WEIGHTS + (W.LEAD_TEMPO if context.is_lead else W.FOLLOW_TEMPO)]
        if num_beatable <= 1:
            gain += workspace[WEIGHTS + W.FINISH]
            if is_safe:
                score += _CERTAIN
        elif num_beatable == 2:
            gain += workspace[WEIGHTS + W.FINISH_TWO]
        score += hold * gain >> 16
        if context.is_lead:
            score += num_cards * workspace[WEIGHTS + W.LEAD_CARDS]
            if num_cards == 1 and context.num_with_one > 0 and not is_safe:
                score += _LAST_RESORT + (top << 24)
        elif table_width != width or table_length != length:
            score += workspace[WEIGHTS + W.CHOP]
    if num_cards == 1:
        score -= better * context.num_with_one * workspace[WEIGHTS + W.DANGER_ONE] // context.num_unseen
    if num_cards <= 2:
        score -= better * context.num_with_two * workspace[WEIGHTS + W.DANGER_TWO] // context.num_unseen
    return Evaluation(score, split, better, is_safe)


@noinline
def choose(
    workspace: Any, spec: Any, actions: Any, view: PublicView, ids: Any, cards: Any, start: int, end: int
) -> int:
    """Apply the rules of `tienlen_agents.rule_based.heuristic`, in their order.

    Args:
        workspace: its rules and weights are set.
        spec: the variant.
        actions: its action table.
        view: the decision.
        ids: the legal actions ...
        cards: ... and what each would play, from index `start` to `end`.
        start: see `ids`.
        end: see `ids`.

    Returns:
        Index of the chosen action in `ids`.
    """
    best = start
    if end - start == 1:
        return best
    context = compute_context(workspace, spec, view)
    best_score = 2 * _LAST_RESORT
    for i in range(start, end):
        score = evaluate_action(workspace, spec, actions, context, view, ids[i], cards[i]).score
        if score > best_score:
            best_score, best = score, i
    return best


def choose_row(workspace: Any, spec: Any, actions: Any, row: Any, ids: Any, cards: Any) -> int:
    """Choose for the seat to act of a round whose legal actions are up to date.

    Returns:
        Index of the choice in `ids` and `cards`, which get the legal actions and their cards.
    """
    end = kernels.list_legal(row, spec, actions, ids, cards, 0)
    if end == 1:
        return 0
    return choose(workspace, spec, actions, public_view(spec, row), ids, cards, 0, end)


class ActionFacts(NamedTuple):
    """Outputs of `evaluate_row`: for each action its score, int64 (N,), and its facts, float32 (N, 5)."""

    scores: Any
    facts: Any


def evaluate_row(
    workspace: Any, spec: Any, actions: Any, row: Any, ids: Any, cards: Any, bounds: Any, out: ActionFacts
) -> None:
    """Evaluate the actions of a round from index ``bounds[0]`` to ``bounds[1]``.

    See `HeuristicAgent.evaluate_actions` for the facts.
    """
    view = public_view(spec, row)
    context = compute_context(workspace, spec, view)
    for i in range(bounds[0], bounds[1]):
        found = evaluate_action(workspace, spec, actions, context, view, ids[i], cards[i])
        out.scores[i] = found.score
        out.facts[i, 0] = (found.split >> COST_SHIFT) / W.ONE
        out.facts[i, 1] = found.split & 255
        out.facts[i, 2] = found.better
        out.facts[i, 3] = found.is_safe
        out.facts[i, 4] = found.split >> PLAYS_SHIFT & 255


# ---------------------------------------------------------------- called from Python


@lru_cache(maxsize=8)
def _weights(parameters: W.Parameters) -> W.IntArray:
    return parameters.weights()


def new_workspace(parameters: W.Parameters) -> W.IntArray:
    """A workspace with these weights; call `set_rules` before its first use."""
    workspace = np.zeros(WORKSPACE_SIZE, np.int64)
    workspace[WEIGHTS:RANK_SPLITS] = _weights(parameters)
    return workspace


@jit.loop
def choose_all(workspace, spec, actions, rows, games, ids, cards, out):  # type: ignore[no-untyped-def]
    """Choose an action for each of n games; `ids` and `cards` are scratch (A,)."""
    set_rules(workspace, spec)
    for b in range(games.shape[0]):
        out[b] = ids[choose_row(workspace, spec, actions, rows[games[b]], ids, cards)]


@jit.loop
def evaluate_all(  # type: ignore[no-untyped-def]
    workspace, spec, actions, rows, games, ids, cards, start, scores, facts
):
    """Evaluate all N listed legal actions of n games."""
    set_rules(workspace, spec)
    out = ActionFacts(scores, facts)
    for b in range(games.shape[0]):
        end = start[b + 1] if b + 1 < games.shape[0] else ids.shape[0]
        evaluate_row(workspace, spec, actions, rows[games[b]], ids, cards, (start[b], end), out)


@jit.loop
def split_all(workspace, spec, hand, unseen, num_held, fewest, most, out):  # type: ignore[no-untyped-def]
    """Compute the best split of each of n hands."""
    set_rules(workspace, spec)
    for b in range(out.shape[0]):
        measure_plays(workspace, spec, hand[b], unseen[b], num_held[b], fewest[b], most[b])
        out[b] = split_cost(workspace, spec, hand[b])
