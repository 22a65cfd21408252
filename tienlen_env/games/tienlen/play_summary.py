"""Per-seat summary of the plays of a round.

Each seat has three bit masks over (combination kind × highest rank): the plays that it passed on, followed
with and led; 4 × 13 bits each, the kinds being single, pair, triple and anything longer. A seat that
is out of a trick takes no decision and sets no bit. One more word holds the last play, as in the history.

The cards alone decide whether a play is a lead: a play by the owner of the table, or one that is not of the
table's kind and higher; a chop counts as a lead, too.
"""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import Row
from tienlen_env.games.common.bits import FULL, highest_index, popcount, ranks_of
from tienlen_env.games.tienlen.state import HISTORY_SEAT_SHIFT, LAST_PLAY

PASSED, FOLLOWED, LED = range(3)
NUM_KINDS: Final = 4
NUM_RANKS: Final = 13


def is_set(cards: int) -> bool:
    """Whether cards are of one rank, at most."""
    ranks = ranks_of(cards)
    return bool(ranks & (ranks - 1) == 0)


def update_play_summary(row: Row, summary: int, event: int) -> None:
    """Add an event of the history to the play summary that begins at column `summary`."""
    seat, play = (event >> HISTORY_SEAT_SHIFT) - 1, event & FULL
    last = row[summary + LAST_PLAY]
    owner, table = (last >> HISTORY_SEAT_SHIFT) - 1, last & FULL
    what, about = PASSED, table
    if play != 0:
        # Without branches, because they would be mispredicted.
        follows = (
            (owner != seat)
            & (popcount(play) == popcount(table))
            & (play > table)
            & (is_set(play) == is_set(table))
        )
        what, about = LED - follows, play
        row[summary + LAST_PLAY] = event
    if about != 0:
        num = popcount(about)
        kind = num - 1 if (num < NUM_KINDS) & is_set(about) else NUM_KINDS - 1
        row[summary + 3 * seat + what] |= 1 << (kind * NUM_RANKS + (highest_index(about) >> 2))
