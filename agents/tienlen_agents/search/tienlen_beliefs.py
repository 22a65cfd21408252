"""Worlds of Tiến lên from card weights: deals where likely owners have their cards more often.

The probability of a deal is proportional to the product, over the unseen cards, of the weight of each card
at its location (`tienlen_agents.search.interface.BeliefAgent`; undealt cards have the weight 1). The hands
have fixed sizes, so cards are dealt one after another with a table of how much weight the deals of the
remaining cards have in total, for every number of cards that each location still needs. At most three
locations have unseen cards: the opponents, and with two or three players the undealt cards. So a row of the
table has two dimensions, and the last location gets what is left. Draws are independent of one another.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.search.randomness import random_word
from tienlen_env.games.common.arrays import FloatArray, IntArray, Row, Spec
from tienlen_env.games.common.bits import lowest_index, shift_right, wrap
from tienlen_env.games.common.cards import NUM_CARDS
from tienlen_env.games.common.floats import log
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import spec as S, state as R
from tienlen_env.games.tienlen.hidden import impossible_cards

NUM_OWNERS: Final = 3
# Entries of `Beliefs.sizes` after the numbers of the owners.
NUM_UNSEEN: Final = 3  # the number of unseen cards
IS_SET: Final = 4  # 1: the decision has card weights; `DAMPED`
# In a chain that asks who made the plays, card weights count by their square roots: the belief network has
# read the same plays, which would count twice. With no weights at all, the true hands of a player of no known
# kind would be less likely than they are by the belief network alone.
DAMPED: Final = 2
DAMPING: Final = 0.5


class Beliefs(NamedTuple):
    """Card weights and what is derived from them.

    Attributes:
        owners: int64 (NUM_OWNERS,), the locations that have unseen cards; -1 for none.
        sizes: int64 (NUM_OWNERS + 2,): how many unseen cards each of them has, and the entries above.
        cards: int64 (NUM_CARDS,), the unseen cards, ascending.
        weights: float64 (NUM_CARDS, NUM_OWNERS), of each unseen card at each owner; the largest weight of a
            card is 1.
        logs: float64 (locations, NUM_CARDS), logarithms of the card weights.
        totals: float64 (1 + NUM_CARDS, 1 + H, 1 + H), where a hand has at most H cards: the weight of all
            deals of the cards from one on, if the first two owners need as many.
    """

    owners: Any
    sizes: Any
    cards: Any
    weights: Any
    logs: Any
    totals: Any


def new_beliefs(num_locations: int, hand_size: int) -> Beliefs:
    """Arrays for one decision at a time; a hand has at most `hand_size` cards."""
    return Beliefs(
        np.zeros(NUM_OWNERS, np.int64),
        np.zeros(NUM_OWNERS + 2, np.int64),
        np.zeros(NUM_CARDS, np.int64),
        np.zeros((NUM_CARDS, NUM_OWNERS)),
        np.zeros((num_locations, NUM_CARDS)),
        np.zeros((1 + NUM_CARDS, 1 + hand_size, 1 + hand_size)),
    )


@noinline
def set_beliefs(
    row: Row, card_weights: FloatArray, spec: Spec, unseen: int, capacity: Row, beliefs: Beliefs
) -> None:
    """Prepare to draw.

    There is nothing to draw from without card weights, and if more than three locations have unseen cards,
    which only hands that were set by hand can lead to; then `IS_SET` is 0.

    Args:
        row: the state.
        card_weights: float64 (P - 1, C), or (0, 0), see `tienlen_agents.search.interface.Decision`.
        spec: the variant.
        unseen: the cards whose location is unknown.
        capacity: int64 (locations,), how many of them each location has.
        beliefs: written.
    """
    owners, sizes, cards, weights, logs, totals = beliefs
    last, num_players = NUM_OWNERS - 1, spec[S.NUM_PLAYERS]
    for k in range(NUM_OWNERS):
        owners[k], sizes[k] = -1, 0
    num_owners = 0
    for location in range(logs.shape[0]):
        num_owners += 1 if capacity[location] > 0 else 0
    sizes[IS_SET] = 1 if card_weights.shape[0] > 0 and num_owners <= NUM_OWNERS else 0
    if sizes[IS_SET] == 0:
        return
    num_owners = 0
    for location in range(logs.shape[0]):  # the undealt cards come last, and may be more than a hand
        if capacity[location] > 0:
            if owners[last] >= 0:
                owners[num_owners], sizes[num_owners] = owners[last], sizes[last]
                num_owners += 1
            owners[last], sizes[last] = location, capacity[location]
        for card in range(NUM_CARDS):
            logs[location, card] = 0.0
    for after in range(1, num_players):
        location = wrap(row[R.TURN] + after, num_players)
        for card in range(NUM_CARDS):
            logs[location, card] = log(card_weights[after - 1, card])

    num_cards = 0
    while unseen != 0:
        card = lowest_index(unseen)
        unseen &= unseen - 1
        cards[num_cards] = card
        largest = 0.0
        for k in range(NUM_OWNERS):
            weight = 0.0
            if owners[k] >= 0:
                after = wrap(owners[k] - row[R.TURN] + num_players, num_players)
                weight = card_weights[after - 1, card] if owners[k] != R.UNDEALT else 1.0
                if owners[k] != R.UNDEALT and impossible_cards(row, spec, owners[k]) >> card & 1:
                    weight = 0.0
            weights[num_cards, k] = weight
            largest = max(largest, weight)
        for k in range(NUM_OWNERS):
            weights[num_cards, k] /= largest
        num_cards += 1
    sizes[NUM_UNSEEN] = num_cards

    for one in range(sizes[0] + 1):
        for two in range(sizes[1] + 1):
            totals[num_cards, one, two] = 1.0 if one == 0 and two == 0 else 0.0
    for back in range(num_cards):
        i, rest = num_cards - 1 - back, back + 1
        for one in range(min(sizes[0], rest) + 1):
            for two in range(min(sizes[1], rest - one) + 1):
                total = 0.0
                if one > 0:
                    total += weights[i, 0] * totals[i + 1, one - 1, two]
                if two > 0:
                    total += weights[i, 1] * totals[i + 1, one, two - 1]
                if rest - one - two > 0:
                    total += weights[i, 2] * totals[i + 1, one, two]
                totals[i, one, two] = total


@noinline
def deal_by_beliefs(stream: Row, known: IntArray, beliefs: Beliefs, out: Row) -> None:
    """Deal the unseen cards.

    Args:
        stream: of random numbers.
        known: int64 (locations,), cards whose location is known.
        beliefs: see `set_beliefs`.
        out: int64 (locations,), gets the cards of each location.
    """
    owners, sizes, cards, weights, _, totals = beliefs
    one, two, num_cards = sizes[0], sizes[1], sizes[NUM_UNSEEN]
    for location in range(known.shape[0]):
        out[location] = known[location]
    for i in range(num_cards):
        goal = shift_right(random_word(stream), 11) * 2.0**-53 * totals[i, one, two]
        to_one = weights[i, 0] * totals[i + 1, one - 1, two] if one > 0 else 0.0
        to_two = weights[i, 1] * totals[i + 1, one, two - 1] if two > 0 else 0.0
        owner = 2
        if goal < to_one:
            owner = 0
        elif two > 0 and (goal < to_one + to_two or num_cards - i - one - two == 0):
            owner = 1
        one -= 1 if owner == 0 else 0
        two -= 1 if owner == 1 else 0
        out[owners[owner]] |= 1 << cards[i]


def log_ratio(beliefs: Beliefs, one: int, two: int, before: Row, after: Row) -> float:
    """The logarithm of how much more weight a deal has after cards were swapped between two locations.

    Args:
        beliefs: see `set_beliefs`.
        one: a location.
        two: another one.
        before: int64 (locations,), the deal before ...
        after: ... and after the swap.
    """
    logs, total = beliefs.logs, 0.0
    for to, other in ((one, two), (two, one)):
        gained = after[to] & ~before[to]
        while gained != 0:
            card = lowest_index(gained)
            gained &= gained - 1
            total += logs[to, card] - logs[other, card]
    return total * (DAMPING if beliefs.sizes[IS_SET] == DAMPED else 1.0)


def log_weight(beliefs: Beliefs, unseen: int, deal: Row) -> float:
    """The logarithm of the weight of a deal (locations,) of the unseen cards."""
    total = 0.0
    for location in range(beliefs.logs.shape[0]):
        cards = deal[location] & unseen
        while cards != 0:
            total += beliefs.logs[location, lowest_index(cards)]
            cards &= cards - 1
    return total
