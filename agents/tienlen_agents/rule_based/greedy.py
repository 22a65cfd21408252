"""The two greedy baselines. Published figures use them, so golden tests freeze their play.

Both choose by a fixed order of actions: each has a number, and the lowest is chosen.
"""

from __future__ import annotations

from tienlen_agents.rule_based import RuleAgent
from tienlen_env.games.common.arrays import ActionFields, Row, Spec
from tienlen_env.games.common.cards import RANK_OF_TWO
from tienlen_env.games.tienlen import spec as S, state as R
from tienlen_env.games.tienlen.actions import PASS
from tienlen_env.games.tienlen.kernels import list_legal

# Sizes of the keys' parts: the card id of the top card plus 1, the number of cards, the action id.
_TOPS, _SIZES, _IDS = 64, 16, 1 << 16
_LAST = 4 * _TOPS * _SIZES * _IDS


def is_held_back(spec: Spec, actions: ActionFields, action: int) -> bool:
    """Whether an action has a 2 or is a bomb."""
    at = action * S.ACTION_FIELDS
    width, length = actions[at + S.WIDTH], actions[at + S.LENGTH]
    is_bomb = width > 0 and spec[S.GROUP_BOMB + (width - 1) * 16 + length] != 0
    return bool(is_bomb or actions[at + S.TOP] >> 2 == RANK_OF_TWO)


def cheapness(spec: Spec, actions: ActionFields, action: int) -> int:
    """The pass last; before it what is held back; then the lowest top card, fewest cards, lowest id."""
    at = action * S.ACTION_FIELDS
    num_cards = actions[at + S.WIDTH] * actions[at + S.LENGTH]
    group = 2 if action == PASS else 1 if is_held_back(spec, actions, action) else 0
    return int(((group * _TOPS + actions[at + S.TOP] + 1) * _SIZES + num_cards) * _IDS + action)


def longness(actions: ActionFields, action: int) -> int:
    """The most cards first, then the lowest top card, then the lowest id."""
    at = action * S.ACTION_FIELDS
    num_cards = actions[at + S.WIDTH] * actions[at + S.LENGTH]
    return int(((_SIZES - num_cards) * _TOPS + actions[at + S.TOP] + 1) * _IDS + action)


def first_of(spec: Spec, actions: ActionFields, ids: Row, cards: Row, count: int, lead_from: int) -> int:
    """A greedy player's choice among the first `count` of `ids`.

    Args:
        spec: the variant, see `tienlen_env.games.tienlen.spec`.
        actions: its action table.
        ids: action ids.
        cards: the cards of each.
        count: number of legal actions.
        lead_from: for a lead with the longest combination, a mask of the lowest card of the hand; else 0.
    """
    best, lowest = 0, 2 * _LAST
    for i in range(count):
        # The declaration of an instant win has no cards, and is the only legal action.
        if lead_from == 0:
            key = cheapness(spec, actions, ids[i])
        elif cards[i] & lead_from != 0 or cards[i] == 0:
            key = longness(actions, ids[i])
        else:
            key = _LAST
        if key < lowest:
            best, lowest = i, key
    return int(ids[best])


def choose_cheapest(spec: Spec, actions: ActionFields, row: Row, state: Row, ids: Row, cards: Row) -> int:
    """The choice of `GreedyAgent`; see `RuleAgent`."""
    return first_of(spec, actions, ids, cards, list_legal(row, spec, actions, ids, cards, 0), 0)


def choose_longest(spec: Spec, actions: ActionFields, row: Row, state: Row, ids: Row, cards: Row) -> int:
    """The choice of `GreedyLongAgent`; see `RuleAgent`."""
    hand = row[R.HAND + row[R.TURN]]
    lead_from = hand & -hand if row[R.TABLE] == PASS else 0
    return first_of(spec, actions, ids, cards, list_legal(row, spec, actions, ids, cards, 0), lead_from)


class GreedyAgent(RuleAgent):
    """Plays its cheapest cards and never passes by choice.

    The exact rule, in this order:

    1. It passes only when the pass is the sole legal action.
    2. An action that contains a 2 or is a bomb is chosen only when nothing else (but the pass) is legal.
    3. The lowest top card (by card id: rank, then suit).
    4. The fewest cards.
    5. The lowest action id.
    """

    name = "greedy"
    plays = "tienlen"
    _choose = staticmethod(choose_cheapest)


class GreedyLongAgent(RuleAgent):
    """As `GreedyAgent` when following; leads the longest combination that holds its lowest card.

    The exact rule on lead, in this order:

    1. Only actions whose cards contain the lowest card of the hand (there is always one).
    2. The most cards; 2s and bombs are not held back.
    3. The lowest top card (by card id: rank, then suit).
    4. The lowest action id.
    """

    name = "greedy_long"
    plays = "tienlen"
    _choose = staticmethod(choose_longest)
