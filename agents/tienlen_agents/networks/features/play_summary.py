"""The record of a round (`tienlen_env.games.tienlen.play_summary`) as bits for a network.

For each opponent they say over what it has *passed* in this round, with what it has *followed* and what it
has *led*: each 4 x 13 of them, for a single, a pair, a triple and anything longer, by the highest rank.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from tienlen_env.games.common.bits import wrap, write_word
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen.play_summary import NUM_KINDS, NUM_RANKS


def num_record_bits(num_players: int) -> int:
    """The length of a record."""
    return (num_players - 1) * 3 * NUM_KINDS * NUM_RANKS


def _inline(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False, forceinline=True)


@_inline
def write_record(row: Any, spec: Any, seat: int, out: Any, start: int) -> int:
    """Write what a seat reads of the record of a round, as 0s and 1s; zeros where no plays are kept.

    Args:
        row: the round.
        spec: the variant.
        seat: who reads it.
        out: uint8, to which is written from index `start` on: for each opponent, the next to play first:
            passed, followed, led. 12 bytes behind the record are overwritten.
        start: see `out`.

    Returns:
        The index after the record.
    """
    num_players = spec[S.NUM_PLAYERS]
    for after in range(1, num_players):
        at = spec[S.RECORD] + 3 * wrap(seat + after, num_players)
        for what in range(3):
            write_word(out, start, row[at + what] if spec[S.NUM_KEPT] > 0 else 0)
            start += NUM_KINDS * NUM_RANKS
    return start
