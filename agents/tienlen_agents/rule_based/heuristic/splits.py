"""Compiled code of the rule-based agent: the cheapest split of a hand into plays.

Scalar functions in the style of `tienlen_env.games.tienlen.kernels`. They share one int64 array, the
*workspace*: tables of the variant, the weights, tables that are computed once per decision, and two caches of
splits. Each cache entry holds the generation (the number of the decision) that wrote it, so entries of
earlier decisions are never read, and a decision depends on its arguments alone.

A *split* of cards into plays is one int64: its cost in bits 16 and up, its number of plays in bits 8 to 15,
the number of beatable plays in bits 0 to 7. Each number is the minimum over all splits, separately.
"""

from __future__ import annotations

from typing import Final

from tienlen_agents.rule_based.heuristic import parameters as W
from tienlen_env.games.common.arrays import Fields, Row, Spec
from tienlen_env.games.common.bits import (
    FULL,
    LOWEST_SUIT,
    highest_index,
    lowest_index,
    lowest_of_rank,
    popcount,
    ranks_of,
    shift_right,
)
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import spec as S, suited
from tienlen_env.games.tienlen.kernels import sequence_hand, tops_of_shape

# Columns of the workspace. Fixed by the variant:
_column: Final = Fields()
KIND: Final = _column(4 * 16)  # kind of a shape (width - 1, length); `parameters.BOMB` for bombs
# Fixed by the decision:
UNSEEN_TOPS: Final = _column(4 * 16)  # tops of the unseen cards' combinations of a shape
CAN_BE_BOMBED: Final = _column(5)  # 1 where an unseen bomb may beat k 2s
MOST_LEFT: Final = _column()  # cards in the longest hand of an opponent
SCALE: Final = _column()  # 512 × the share of unseen cards that opponents hold
SHORTEST: Final = _column()  # fewest ranks of any sequence, 16 without sequences
COSTS: Final = _column()  # where the costs for this decision begin
TWOS: Final = _column()  # 1: an opponent may hold a 2, so bombs are bombs
GENERATION: Final = _column()  # number of the decision, 1..LAST_GENERATION
LADDER: Final = _column()  # not 0: bombs beat bombs of other shapes (RULES.md 4.1), so none is safe
BIND: Final = _column()  # 1: suits bind the plays (RULES.md 4.20)
STAKE: Final = _column()  # units of payments that are a stake, 0 without payments
STEP: Final = _column(W.NUM_KINDS)  # cost of each better play
WEIGHTS: Final = _column(W.NUM_WEIGHTS)
FAMILIES: Final = _column(len(W.FAMILIES) * W.NUM_OWN)  # weights of each; `set_rules` copies one of them
RANK_SPLITS: Final = _column(13 * 16)  # the best split of some cards of a rank << 12 | its decision
MEMO_BITS: Final = 11
MEMO: Final = _column(2 << MEMO_BITS)
GENERATION_BITS: Final = 12  # the bits of a word beyond 52 cards
LAST_GENERATION: Final = (1 << GENERATION_BITS) - 1
WORKSPACE_SIZE: Final = _column.size

PLAYS_SHIFT: Final = 8  # where in a split the number of plays begins, ...
COST_SHIFT: Final = 16  # ... and where the cost
HASH: Final = 0x9E3779B97F4A7C15 - (1 << 64)

_FIRST_TWO: Final = 48
_TWOS: Final = 15 << _FIRST_TWO
_CARDS_OF_A_STAKE: Final = 6  # cards that a loser has left, about, where cards are counted

# ---------------------------------------------------------------- costs of plays


def num_better(workspace: Row, width: int, length: int, top: int) -> int:
    """The number of unseen tops that beat this one; 0 if no opponent has enough cards.

    Where suits bind, `top` and the unseen tops are bits of group masks (`tienlen_env.games.tienlen.suited`).
    """
    if width * length > workspace[MOST_LEFT]:
        return 0
    higher = workspace[UNSEEN_TOPS + (width - 1) * 16 + length] & (FULL << (top + 1))
    if workspace[BIND] and top < _FIRST_TWO:
        same_suits = higher & (LOWEST_SUIT << (top & 3))
        higher = same_suits | (higher & _TWOS if length == 1 else 0)
    return popcount(higher)


def can_be_bombed(workspace: Row, width: int, length: int, top: int) -> bool:
    """Whether another shape may beat the play: a bomb on 2s, or on a bomb where there is a ladder."""
    if length == 1 and top >= _FIRST_TWO:
        return bool(workspace[CAN_BE_BOMBED + width])
    return bool(workspace[LADDER] and workspace[KIND + (width - 1) * 16 + length] == W.BOMB)


def plain_kind(width: int, length: int) -> int:
    """The kind of a shape that is not a bomb."""
    if length == 1:
        return min(width - 1, W.TRIPLE)
    return W.SEQUENCE + min(max(width * length - 3, 0), W.NUM_SEQUENCES - 1)


def play_cost(workspace: Row, width: int, length: int, top: int) -> int:
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
def split_of_rank(workspace: Row, cards: int) -> int:
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


def set_cost(workspace: Row, cards: int) -> int:
    """The best split of cards of one rank; cached, because most splits need the same ones."""
    rank = lowest_index(cards) & ~3
    slot = RANK_SPLITS + 4 * rank + (cards >> rank)
    if workspace[slot] & LAST_GENERATION != workspace[GENERATION]:
        workspace[slot] = split_of_rank(workspace, cards) << GENERATION_BITS | workspace[GENERATION]
    cost: int = workspace[slot] >> GENERATION_BITS
    return cost


@noinline
def split_cost(workspace: Row, spec: Spec, cards: int) -> int:
    """The best split of some cards: exact, over all splits into sets and sequences.

    Ranks that are not in a chain long enough for a sequence are in sets. Of the other ranks, the cards of the
    lowest are in sets or at the bottom of sequences. The remaining cards are a smaller problem of the same
    kind; the memo solves each once. Sequences take the lowest suits and leave the highest for sets.
    """
    if workspace[BIND]:
        return bound_split(workspace, spec, cards)
    ranks = ranks_of(cards)
    chains = ranks  # the ranks where a sequence may start, and then all ranks in one
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


@noinline
def bound_split(workspace: Row, spec: Spec, cards: int) -> int:
    """`split_cost` where suits bind: the lowest card is in each of the plays that have it as their lowest."""
    if cards == 0:
        return 0
    key = cards | workspace[GENERATION] << 52
    slot = MEMO + (shift_right(key * HASH, 64 - MEMO_BITS) << 1)
    if workspace[slot] == key:
        known: int = workspace[slot + 1]
        return known
    card = lowest_index(cards)
    lowest = 1 << card
    rank = card & ~3
    best: int = play_cost(workspace, 1, 1, card) + bound_split(workspace, spec, cards ^ lowest)

    others = (cards & 15 << rank) ^ lowest
    rest = others
    while rest != 0:  # pairs, of one colour but for 2s
        mate = rest & -rest
        rest ^= mate
        if lowest_index(mate) ^ card == 1 or rank == _FIRST_TWO:
            cost = play_cost(workspace, 2, 1, lowest_index(mate))
            best = cheaper(best, cost + bound_split(workspace, spec, cards ^ lowest ^ mate))
    num_others = popcount(others)
    for suit in range(4):  # triples: the lowest card and two others
        missing = 1 << rank + suit
        triple = cards & (15 << rank) & ~missing
        if triple & lowest != 0 and popcount(triple) == 3 and (num_others == 3 or cards & missing == 0):
            cost = play_cost(workspace, 3, 1, rank + 3 - suit)
            best = cheaper(best, cost + bound_split(workspace, spec, cards ^ triple))
    if num_others == 3:
        cost = play_cost(workspace, 4, 1, rank + 3)
        best = cheaper(best, cost + bound_split(workspace, spec, cards ^ lowest ^ others))

    for width in range(1, 3):
        step = lowest if width == 1 else lowest | lowest << 1
        minimum = spec[S.SEQUENCE_MIN + width - 1]
        if minimum == 0 or (width == 2 and card & 1 != 0):
            continue
        play, length = 0, 0
        while step < 1 << _FIRST_TWO and cards & step == step:
            play |= step
            step <<= 4
            length += 1
            if length >= minimum:
                cost = play_cost(workspace, width, length, highest_index(play))
                best = cheaper(best, cost + bound_split(workspace, spec, cards ^ play))
    workspace[slot] = key
    workspace[slot + 1] = best
    return best


# ---------------------------------------------------------------- tables of a decision


def stake_of(spec: Spec) -> int:
    """The units of a stake: what the last pays the first; where cards are counted, for six of them."""
    stake: int = max(spec[S.PAY_PLACES] + spec[S.PAY_FIRST] + _CARDS_OF_A_STAKE * spec[S.PAY_CARD], 1)
    return stake


def family_of(spec: Spec) -> int:
    """The family of the rules: an index of `parameters.FAMILIES`."""
    if not spec[S.HAS_PAYMENTS]:
        return 0
    if spec[S.SUITS_BIND]:
        return 3
    return 2 if spec[S.ROUND_END_FIRST] and spec[S.PAY_CARD] > 0 else 1


def set_rules(workspace: Row, spec: Spec) -> None:
    """Fill in the weights, the kinds of shapes, the bombs among them, and the shortest sequence."""
    own = FAMILIES + family_of(spec) * W.NUM_OWN
    for i in range(W.NUM_OWN):
        workspace[WEIGHTS + W.OWN + i] = workspace[own + i]
    workspace[LADDER] = spec[S.BEATERS + 5 * S.BEATERS_SIZE]
    workspace[BIND] = spec[S.SUITS_BIND]
    workspace[STAKE] = stake_of(spec) if spec[S.HAS_PAYMENTS] else 0
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
    workspace: Row, spec: Spec, hand: int, unseen: int, num_held: int, fewest: int, most: int
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

    if workspace[BIND]:
        measure_bound_plays(workspace, hand, unseen, spec, most)
    else:
        measure_free_plays(workspace, hand, unseen, spec, most)

    workspace[GENERATION] += 1
    if workspace[GENERATION] > LAST_GENERATION:
        workspace[GENERATION] = 1
        for slot in range(RANK_SPLITS, WORKSPACE_SIZE):
            workspace[slot] = 0


def measure_free_plays(workspace: Row, hand: int, unseen: int, spec: Spec, most: int) -> None:
    """The tops of unseen plays, and whether unseen bombs may beat 2s."""
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

    for num_twos in range(1, popcount(hand >> _FIRST_TWO) + 1):
        workspace[CAN_BE_BOMBED + num_twos] = 0
        beater = S.BEATERS + num_twos * S.BEATERS_SIZE
        while spec[beater]:
            width, length = spec[beater] >> 4, spec[beater] & 15
            if width * length <= most and tops_of_shape(spec, unseen, width, length):
                workspace[CAN_BE_BOMBED + num_twos] = 1
                break
            beater += 1


@noinline
def measure_bound_plays(workspace: Row, hand: int, unseen: int, spec: Spec, most: int) -> None:
    """`measure_free_plays` where suits bind."""
    for width in range(1, 5):
        workspace[UNSEEN_TOPS + (width - 1) * 16 + 1] = suited.group_of(unseen, width, 1)
        length = spec[S.SEQUENCE_MIN + width - 1]
        while 0 < length < 13:
            workspace[UNSEEN_TOPS + (width - 1) * 16 + length] = suited.group_of(unseen, width, length)
            length += 1
    twos = unseen & _TWOS
    workspace[UNSEEN_TOPS + 16 + 1] |= twos & ~(twos & -twos)  # pairs of 2s are of any two suits
    for num_twos in range(1, popcount(hand >> _FIRST_TWO) + 1):
        workspace[CAN_BE_BOMBED + num_twos] = 0
        beater = S.BEATERS + num_twos * S.BEATERS_SIZE
        while spec[beater]:
            width, length = spec[beater] >> 4, spec[beater] & 15
            if width * length <= most and suited.group_of(unseen, width, length):
                workspace[CAN_BE_BOMBED + num_twos] = 1
            beater += 1
