"""Hands: drawn from a 64-bit key, simple rather than fast, or given and checked."""

from __future__ import annotations

from typing import Final

import numpy as np

from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import IntArray, Row
from tienlen_env.games.common.bits import nth_index, philox, popcount, shift_left


def draw_cards(pool: int, num_cards: int, key: int, stream: int, block: int) -> int:
    """A uniform random subset of some cards (mask); a pure function of its arguments.

    Args:
        pool: the cards to draw from (mask), at least `num_cards`.
        num_cards: number of cards to draw.
        key: a 64-bit key.
        stream: number of an independent stream of this key, for example the round.
        block: first of the `num_cards` blocks of the stream that are used.
    """
    drawn = 0
    for i in range(num_cards):
        word = philox(key, stream, block + i)[0]
        card = shift_left(1, nth_index(pool, (word * popcount(pool)) >> 32))
        drawn |= card
        pool ^= card
    return drawn


def redeal_others(row: Row, hand: int, num_players: int, seat: int, unseen: int, key: int) -> None:
    """Deal the unseen cards anew to the other hands, uniformly; the sizes of the hands do not change.

    Args:
        row: one game's state.
        hand: first column of the hands.
        num_players: P.
        seat: the seat whose hand does not change.
        unseen: the cards that this seat cannot see (mask), those of the other hands included.
        key: a 64-bit key.
    """
    block = 0
    for other in range(num_players):
        if other != seat:
            size = popcount(row[hand + other])
            row[hand + other] = draw_cards(unseen, size, key, 0, block)
            unseen &= ~row[hand + other]
            block += size


BEYOND_DECK: Final = "hands: a mask has bits beyond the {most} cards"
TWO_HANDS: Final = "hands: a card is in two hands"


def check_disjoint(masks: IntArray, num_cards: int) -> IntArray:
    """The union of card masks (B, K) in each row, int64 (B,).

    Raises:
        TienLenError: bits beyond the deck, or a card in two masks.
    """
    if ((masks < 0) | (masks >= 1 << num_cards)).any():
        raise TienLenError(BEYOND_DECK.format(most=num_cards))
    union: IntArray = np.bitwise_or.reduce(masks, axis=1)
    if (np.bitwise_count(masks).sum(axis=1) != np.bitwise_count(union)).any():
        raise TienLenError(TWO_HANDS)
    return union
