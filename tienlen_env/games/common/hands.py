"""Checks of hands that are given instead of dealt."""

from __future__ import annotations

import numpy as np

from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import IntArray


def check_disjoint(masks: IntArray, num_cards: int) -> IntArray:
    """The union of card masks (B, K) in each row, int64 (B,).

    Raises:
        TienLenError: bits beyond the deck, or a card in two masks.
    """
    if ((masks < 0) | (masks >= 1 << num_cards)).any():
        raise TienLenError(f"hands: a mask has bits beyond the {num_cards} cards")
    union: IntArray = np.bitwise_or.reduce(masks, axis=1)
    if (np.bitwise_count(masks).sum(axis=1) != np.bitwise_count(union)).any():
        raise TienLenError("hands: a card is in two hands")
    return union
