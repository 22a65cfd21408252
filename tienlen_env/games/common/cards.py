"""Cards, ranks and suits, their text, and 52-bit card sets.

A card is an int ``card_id = rank * 4 + suit`` in 0..51, so a larger id is a stronger card
(RULES.md 1.2). A set of cards is an int with one bit per card ("mask"); it fits an ``int64``:

    bit      51 50 49 48   47 46 45 44  ...   7  6  5  4    3  2  1  0
    card     2h 2d 2c 2s   Ah Ad Ac As  ...  4h 4d 4c 4s   3h 3d 3c 3s
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Final

import numpy as np
import numpy.typing as npt

from tienlen_env.errors import NotationError

NUM_RANKS: Final = 13
NUM_SUITS: Final = 4
NUM_CARDS: Final = 52
HAND_SIZE: Final = 13
NO_CARD: Final = -1

RANK_TEXT: Final = "3456789TJQKA2"
SUIT_TEXT: Final = "scdh"
SUIT_SYMBOLS: Final = "♠♣♦♥"
SUIT_NAME: Final = ("spades", "clubs", "diamonds", "hearts")
RANK_OF_TWO: Final = 12

NOT_A_CARD: Final = "{word!r} is not a card (write 3s..2h, ten is T or 10)"
TWICE: Final = "card {cards} comes twice"

FULL_DECK: Final = (1 << NUM_CARDS) - 1
CARD_TEXT: Final = tuple(r + s for r in RANK_TEXT for s in SUIT_TEXT)
_CARD_ID: Final = {text: i for i, text in enumerate(CARD_TEXT)}


def card_ids(mask: int, num_cards: int = NUM_CARDS) -> list[int]:
    """The cards of a mask by id, so that the weakest is first.

    Args:
        mask: the cards.
        num_cards: of the deck.

    Raises:
        ValueError: the mask has bits beyond the cards of the deck.
    """
    try:
        mask = index(mask)
    except TypeError:
        raise ValueError(f"{mask!r} is not a valid mask of cards") from None
    if not 0 <= mask < 1 << num_cards:
        raise ValueError(f"{mask} is not a valid mask of cards")
    ids = []
    while mask:
        low = mask & -mask
        ids.append(low.bit_length() - 1)
        mask ^= low
    return ids


def format_cards(mask: int, separator: str = " ") -> str:
    """The text of a mask, weakest card first: ``"3s 3h"``; ``""`` for no cards."""
    return separator.join(CARD_TEXT[c] for c in card_ids(mask))


def describe_cards(mask: int, write: Callable[[int], str] = format_cards) -> str:
    """The text of any number as cards, for messages: ``"3s 3h"``, ``"no cards"``, or ``"the mask -0x1"``."""
    try:
        return write(mask) or "no cards"
    except ValueError:
        return f"the mask {mask:#x}"


def parse_cards(text: str) -> int:
    """Read cards into a mask: ``"3s 3h"``, ``"3s3h"``, ``"10d,Jc"`` and ``"3♠ 3♥"`` are all understood.

    Args:
        text: rank then suit for every card, upper or lower case, with blanks or commas between or not.

    Returns:
        The mask of the cards; 0 for blank text.

    Raises:
        NotationError: a character that is not a card, or a card that comes twice; it names the column.
    """
    mask = 0
    i = 0
    while i < len(text):
        if text[i] in " ,\t":
            i += 1
            continue
        rank, width = ("T", 2) if text.startswith("10", i) else (text[i].upper(), 1)
        suit = text[i + width : i + width + 1].lower()
        if suit and suit in SUIT_SYMBOLS:
            suit = SUIT_TEXT[SUIT_SYMBOLS.index(suit)]
        card = _CARD_ID.get(rank + suit)
        if card is None:
            found = text[i : i + width + 1]
            raise NotationError(NOT_A_CARD.format(word=found), 1 + i)
        if mask >> card & 1:
            raise NotationError(TWICE.format(cards=CARD_TEXT[card]), 1 + i)
        mask |= 1 << card
        i += width + 1
    return mask


def masks_to_bits(masks: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Expand masks to one byte a card.

    Args:
        masks: int64, any shape ``(...)``.

    Returns:
        uint8 ``(..., 52)`` of 0 and 1.
    """
    wide = np.asarray(masks, dtype=np.int64)[..., None]
    return ((wide >> np.arange(NUM_CARDS)) & 1).astype(np.uint8)
