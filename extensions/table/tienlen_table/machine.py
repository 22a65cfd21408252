"""The state machine of a table: who may act now, and what each event changes.

One function for both sides: the server calls it, and WebAssembly has it for the page, which plays alone. It
knows no cards and no rules: what has been played stands in numbers and in a list of plays, as the engine says
it. Storage, timers and connections are the caller's.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from tienlen_env.games.common.arrays import Fields, Numbers, Row

field: Final = Fields()
# Given: what the table is, and what has been played.
PEOPLE: Final = field()  # the seats of people, one bit each
NUM_PLAYS: Final = field()  # of the game
NUM_ROUNDS: Final = field()  # that are over
IS_OVER: Final = field()  # whether the game is
TURN: Final = field()  # the seat to act, -1 for none
NUM_GIVEN: Final = field.size
# The machine's own.
ROUNDS_SEEN: Final = field()  # rounds whose result has been closed
IS_ENDED: Final = field()  # whether the players have ended the game
READY: Final = field()  # the seats of people who have seen the result, one bit each
HERE: Final = field()  # the seats of people who are present
AWAY: Final = field()  # the seats of people who have been away for long
# What follows from the others.
IS_WAITING: Final = field()  # whether a round is over and its result has not been closed
UNDO_TO: Final = field()  # the number of plays that an undo leaves, -1 for none
HOST: Final = field()  # the seat that may end the game, -1 for none
PLAYER: Final = field()  # who acts at `TURN`, one of `TablePlayer`
NUM_NUMBERS: Final = field.size
FIELDS: Final = {
    name: at for name, at in globals().items() if name.isupper() and not name.endswith(("_GIVEN", "_NUMBERS"))
}

SEATS: Final = 16  # a play in the list is `SEATS * round + seat`


class TablePlayer(IntEnum):
    """Who acts at the seat in turn."""

    NOBODY = 0  # the table waits, or the game is over
    PERSON = 1
    AGENT = 2
    STAND_IN = 3  # an agent, for a person who is away


class TableEvent(IntEnum):
    """What happens at a table."""

    LOOK = 0  # the given numbers have changed
    PLAY = 1  # a person plays at a turn, a number; the caller asks the engine
    UNDO = 2  # a person takes back; the caller cuts the plays to `UNDO_TO`
    NEXT = 3  # a person has seen the result
    TIME = 4  # people, or who watches agents, have had time to see the result of a number of rounds
    END = 5  # a person ends the game
    ENTER = 6  # a person is present
    LEAVE = 7  # a person goes
    AWAY = 8  # a person has been away for long


class TableRefusal(IntEnum):
    """Why an event changes nothing."""

    NONE = 0  # it is not refused
    REPEATED = 1  # the play has been made already
    OVER = 2  # the game is
    WAITING = 3  # the next round has not begun
    TURN = 4  # it is another seat's turn
    POSITION = 5  # the play is for another position
    SEAT = 6  # no person has this seat
    UNDO = 7  # there is nothing that this seat may take back
    HOST = 8  # another person ends the game
    ROUND = 9  # a round is running, or none is over


def react(table: Row, plays: Numbers, event: int, seat: int, number: int) -> int:
    """Apply an event.

    Args:
        table: int64 (`NUM_NUMBERS`,), see `FIELDS`; written.
        plays: int64 (`NUM_PLAYS`,): ``SEATS * round + seat`` of each play, oldest first.
        event: one of `TableEvent`.
        seat: whose event it is; -1 for an observer.
        number: of the turn (``PLAY``), or of the rounds that were over (``TIME``).

    Returns:
        One of `TableRefusal`; if it is not ``NONE`` nothing has changed.
    """
    refusal = refuse(table, plays, event, seat, number)
    if refusal == TableRefusal.NONE:
        change(table, plays, event, seat, number)
        settle(table, plays)
    return refusal


def refuse(table: Row, plays: Numbers, event: int, seat: int, number: int) -> int:
    """Why an event cannot be; one of `TableRefusal`."""
    is_person = seat >= 0 and table[PEOPLE] >> seat & 1 == 1
    if event == TableEvent.PLAY:
        if is_person and 0 <= number < table[NUM_PLAYS] and plays[number] % SEATS == seat:
            return TableRefusal.REPEATED
        if table[IS_OVER]:
            return TableRefusal.OVER
        if table[IS_WAITING]:
            return TableRefusal.WAITING
        if not is_person or table[TURN] != seat:
            return TableRefusal.TURN
        return TableRefusal.NONE if number == table[NUM_PLAYS] else TableRefusal.POSITION
    if event == TableEvent.UNDO:
        return TableRefusal.NONE if is_person and table[UNDO_TO] >= 0 else TableRefusal.UNDO
    if event != TableEvent.LOOK and event != TableEvent.TIME and not is_person:
        return TableRefusal.SEAT
    if event == TableEvent.END:
        if table[HOST] >= 0 and seat != table[HOST]:
            return TableRefusal.HOST
        is_running = table[NUM_PLAYS] > 0 and plays[table[NUM_PLAYS] - 1] // SEATS == table[NUM_ROUNDS]
        if table[NUM_ROUNDS] == 0 or is_running:
            return TableRefusal.ROUND
    return TableRefusal.NONE


def change(table: Row, plays: Numbers, event: int, seat: int, number: int) -> None:
    """Change the machine's own numbers."""
    if event == TableEvent.UNDO:
        back = table[UNDO_TO]
        table[ROUNDS_SEEN] = min(table[ROUNDS_SEEN], plays[back] // SEATS)
        table[IS_ENDED] = 0
    elif event == TableEvent.NEXT:
        if table[IS_WAITING]:
            table[READY] |= 1 << seat
            deal_if_ready(table)
    elif event == TableEvent.TIME:
        if table[IS_WAITING] and number == table[NUM_ROUNDS]:
            table[ROUNDS_SEEN] = number
    elif event == TableEvent.END:
        table[IS_ENDED] = 1
    elif event == TableEvent.ENTER:
        table[HERE] |= 1 << seat
        table[AWAY] &= ~(1 << seat)
    elif event == TableEvent.LEAVE:
        table[HERE] &= ~(1 << seat)
        deal_if_ready(table)  # those who are left may have been waiting for this one
    elif event == TableEvent.AWAY and table[HERE] >> seat & 1 == 0:
        table[AWAY] |= 1 << seat


def deal_if_ready(table: Row) -> None:
    """Close the result if at least one person is ready, and so is everybody who is present."""
    if table[IS_WAITING] and table[READY] != 0 and table[HERE] & ~table[READY] == 0:
        table[ROUNDS_SEEN] = table[NUM_ROUNDS]


def settle(table: Row, plays: Numbers) -> None:
    """Write the numbers that follow from the others."""
    people = table[PEOPLE]
    if table[IS_ENDED]:
        table[IS_OVER], table[TURN] = 1, -1
    is_waiting = table[IS_OVER] == 0 and table[NUM_ROUNDS] > table[ROUNDS_SEEN]
    table[IS_WAITING] = 1 if is_waiting else 0
    if not is_waiting:
        table[READY] = 0
    table[HOST] = lowest(people & table[HERE])
    table[UNDO_TO] = -1
    if people != 0 and people & (people - 1) == 0:  # moves against agents alone can be taken back
        back = table[NUM_PLAYS] - 1
        while back >= 0 and people >> (plays[back] % SEATS) & 1 == 0:
            back -= 1
        table[UNDO_TO] = back
    turn = table[TURN]
    if is_waiting or turn < 0:
        table[PLAYER] = TablePlayer.NOBODY
    elif people >> turn & 1 == 0:
        table[PLAYER] = TablePlayer.AGENT
    else:
        is_away = table[AWAY] >> turn & 1 == 1 and people & table[HERE] != 0
        table[PLAYER] = TablePlayer.STAND_IN if is_away else TablePlayer.PERSON


def lowest(seats: int) -> int:
    """The first seat of a mask, -1 for none."""
    seat = 0
    while seats >> seat != 0:
        if seats >> seat & 1 == 1:
            return seat
        seat += 1
    return -1
