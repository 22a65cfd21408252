"""The cards of Thirteens: the 52 of `games.common.cards` with the same ids, then two jokers.

A set of cards is an int with one bit a card; with the jokers (ids 52 and 53) it still fits an ``int64``.
Ids follow the ranks of Tiến lên (3 .. A, 2), so that both games share text and pictures. Thirteens orders
cards twice, and neither order is that of the ids (RULES.md 8.1): by `strength` to win tricks (2 lowest, A
highest), by pips to meld (A = 1 .. K = 13).
"""

from __future__ import annotations

from typing import Final

from tienlen_env.errors import NotationError
from tienlen_env.games.common import cards as plain

NUM_PLAIN: Final = plain.NUM_CARDS
NUM_CARDS: Final = NUM_PLAIN + 2
MAX_JOKERS: Final = 2
JOKERS: Final = 3 << NUM_PLAIN
CARD_TEXT: Final = (*plain.CARD_TEXT, "*1", "*2")
PIP_TEXT: Final = ("", "A", "2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K")


def full_deck(jokers: int) -> int:
    """The mask of a deck with `jokers` jokers."""
    return (1 << (NUM_PLAIN + jokers)) - 1


def is_joker(card_id: int) -> bool:
    """Whether a card is a joker."""
    return card_id >= NUM_PLAIN


def strength(card_id: int) -> int:
    """The rank in a trick, 0 (a 2) .. 12 (an ace) (RULES.md 8.1); 13 for jokers."""
    return 13 if is_joker(card_id) else ((card_id >> 2) + 1) % 13


def suit_of(mask: int) -> int:
    """The suit of the lowest card of a mask, which is not 0."""
    return (mask & -mask).bit_length() - 1 & 3


def format_cards(mask: int, separator: str = " ") -> str:
    """The text of a mask by suits, strongest card first, jokers last: ``"Ks 2s Ah *1"``."""
    ids = plain.card_ids(mask, NUM_CARDS)
    order = sorted(ids, key=lambda c: (is_joker(c), c & 3 if c < NUM_PLAIN else c, -strength(c)))
    return separator.join(CARD_TEXT[c] for c in order)


def parse_cards(text: str) -> int:
    """Read cards into a mask: as `games.common.cards.parse_cards`, and ``*1``, ``*2`` for jokers.

    Raises:
        NotationError: a character that is not a card, or a card that comes twice; it names the column.
    """
    jokers = 0
    for i, name in enumerate(CARD_TEXT[NUM_PLAIN:]):
        if text.count(name) > 1:
            raise NotationError(plain.TWICE.format(cards=name), 1 + text.rindex(name))
        if name in text:
            jokers |= 1 << (NUM_PLAIN + i)
            text = text.replace(name, "  ")
    return jokers | plain.parse_cards(text)
