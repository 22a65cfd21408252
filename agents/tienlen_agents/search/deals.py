"""Deals of hidden cards to places that are known to be void in some suits, all equally likely.

In a trick-taking game all see who cannot follow. Given that, a deal of the hidden cards is possible if every
place gets as many cards as it has room for, none of them of a suit in which it is void.

**Counting.** Places with the same voids are one *group*. Suits in which nobody is void, and the jokers, are
one class of cards, the *free* ones; they are dealt last, anywhere. Before them the other suits are dealt one
after another. A split of a suit that gives group g ``x[g]`` of its n cards stands for
``n! / (x[0]! x[1]! ..)`` deals, so ::

    ways[s, room] = sum over splits x of suit s: product of 1 / x[g]! * ways[s + 1, room - x]

is the number of deals of the suits from s on, but for a factor, when the groups have so much room left. The
room of the last group follows from the cards that are left, so it is no part of the state: with three
opponents a state is two numbers, each at most a hand or so.

**Drawing.** For one suit after another a split is drawn in proportion to its term of this sum, then which
cards go where. What is drawn is exactly uniform (up to the rounding of doubles), with any voids.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numba import njit

from tienlen_agents.search.worlds import draw_cards, random_word
from tienlen_env.games.common.bits import LOWEST_SUIT, lowest_index, popcount, shift_right

NUM_SUITS: Final = 4
# Rows of a plan, int64 (PLAN_ROWS, K) for K places; what follows of a place ..
SIZE: Final = 0  # how many cards it gets
GROUP: Final = 1  # its group, -1 without room
# .. of a group ..
VOID: Final = 2  # suits that its places do not hold, 4 bits
ROOM: Final = 3  # how many cards they get together
STRIDE: Final = 4  # of its room in the number of a state
LEFT: Final = 5  # scratch: the room that is left,
SPLIT: Final = 6  # what the group gets of a suit,
MOST: Final = 7  # what it may get at most,
PILE: Final = 8  # and its cards
# .. and of all: in the first columns the number of groups, of suits with a void, of states.
NUMBERS: Final = 9
PLAN_ROWS: Final = 10

INVERSE_FACTORIALS: Final = np.array([1 / math.factorial(n) for n in range(55)])


def _jit(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False)


@_jit
def arrange(hidden: int, size: Any, void: Any, plan: Any, suits: Any) -> None:
    """Group the places and part the cards.

    Args:
        hidden: the cards to deal, as a mask.
        size: int64 (K,), how many of them each place gets; together all.
        void: int64 (K,), 4-bit masks of the suits in which each is void.
        plan: int64 (PLAN_ROWS, K), is filled in; the last group is the one with the most room.
        suits: int64 (NUM_SUITS + 1,), gets the cards of every suit in which somebody is void, then the
            free ones.
    """
    present = 0
    for suit in range(NUM_SUITS):
        if hidden & LOWEST_SUIT << suit != 0:
            present |= 1 << suit
    num_groups, voids, largest = 0, 0, 0
    for place in range(size.shape[0]):
        plan[SIZE, place], plan[GROUP, place] = size[place], -1
        if size[place] > 0:
            own = void[place] & present
            voids |= own
            group = 0
            while group < num_groups and plan[VOID, group] != own:
                group += 1
            if group == num_groups:
                plan[VOID, group], plan[ROOM, group] = own, 0
                num_groups += 1
            plan[GROUP, place] = group
            plan[ROOM, group] += size[place]
            if plan[ROOM, group] > plan[ROOM, largest]:
                largest = group
    last = num_groups - 1
    for row in (VOID, ROOM):
        plan[row, largest], plan[row, last] = plan[row, last], plan[row, largest]
    for place in range(size.shape[0]):
        if plan[GROUP, place] == largest:
            plan[GROUP, place] = last
        elif plan[GROUP, place] == last:
            plan[GROUP, place] = largest
    num_states = 1
    for group in range(last):
        plan[STRIDE, group] = num_states
        num_states *= plan[ROOM, group] + 1
    plan[STRIDE, last] = 0  # its room is no part of the state
    num_suits, free = 0, hidden
    for suit in range(NUM_SUITS):
        if voids >> suit & 1:
            suits[num_suits] = hidden & LOWEST_SUIT << suit
            free ^= suits[num_suits]
            num_suits += 1
    suits[num_suits] = free
    plan[NUMBERS, 0], plan[NUMBERS, 1], plan[NUMBERS, 2] = num_groups, num_suits, num_states


@_jit
def first_split(plan: Any, cards: int) -> bool:
    """Begin with the splits of a suit, given as a mask, to the room that is left; see `next_split`."""
    last, suit = plan[NUMBERS, 0] - 1, lowest_index(cards) & 3
    for group in range(last + 1):
        plan[SPLIT, group] = 0
        plan[MOST, group] = 0 if plan[VOID, group] >> suit & 1 else plan[LEFT, group]
    plan[SPLIT, last] = popcount(cards)
    return bool(plan[SPLIT, last] <= plan[MOST, last] or next_split(plan))


@_jit
def next_split(plan: Any) -> bool:
    """Go on to the next split of a suit; whether there was one more."""
    last = plan[NUMBERS, 0] - 1
    group = 0
    while group < last:
        if plan[SPLIT, last] > 0 and plan[SPLIT, group] < plan[MOST, group]:
            plan[SPLIT, group] += 1
            plan[SPLIT, last] -= 1
            if plan[SPLIT, last] <= plan[MOST, last]:
                return True
            group = 0
        else:
            plan[SPLIT, last] += plan[SPLIT, group]
            plan[SPLIT, group] = 0
            group += 1
    return False


@_jit
def ways_of_split(plan: Any, ways: Any, suit: int, state: int) -> float:
    """The term of the split in the sum over all of them."""
    product = 1.0
    for group in range(plan[NUMBERS, 0]):
        state -= plan[SPLIT, group] * plan[STRIDE, group]
        product *= INVERSE_FACTORIALS[plan[SPLIT, group]]
    return float(product * ways[suit + 1, state])


@_jit
def count_deals(plan: Any, suits: Any, ways: Any) -> None:
    """Fill in `ways`, float64 (NUM_SUITS + 1, number of states or more); see the module and `arrange`."""
    last, num_suits = plan[NUMBERS, 0] - 1, plan[NUMBERS, 1]
    num_cards = 0
    for suit in range(num_suits, -1, -1):
        num_cards += popcount(suits[suit])
        # Of the first suit only with all room.
        first = plan[NUMBERS, 2] - 1 if suit == 0 else 0
        for state in range(first, plan[NUMBERS, 2]):
            plan[LEFT, last] = num_cards
            for group in range(last):
                plan[LEFT, group] = state // plan[STRIDE, group] % (plan[ROOM, group] + 1)
                plan[LEFT, last] -= plan[LEFT, group]
            total = 0.0
            if 0 <= plan[LEFT, last] <= plan[ROOM, last]:
                if suit == num_suits:
                    total = 1.0
                    for group in range(last + 1):
                        total *= INVERSE_FACTORIALS[plan[LEFT, group]]
                else:
                    is_more = first_split(plan, suits[suit])
                    while is_more:
                        total += ways_of_split(plan, ways, suit, state)
                        is_more = next_split(plan)
            ways[suit, state] = total


@_jit
def deal_suit(stream: Any, plan: Any, cards: int, split: int) -> None:
    """Put some cards on the piles of the groups, as many on each as the row `split` of the plan says."""
    for group in range(plan[NUMBERS, 0]):
        drawn = draw_cards(stream, cards, plan[split, group])
        cards ^= drawn
        plan[PILE, group] |= drawn


@_jit
def draw_deal(stream: Any, plan: Any, suits: Any, ways: Any, out: Any) -> None:
    """Draw a deal, each with the same probability.

    Args:
        stream: of randomness, see `tienlen_agents.search.worlds.random_word`.
        plan: see `arrange`, as `suits`.
        suits: see `plan`.
        ways: see `count_deals`.
        out: int64, gets the cards of place k at index k; further ones are left as they are.
    """
    num_groups, num_suits = plan[NUMBERS, 0], plan[NUMBERS, 1]
    state = plan[NUMBERS, 2] - 1  # all room is left
    for group in range(num_groups):
        plan[LEFT, group], plan[PILE, group] = plan[ROOM, group], 0
    for suit in range(num_suits):
        goal = shift_right(random_word(stream), 11) * 2.0**-53 * ways[suit, state]
        is_more = first_split(plan, suits[suit])
        total = 0.0
        while is_more:
            term = ways_of_split(plan, ways, suit, state)
            # They are added up in the same order as they were counted, so the last one reaches the goal.
            total += term
            if term > 0 and total >= goal:
                break
            is_more = next_split(plan)
        deal_suit(stream, plan, suits[suit], SPLIT)
        for group in range(num_groups):
            plan[LEFT, group] -= plan[SPLIT, group]
            state -= plan[SPLIT, group] * plan[STRIDE, group]
    deal_suit(stream, plan, suits[num_suits], LEFT)
    for place in range(plan.shape[1]):
        out[place] = 0
        if plan[SIZE, place] > 0:
            group = plan[GROUP, place]
            out[place] = draw_cards(stream, plan[PILE, group], plan[SIZE, place])
            plan[PILE, group] ^= out[place]
