"""Duties of who sits before a player with one card left (RULES.md 4.34 to 4.36)."""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import ActionFields, Row, Spec
from tienlen_env.games.common.bits import FULL, LOWEST_SUIT, highest_index, lowest_index, popcount
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import spec as S, state as R

NO_DUTY: Final = 0  # values of `spec.LAST_CARD_DUTY`
HIGHEST: Final = 1
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


def higher_singles(row: Row, spec: Spec, actions: ActionFields, action: int) -> int:
    """The higher cards that the seat to act might legally play instead of a single (mask)."""
    table = row[R.TABLE]
    higher: int = FULL & FULL << (actions[action * S.ACTION_FIELDS + S.TOP] + 1)
    if spec[S.SUITS_BIND] and table != 0:
        higher &= LOWEST_SUIT << (actions[table * S.ACTION_FIELDS + S.TOP] & 3) | _TWOS
    return higher


@noinline
def note_single(row: Row, spec: Spec, actions: ActionFields, action: int) -> None:
    """Before a play: keep what it tells of its player's hand, and what it may tell later.

    Under "highest" a single shows that its player holds no higher one. Under "pays" the higher ones are kept
    until the next play, for who goes out on it: whether the player holds one of them is looked up then.
    """
    seat, at, duty = row[R.TURN], action * S.ACTION_FIELDS, spec[S.DUTY]
    is_single = actions[at + S.WIDTH] == 1 and actions[at + S.LENGTH] == 1
    is_noted = is_single and row[R.REQUIRED_CARD] == 0
    other = seat_with_last_card(row, spec, seat) if is_noted else -1
    higher = higher_singles(row, spec, actions, action) if other >= 0 else 0
    if spec[S.LAST_CARD_DUTY] == HIGHEST:
        row[duty + R.EXCLUDED + seat] |= higher
        return
    extra, owner = spec[S.EXTRA], row[R.OWNER]
    noted = row[extra + R.UNDERPLAYED]
    row[extra + R.UNDERPLAYED] = higher | (1 + other) << 52
    goes_out = popcount(row[R.HAND + seat]) == 1
    if is_single and row[R.TABLE] != 0 and goes_out and row[R.NUM_FIRST] == 0 and noted >> 52 == 1 + seat:
        if row[R.HAND + owner] & noted & FULL != 0:
            row[extra + R.LIABLE] = 1 + owner
            row[duty + R.HELD_ONE_OF] = noted & FULL & ~row[R.PLAYED + owner]
        else:
            row[duty + R.EXCLUDED + owner] |= noted & FULL
