"""Legal actions where suits bind (RULES.md 4.20 to 4.22): kernels like those of `kernels`, which calls them.

A group of actions of one shape is a mask of 52 bits, as the top cards are in other variants: a nibble a rank,
and in it

    singles, runs               the suit of the top card
    pairs, double sequences     bit 1 for a black, bit 3 for a red one (the suit of its higher card)
    triples                     bit 3 - s for the one without suit s
    quads                       bit 3
"""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import ActionFields, Row, Spec
from tienlen_env.games.common.bits import FULL, LOWEST_SUIT, highest_index, lowest_index, or_bits, squeeze
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import spec as S, state as R

_TWOS: Final = 15 << 48
_NO_TWOS: Final = FULL >> 4


def pairs_of_a_colour(cards: int) -> int:
    """The pairs of one colour in some cards, as bits 1 and 3 of their rank."""
    both = cards & cards >> 1
    return (both & LOWEST_SUIT) << 1 | (both >> 2 & LOWEST_SUIT) << 3


def triples_of(cards: int) -> int:
    """The triples in some cards, as the bit 3 - s of their rank for the one without suit s."""
    spades, clubs = cards & LOWEST_SUIT, cards >> 1 & LOWEST_SUIT
    diamonds, hearts = cards >> 2 & LOWEST_SUIT, cards >> 3 & LOWEST_SUIT
    return (
        spades & clubs & diamonds
        | (spades & clubs & hearts) << 1
        | (spades & diamonds & hearts) << 2
        | (clubs & diamonds & hearts) << 3
    )


def chain_of(tops: int, length: int) -> int:
    """Top cards of sequences of `length` ranks in one suit (the same bit of each nibble)."""
    ends = tops
    for below in range(1, length):
        ends &= tops << (4 * below)
    return ends


def group_of(hand: int, width: int, length: int) -> int:
    """The combinations of a shape in a hand, as the mask of their group."""
    cards = hand if length == 1 else hand & _NO_TWOS
    if width == 1:
        tops = cards
    elif width == 2:
        tops = pairs_of_a_colour(cards)
    elif width == 3:
        tops = triples_of(cards)
    else:
        pairs = cards & cards >> 1
        tops = (pairs & pairs >> 2 & LOWEST_SUIT) << 3
    return chain_of(tops, length)


def squeeze_pairs(tops: int) -> int:
    """Close up bits 1 and 3 of every nibble to two bits a rank, the order of the action ids."""
    x = tops >> 1 & 0x5555555555555
    x = (x | x >> 1) & 0x3333333333333
    x = (x | x >> 2) & 0x0F0F0F0F0F0F0F
    x = (x | x >> 4) & 0x00FF00FF00FF00FF
    x = (x | x >> 8) & 0x0000FFFF0000FFFF
    return (x | x >> 16) & 0x00000000FFFFFFFF


def add_group(row: Row, spec: Spec, width: int, length: int, tops: int) -> None:
    """Set the bits of the actions of a shape that are in `tops`."""
    from_lowest = tops >> (4 * (length - 1))
    if width == 2:
        bits = squeeze_pairs(from_lowest)
    elif width == 4:
        bits = squeeze(from_lowest, 4)
    else:
        bits = from_lowest
    or_bits(row, R.LEGAL, spec[S.GROUP_FIRST + (width - 1) * 32 + length * 2], bits)


def add_mixed_twos(row: Row, spec: Spec, hand: int, top_suit: int) -> None:
    """Set the bits of the pairs of 2s of two colours whose higher card is above `top_suit` (-1: all)."""
    spade, club, diamond, heart = hand >> 48 & 1, hand >> 49 & 1, hand >> 50 & 1, hand >> 51 & 1
    bits = 0
    if top_suit < 2:
        bits |= spade & diamond | (club & diamond) << 1
    if top_suit < 3:
        bits |= (spade & heart) << 2 | (club & heart) << 3
    or_bits(row, R.LEGAL, spec[S.GROUP_FIRST + 32 + 2 + 1], bits)


@noinline
def add_suited_lead_actions(row: Row, spec: Spec, hand: int) -> None:
    """All combinations in a hand; under the opening duty those with the opening card.

    The opening card is the lowest of the deal, so it is at the bottom of a sequence.
    """
    duty = row[R.REQUIRED_CARD]
    if duty != 0 and spec[S.OPENING_PLAY] == 2:
        add_group(row, spec, 1, 1, duty)
        return
    for width in range(1, 5):
        bits = FULL
        if duty != 0:
            bits = bits_with(duty, width)
        add_group(row, spec, width, 1, group_of(hand, width, 1) & bits)
        length = spec[S.SEQUENCE_MIN + width - 1]
        while length > 0:
            tops = group_of(hand, width, length)
            if tops == 0:
                break
            if duty != 0:
                tops &= bits << (4 * (length - 1))
            add_group(row, spec, width, length, tops)
            length += 1
    if duty == 0:
        add_mixed_twos(row, spec, hand, -1)
    elif duty & _TWOS != 0:
        # No 2 below the opening card is dealt: only with 2s 2c in hand there are pairs without it.
        add_mixed_twos(row, spec, hand & ~((duty & 1 << 48) << 1), -1)


def bits_with(card: int, width: int) -> int:
    """The bits of the group masks of sets that contain a card (a mask)."""
    suit = lowest_index(card) & 3
    rank = lowest_index(card) & ~3
    if width == 1:
        return card
    if width == 2:
        return (2 if suit < 2 else 8) << rank
    if width == 3:
        return (15 ^ 8 >> suit) << rank
    return 8 << rank


@noinline
def add_suited_follow_actions(row: Row, spec: Spec, actions: ActionFields, hand: int, seat: int) -> None:
    """What beats the table: higher in its suits, 2s, and the bombs that beat its class."""
    action = row[R.TABLE] * S.ACTION_FIELDS
    width, length, top = actions[action + S.WIDTH], actions[action + S.LENGTH], actions[action + S.TOP]
    is_locked = spec[S.PASS_LOCK] and (row[R.PASSED] >> seat) & 1
    if not is_locked or spec[S.GROUP_REJOIN + (width - 1) * 16 + length]:
        higher = FULL << (top + 1)
        if width >= 3:
            higher = FULL << (4 * (top >> 2) + 4)  # triples and quads: by rank
        allowed = higher
        if not spec[S.GROUP_BOMB + (width - 1) * 16 + length]:
            same = top & 3
            if width == 3:
                same = 3 - lowest_index(15 ^ (row[R.TABLE_CARDS] >> (top & ~3) & 15))
            allowed &= LOWEST_SUIT << same
            if length == 1:
                allowed |= higher & _TWOS
        add_group(row, spec, width, length, group_of(hand, width, length) & allowed)
        if width == 2 and length == 1:
            add_mixed_twos(row, spec, hand, top & 3 if top >> 2 == 12 else -1)
    if actions[action + S.CLASS]:
        beater = S.BEATERS + actions[action + S.CLASS] * S.BEATERS_SIZE
        while spec[beater]:
            width, length = spec[beater] >> 4, spec[beater] & 15
            if not is_locked or spec[S.GROUP_REJOIN + (width - 1) * 16 + length]:
                add_group(row, spec, width, length, group_of(hand, width, length))
            beater += 1


@noinline
def suited_action_of(spec: Spec, cards: int, width: int, length: int) -> int:
    """The action id of a combination of two cards of a rank or more (RULES.md 7.1)."""
    top = highest_index(cards)
    at = S.GROUP_FIRST + (width - 1) * 32 + length * 2
    from_lowest = top - 4 * (length - 1)
    first: int = spec[at]
    if width == 2:
        is_of_a_colour = cards >> (top & ~1) & 3 == 3
        if is_of_a_colour or length > 1:
            return first + 2 * (from_lowest >> 2) + (from_lowest >> 1 & 1)
        mixed: int = spec[at + 1]  # pairs of 2s: sd cd sh ch
        return mixed + 2 * (top & 1) + (1 - (cards >> (top & ~3) & 1))
    if width == 3:
        missing = lowest_index(15 ^ cards >> (top & ~3) & 15)
        return first + (from_lowest & ~3) + 3 - missing
    return first + (from_lowest >> 2)
