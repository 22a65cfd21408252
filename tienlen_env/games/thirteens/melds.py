"""Melding: the most points that the cards of a trick are worth (RULES.md 8.8, 8.11).

Suits do not matter, so cards are *counts*: how many of each pip, 4 bits a pip, the ace lowest. With a guard
bit above each, "do the counts hold what a meld needs" is one subtraction.

The search is exact. A king is a thirteen by itself: any meld with a king in it scores no more than the king
alone. Of the other cards, every multiset of thirteens that they hold is tried, and with each the best pairs
and straights of the rest. There no straight need be taken twice: three pairs of the same cards score more. So
the sets of pips where straights begin are tried, and all else is paired.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tienlen_env.games.common.arrays import Spec
from tienlen_env.games.common.bits import FULL, LOWEST_SUIT, popcount
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.thirteens import spec as S, state as R
from tienlen_env.games.thirteens.actions import MELDS, Meld
from tienlen_env.games.thirteens.rules import ThirteensRules

GUARDS: Final = 0x8888888888888
KINGS: Final = 48  # where the count of kings lies
# A worth is points << 40, and below it the lanes of `state.COUNTS`: of packings of the same points the one
# with the most thirteens, then pairs is the greatest.
POINTS: Final = 40
THIRTEEN: Final = 3 << POINTS | 1 << R.THIRTEENS
PAIR: Final = 1 << POINTS | 1 << R.PAIRS
STRAIGHT: Final = 1 << POINTS | 1 << R.STRAIGHTS
LANES: Final = (1 << POINTS) - 1


def pip_counts(cards: int) -> int:
    """The counts of a mask of cards without its jokers."""
    x = cards & FULL
    x -= x >> 1 & 0x5555555555555
    x = (x & 0x3333333333333) + (x >> 2 & 0x3333333333333)
    # Ranks are 3 .. K, A, 2 and pips A .. K.
    return (x << 8 | x >> 44) & FULL


def holds(counts: int, need: int) -> bool:
    """Whether there are as many of each pip as needed."""
    return ((counts | GUARDS) - need) & GUARDS == GUARDS


def best_rest(counts: int) -> int:
    """The worth of the best pairs and straights."""
    present = (counts | counts >> 1 | counts >> 2) & LOWEST_SUIT
    starts = present & present >> 4 & present >> 8
    best = 0
    chosen = 0
    while True:  # over all subsets of `starts`, the empty one first
        used = chosen * 0x111
        if holds(counts, used):
            rest = counts - used
            # Half of 0..4, rounded down.
            num_pairs = popcount(rest & 0x2222222222222) + 2 * popcount(rest & 0x4444444444444)
            best = max(best, PAIR * num_pairs + STRAIGHT * popcount(chosen))
        chosen = (chosen - starts) & starts
        if chosen == 0:
            return best


@noinline
def best_melds(spec: Spec, cards: int) -> int:
    """The worth of the best melds of a pile of at most 12 cards (and jokers)."""
    counts = pip_counts(cards)
    num_cards = popcount(cards & FULL) - (counts >> KINGS)
    worth = THIRTEEN * (counts >> KINGS)
    counts &= (1 << KINGS) - 1
    best = worth + best_rest(counts)
    # Depth-first over multisets of thirteens in order; the stack holds their indices, 7 bits each.
    stack = 0
    i = 0
    while True:
        end = spec[S.NUM_UP_TO + num_cards]
        while i < end and not holds(counts, spec[S.NEEDS + i]):
            i += 1
        if i < end:
            counts -= spec[S.NEEDS + i]
            num_cards -= spec[S.NEED_SIZES + i]
            worth += THIRTEEN
            stack = stack << 7 | (i + 1)
            best = max(best, worth + best_rest(counts))
        elif stack == 0:
            return best
        else:
            i = (stack & 127) - 1
            stack >>= 7
            counts += spec[S.NEEDS + i]
            num_cards += spec[S.NEED_SIZES + i]
            worth -= THIRTEEN
            i += 1


@noinline
def without(cards: int, need: int) -> int:
    """The cards left when a meld has taken those of the lowest ids."""
    for pip in range(13):
        rank = (pip + 11) % 13
        for _ in range(need >> 4 * pip & 7):
            of_pip = cards & 15 << 4 * rank
            cards ^= of_pip & -of_pip
    return cards


# ---------------------------------------------------------------- for people; not used by the loops


@cache
def _spec() -> list[int]:
    numbers: list[int] = S.build_spec(ThirteensRules())[0].tolist()
    return numbers


def pack(cards: int) -> tuple[tuple[Meld, int], ...]:
    """The melds that auto-melding lays down from a pile, with their cards as masks.

    Their number of each kind is what `best_melds` counts. Equal packings differ in nothing that matters;
    the first one in the order of the action table is shown.
    """
    cards = int(cards) & FULL
    melds: list[tuple[Meld, int]] = []
    for meld in MELDS:
        worth = THIRTEEN if meld.kind == "thirteen" else PAIR if meld.kind == "pair" else STRAIGHT
        while holds(pip_counts(cards), meld.need):
            rest = without(cards, meld.need)
            if worth + best_melds(_spec(), rest) < best_melds(_spec(), cards):
                break
            melds.append((meld, cards ^ rest))
            cards = rest
    return tuple(melds)
