"""Places, and the ends of a trick or a round that some variants add (RULES.md 4 to 6)."""

from __future__ import annotations

from tienlen_env.games.common.arrays import Rewards, Row, Spec
from tienlen_env.games.common.bits import popcount
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import payments as pay, spec as S, state as R

THREE_OF_SPADES = 1


@noinline
def settle(row: Row, spec: Spec, rewards: Rewards, seat: int, place: int) -> None:
    """Give a seat its place: it leaves the round and gets its points and reward."""
    row[R.PLACE + seat] = place
    row[R.LIVE] &= ~(1 << seat)
    points = spec[S.POINTS + place]
    row[R.SCORE + seat] += points
    scheme = spec[S.REWARD]
    if scheme == 0:
        rewards[seat] += points
    elif scheme == 1:
        rewards[seat] += points - spec[S.POINTS_SUM] / spec[S.NUM_PLAYERS]
    elif scheme == 2:
        rewards[seat] += 1 if place == 0 else -1
    elif scheme == 3 and place == 0:
        for other in range(spec[S.NUM_PLAYERS]):
            if other != seat:
                num_left = popcount(row[R.HAND + other])
                rewards[other] -= num_left
                rewards[seat] += num_left


def settle_first(row: Row, spec: Spec, rewards: Rewards, seat: int) -> None:
    """Give a seat the best free place."""
    settle(row, spec, rewards, seat, row[R.NUM_FIRST])
    row[R.NUM_FIRST] += 1


def settle_last(row: Row, spec: Spec, rewards: Rewards, seat: int) -> None:
    """Give a seat the last free place."""
    settle(row, spec, rewards, seat, spec[S.NUM_PLAYERS] - 1 - row[R.NUM_LAST])
    row[R.NUM_LAST] += 1


@noinline
def settle_rest(row: Row, spec: Spec, rewards: Rewards, after: int) -> None:
    """Give all live seats the free places: fewest cards first, equals in turn order after a seat."""
    num_players = spec[S.NUM_PLAYERS]
    while row[R.LIVE] != 0:
        # One number orders the seats, since a branch would be mispredicted: out or not, cards, turn, seat.
        best = 1 << 20
        for i in range(1, num_players + 1):
            seat = after + i if after + i < num_players else after + i - num_players
            is_out = ~row[R.LIVE] >> seat & 1
            best = min(best, is_out << 16 | popcount(row[R.HAND + seat]) << 8 | i << 4 | seat)
        settle_first(row, spec, rewards, best & 15)


def owe_to_all(row: Row, spec: Spec, payer: int, amount: int, cause: int) -> None:
    """One seat owes every other seat an amount, instead of all payments for places and hands."""
    for other in range(spec[S.NUM_PLAYERS]):
        if other != payer:
            pay.owe(row, spec, payer, other, amount, cause)
    row[spec[S.EXTRA] + R.IS_PAID] = 1


def owe_from_all(row: Row, spec: Spec, payee: int, amount: int, cause: int) -> None:
    """Every other seat owes a seat an amount, instead of all payments for places and hands."""
    for other in range(spec[S.NUM_PLAYERS]):
        if other != payee:
            pay.owe(row, spec, other, payee, amount, cause)
    row[spec[S.EXTRA] + R.IS_PAID] = 1


@noinline
def declare(row: Row, spec: Spec, rewards: Rewards) -> None:
    """The seat to act declares its instant win: it is first, and the round is over."""
    winner = row[R.TURN]
    row[spec[S.EXTRA] + R.MUST_DECLARE] = 0
    owe_from_all(row, spec, winner, spec[S.PAY_INSTANT], pay.INSTANT)
    settle_first(row, spec, rewards, winner)
    settle_rest(row, spec, rewards, winner)


@noinline
def go_out(row: Row, spec: Spec, rewards: Rewards, seat: int) -> None:
    """A seat has played its last card: give it a place; end the round if the variant says so."""
    if row[R.PLACE + seat] >= 0:
        return  # the play ended the round already
    num_twos = popcount(row[R.TABLE_CARDS] & (pay.BLACK_TWOS | pay.RED_TWOS))
    if spec[S.LAST_TWO_ENDS] and num_twos > 0:
        if spec[S.HAS_PAYMENTS]:
            owe_to_all(row, spec, seat, spec[S.PAY_LAST_TWO] * num_twos, pay.LAST_TWO)
        settle_last(row, spec, rewards, seat)
        settle_rest(row, spec, rewards, seat)
        return
    settle_first(row, spec, rewards, seat)
    if row[R.NUM_FIRST] == 1:
        if spec[S.PAY_CONG] > 0:
            find_cong(row, spec, rewards, seat)
        if spec[S.ROUND_END_FIRST]:
            settle_rest(row, spec, rewards, seat)


def find_cong(row: Row, spec: Spec, rewards: Rewards, first: int) -> None:
    """Mark the live seats that have played no card as cóng; where that puts them out, give them places."""
    num_players = spec[S.NUM_PLAYERS]
    for i in range(num_players - 1, 0, -1):
        seat = first + i if first + i < num_players else first + i - num_players
        if row[R.LIVE] >> seat & 1 and row[R.PLAYED + seat] == 0:
            row[spec[S.EXTRA] + R.CONG] |= 1 << seat
            if spec[S.CONG_IS_OUT] and not spec[S.ROUND_END_FIRST]:
                settle_last(row, spec, rewards, seat)


@noinline
def catch_last_three(row: Row, spec: Spec, rewards: Rewards, seat: int) -> None:
    """The table, whose player holds nothing but the 3♠, is beaten: the round ends."""
    owner = row[R.OWNER]
    pay.owe(row, spec, owner, seat, spec[S.PAY_LAST_THREE], pay.LAST_THREE)
    row[spec[S.EXTRA] + R.IS_PAID] = 1
    settle_first(row, spec, rewards, seat)
    settle_last(row, spec, rewards, owner)
    settle_rest(row, spec, rewards, seat)


@noinline
def win_with_last_three(row: Row, spec: Spec, rewards: Rewards) -> None:
    """All have passed on the play of a seat that holds nothing but the 3♠: it wins, and the round ends."""
    owner = row[R.OWNER]
    owe_from_all(row, spec, owner, spec[S.PAY_LAST_THREE], pay.LAST_THREE)
    settle_first(row, spec, rewards, owner)
    settle_rest(row, spec, rewards, owner)
