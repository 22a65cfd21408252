"""Rounds of Tiến lên from hands that are given instead of dealt."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.cards import FULL_DECK, HAND_SIZE, NUM_CARDS
from tienlen_env.games.common.hands import check_disjoint
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.rules import Rules


def set_hands(
    rows: IntArray,
    rules: Rules,
    hands: IntArray,
    extra: Mapping[str, IntArray],
    begin: Callable[[], None],
) -> None:
    """Start a round in every row.

    Args:
        rows: int64 (B, ROW), the states.
        rules: the variant.
        hands: int64 (B, P), masks of 1 to 13 cards.
        extra: empty: no other cards are given.
        begin: lets the backend begin a round of the hands in the rows.

    Raises:
        TienLenError: impossible hands; nothing has changed.
    """
    union = check_disjoint(hands, NUM_CARDS)
    sizes = np.bitwise_count(hands)
    if ((sizes < 1) | (sizes > HAND_SIZE)).any():
        raise TienLenError(f"hands: expected 1 to {HAND_SIZE} cards in each")
    rows[:] = 0
    rows[:, R.HAND : R.HAND + hands.shape[1]] = hands
    rows[:, R.UNDEALT] = FULL_DECK & ~union
    begin()
