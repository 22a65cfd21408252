"""Uniform deals of hidden cards to locations, and the list of all deals.

A location may be void in known suits.

In a trick-taking game all players see who cannot follow suit. A deal of the hidden cards is then possible if
every location gets as many cards as its capacity, none of them of a suit that it is void in.

**Counting.** Locations with the same voids form one *group*. Suits that no location is void in, and the
jokers, are the *free* cards; they are dealt last, to any location. Before them the other suits are dealt one
after another. An allocation that gives group g ``x[g]`` of the n cards of a suit stands for
``n! / (x[0]! x[1]! ..)`` deals. These numbers follow one from another:

    counts[s, capacity] = sum over allocations x of suit s: product of 1 / x[g]! * counts[s + 1, capacity - x]

``counts`` is the number of deals of the suits from s on, up to a factor, if the groups have this capacity
left. capacity of the last group follows from the number of cards left, so it is not part of the state: with
three opponents a state is two numbers, each at most the size of a hand or so.

**Drawing.** For one suit after another an allocation is drawn in proportion to its term of this sum, then
the cards of each group. The deals drawn are exactly uniform (up to the rounding of doubles), for any voids.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.search.randomness import draw_cards, random_word
from tienlen_env.games.common.arrays import IntArray, Row
from tienlen_env.games.common.bits import LOWEST_SUIT, highest_index, lowest_index, popcount, shift_right
from tienlen_env.games.common.hints import noinline

NUM_SUITS: Final = 4
INVERSE_FACTORIALS: Final = np.array([1 / math.factorial(n) for n in range(55)])

MANY_DEALS: Final = 1 << 40

# Entries of `DealPlan.sizes`.
NUM_GROUPS: Final = 0
NUM_VOID_SUITS: Final = 1  # suits that some location is void in
NUM_STATES: Final = 2


class DealPlan(NamedTuple):
    """A problem of K locations, and scratch; int64 (K,) where nothing else is said.

    Attributes:
        size: number of cards that each location gets.
        group: group of each location, -1 without cards.
        void: by group: suits that its locations do not hold, 4 bits.
        capacity: by group: number of cards that its locations get together.
        stride: by group: factor of its capacity in the index of a state.
        left: by group, scratch: the capacity left.
        allocation: by group, scratch: the number of cards it gets of a suit.
        limit: by group, scratch: the most that it may get.
        pile: by group, scratch: its cards.
        suits: int64 (NUM_SUITS + 1,), the cards of each suit with a void, then the free ones.
        sizes: int64 (3,), numbers of groups, of suits with a void, of states.
        counts: float64 (NUM_SUITS + 1, number of states or more), see the module.
    """

    size: Any
    group: Any
    void: Any
    capacity: Any
    stride: Any
    left: Any
    allocation: Any
    limit: Any
    pile: Any
    suits: Any
    sizes: Any
    counts: Any


def new_plan(num_locations: int, num_states: int) -> DealPlan:
    """Arrays for a number of locations and a bound of states."""
    size, group, void, capacity, stride, left, allocation, limit, pile = np.zeros(
        (9, num_locations), np.int64
    )
    suits, sizes = np.zeros(NUM_SUITS + 1, np.int64), np.zeros(3, np.int64)
    counts = np.zeros((NUM_SUITS + 1, num_states))
    return DealPlan(size, group, void, capacity, stride, left, allocation, limit, pile, suits, sizes, counts)


@noinline
def plan_deal(hidden: int, size: IntArray, void: Row, plan: DealPlan) -> None:
    """Group the locations and the cards.

    Args:
        hidden: the cards to deal (mask).
        size: int64 (K,), number of cards of each location; together all.
        void: int64 (K,), 4-bit masks of the suits that each is void in.
        plan: is filled in, except `counts`; the last group is the one with the largest capacity.
    """
    present = 0
    for suit in range(NUM_SUITS):
        if hidden & LOWEST_SUIT << suit != 0:
            present |= 1 << suit
    num_groups, voids, largest = 0, 0, 0
    for location in range(size.shape[0]):
        plan.size[location], plan.group[location] = size[location], -1
        if size[location] > 0:
            own = void[location] & present
            voids |= own
            group = 0
            while group < num_groups and plan.void[group] != own:
                group += 1
            if group == num_groups:
                plan.void[group], plan.capacity[group] = own, 0
                num_groups += 1
            plan.group[location] = group
            plan.capacity[group] += size[location]
            if plan.capacity[group] > plan.capacity[largest]:
                largest = group
    last = num_groups - 1
    if num_groups > 0:
        plan.void[largest], plan.void[last] = plan.void[last], plan.void[largest]
        plan.capacity[largest], plan.capacity[last] = plan.capacity[last], plan.capacity[largest]
    for location in range(size.shape[0]):
        if plan.group[location] == largest:
            plan.group[location] = last
        elif plan.group[location] == last and last >= 0:
            plan.group[location] = largest
    num_states = 1
    for group in range(last):
        plan.stride[group] = num_states
        num_states *= plan.capacity[group] + 1
    if last >= 0:
        plan.stride[last] = 0  # its capacity is not part of the state
    num_suits, free = 0, hidden
    for suit in range(NUM_SUITS):
        if voids >> suit & 1:
            plan.suits[num_suits] = hidden & LOWEST_SUIT << suit
            free ^= plan.suits[num_suits]
            num_suits += 1
    plan.suits[num_suits] = free
    plan.sizes[NUM_GROUPS], plan.sizes[NUM_VOID_SUITS], plan.sizes[NUM_STATES] = (
        num_groups,
        num_suits,
        num_states,
    )


def first_allocation(plan: DealPlan, cards: int) -> bool:
    """Write the first allocation of a suit (mask) to the capacity that is left; whether there is one."""
    last, suit = plan.sizes[NUM_GROUPS] - 1, lowest_index(cards) & 3
    for group in range(last + 1):
        plan.allocation[group] = 0
        plan.limit[group] = 0 if plan.void[group] >> suit & 1 else plan.left[group]
    plan.allocation[last] = popcount(cards)
    return bool(plan.allocation[last] <= plan.limit[last] or next_allocation(plan))


def next_allocation(plan: DealPlan) -> bool:
    """Write the next allocation of a suit; whether there was one more."""
    last = plan.sizes[NUM_GROUPS] - 1
    group = 0
    while group < last:
        if plan.allocation[last] > 0 and plan.allocation[group] < plan.limit[group]:
            plan.allocation[group] += 1
            plan.allocation[last] -= 1
            if plan.allocation[last] <= plan.limit[last]:
                return True
            group = 0
        else:
            plan.allocation[last] += plan.allocation[group]
            plan.allocation[group] = 0
            group += 1
    return False


def count_of_allocation(plan: DealPlan, suit: int, state: int) -> float:
    """The term of the allocation in the sum over all allocations of a suit."""
    product = 1.0
    for group in range(plan.sizes[NUM_GROUPS]):
        state -= plan.allocation[group] * plan.stride[group]
        product *= INVERSE_FACTORIALS[plan.allocation[group]]
    return float(product * plan.counts[suit + 1, state])


@noinline
def count_deals(plan: DealPlan) -> None:
    """Fill in ``plan.counts``; see the module."""
    last, num_suits = plan.sizes[NUM_GROUPS] - 1, plan.sizes[NUM_VOID_SUITS]
    num_cards = 0
    for suit in range(num_suits, -1, -1):
        num_cards += popcount(plan.suits[suit])
        # Of the first suit only the state with all capacity left.
        first = plan.sizes[NUM_STATES] - 1 if suit == 0 else 0
        for state in range(first, plan.sizes[NUM_STATES]):
            plan.left[last] = num_cards
            for group in range(last):
                plan.left[group] = state // plan.stride[group] % (plan.capacity[group] + 1)
                plan.left[last] -= plan.left[group]
            total = 0.0
            if 0 <= plan.left[last] <= plan.capacity[last]:
                if suit == num_suits:
                    total = 1.0
                    for group in range(last + 1):
                        total *= INVERSE_FACTORIALS[plan.left[group]]
                else:
                    is_more = first_allocation(plan, plan.suits[suit])
                    while is_more:
                        total += count_of_allocation(plan, suit, state)
                        is_more = next_allocation(plan)
            plan.counts[suit, state] = total


def deal_suit(stream: Row, plan: DealPlan, cards: int, amounts: Row) -> None:
    """Put ``amounts[g]`` of some cards on the pile of each group g."""
    for group in range(plan.sizes[NUM_GROUPS]):
        drawn = draw_cards(stream, cards, amounts[group])
        cards ^= drawn
        plan.pile[group] |= drawn


@noinline
def draw_deal(stream: Row, plan: DealPlan, out: IntArray) -> None:
    """Draw a deal, each with the same probability.

    Args:
        stream: of random numbers, see `tienlen_agents.search.randomness`.
        plan: filled in by `plan_deal` and `count_deals`.
        out: int64, gets the cards of location k at index k; further ones are left as they are.
    """
    num_groups, num_suits = plan.sizes[NUM_GROUPS], plan.sizes[NUM_VOID_SUITS]
    state = plan.sizes[NUM_STATES] - 1  # all capacity is left
    for group in range(num_groups):
        plan.left[group], plan.pile[group] = plan.capacity[group], 0
    for suit in range(num_suits):
        goal = shift_right(random_word(stream), 11) * 2.0**-53 * plan.counts[suit, state]
        is_more = first_allocation(plan, plan.suits[suit])
        total = 0.0
        while is_more:
            term = count_of_allocation(plan, suit, state)
            # They are added up in the same order as they were counted, so the last one reaches the goal.
            total += term
            if term > 0 and total >= goal:
                break
            is_more = next_allocation(plan)
        deal_suit(stream, plan, plan.suits[suit], plan.allocation)
        for group in range(num_groups):
            plan.left[group] -= plan.allocation[group]
            state -= plan.allocation[group] * plan.stride[group]
    deal_suit(stream, plan, plan.suits[num_suits], plan.left)
    for location in range(plan.size.shape[0]):
        out[location] = 0
        if plan.size[location] > 0:
            group = plan.group[location]
            out[location] = draw_cards(stream, plan.pile[group], plan.size[location])
            plan.pile[group] ^= out[location]


# ---------------------------------------------------------------- all deals, voids left aside


@noinline
def num_deals(size: IntArray) -> int:
    """How many ways there are to deal cards so that location k gets ``size[k]`` of them.

    Counting stops beyond `MANY_DEALS`.
    """
    num, product = 0, 1
    for location in range(size.shape[0]):
        for n in range(1, size[location] + 1):
            num += 1
            if product <= MANY_DEALS:
                product = product * num // n
    return product


@noinline
def first_deal(cards: int, size: IntArray, out: IntArray) -> None:
    """Add the first of all deals to `out`: the lowest cards go to the first location, and so on."""
    for location in range(size.shape[0]):
        for _ in range(size[location]):
            out[location] |= cards & -cards
            cards &= cards - 1


@noinline
def next_deal(cards: int, out: IntArray) -> None:
    """Go to the next of all deals of some cards; after the last one comes the first.

    The locations of the cards, in ascending order, are a word. The next deal is the next word in
    lexicographic order.
    """
    # From the highest card down: a tail that does not rise is the last of its words.
    tail, at, before = cards, -1, -1
    while tail != 0:
        card = highest_index(tail)
        location = location_of(out, card)
        if location < before:
            at = card
            break
        before = location
        tail ^= 1 << card
    after = cards if at < 0 else cards & ~((2 << at) - 1)
    if at >= 0:
        # The highest card of the tail at a later location changes places with this one.
        left, mine = after, location_of(out, at)
        other = highest_index(left)
        while location_of(out, other) <= mine:
            left ^= 1 << other
            other = highest_index(left)
        theirs = location_of(out, other)
        out[mine] ^= 1 << at | 1 << other
        out[theirs] ^= 1 << at | 1 << other
    # The tail becomes the first of its words: in ascending order.
    left = after
    for location in range(out.shape[0]):
        count = popcount(out[location] & after)
        out[location] &= ~after
        for _ in range(count):
            out[location] |= left & -left
            left &= left - 1


def location_of(deal: Row, card: int) -> int:
    """The location of a card."""
    location = 0
    while deal[location] >> card & 1 == 0:
        location += 1
    return location
