"""Instant wins: hands that win at the deal (RULES.md 4.11).

Each kind of hand has a kernel that gives the highest card of its pattern plus 1, or 0 where a hand lacks the
pattern. Patterns are looked for in hands of any size.
"""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import Row, Spec
from tienlen_env.games.common.bits import FULL, LOWEST_SUIT, highest_index, lowest_of_rank, popcount, ranks_of
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import spec as S, state as R
from tienlen_env.games.tienlen.suited import chain_of, pairs_of_a_colour

_NO_TWOS: Final = FULL >> 4
_ALL_BUT_TWOS: Final = LOWEST_SUIT & _NO_TWOS
_BLACK: Final = LOWEST_SUIT * 3

# The order of `rules.InstantWin`, from 1.
DRAGON, FOUR_TWOS, FIVE_PAIR_RUN, SIX_PAIRS, ONE_SUIT = 1, 2, 3, 4, 5
ONE_COLOUR, FOUR_THREES, THREE_TRIPLES, TRIPLE_RUN, THREE_QUADS = 6, 7, 8, 9, 10


def best_of_highest_rank(cards: int, ranks: int) -> int:
    """The highest card of the highest of some ranks (spade bits), plus 1; 0 if there is no rank."""
    if ranks == 0:
        return 0
    return highest_index(cards & (15 << highest_index(ranks))) + 1


def highest_plus_1(cards: int) -> int:
    """The highest card of a mask, plus 1; 0 for no cards."""
    return highest_index(cards) + 1 if cards != 0 else 0


def dragon_top(cards: int, suits_bind: int) -> int:
    """All ranks from 3 to the ace; where suits bind, in one suit."""
    top = 0
    if suits_bind:
        for suit in range(4):
            if cards >> suit & _ALL_BUT_TWOS == _ALL_BUT_TWOS:
                top = 44 + suit + 1
    elif ranks_of(cards) & _ALL_BUT_TWOS == _ALL_BUT_TWOS:
        top = best_of_highest_rank(cards, 1 << 44)
    return top


def pair_run_top(cards: int, suits_bind: int) -> int:
    """Pairs of five consecutive ranks without 2s; where suits bind, of one colour."""
    if suits_bind:
        return highest_plus_1(chain_of(pairs_of_a_colour(cards & _NO_TWOS), 5))
    pairs = ranks_of(cards ^ lowest_of_rank(cards)) & _NO_TWOS
    return best_of_highest_rank(cards, chain_of(pairs, 5))


def six_pairs_top(cards: int, suits_bind: int, quad_is_two: int) -> int:
    """Six pairs; where suits bind, each of one colour, but for pairs of 2s."""
    if suits_bind:
        coloured, twos = pairs_of_a_colour(cards & _NO_TWOS), cards & ~_NO_TWOS
        num_of_twos = popcount(twos) >> 1
        if popcount(coloured) + num_of_twos < 6:
            return 0
        return highest_plus_1(twos if num_of_twos > 0 else coloured)
    pairs = cards ^ lowest_of_rank(cards)
    ranks = ranks_of(pairs)
    num = popcount(ranks)
    if quad_is_two:
        num += popcount(cards & cards >> 1 & cards >> 2 & cards >> 3 & LOWEST_SUIT)
    return best_of_highest_rank(cards, ranks) if num >= 6 else 0


def instant_top(
    cards: int, kind: int, suits_bind: int, quad_is_two: int, is_first: int, num_each: int
) -> int:
    """The highest card of a kind of instant win in a hand, plus 1; 0 if the hand is not of that kind.

    Args:
        cards: the hand (mask).
        kind: 1 + index in `tienlen_env.games.tienlen.rules.InstantWin`.
        suits_bind: 1: pairs are of one colour, runs of one suit.
        quad_is_two: 1: four of a kind are two pairs.
        is_first: 1: the first round of a game.
        num_each: cards of a whole hand.
    """
    top = 0
    if kind == DRAGON:
        top = dragon_top(cards, suits_bind)
    elif kind == FOUR_TWOS:
        if cards >> 48 == 15:
            top = 52
    elif kind == FIVE_PAIR_RUN:
        top = pair_run_top(cards, suits_bind)
    elif kind == SIX_PAIRS:
        top = six_pairs_top(cards, suits_bind, quad_is_two)
    elif kind == ONE_SUIT:
        for suit in range(4):
            if cards == LOWEST_SUIT << suit:
                top = highest_plus_1(cards)
    elif kind == ONE_COLOUR:
        is_whole = popcount(cards) == num_each
        if is_whole and (cards & _BLACK == 0 or cards & ~_BLACK == 0):
            top = highest_plus_1(cards)
    elif kind == FOUR_THREES:
        if is_first and cards & 15 == 15:
            top = 4
    else:
        threes = cards ^ lowest_of_rank(cards)
        threes ^= lowest_of_rank(threes)
        ranks = ranks_of(threes)
        if kind == THREE_QUADS:
            ranks = cards & cards >> 1 & cards >> 2 & cards >> 3 & LOWEST_SUIT
        elif kind == TRIPLE_RUN:
            ranks = chain_of(ranks & _NO_TWOS, 3)
        if ranks != 0 and (kind == TRIPLE_RUN or popcount(ranks) >= 3):
            top = best_of_highest_rank(cards, ranks)
    return top


@noinline
def find_instant_winner(row: Row, hands: Row, spec: Spec, is_first: int) -> int:
    """The seat with the best instant win among hands as they were dealt, or -1.

    Args:
        row: the cards that each seat has played.
        hands: the cards that each seat holds, by seat; a row begins with them.
        spec: the variant.
        is_first: see `instant_top`.
    """
    winner = -1
    k = 0
    while winner < 0 and spec[S.INSTANT_WINS + k] != 0:
        best = 0
        for seat in range(spec[S.NUM_PLAYERS]):
            top = instant_top(
                hands[seat] | row[R.PLAYED + seat],
                spec[S.INSTANT_WINS + k],
                spec[S.SUITS_BIND],
                spec[S.QUAD_IS_TWO_PAIRS],
                is_first,
                spec[S.CARDS_EACH],
            )
            if top > best:
                best = top
                winner = seat
        k += 1
    return winner
