"""The public facts of a position as data: where they lie in a row, and how they are written.

Python and JavaScript read the same facts (`GameText.facts`), so a game describes them once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from tienlen_env.games.common.arrays import IntArray
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
        if_negative: a column; what is ``common`` is empty unless it is below 0.
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
        self, rows: IntArray, num_players: int, legal: Sequence[Sequence[int]], write: Callable[[int], str]
    ) -> list[Json]:
        """The fact in n positions, as JSON values.

        Args:
            rows: int64 (n, ROW), the states of the games.
            num_players: P.
            legal: n lists, the card masks of the legal plays of the observing seat; empty off turn.
            write: the text of a card mask.
        """
        values = rows[:, self.column]
        for column in self.unless:
            values = np.where(rows[:, column] == 0, values, 0)
        each = rows[:, self.column : self.column + num_players]
        match self.kind:
            case "cards":
                return list(map(write, values.tolist()))
            case "common":
                shows = rows[:, self.if_negative] < 0
                return [
                    write(reduce(and_, masks) if shown and masks else 0)
                    for shown, masks in zip(shows.tolist(), legal, strict=True)
                ]
            case "seat":
                return list(values.tolist())
            case "optional_seat":
                return [None if value < 0 else value for value in values.tolist()]
            case "seat_mask":
                shown = values if self.within < 0 else values & rows[:, self.within]
                seats = range(num_players)
                return [[seat for seat in seats if mask >> seat & 1] for mask in shown.tolist()]
            case "each_cards":
                return [list(map(write, masks)) for masks in each.tolist()]
            case "each_bits":
                return list((each & (1 << self.bits) - 1 if self.bits else each).tolist())
            case "order":
                shifts = 6 * np.arange(num_players)
                orders = ((values[:, None] >> shifts & 63) - 1).tolist()
                return [" ".join(write(1 << card) for card in cards if card >= 0) for cards in orders]
            case "suit":
                lows = [(value & -value).bit_length() - 1 for value in values.tolist()]
                return ["" if low < 0 else SUIT_NAME[low & 3] for low in lows]


def climbing_facts(table: int, owner: int, passed: int, played: int, live: int = -1) -> tuple[Fact, ...]:
    """The facts of a climbing game, from the columns of `ClimbingState` (-1: no such column).

    ``table`` has the cards to be beaten, ``owner`` the seat that played them, ``must`` the cards that every
    legal lead has in common, ``passed`` the seats that have passed in this trick (of those in the column
    `live`, the seats that are in the round), ``played`` the cards that each seat has played.
    """
    facts = (
        Fact("table", "cards", table),
        Fact("owner", "optional_seat", owner),
        Fact("must", "common", if_negative=owner),
        Fact("passed", "seat_mask", passed, within=live),
    )
    return facts if played < 0 else (*facts, Fact("played", "each_cards", played))
