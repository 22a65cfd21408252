"""The two greedy baselines. Published figures use them, so golden tests freeze their play.

Both choose by a fixed order of actions, which depends on the rules alone. It is computed once, as a table
from action id to rank; a decision is the lowest rank among the legal actions, one `np.minimum.reduceat` per
batch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.view import View
from tienlen_env.errors import WrongGameError
from tienlen_env.games.tienlen.actions import PASS, ActionTable

IntArray = npt.NDArray[np.int64]


class Preference(NamedTuple):
    """A strict order of all actions, best first.

    Attributes:
        order: int64 (A,), action ids, best first.
        rank: int64 (A,), the place of each action in `order`.
    """

    order: IntArray
    rank: IntArray


def _prefer(*keys: npt.ArrayLike) -> Preference:
    """Order actions by the keys, each int or bool (A,), the first the most important; ties by lowest id."""
    order = np.lexsort([np.asarray(key) for key in reversed(keys)])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Preference(order, rank)


@lru_cache(maxsize=64)
def _cheapest_first(table: ActionTable) -> Preference:
    """Pass last; actions with a 2 and bombs before it; then lowest top card, fewest cards, lowest id."""
    is_pass = np.arange(table.num_actions) == PASS
    return _prefer(is_pass, table.has_two_mask | table.bomb_mask, table.top, table.num_cards)


@lru_cache(maxsize=64)
def _longest_first(table: ActionTable) -> Preference:
    """Most cards, then lowest top card, then lowest id."""
    return _prefer(-table.num_cards, table.top)


def _table(view: View) -> ActionTable:
    if not isinstance(view.table, ActionTable):
        raise WrongGameError(f"this agent plays Tiến lên, not the {view.rules.name} rules")
    return view.table


class GreedyAgent:
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

    def reset(self, seed: int) -> None:
        """No effect: the agent has no state and draws nothing."""

    def act(self, view: View) -> IntArray:
        """Choose by the rule above (see `Agent.act`)."""
        legal = view.legal_actions
        order, rank = _cheapest_first(_table(view))
        return order[np.minimum.reduceat(rank[legal.action], legal.start)]


class GreedyLongAgent:
    """As `GreedyAgent` when following; leads the longest combination that holds its lowest card.

    The exact rule on lead, in this order:

    1. Only actions whose cards contain the lowest card of the hand (there is always one).
    2. The most cards; 2s and bombs are not held back.
    3. The lowest top card (by card id: rank, then suit).
    4. The lowest action id.
    """

    name = "greedy_long"
    plays = "tienlen"

    def reset(self, seed: int) -> None:
        """No effect: the agent has no state and draws nothing."""

    def act(self, view: View) -> IntArray:
        """Choose by the rule above (see `Agent.act`)."""
        legal = view.legal_actions
        following, leading = _cheapest_first(_table(view)), _longest_first(_table(view))
        is_lead = view.table_action == PASS
        lowest_card = view.hand & -view.hand
        # Without the lowest card an action ranks behind every one that has it. The declaration of an instant
        # win plays no cards, and is the only legal action.
        has_lowest = (legal.cards & lowest_card[legal.game] != 0) | (legal.cards == 0)
        lead_rank = np.where(has_lowest, leading.rank[legal.action], view.table.num_actions)
        rank = np.where(is_lead[legal.game], lead_rank, following.rank[legal.action])
        best = np.minimum.reduceat(rank, legal.start)
        return np.where(is_lead, leading.order[best], following.order[best])
