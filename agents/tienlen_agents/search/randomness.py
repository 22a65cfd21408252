"""Random numbers in compiled code: a stream of 64-bit words, draws of cards, a hash for its seed."""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import Row
from tienlen_env.games.common.bits import nth_index, popcount, shift_right
from tienlen_env.games.common.hints import noinline

HASH: Final = 0x9E3779B97F4A7C15 - (1 << 64)


def absorb(state: int, fact: int) -> int:
    """Hash one more 64-bit fact into a state."""
    state = (state ^ fact) * HASH
    mixed: int = state ^ shift_right(state, 29)
    return mixed


def absorb_columns(state: int, row: Row, columns: tuple[int, ...]) -> int:
    """Hash some columns of a row into a state, in their order."""
    for column in columns:
        state = absorb(state, row[column])
    return state


def set_seed(stream: Row, state: int) -> None:
    """Start a stream from a hashed state; xorshift must not start at 0."""
    stream[0] = state | 1


@noinline
def random_word(stream: Row) -> int:
    """The next word of a stream, int64 (1,) and not 0 (xorshift64, Marsaglia 2003).

    Each word comes from the one before. In generators whose words are independent functions of a counter
    (SplitMix64), LLVM 20 computes two draws side by side in one vector, and wrongly.
    """
    x = stream[0]
    x ^= x << 13
    x ^= shift_right(x, 7)
    x ^= x << 17
    stream[0] = x
    word: int = x
    return word


@noinline
def draw_below(stream: Row, n: int) -> int:
    """A number from 0 to n - 1, for n up to 2**16; the bias of the remainder is below 2**-36."""
    drawn: int = shift_right(random_word(stream), 11) % n
    return drawn


@noinline
def draw_cards(stream: Row, cards: int, n: int) -> int:
    """`n` of some cards (mask), uniformly."""
    drawn = 0
    for _ in range(n):
        card = 1 << nth_index(cards & ~drawn, draw_below(stream, popcount(cards & ~drawn)))
        drawn |= card
    return drawn
