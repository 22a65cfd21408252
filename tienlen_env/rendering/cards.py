"""Cards as pictures show them, whichever game they belong to.

A card is an id: 0..51 are the plain cards of `tienlen_env.games.common.cards`, every id above is a joker.
A set of cards is an int with one bit per card.
"""

from __future__ import annotations

from tienlen_env.games.common.cards import CARD_TEXT, NUM_CARDS, rank_of, suit_of


def is_joker(card: int) -> bool:
    """Whether a card is a joker, which has neither rank nor suit."""
    return card >= NUM_CARDS


def card_text(card: int) -> str:
    """``"3s"``, ``"Th"``; ``"*1"``, ``"*2"`` for jokers."""
    return f"*{card - NUM_CARDS + 1}" if is_joker(card) else CARD_TEXT[card]


def cards_of(mask: int) -> list[int]:
    """The ids of a card mask, ascending; jokers last."""
    return [card for card in range(int(mask).bit_length()) if mask >> card & 1]


def by_suits(mask: int) -> list[int]:
    """The ids of a card mask as a hand is held in a game of tricks: by suits, ace to 2, jokers last."""
    return sorted(cards_of(mask), key=_place_in_hand)


def _place_in_hand(card: int) -> tuple[int, int]:
    if is_joker(card):
        return card, 0
    return suit_of(card), -((rank_of(card) + 1) % 13)  # ranks ascend 3..A, 2; here the 2 is the lowest
