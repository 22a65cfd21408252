"""The play summary of a round (`tienlen_env.games.tienlen.play_summary`) as bits for a network.

For each opponent: the plays that it *passed* on in this round, *followed* with and *led*. Each of the three
has 4 x 13 bits: for singles, pairs, triples and all longer plays, by the highest rank.
"""

from __future__ import annotations

from typing import Any

from tienlen_env.games.common.arrays import Row, Spec
from tienlen_env.games.common.bits import wrap, write_word
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen.play_summary import NUM_KINDS, NUM_RANKS


def num_summary_bits(num_players: int) -> int:
    """R, the number of bits of a play summary."""
    return (num_players - 1) * 3 * NUM_KINDS * NUM_RANKS


def write_summary(row: Row, spec: Spec, seat: int, out: Any, start: int) -> int:
    """Write the play summary that a seat reads, as 0s and 1s; zeros if the batch stores no plays.

    Args:
        row: int64 (ROW,), the round.
        spec: the variant.
        seat: the seat that reads it.
        out: uint8, is written from index `start` on: for each opponent, the next to play first: passed,
            followed, led. The 12 bytes after the summary are overwritten.
        start: see `out`.

    Returns:
        The index after the summary.
    """
    num_players = spec[S.NUM_PLAYERS]
    for after in range(1, num_players):
        at = spec[S.PLAY_SUMMARY] + 3 * wrap(seat + after, num_players)
        for what in range(3):
            write_word(out, start, row[at + what] if spec[S.NUM_KEPT] > 0 else 0)
            start += NUM_KINDS * NUM_RANKS
    return start
