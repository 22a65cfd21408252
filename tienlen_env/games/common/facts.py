"""The public facts of a position as data: where they lie in a row, and how they are written.

Python and JavaScript read the same facts (`GameText.facts`), so a game describes them once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import Literal, NamedTuple, TypeAlias

from tienlen_env.games.common.cards import SUIT_NAME

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Kind = Literal[
    "cards", "seat", "optional_seat", "seat_mask", "each_cards", "each_bits", "order", "suit", "common"
]


class Fact(NamedTuple):
    """A public fact of a position, a field of `tienlen_env.single.messages`.

    Attributes:
        name: its name there.
        kind: what the column holds: a mask of ``cards``; a ``seat``, or an ``optional_seat`` below 0 for
            none; a mask of seats (``seat_mask``); for each seat a mask (``each_cards``) or a number of
            `bits` bits (``each_bits``); card ids plus 1 of 6 bits each in their ``order``; the ``suit`` of
            the lowest card of a mask. ``common``: no column, but the cards that all legal plays of the
            observing seat have in common.
        column: of the row.
        bits: of a number; 0 for all, with its sign.
        unless: columns; the fact is empty if one of them is not 0.
        if_negative: a column; the fact is empty unless it is below 0. -1: no such condition.
        within: a column with a mask of seats; a `seat_mask` has only seats of it. -1: no such condition.
    """

    name: str
    kind: Kind
    column: int = -1
    bits: int = 0
    unless: tuple[int, ...] = ()
    if_negative: int = -1
    within: int = -1

    def read(
        self, row: Sequence[int], num_players: int, legal: Sequence[int], write: Callable[[int], str]
    ) -> Json:
        """The fact in one position, as a JSON value.

        Args:
            row: the state of the game.
            num_players: P.
            legal: the card masks of the legal plays of the observing seat; empty if it is not to act.
            write: the text of a card mask.
        """
        is_empty = any(row[column] for column in self.unless)
        is_empty |= self.if_negative >= 0 and row[self.if_negative] >= 0
        value = 0 if is_empty or self.column < 0 else row[self.column]
        each = row[self.column : self.column + num_players]
        match self.kind:
            case "cards":
                return write(value)
            case "common":
                return write(0 if is_empty or not legal else reduce(and_, legal))
            case "seat":
                return value
            case "optional_seat":
                return None if value < 0 else value
            case "seat_mask":
                shown = value if self.within < 0 else value & row[self.within]
                return [seat for seat in range(num_players) if shown >> seat & 1]
            case "each_cards":
                return [write(cards) for cards in each]
            case "each_bits":
                return [number & (1 << self.bits) - 1 if self.bits else number for number in each]
            case "order":
                cards = [(value >> 6 * i & 63) - 1 for i in range(num_players)]
                return " ".join(write(1 << card) for card in cards if card >= 0)
            case "suit":
                return SUIT_NAME[((value & -value).bit_length() - 1) & 3] if value else ""


def climbing_facts(table: int, owner: int, passed: int, played: int) -> tuple[Fact, ...]:
    """The facts of a climbing game, from the columns of `ClimbingState` (-1: no such column).

    ``table`` has the cards to be beaten, ``owner`` the seat that played them, ``must`` the cards that every
    legal lead has in common, ``passed`` the seats that have passed in this trick, ``played`` the cards that
    each seat has played.
    """
    facts = (
        Fact("table", "cards", table),
        Fact("owner", "optional_seat", owner),
        Fact("must", "common", if_negative=owner),
        Fact("passed", "seat_mask", passed),
    )
    return facts if played < 0 else (*facts, Fact("played", "each_cards", played))
