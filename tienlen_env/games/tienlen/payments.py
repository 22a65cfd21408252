"""Payments: what is owed for chops, what a hand costs at the end, and the ledger (RULES.md 4).

Kernels, on the extra columns of a row (`tienlen_env.games.tienlen.state`); `spec.EXTRA` is the first of
them. All amounts are whole units. An entry of the ledger is owed until it is booked; booking changes the
balances and the rewards, and both sum to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tienlen_env.games.common.arrays import ActionFields, IntArray, Rewards, Row, Spec
from tienlen_env.games.common.bits import (
    FULL,
    LOWEST_SUIT,
    lowest_of_rank,
    popcount,
    ranks_of,
    shift_left,
)
from tienlen_env.games.common.game import Payment, PaymentReader
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import spec as S, state as R
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.suited import chain_of

CAUSE_TEXTS: Final = {
    "chop": "chopped",
    "place": "place",
    "cong": "no card played (cóng)",
    "held_twos": "2s in hand (thối)",
    "held_bombs": "bombs in hand (thối)",
    "cards": "cards in hand",
    "instant": "instant win (tới trắng)",
    "last_two": "ending on a 2",
    "last_three": "the last 3♠",
    "stake": "a stake to the first (nhất ăn tất)",
}
CAUSES: Final = tuple(CAUSE_TEXTS)
CHOP, PLACE, CONG, HELD_TWOS, HELD_BOMBS, CARDS, INSTANT, LAST_TWO, LAST_THREE, STAKE = range(10)

BLACK_TWOS: Final = 3 << 48
RED_TWOS: Final = 12 << 48
_NO_TWOS: Final = FULL >> 4
_REWARD_PAYMENTS: Final = 4  # index in `spec.Reward`

# ---------------------------------------------------------------- the ledger


def owe(row: Row, spec: Spec, payer: int, payee: int, amount: int, cause: int) -> None:
    """Add an entry to the ledger, to be booked with the next `book`; nothing for an amount of 0."""
    extra = spec[S.EXTRA]
    if amount > 0:
        num = row[extra + R.NUM_ENTRIES]
        row[extra + R.LEDGER + num] = amount << R.AMOUNT_SHIFT | cause << R.CAUSE_SHIFT | payee << 2 | payer
        row[extra + R.NUM_ENTRIES] = num + 1


@noinline
def book(row: Row, spec: Spec, rewards: Rewards) -> None:
    """Book all that is owed: change balances and rewards."""
    extra = spec[S.EXTRA]
    for i in range(row[extra + R.NUM_BOOKED], row[extra + R.NUM_ENTRIES]):
        entry = row[extra + R.LEDGER + i]
        payer, payee, amount = entry & 3, entry >> 2 & 3, entry >> R.AMOUNT_SHIFT
        row[extra + R.BALANCE + payer] -= amount
        row[extra + R.BALANCE + payee] += amount
        if spec[S.REWARD] == _REWARD_PAYMENTS:
            rewards[payer] -= amount
            rewards[payee] += amount
    row[extra + R.NUM_BOOKED] = row[extra + R.NUM_ENTRIES]
    row[extra + R.NUM_CHOPS] = 0
    row[extra + R.CHAIN] = 0


def clear_ledger(row: Row, spec: Spec) -> None:
    """Forget the payments of the round before."""
    extra = spec[S.EXTRA]
    for i in range(row[extra + R.NUM_ENTRIES]):
        row[extra + R.LEDGER + i] = 0
    row[extra + R.NUM_ENTRIES] = 0
    row[extra + R.NUM_BOOKED] = 0
    row[extra + R.IS_NEW] = 0


# ---------------------------------------------------------------- chops


def chop_price(spec: Spec, actions: ActionFields, table: int, table_cards: int, action: int) -> int:
    """The price of the table (its action and cards) that `action` beats; 0 if that is not a chop."""
    at, before = action * S.ACTION_FIELDS, table * S.ACTION_FIELDS
    width, length = actions[before + S.WIDTH], actions[before + S.LENGTH]
    same_shape = width == actions[at + S.WIDTH] and length == actions[at + S.LENGTH]
    if 1 <= actions[before + S.CLASS] <= 4:
        price = 0
        if not same_shape:
            price = twos_price(spec, S.PAY_CHOP_TWOS, table_cards)
    else:
        price = spec[S.PAY_CHOP + (width - 1) * 16 + length]
        if spec[S.FOLLOW_IS_FREE] and same_shape and width < 4:
            same_suits = not spec[S.SUITS_BIND] or (actions[before + S.TOP] ^ actions[at + S.TOP]) & 3 == 0
            if same_suits:
                price = 0
    return int(price)


@noinline
def chop(row: Row, spec: Spec, actions: ActionFields, action: int) -> None:
    """Owe the price of the table if the seat to act chops it by `action`."""
    price = chop_price(spec, actions, row[R.TABLE], row[R.TABLE_CARDS], action)
    if price == 0:
        return
    extra, owner, seat = spec[S.EXTRA], row[R.OWNER], row[R.TURN]
    pays = not spec[S.NOBODY_PAYS] or row[R.LIVE] >> owner & 1 != 0
    if not spec[S.EACH_PAYS]:
        # The last chopped takes over the chain: its entry replaces the one before.
        row[extra + R.CHAIN] += price
        price = row[extra + R.CHAIN]
        for i in range(row[extra + R.NUM_BOOKED], row[extra + R.NUM_ENTRIES]):
            row[extra + R.LEDGER + i] = 0
        row[extra + R.NUM_ENTRIES] = row[extra + R.NUM_BOOKED]
    elif spec[S.CHOP_DOUBLES]:
        price <<= row[extra + R.NUM_CHOPS]
    if pays:
        owe(row, spec, owner, seat, price, CHOP)
    if pays or not spec[S.EACH_PAYS]:
        # Where each pays, the chops that are paid double the price (4.6); a chain counts whoever pays for it.
        row[extra + R.NUM_CHOPS] += 1


def twos_price(spec: Spec, first: int, cards: int) -> int:
    """The price of the 2s in some cards; `first` is the setting of a black 2, followed by a red 2's."""
    price: int = popcount(cards & BLACK_TWOS) * spec[first] + popcount(cards & RED_TWOS) * spec[first + 1]
    return price


def owed_bits(row: Row, spec: Spec, seat: int, num_players: int) -> int:
    """What each seat would pay and get if the trick ended now: two bytes for each seat from `seat` on."""
    extra = spec[S.EXTRA]
    if row[extra + R.NUM_CHOPS] == 0:
        return 0  # other payments than those of chops are booked as soon as they are owed
    word = 0
    first, end = row[extra + R.NUM_BOOKED], row[extra + R.NUM_ENTRIES]
    for i in range(num_players):
        who = seat + i if seat + i < num_players else seat + i - num_players
        pays, gets = 0, 0
        for k in range(first, end):
            entry = row[extra + R.LEDGER + k]
            if entry & 3 == who:
                pays += entry >> R.AMOUNT_SHIFT
            if entry >> 2 & 3 == who:
                gets += entry >> R.AMOUNT_SHIFT
        two_bytes = min(pays, 255) | min(gets, 255) << 8
        # The sign bit of the word belongs to the last seat's byte.
        word |= shift_left(two_bytes, 16 * i)
    return word


# ---------------------------------------------------------------- hands at the end


def run_score(spec: Spec, length: int, card: int) -> int:
    """Extra price of a double sequence over its cards, packed as in `bombs_score`; 0 if it has none."""
    more = spec[S.PAY_HELD_RUN + length] - 2 * length * card
    return more * 64 - 2 * length if more > 0 else 0


def run_best(spec: Spec, card: int, pairs: int) -> int:
    """The best double sequence; the ranks of pairs as spade bits.

    A longer run than the longest that has a price of its own costs no more, so every length is tried.
    """
    best = 0
    chain = chain_of(pairs, 2)
    length = 3
    while chain != 0:
        chain &= pairs << (4 * (length - 1))
        if chain != 0:
            best = max(best, run_score(spec, length, card))
        length += 1
    return best


def runs_score(spec: Spec, card: int, pairs: int, second: int) -> int:
    """The best of one or two double sequences; the ranks of pairs, and those of a second pair, as spade bits.

    17 cards have eight pairs at most, so the shorter one of two has three or four.
    """
    best = run_best(spec, card, pairs)
    if best == 0:
        return 0  # as in most hands
    for length in range(3, 5):
        ends = chain_of(pairs, length)
        while ends != 0:
            end = ends & -ends
            window = end | end >> 4 | end >> 8
            if length == 4:
                window |= end >> 12
            rest = run_best(spec, card, (pairs & ~window) | (second & window))
            if rest != 0:
                best = max(best, run_score(spec, length, card) + rest)
            ends ^= end
    return best


@noinline
def bombs_score(spec: Spec, hand: int, card: int) -> int:
    """The dearest bombs in a hand that share no cards, as ``more * 64 - number of cards``.

    `card` is the price of a card, `more` what the bombs cost above that of their cards. Of equally
    dear ones those with fewest cards have the highest score. No bomb contains a 2. A hand has 17 cards at
    most, so the number stays below 64.
    """
    cards = hand & _NO_TWOS
    pairs = cards & cards >> 1
    quads = pairs & pairs >> 2 & LOWEST_SUIT
    more = spec[S.PAY_HELD_QUAD] - 4 * card
    best = -(1 << 30)
    chosen = quads
    while True:
        rest = cards & ~(chosen * 15)
        score = popcount(chosen) * (more * 64 - 4)
        if spec[S.SUITS_BIND]:
            both = rest & rest >> 1
            black, red = both & LOWEST_SUIT, both >> 2 & LOWEST_SUIT
            score += runs_score(spec, card, black, 0) + runs_score(spec, card, red, 0)
        else:
            left = rest ^ lowest_of_rank(rest)  # the second, third and fourth card of each rank
            third = left ^ lowest_of_rank(left)
            score += runs_score(spec, card, ranks_of(left), ranks_of(third ^ lowest_of_rank(third)))
        best = max(best, score)
        if chosen == 0 or spec[S.QUADS_FIRST]:
            break
        chosen = chosen - 1 & quads
    return int(best)


def payer_to(row: Row, spec: Spec, seat: int, payee: int) -> int:
    """Who pays what a seat owes at the end of a round: itself, or who let the first go out (4.36)."""
    liable = row[spec[S.EXTRA] + R.LIABLE] - 1
    return liable if liable >= 0 and row[R.PLACE + payee] == 0 else seat


@noinline
def owe_hand(row: Row, spec: Spec, seat: int, first: int, payee: int) -> None:
    """Owe what a seat pays for its hand: to the first for its cards, to `payee` for 2s and bombs."""
    hand, extra = row[R.HAND + seat], spec[S.EXTRA]
    to_first, to_payee = payer_to(row, spec, seat, first), payer_to(row, spec, seat, payee)
    is_cong = row[extra + R.CONG] >> seat & 1
    card = spec[S.PAY_CARD]
    if is_cong and spec[S.CONG_HELD_IS_ADDED]:
        card = 0  # `pay_cong` is for all cards, held or not
    num_plain = popcount(hand)
    twos = 0
    for colour in range(2):
        num = popcount(hand & (BLACK_TWOS if colour == 0 else RED_TWOS))
        price = spec[S.PAY_HELD_TWOS + colour]
        if price > card:
            twos += num * price
            num_plain -= num
    score = bombs_score(spec, hand, card)
    more = score + 63 >> 6
    num_in_bombs = more * 64 - score
    num_plain -= num_in_bombs
    if is_cong:
        owe(row, spec, to_first, first, spec[S.PAY_CONG] - card * (popcount(hand) - num_plain), CONG)
    else:
        owe(row, spec, to_first, first, card * num_plain, CARDS)
    owe(row, spec, to_payee, payee, twos, HELD_TWOS)
    owe(row, spec, to_payee, payee, more + card * num_in_bombs, HELD_BOMBS)


def seat_of_place(row: Row, num_players: int, place: int) -> int:
    """The seat that has a place."""
    found = 0
    for seat in range(num_players):
        if row[R.PLACE + seat] == place:
            found = seat
    return found


@noinline
def book_round(row: Row, spec: Spec, rewards: Rewards) -> None:
    """Book the chops that are still owed, and what places and hands cost at the end of a round."""
    extra, num_players = spec[S.EXTRA], spec[S.NUM_PLAYERS]
    if not row[extra + R.IS_PAID]:
        first = seat_of_place(row, num_players, 0)
        for k in range(num_players // 2):
            payer = seat_of_place(row, num_players, num_players - 1 - k)
            if not row[extra + R.CONG] >> payer & 1:
                payee = seat_of_place(row, num_players, k)
                owe(row, spec, payer_to(row, spec, payer, payee), payee, spec[S.PAY_PLACES + k], PLACE)
        for seat in range(num_players):
            if seat != first:
                owe(row, spec, payer_to(row, spec, seat, first), first, spec[S.PAY_FIRST], STAKE)
            is_cong = row[extra + R.CONG] >> seat & 1
            if seat != first and (row[R.HAND + seat] != 0 or is_cong):
                payee = first
                if not spec[S.HELD_TO_FIRST] and not is_cong:
                    payee = seat_of_place(row, num_players, row[R.PLACE + seat] - 1)
                owe_hand(row, spec, seat, first, payee)
    book(row, spec, rewards)


# ---------------------------------------------------------------- reading the ledger


def _entries(row: Sequence[int], spec: Spec, first: int, end: int) -> list[Payment]:
    ledger = int(spec[S.EXTRA]) + R.LEDGER
    entries = [int(entry) for entry in row[ledger + first : ledger + end]]
    return [Payment(e & 3, e >> 2 & 3, e >> R.AMOUNT_SHIFT, CAUSES[e >> R.CAUSE_SHIFT & 15]) for e in entries]


def booked_payments(row: Sequence[int], spec: Spec) -> list[Payment]:
    """The payments of the round that runs, or that ended in the last step."""
    return _entries(row, spec, 0, int(row[int(spec[S.EXTRA]) + R.NUM_BOOKED]))


def owed_payments(row: Sequence[int], spec: Spec) -> list[Payment]:
    """What would be paid for the chops of the trick if it ended now."""
    extra = int(spec[S.EXTRA])
    return _entries(row, spec, int(row[extra + R.NUM_BOOKED]), int(row[extra + R.NUM_ENTRIES]))


def forget_payments(rows: IntArray, spec: Spec) -> None:
    """Forget the payments of a round that ended, in rows int64 (B, ROW) that begin a round."""
    extra = int(spec[S.EXTRA])
    rows[:, extra + R.IS_NEW : extra + R.BALANCE] = 0
    rows[:, extra + R.LEDGER : extra + R.EXTRA_SIZE] = 0


READER: Final = PaymentReader[Rules](
    exist=lambda rules: rules.has_payments,
    booked=booked_payments,
    owed=owed_payments,
    balances=lambda spec: int(spec[S.EXTRA]) + R.BALANCE,
    forget=forget_payments,
)
