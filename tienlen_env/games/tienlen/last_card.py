"""Duties of who sits before a player with one card left (RULES.md 4.34 to 4.36)."""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import ActionFields, Row, Spec
from tienlen_env.games.common.bits import FULL, LOWEST_SUIT, highest_index, lowest_index, popcount
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import spec as S, state as R

HIGHEST: Final = 1  # values of `spec.LAST_CARD_DUTY`
PAYS: Final = 2
_SINGLES: Final = FULL << 1  # in every variant the singles are the actions 1..52, by their cards
_TWOS: Final = 15 << 48


def next_seat(seats: int, seat: int) -> int:
    """The first seat of a non-empty seat mask after `seat`."""
    after = seats & -(2 << seat)
    return lowest_index(after if after != 0 else seats)


def seat_with_last_card(row: Row, spec: Spec, seat: int) -> int:
    """The next seat that may still play in this trick, if it has one card left; else -1.

    Seats that have passed are stepped over, since they may play bombs at most.
    """
    seats = row[R.LIVE] & ~(1 << seat) & ~row[R.KNOCKED_OUT]
    if spec[S.PASS_LOCK]:
        seats &= ~row[R.PASSED]
    found = -1
    if seats != 0:
        other = next_seat(seats, seat)
        if popcount(row[R.HAND + other]) == 1:
            found = other
    return found


def keep_highest_single(row: Row, spec: Spec) -> None:
    """Clear the bits of all singles but the highest, where the duty binds the seat to act."""
    singles = row[R.LEGAL] & _SINGLES
    if singles != 0 and seat_with_last_card(row, spec, row[R.TURN]) >= 0:
        row[R.LEGAL] ^= singles ^ 1 << highest_index(singles)


@noinline
def note_single(row: Row, spec: Spec, actions: ActionFields, action: int) -> None:
    """Before a play: find out whether it makes a seat liable, and whether it may do so later.

    What the row keeps until the next play is public: the cards that would have been legal and higher. Whether
    the player holds one of them is looked up when the next player goes out.
    """
    extra, seat, at = spec[S.EXTRA], row[R.TURN], action * S.ACTION_FIELDS
    noted = row[extra + R.UNDERPLAYED]
    row[extra + R.UNDERPLAYED] = 0
    if actions[at + S.WIDTH] != 1 or actions[at + S.LENGTH] != 1:
        return
    table = row[R.TABLE]
    goes_out = popcount(row[R.HAND + seat]) == 1
    if table != 0 and goes_out and row[R.NUM_FIRST] == 0 and noted >> 52 == 1 + seat:
        is_underplayed = row[R.HAND + row[R.OWNER]] & noted & FULL != 0
        row[extra + R.LIABLE] = 1 + row[R.OWNER] if is_underplayed else 0
    other = seat_with_last_card(row, spec, seat)
    if other >= 0 and row[R.REQUIRED_CARD] == 0:
        higher = FULL & FULL << (actions[at + S.TOP] + 1)
        if spec[S.SUITS_BIND] and table != 0:
            same = actions[table * S.ACTION_FIELDS + S.TOP] & 3
            higher &= LOWEST_SUIT << same | _TWOS
        row[extra + R.UNDERPLAYED] = higher | (1 + other) << 52
