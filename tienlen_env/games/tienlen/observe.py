"""What a seat can see: named pieces of 0s and 1s in one flat uint8 array.

`observation_layout` names the pieces; `observe` writes them. All seats are relative to the observer
(0 is the observer, 1 the next to play, ...), so one network serves every seat. Nothing in it depends on
cards that the observer cannot see.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from tienlen_env.games.common.bits import FULL, popcount, rotate, shift_left, wrap, write_word
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec


class Piece(NamedTuple):
    """One named piece of the observation.

    Attributes:
        name: its key in `observation_layout`.
        slice: where it lies in the flat array.
        shape: the shape to which the slice may be reshaped.
        meaning: one line for people.
    """

    name: str
    slice: slice
    shape: tuple[int, ...]
    meaning: str


@lru_cache(maxsize=64)
def observation_layout(rules: Rules, history: int = 0) -> dict[str, Piece]:
    """The pieces of an observation in order (P players, K = `history` plays).

    Args:
        rules: the variant; its number of players and its target decide the size.
        history: how many of the last plays and passes are shown.

    Returns:
        Name to `Piece`; the pieces fill the array without gaps.
    """
    p, score_bits = rules.num_players, int(build_spec(rules)[0][S.NUM_SCORE_BITS])
    parts = [
        ("hand", (52,), "own cards, by card id"),
        ("played", (p, 52), "cards played this round by each seat, by card id"),
        ("history", (history, 52 + p), "last plays, newest first: cards (none for a pass), then who"),
        ("scores", (p, score_bits), "points in the game as a thermometer: bit k is 1 above k points"),
        ("cards_left", (p, 13), "cards in each hand as a thermometer: bit k is 1 above k cards"),
        ("table_top", (52,), "highest card of the combination on the table, by card id"),
        ("table_width", (4,), "its cards of each rank: 1, 2, 3, 4"),
        ("table_length", (13,), "its consecutive ranks: 1..13"),
        ("table_owner", (p,), "who played it"),
        ("passed", (p,), "who has passed in this trick"),
        ("finished", (p,), "who is out of the round"),
        ("barred", (p,), "who was knocked out of this trick"),
        ("suit_lock", (1,), "only suited runs may follow in this trick"),
        ("opening_duty", (1,), "this play must contain the opening card, the lowest card dealt"),
        ("lead", (1,), "the table is empty"),
    ]
    layout, start = {}, 0
    for name, shape, meaning in parts:
        size = 1
        for n in shape:
            size *= n
        if size:
            layout[name] = Piece(name, slice(start, start + size), shape, meaning)
        start += size
    return layout


def observation_size(rules: Rules, history: int = 0) -> int:
    """O, the length of an observation."""
    last = next(reversed(observation_layout(rules, history).values()))
    size: int = last.slice.stop
    return size


def observe(row: Any, spec: Any, actions: Any, seat: int, out: Any, start: int) -> None:
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
    row: Any, spec: Any, actions: Any, seat: int, out: Any, start: int, num_players: int
) -> None:
    """`observe` for a given number of players."""
    score_bits = spec[S.NUM_SCORE_BITS]
    num_history = spec[S.NUM_HISTORY]
    num_flags = 20 + 4 * num_players
    size = (
        104
        + 52 * num_players
        + num_history * (52 + num_players)
        + (score_bits + 13) * num_players
        + num_flags
    )
    if seat < 0:
        for i in range(size):
            out[start + i] = 0
        return

    # Numbers that every seat has are packed by absolute seat and then rotated to the observer.
    cards_left = 0
    scores = 0
    for i in range(num_players):
        cards_left |= ((1 << popcount(row[R.HAND + i])) - 1) << (13 * i)
        scores |= ((1 << min(max(row[R.SCORE + i], 0), score_bits)) - 1) << (score_bits * i)
    cards_left = rotate(cards_left, 13 * seat, 13 * num_players)
    scores = rotate(scores, score_bits * seat, score_bits * num_players)
    # Four sets of seats in lanes of P bits; the lowest P - seat bits of each lane move down, the others up.
    is_follow = min(row[R.TABLE], 1)
    lanes = is_follow << (row[R.OWNER] & 3)
    lanes |= row[R.PASSED] << num_players
    lanes |= (row[R.LIVE] ^ ((1 << num_players) - 1)) << (2 * num_players)
    lanes |= row[R.BARRED] << (3 * num_players)
    every_lane = 1 | 1 << num_players | 1 << (2 * num_players) | 1 << (3 * num_players)
    down = every_lane * ((1 << (num_players - seat)) - 1)
    up = every_lane * ((1 << num_players) - (1 << (num_players - seat)))
    lanes = (lanes >> seat & down) | (lanes << (num_players - seat) & up)
    action = row[R.TABLE] * S.ACTION_FIELDS
    top = actions[action + S.TOP_CARD]
    flags = actions[action + S.SHAPE_BITS] | lanes << 17
    bit = 17 + 4 * num_players
    flags |= row[R.LOCK] << bit | min(row[R.DUTY], 1) << (bit + 1) | (1 - is_follow) << (bit + 2)

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
    at += 13 * num_players
    write_word(out, at, top)
    # The last 64 bytes: the end of table_top, then the flags.
    surplus = 64 - num_flags
    write_word(out, start + size - 64, shift_left(flags, surplus) | top >> (52 - surplus))


def observe_all(row: Any, spec: Any, actions: Any, out: Any, start: int) -> None:
    """Write what a centralised critic may see: the observation of seat 0, the turn, the other hands.

    ``out[start:start + O + P + 52 * (P - 1)]``; absolute seats. See `state_size`.
    """
    num_players = spec[S.NUM_PLAYERS]
    observe(row, spec, actions, 0, out, start)
    at = (
        start
        + 124
        + 56 * num_players
        + spec[S.NUM_HISTORY] * (52 + num_players)
        + (spec[S.NUM_SCORE_BITS] + 13) * num_players
    )
    for i in range(num_players):
        out[at + i] = 1 if row[R.TURN] == i else 0
    at += num_players
    for seat in range(1, num_players):
        hand = row[R.HAND + seat]
        for card in range(52):
            out[at + card] = hand >> card & 1
        at += 52


def state_size(rules: Rules, history: int = 0) -> int:
    """Length of the array that `observe_all` writes: O + P + 52 * (P - 1)."""
    return observation_size(rules, history) + rules.num_players + 52 * (rules.num_players - 1)
