"""Rounds of Tiến lên from hands that are given instead of dealt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tienlen_env.errors import TienLenError
from tienlen_env.games.common.cards import FULL_DECK, HAND_SIZE, NUM_CARDS
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.rules import Rules

IntArray = npt.NDArray[np.int64]


def check_disjoint(masks: IntArray, num_cards: int) -> IntArray:
    """The union of card masks (B, K) in each row, int64 (B,).

    Raises:
        TienLenError: bits beyond the deck, or a card that comes twice.
    """
    if ((masks < 0) | (masks >= 1 << num_cards)).any():
        raise TienLenError(f"hands: a mask has bits beyond the {num_cards} cards")
    union: IntArray = np.bitwise_or.reduce(masks, axis=1)
    if (np.bitwise_count(masks).sum(axis=1) != np.bitwise_count(union)).any():
        raise TienLenError("hands: a card is in two hands")
    return union


def set_hands(
    rows: IntArray, rules: Rules, hands: IntArray, aside: IntArray, begin: Callable[[], None]
) -> None:
    """Start a round in every row.

    Args:
        rows: int64 (B, ROW), the states.
        rules: the variant.
        hands: int64 (B, P), masks of 1 to 13 cards.
        aside: int64 (B, 3), zeros: no cards lie aside.
        begin: lets the backend begin a round of the hands in the rows.

    Raises:
        TienLenError: hands that cannot be; nothing has changed.
    """
    union = check_disjoint(hands, NUM_CARDS)
    sizes = np.bitwise_count(hands)
    if ((sizes < 1) | (sizes > HAND_SIZE)).any():
        raise TienLenError(f"hands: expected 1 to {HAND_SIZE} cards in each")
    if aside.any():
        raise TienLenError(f"{rules.name}: no cards are set aside, and there is no dummy")
    rows[:] = 0
    rows[:, R.HAND : R.HAND + hands.shape[1]] = hands
    rows[:, R.UNDEALT] = FULL_DECK & ~union
    begin()
