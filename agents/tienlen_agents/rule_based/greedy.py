"""The two greedy baselines. Published figures use them, so golden tests freeze their play.

Both choose by a fixed order of actions: each has a number, and the lowest is chosen.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tienlen_env.engine.backends import jit
from tienlen_env.engine.view import View
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import ActionFields, IntArray, Spec
from tienlen_env.games.common.cards import RANK_OF_TWO
from tienlen_env.games.common.spec import KernelTables
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen.actions import PASS, ActionTable
from tienlen_env.games.tienlen.rules import Rules

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


def choose_row(
    spec: Spec, actions: ActionFields, ids: Any, cards: Any, start: int, end: int, lead_from: int
) -> int:
    """The index of a greedy player's choice among the legal actions ``ids[start:end]``.

    Args:
        spec: the variant, see `tienlen_env.games.tienlen.spec`.
        actions: its action table.
        ids: action ids.
        cards: the cards of each.
        start: the first legal action.
        end: the one after the last.
        lead_from: for a lead with the longest combination, a mask of the lowest card of the hand; else 0.
    """
    best, lowest = start, 2 * _LAST
    for i in range(start, end):
        # The declaration of an instant win has no cards, and is the only legal action.
        if lead_from == 0:
            key = cheapness(spec, actions, ids[i])
        elif cards[i] & lead_from != 0 or cards[i] == 0:
            key = longness(actions, ids[i])
        else:
            key = _LAST
        if key < lowest:
            best, lowest = i, key
    return best


@jit.loop
def _choose_all(spec, actions, ids, cards, start, lead_from, out):  # type: ignore[no-untyped-def]
    for b in range(out.shape[0]):
        end = start[b + 1] if b + 1 < out.shape[0] else ids.shape[0]
        out[b] = ids[choose_row(spec, actions, ids, cards, start[b], end, lead_from[b])]


@lru_cache(maxsize=64)
def _tables(rules: Rules) -> KernelTables:
    return S.build_spec(rules)


def _choose(view: View, lead_from: IntArray) -> IntArray:
    if not isinstance(view.table, ActionTable):
        raise WrongGameError(f"this agent plays Tiến lên, not the {view.rules.name} rules")
    legal = view.legal_actions
    out = np.empty(len(view), np.int64)
    _choose_all(*_tables(view.rules), legal.action, legal.cards, legal.start, lead_from, out)
    return out


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
        return _choose(view, np.zeros(len(view), np.int64))


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
        return _choose(view, np.where(view.table_action == PASS, view.hand & -view.hand, 0))
