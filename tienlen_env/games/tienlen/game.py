"""Tiến lên as a `GameDefinition`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, get_args

import numpy as np

from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import IntArray, Row, Spec
from tienlen_env.games.common.bits import popcount
from tienlen_env.games.common.cards import NUM_CARDS, format_cards
from tienlen_env.games.common.dealing import TWO_HANDS, check_disjoint
from tienlen_env.games.common.facts import climbing_facts
from tienlen_env.games.common.game import GameDefinition, GameText, Kernels
from tienlen_env.games.tienlen import actions, explain, hidden, kernels, observe, payments, spec as S, state
from tienlen_env.games.tienlen.actions import TienlenActionTable
from tienlen_env.games.tienlen.layout import observation_layout
from tienlen_env.games.tienlen.notation import DECLARE_TEXT
from tienlen_env.games.tienlen.rules import NAMED, Rules
from tienlen_env.games.tienlen.spec import Reward, build_spec
from tienlen_env.games.tienlen.state import COLUMNS, TienlenState

HAND_FAULTS: Final = (
    "",
    TWO_HANDS,
    "hands: expected 1 to {most} cards in each",
    "hands: {cards} not in the deck of the {rules} rules",
)


def pays_late(rules: Rules, reward: str) -> bool:
    """Whether a seat with a place may still get rewards.

    A knocked-out seat pays the first one out; payments are booked when the round ends.
    """
    return reward == "payments" or (reward == "cards" and rules.knockout == "round")


def play_text(table: TienlenActionTable, action: int, cards: int) -> str:
    """The text of a play: its cards; ``""`` for the pass, ``"declare"`` for an instant win."""
    return format_cards(cards) or (DECLARE_TEXT if action else "")


def set_hands(
    rows: IntArray,
    rules: Rules,
    hands: IntArray,
    extra: Mapping[str, IntArray],
    begin: Callable[[], None],
) -> None:
    """Start a round in every row.

    Args:
        rows: int64 (B, ROW), the states.
        rules: the variant.
        hands: int64 (B, P), masks of 1 to `Rules.cards_each` cards of the deck.
        extra: empty: no other cards are given.
        begin: lets the backend begin a round of the hands in the rows.

    Raises:
        TienLenError: impossible hands; nothing has changed.
    """
    union = check_disjoint(hands, NUM_CARDS)
    sizes = np.bitwise_count(hands)
    if ((sizes < 1) | (sizes > rules.cards_each)).any():
        raise TienLenError(HAND_FAULTS[2].format(most=rules.cards_each))
    if (union & ~rules.deck_mask).any():
        missing = int(np.bitwise_or.reduce(union)) & ~rules.deck_mask
        raise TienLenError(HAND_FAULTS[3].format(cards=format_cards(missing), rules=rules.name))
    rows[:] = 0
    rows[:, state.HAND : state.HAND + hands.shape[1]] = hands
    rows[:, state.UNDEALT] = rules.deck_mask & ~union
    begin()


def begin_hands(row: Row, spec: Spec, hands: Row, leader: int) -> int:
    """`set_hands` of one row of zeros, a kernel: see `GameDefinition.begin_hands`."""
    union, fault = 0, 0
    for seat in range(spec[S.NUM_PLAYERS]):
        if union & hands[seat] != 0:
            fault = 1
        elif fault == 0 and not 1 <= popcount(hands[seat]) <= spec[S.CARDS_EACH]:
            fault = 2
        union |= hands[seat]
    missing = union & ~spec[S.DECK]
    if fault == 0 and missing != 0:
        fault = 3
    if fault != 0:
        hands[0], hands[1] = missing, spec[S.CARDS_EACH]
        return fault
    for seat in range(spec[S.NUM_PLAYERS]):
        row[state.HAND + seat] = hands[seat]
    row[state.UNDEALT] = spec[S.DECK] & ~union
    kernels.begin_round(row, spec, leader)
    return 0


def max_decisions(rules: Rules) -> int:
    """A play takes a card or more; between two plays the others may pass (1.7); one may declare (4.12)."""
    return rules.cards_each * rules.num_players**2 + 1


TIENLEN: Final = GameDefinition[Rules, TienlenActionTable](
    name="tienlen",
    rules_type=Rules,
    presets=NAMED,
    rewards=get_args(Reward),
    columns=COLUMNS,
    state=TienlenState,
    kernels=Kernels(
        begin_game=kernels.begin_game,
        begin_round=kernels.begin_round,
        update_legal=kernels.update_legal,
        can_play_cards=kernels.can_play_cards,
        action_cards=kernels.action_cards,
        play=kernels.play,
        observe=observe.observe,
        observe_all=observe.observe_all,
        legal=kernels.LEGAL_KERNELS,
        resample_hidden=hidden.resample_hidden,
    ),
    build_spec=build_spec,
    build_table=actions.build_action_table,
    observation=observation_layout,
    global_observation_size=observe.global_observation_size,
    text=GameText(
        worst_reward=explain.worst_reward,
        why_refused=explain.why_refused,
        describe=explain.describe,
        play_text=play_text,
        facts=climbing_facts(state.TABLE_CARDS, state.OWNER, state.PASSED, state.PLAYED, state.LIVE),
        causes=payments.CAUSE_TEXTS,
    ),
    set_hands=set_hands,
    begin_hands=begin_hands,
    hand_faults=HAND_FAULTS,
    has_history=True,
    num_extra_columns=state.num_extra_columns,
    payments=payments.READER,
    pays_late=pays_late,
    max_decisions=max_decisions,
)
