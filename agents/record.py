"""What the record of a round says of each opponent, as bits for a network.

A player who passes over a low single has probably none to spare, and one who leads a nine has few lower
cards that stand alone. For each opponent the bits say over what it has *passed* in this round, with what it
has *followed* and what it has *led*: each 4 x 13 of them, for a single, a pair, a triple and anything longer,
by the highest rank. Who was out of a trick is not asked and leaves no bit.

What leads is told from the cards alone: a play of the owner of the table, or one that is not of the table's
kind and higher; a chop counts as a lead, too.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tienlen_env.agent import View
from tienlen_env.backends import numba_bits
from tienlen_env.backends.build import build_of
from tienlen_env.core import bits as core_bits
from tienlen_env.core import state as R
from tienlen_env.core.bits import FULL, highest_index, popcount

NUM_EVENTS: Final = 128  # plays and passes looked back on; the longest of 4,000 rounds of random play had 108
PASSED, FOLLOWED, LED = range(3)
NUM_KINDS: Final = 4
NUM_RANKS: Final = 13


def num_record_bits(num_players: int) -> int:
    """The length of a record."""
    return (num_players - 1) * 3 * NUM_KINDS * NUM_RANKS


def read_record(view: View) -> npt.NDArray[np.uint8]:
    """The records of n decisions.

    Returns:
        uint8 (n, R) of 0 and 1: for each opponent, the next to play first: passed, followed, led.
    """
    num_players = view.rules.num_players
    out = np.zeros((len(view), num_record_bits(num_players)), np.uint8)
    _compiled()(view.public_state.history, view.seat, num_players, out)
    return out


@cache
def _compiled() -> Any:
    build = build_of((core_bits, R, numba_bits))

    def write_record(history, me, num_players, out):  # type: ignore[no-untyped-def]
        build  # noqa: B018
        for b in range(history.shape[0]):
            num_events = 0
            while num_events < history.shape[1] and history[b, num_events] != 0:
                num_events += 1
            table, owner = 0, -1
            for k in range(num_events - 1, -1, -1):  # from the oldest to the newest
                play = history[b, k] & FULL
                seat = (history[b, k] >> R.HISTORY_SEAT_SHIFT) - 1 - me[b]
                if seat < 0:
                    seat += num_players
                what, about = PASSED, table
                if play != 0:
                    follows = (
                        owner != seat
                        and popcount(play) == popcount(table)
                        and play > table
                        and (highest_index(play) >> 2 == highest_index(play & -play) >> 2)
                        == (highest_index(table) >> 2 == highest_index(table & -table) >> 2)
                    )
                    what, about = FOLLOWED if follows else LED, play
                    table, owner = play, seat
                if seat > 0 and about != 0:
                    num, top = popcount(about), highest_index(about) >> 2
                    is_set = highest_index(about & -about) >> 2 == top
                    kind = num - 1 if is_set and num < NUM_KINDS else NUM_KINDS - 1
                    place = ((seat - 1) * 3 + what) * NUM_KINDS + kind
                    out[b, place * NUM_RANKS + top] = 1

    return njit(write_record, nogil=True, cache=True, _nrt=False)
