"""Observations: named pieces of 0s and 1s in one flat uint8 array.

`tienlen_env.games.tienlen.layout` names the pieces; `observe` writes them. Seats are relative to the observer
(0 is the observer, 1 the next to play, ...), so one network serves every seat. Nothing in it depends on
cards that the observer cannot see.
"""

from __future__ import annotations

from tienlen_env.games.common.arrays import ActionFields, Output, Row, Spec
from tienlen_env.games.common.bits import (
    FULL,
    LOWEST_SUIT,
    clear_items,
    popcount,
    rotate,
    shift_left,
    wrap,
    write_bits,
    write_word,
)
from tienlen_env.games.tienlen import spec as S, state as R
from tienlen_env.games.tienlen.layout import observation_layout
from tienlen_env.games.tienlen.payments import owed_bits
from tienlen_env.games.tienlen.rules import Rules


def observe(row: Row, spec: Spec, actions: ActionFields, seat: int, out: Output, start: int) -> None:
    """Write the observation of `seat` to ``out[start:start + O]``, all zero for seat -1.

    Pieces are written from left to right in words of 64 (see `write_word`); the last word ends with the row.
    """
    # The number of players is a constant in each branch: compiled code unrolls its loops.
    if spec[S.NUM_PLAYERS] == 4:
        write_pieces(row, spec, actions, seat, out, start, 4)
    elif spec[S.NUM_PLAYERS] == 3:
        write_pieces(row, spec, actions, seat, out, start, 3)
    else:
        write_pieces(row, spec, actions, seat, out, start, 2)


def write_pieces(
    row: Row, spec: Spec, actions: ActionFields, seat: int, out: Output, start: int, num_players: int
) -> None:
    """`observe` for a given number of players."""
    score_bits, left_bits = spec[S.NUM_SCORE_BITS], spec[S.CARDS_LEFT_BITS]
    num_history = spec[S.NUM_HISTORY]
    num_flags = 20 + 4 * num_players + 4 * spec[S.SUITS_BIND]
    size = spec[S.OBSERVATION_SIZE]
    if seat < 0:
        clear_items(out, start, size)
        return

    # Numbers that every seat has are packed by absolute seat and then rotated to the observer.
    cards_left = 0
    scores = 0
    for i in range(num_players):
        cards_left |= ((1 << popcount(row[R.HAND + i])) - 1) << (left_bits * i)
        scores |= ((1 << min(max(row[R.SCORE + i], 0), score_bits)) - 1) << (score_bits * i)
    cards_left = rotate(cards_left, left_bits * seat, left_bits * num_players)
    scores = rotate(scores, score_bits * seat, score_bits * num_players)
    # Four sets of seats in lanes of P bits; the lowest P - seat bits of each lane move down, the others up.
    is_follow = min(row[R.TABLE], 1)
    lanes = is_follow << (row[R.OWNER] & 3)
    lanes |= row[R.PASSED] << num_players
    lanes |= (row[R.LIVE] ^ ((1 << num_players) - 1)) << (2 * num_players)
    lanes |= row[R.KNOCKED_OUT] << (3 * num_players)
    every_lane = 1 | 1 << num_players | 1 << (2 * num_players) | 1 << (3 * num_players)
    down = every_lane * ((1 << (num_players - seat)) - 1)
    up = every_lane * ((1 << num_players) - (1 << (num_players - seat)))
    lanes = (lanes >> seat & down) | (lanes << (num_players - seat) & up)
    action = row[R.TABLE] * S.ACTION_FIELDS
    top = actions[action + S.TOP_CARD]
    flags = actions[action + S.SHAPE_BITS] | lanes << 17
    bit = 17 + 4 * num_players
    flags |= row[R.LOCK] << bit | min(row[R.REQUIRED_CARD], 1) << (bit + 1) | (1 - is_follow) << (bit + 2)
    if spec[S.SUITS_BIND]:
        flags |= suits_of(row[R.TABLE_CARDS]) << (bit + 3)

    at = start
    write_word(out, at, row[R.HAND + seat])
    at += 52
    for i in range(num_players):
        write_word(out, at, row[R.PLAYED + wrap(seat + i, num_players)])
        at += 52
    for k in range(num_history):
        event = row[spec[S.HISTORY] + k]
        who = event >> R.HISTORY_SEAT_SHIFT  # 1 + seat, 0 for no event
        other = wrap(who - 1 + num_players - seat, num_players)
        write_word(out, at, event & FULL | min(who, 1) << (52 + other))
        at += 52 + num_players
    write_word(out, at, scores)
    at += score_bits * num_players
    write_word(out, at, cards_left)
    at += left_bits * num_players
    if spec[S.HAS_PAYMENTS]:
        write_word(out, at, owed_bits(row, spec, seat, num_players))
        at += 16 * num_players
    write_word(out, at, top)
    # The last 64 bytes: the end of table_top, then the flags.
    surplus = 64 - num_flags
    write_word(out, start + size - 64, shift_left(flags, surplus) | top >> (52 - surplus))


def suits_of(cards: int) -> int:
    """The suits in a mask of cards, four bits."""
    found = 0
    for suit in range(4):
        if cards & (LOWEST_SUIT << suit) != 0:
            found |= 1 << suit
    return found


def observe_all(row: Row, spec: Spec, actions: ActionFields, out: Output, start: int) -> None:
    """Write the global observation: the observation of seat 0, the turn, the other hands.

    ``out[start:start + O + P + 52 * (P - 1)]``; absolute seats. See `global_observation_size`.
    """
    num_players = spec[S.NUM_PLAYERS]
    observe(row, spec, actions, 0, out, start)
    at = start + spec[S.OBSERVATION_SIZE]
    write_bits(out, at, 1 << (row[R.TURN] + 1) >> 1, num_players)
    at += num_players
    for seat in range(1, num_players):
        write_bits(out, at, row[R.HAND + seat], 52)
        at += 52


def global_observation_size(rules: Rules, history: int = 0) -> int:
    """Length of the array that `observe_all` writes: O + P + 52 * (P - 1)."""
    return observation_layout(rules, history).size + rules.num_players + 52 * (rules.num_players - 1)
