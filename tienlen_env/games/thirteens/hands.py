"""Deals of Thirteens from hands that are given instead of dealt."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.hands import check_disjoint
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.cards import full_deck
from tienlen_env.games.thirteens.rules import ThirteensRules


def set_hands(
    rows: IntArray,
    rules: ThirteensRules,
    hands: IntArray,
    extra: Mapping[str, IntArray],
    begin: Callable[[], None],
) -> None:
    """Start a deal in every row, or the end of one: with n cards in each hand its last n tricks.

    Cards that are not given count as shown, as if they had been played.

    Args:
        rows: int64 (B, ROW), the states.
        rules: the variant.
        hands: int64 (B, P), masks of equally many cards.
        extra: int64 (B,) masks each: ``dummy``, the dummy's hand, with as many cards as others (RULES.md
            8.10); ``remainder``, the cards that go with the first trick, no more than the rules set aside
            (8.2, 8.7); ``starter``, the card of the remainder that was flipped first (8.3).
        begin: lets the backend begin a deal of the hands in the rows.

    Raises:
        TienLenError: an impossible card distribution; nothing has changed.
    """
    dummy, remainder, starter = extra["dummy"], extra["remainder"], extra["starter"]
    union = check_disjoint(np.column_stack([hands, dummy, remainder]), rules.num_cards)
    sizes = np.bitwise_count(hands)
    if (sizes != sizes[:, :1]).any() or (sizes < 1).any() or (sizes > rules.hand_size).any():
        raise TienLenError(f"hands: expected equally many cards in each, 1 to {rules.hand_size}")
    if (np.bitwise_count(dummy) != sizes[:, 0] * rules.dummy).any():
        raise TienLenError(f"dummy: expected {'as many cards as in a hand' if rules.dummy else 'no cards'}")
    if (np.bitwise_count(remainder) > rules.num_aside).any():
        raise TienLenError(f"remainder: expected at most {rules.num_aside} cards")
    if ((np.bitwise_count(starter) != (remainder != 0)) | (starter & ~remainder != 0)).any():
        raise TienLenError("starter: expected one card of the remainder, if there is one")
    rows[:] = 0
    rows[:, R.HAND : R.HAND + hands.shape[1]] = hands
    rows[:, R.DUMMY], rows[:, R.REMAINDER], rows[:, R.STARTER] = dummy, remainder, starter
    begin()
    rows[:, R.SHOWN] |= full_deck(rules.jokers) & ~union
    rows[:, R.NUM_TRICKS] = rules.hand_size - np.bitwise_count(hands[:, 0])
