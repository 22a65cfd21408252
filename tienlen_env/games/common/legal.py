"""The packed legal-action mask of a game's row: one bit per action, in words of 64 bits.

`legal_kernels` makes the functions on it, for the columns of a game's rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import ActionFields, Output, Row, Spec
from tienlen_env.games.common.bits import (
    lowest_index,
    nth_index,
    popcount,
    shift_left,
    shift_right,
    write_bits,
    write_half,
    write_word,
)
from tienlen_env.games.common.specialise import GIVEN, specialise

# See `legal_kernels`.
turn: int = GIVEN
hand: int = GIVEN
legal: int = GIVEN
action_cards: Callable[[int, ActionFields, int], int] = GIVEN
usual_words: int = GIVEN
other_words: int = GIVEN


class LegalKernels(NamedTuple):
    """The functions on the packed mask of one row; this module has each, for any layout of rows."""

    clear_legal: Callable[[Row, Spec], None]
    is_legal: Callable[[Row, Spec, int], bool]
    write_mask: Callable[[Row, Spec, Output, int], None]
    num_legal: Callable[[Row, Spec], int]
    nth_legal: Callable[[Row, Spec, int], int]
    choose_legal: Callable[[Row, Spec, float], int]
    list_legal: Callable[[Row, Spec, ActionFields, Row, Row, int], int]


def no_cards(hand: int, actions: ActionFields, action: int) -> int:
    """The cards of an action in a game whose actions are not sets of cards: none."""
    return 0


def clear_legal(row: Row, spec: Spec) -> None:
    """Clear the mask."""
    if spec[S.NUM_WORDS] == usual_words:
        for word in range(usual_words):
            row[legal + word] = 0
    else:
        for word in range(spec[S.NUM_WORDS]):
            row[legal + word] = 0


def is_legal(row: Row, spec: Spec, action: int) -> bool:
    """Whether an action's bit is set."""
    if action < 0 or action >= spec[S.NUM_ACTIONS]:
        return False
    return bool((row[legal + (action >> 6)] >> (action & 63)) & 1)


def write_mask(row: Row, spec: Spec, out: Output, start: int) -> None:
    """Expand the mask to bytes ``out[start:start + A]``."""
    if spec[S.NUM_WORDS] == usual_words:
        _write_mask_words(row, spec[S.NUM_ACTIONS], usual_words, out, start)
    elif spec[S.NUM_WORDS] == other_words:
        _write_mask_words(row, spec[S.NUM_ACTIONS], other_words, out, start)
    else:
        _write_mask_words(row, spec[S.NUM_ACTIONS], spec[S.NUM_WORDS], out, start)


def _write_mask_words(row: Row, num_actions: int, num_words: int, out: Output, start: int) -> None:
    if num_words > 1:
        for word in range(num_words - 1):
            write_word(out, start + 64 * word, row[legal + word])
        # The last word ends with the row.
        last = row[legal + num_words - 1]
        surplus = 64 * num_words - num_actions
        if surplus > 0:
            last = shift_left(last, surplus) | shift_right(row[legal + num_words - 2], 64 - surplus)
        write_word(out, start + num_actions - 64, last)
    elif num_actions == 64:
        write_word(out, start, row[legal])
    elif num_actions >= 32:
        # Two halves that overlap.
        write_half(out, start, row[legal])
        write_half(out, start + num_actions - 32, shift_right(row[legal], num_actions - 32))
    else:
        write_bits(out, start, row[legal], num_actions)


def num_legal(row: Row, spec: Spec) -> int:
    """The number of legal actions."""
    if spec[S.NUM_WORDS] == usual_words:
        return _num_legal_in(row, usual_words)
    return _num_legal_in(row, spec[S.NUM_WORDS])


def _num_legal_in(row: Row, num_words: int) -> int:
    count = 0
    for word in range(num_words):
        count += popcount(row[legal + word])
    return count


def nth_legal(row: Row, spec: Spec, n: int) -> int:
    """The n-th legal action in order of ids, from 0; -1 if there are fewer."""
    if spec[S.NUM_WORDS] == usual_words:
        return _nth_legal_in(row, usual_words, n)
    return _nth_legal_in(row, spec[S.NUM_WORDS], n)


def _nth_legal_in(row: Row, num_words: int, n: int) -> int:
    before = 0  # legal actions in the words passed over
    chosen, rest = -1, n
    for i in range(num_words):
        if n >= before:
            chosen, rest = i, n - before
        before += popcount(row[legal + i])
    if n < 0 or n >= before:
        return -1
    return 64 * chosen + nth_index(row[legal + chosen], rest)


def choose_legal(row: Row, spec: Spec, draw: float) -> int:
    """A uniform legal action by a draw in [0, 1), or -1."""
    count = num_legal(row, spec)
    # The product may round up to `count` itself.
    return nth_legal(row, spec, min(int(draw * count), count - 1))


def list_legal(row: Row, spec: Spec, actions: ActionFields, ids: Row, cards: Row, start: int) -> int:
    """Write ids in order, and the cards of each, from index `start` on; returns the index after the last."""
    if row[turn] < 0:
        return start
    held = row[hand + row[turn]]
    for i in range(spec[S.NUM_WORDS]):
        word = row[legal + i]
        while word != 0:
            lowest = lowest_index(word)
            action = 64 * i + lowest
            ids[start] = action
            cards[start] = action_cards(held, actions, action)
            start += 1
            word ^= shift_left(1, lowest)  # not `word - 1`: bit 63 makes the word negative
    return start


def legal_kernels(
    *,
    turn: int,
    hand: int,
    legal: int,
    action_cards: Callable[[int, ActionFields, int], int] = no_cards,
    usual_words: int = 1,
    other_words: int = 1,
) -> LegalKernels:
    """The functions for one layout of rows.

    Args:
        turn: column of the seat to act, -1 when the game is over.
        hand: first column of the hands.
        legal: first column of the mask.
        action_cards: ``(hand, actions, action)``: the cards that an action plays from a hand (mask).
        usual_words: number of words of most variants; compiled code unrolls its loops.
        other_words: another number that is unrolled where the bytes are written.
    """
    return specialise(
        LegalKernels(clear_legal, is_legal, write_mask, num_legal, nth_legal, choose_legal, list_legal),
        turn=turn, hand=hand, legal=legal, action_cards=action_cards, usual_words=usual_words,
        other_words=other_words,
    )  # fmt: skip
