"""What all players know of hidden hands, and deals of the hidden cards that agree with it.

The plays are public, and with them the sizes of hands. Besides them these facts are:

- Who opened by the deal has, or had, the lowest card dealt; under a duty it was in the first play (1.3).
- An instant win must be declared, so other hands had none, or none that is better (4.12, 4.13).
- A last card that a beaten play, or a whole trick, has left is not the 3♠ (4.28).
- Under a duty before a last card, singles tell of higher ones (4.34 to 4.36).

`deal_agrees` decides for all who sample deals: `resample_hidden`, the searches, OpenSpiel.
"""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import Row, Spec
from tienlen_env.games.common.bits import lowest_index, philox, popcount
from tienlen_env.games.common.dealing import draw_cards, redeal_others
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import spec as S, state as R
from tienlen_env.games.tienlen.endings import THREE_OF_SPADES
from tienlen_env.games.tienlen.instant import find_instant_winner
from tienlen_env.games.tienlen.last_card import NO_DUTY, PAYS

# Draws until a deal agrees. A position that no play leads to, from a changed row, gets any deal after them.
MAX_TRIES: Final = 4096
_ACCEPT: Final = 64  # first block of the draws by which a deal is refused


# ---------------------------------------------------------------- what is public


def cards_below_all(row: Row, spec: Spec, seat: int) -> int:
    """The cards of the deck that are in no hand, since the lowest card dealt is known to a seat (mask)."""
    holder = (row[spec[S.EXTRA] + R.BEGUN] & (R.BY_DEAL - 1)) - 1
    below = 0
    if holder >= 0 and (holder == seat or spec[S.OPENING_PLAY] > 0):
        seen, undealt = row[R.HAND + seat] | row[R.REQUIRED_CARD], popcount(spec[S.DECK])
        for other in range(spec[S.NUM_PLAYERS]):
            seen |= row[R.PLAYED + other]
            undealt -= popcount(row[R.HAND + other]) + popcount(row[R.PLAYED + other])
        below = spec[S.DECK] & ((seen & -seen) - 1)
        if popcount(below) > undealt:  # a position that was set up by hand, which no deal leads to
            below = 0
    return below


def impossible_cards(row: Row, spec: Spec, seat: int) -> int:
    """Cards that a seat has shown not to hold (mask). Of the hand only the number of cards is read."""
    found = 0
    if spec[S.LAST_CARD_DUTY] != NO_DUTY:
        found = row[spec[S.DUTY] + R.EXCLUDED + seat]
    if spec[S.PAY_LAST_THREE] > 0 and popcount(row[R.HAND + seat]) == 1 and row[R.PLAYED + seat] != 0:
        is_open = row[R.TABLE] != 0 and row[R.OWNER] == seat
        found |= 0 if is_open else THREE_OF_SPADES
    return found


@noinline
def deal_agrees(row: Row, spec: Spec, seat: int, hands: Row) -> bool:
    """Whether hands agree with all that a seat knows of a round.

    Args:
        row: the state; of the hands in it only the numbers of cards are read.
        spec: the variant.
        seat: who asks; what it would know of its own hand is not checked.
        hands: the hands (masks), by seat, each with the right number of cards.
    """
    begun, dealt = row[spec[S.EXTRA] + R.BEGUN], 0
    for other in range(spec[S.NUM_PLAYERS]):
        dealt |= hands[other] | row[R.PLAYED + other]
        if other != seat and hands[other] & impossible_cards(row, spec, other) != 0:
            return False
    holder = (begun & (R.BY_DEAL - 1)) - 1
    if holder >= 0:
        opened = row[R.REQUIRED_CARD] if spec[S.OPENING_PLAY] > 0 else hands[holder]
        if (opened | row[R.PLAYED + holder]) & dealt & -dealt == 0:
            return False
    if spec[S.LAST_CARD_DUTY] == PAYS:
        liable = row[spec[S.EXTRA] + R.LIABLE] - 1
        if liable >= 0 and liable != seat:
            whole = hands[liable] | row[R.PLAYED + liable]
            if whole & row[spec[S.DUTY] + R.HELD_ONE_OF] == 0:
                return False
    if spec[S.INSTANT_WINS] != 0:
        winner = row[R.TURN] if row[spec[S.EXTRA] + R.MUST_DECLARE] != 0 else -1
        is_first = 1 if begun & R.BY_DEAL else 0
        return bool(find_instant_winner(row, hands, spec, is_first) == winner)
    return True


# ---------------------------------------------------------------- uniform deals

# Hands are drawn one after another, each uniformly from the cards that are left and that the seat may hold.
# If every set of such cards contains those of the seats before, as is usual, all deals are equally likely. In
# general a seat has `num` such cards where it might have had `most`, and a deal is accepted with probability
# C(num, size) / C(most, size), which makes up for it: `size` draws from `most` places hit the `num` first.


def next_to_deal(row: Row, spec: Spec, seats: int, pool: int) -> int:
    """Of some seats (mask) the one that may hold the fewest cards of a pool; of equals the lowest."""
    found, fewest = -1, 64
    while seats != 0:
        seat = lowest_index(seats)
        seats &= seats - 1
        num = popcount(pool & ~impossible_cards(row, spec, seat))
        if num < fewest:
            found, fewest = seat, num
    return found


def most_left(row: Row, spec: Spec, before: int, seat: int, pool: int) -> int:
    """How many cards of a pool may be left for a seat at most, after some seats (mask) got theirs."""
    own = pool & ~impossible_cards(row, spec, seat)
    most = popcount(own)
    while before != 0:
        other = lowest_index(before)
        before &= before - 1
        elsewhere = popcount(pool & ~own & ~impossible_cards(row, spec, other))
        most -= max(popcount(row[R.HAND + other]) - elsewhere, 0)
    return most


def deal_others(row: Row, spec: Spec, seat: int, pool: int, key: int, attempt: int) -> bool:
    """Deal a pool to the other hands, whose sizes do not change; False: the draw is refused."""
    seats, before, rest, block = (1 << spec[S.NUM_PLAYERS]) - 1 & ~(1 << seat), 0, pool, 0
    while seats != 0:
        other = next_to_deal(row, spec, seats, pool)
        size = popcount(row[R.HAND + other])
        own = rest & ~impossible_cards(row, spec, other)
        num, most = popcount(own), most_left(row, spec, before, other, pool)
        if num < size:
            return False
        if num < most:
            for i in range(size):
                if (philox(key, attempt, _ACCEPT + block + i)[0] * (most - i)) >> 32 >= num - i:
                    return False
        row[R.HAND + other] = draw_cards(own, size, key, attempt, block)
        rest &= ~row[R.HAND + other]
        block += size
        before |= 1 << other
        seats ^= 1 << other
    return True


@noinline
def resample_hidden(row: Row, spec: Spec, seat: int, key: int) -> None:
    """Deal the cards that a seat cannot see anew, uniformly among the deals that agree with what it knows.

    The opening card is public while it must be played (1.3): the seat to act holds it.
    """
    num_players, required = spec[S.NUM_PLAYERS], row[R.REQUIRED_CARD]
    played = 0
    for other in range(num_players):
        played |= row[R.PLAYED + other]
    pool = spec[S.DECK] & ~(row[R.HAND + seat] | played | required | cards_below_all(row, spec, seat))
    holder, kept = R.HAND + row[R.TURN], required & ~row[R.HAND + seat]
    row[holder] ^= kept
    is_dealt = False
    for attempt in range(MAX_TRIES):
        if deal_others(row, spec, seat, pool, key, attempt):
            row[holder] ^= kept
            is_dealt = deal_agrees(row, spec, seat, row)
            row[holder] ^= kept
        if is_dealt:
            break
    if not is_dealt:
        redeal_others(row, R.HAND, num_players, seat, pool, key)
    row[holder] |= kept
    row[R.UNDEALT] = spec[S.DECK] & ~played
    for other in range(num_players):
        row[R.UNDEALT] &= ~row[R.HAND + other]
    row[R.KEY] = key
