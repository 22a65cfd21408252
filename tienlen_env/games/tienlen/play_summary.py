"""The record of a round: over what each seat has passed, with what it has followed and what it has led.

A player who passes over a low single has probably none to spare, and one who leads a nine has few lower
cards that stand alone. Three words a seat tell it, 4 x 13 bits each, for a single, a pair, a triple and
anything longer, by the highest rank. Who was out of a trick is not asked and leaves no bit. One more word
holds the last play, as in the history.

What leads is told from the cards alone: a play of the owner of the table, or one that is not of the table's
kind and higher; a chop counts as a lead, too.
"""

from __future__ import annotations

from typing import Any, Final

from tienlen_env.games.common.bits import FULL, highest_index, popcount, ranks_of
from tienlen_env.games.tienlen.state import HISTORY_SEAT_SHIFT, LAST_PLAY

PASSED, FOLLOWED, LED = range(3)
NUM_KINDS: Final = 4
NUM_RANKS: Final = 13


def is_set(cards: int) -> bool:
    """Whether cards are of one rank, at most."""
    ranks = ranks_of(cards)
    return bool(ranks & (ranks - 1) == 0)


def note(row: Any, record: int, event: int) -> None:
    """Enter an event of the history in the record that begins at column `record`."""
    seat, play = (event >> HISTORY_SEAT_SHIFT) - 1, event & FULL
    last = row[record + LAST_PLAY]
    owner, table = (last >> HISTORY_SEAT_SHIFT) - 1, last & FULL
    what, about = PASSED, table
    if play != 0:
        # Without branches, for which of these hold comes unforeseen.
        follows = (
            (owner != seat)
            & (popcount(play) == popcount(table))
            & (play > table)
            & (is_set(play) == is_set(table))
        )
        what, about = LED - follows, play
        row[record + LAST_PLAY] = event
    if about != 0:
        num = popcount(about)
        kind = num - 1 if (num < NUM_KINDS) & is_set(about) else NUM_KINDS - 1
        row[record + 3 * seat + what] |= 1 << (kind * NUM_RANKS + (highest_index(about) >> 2))
