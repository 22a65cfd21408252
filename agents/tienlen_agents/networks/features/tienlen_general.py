"""The general inputs of Tiến lên.

They are those of four players under rules with payments and suits that bind, and the fields of the rules as
bits. A table of fewer players has no inputs for the seats that are empty. The points of earlier rounds are
left out: a network plays each round for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, get_args

import numpy as np

from tienlen_agents.networks.features.general import (
    ColumnMap,
    GeneralInputs,
    columns_by_name,
    first_of_each_axis,
    pieces_of,
)
from tienlen_env.errors import WrongGameError, check_word
from tienlen_env.games.common.arrays import ByteArray
from tienlen_env.games.common.cards import FULL_DECK, HAND_SIZE, NUM_CARDS
from tienlen_env.games.common.game import AnyRules, Layout
from tienlen_env.games.tienlen.fields import NO_PAYMENTS
from tienlen_env.games.tienlen.layout import observation_layout
from tienlen_env.games.tienlen.rules import (
    MAX_CARDS_EACH,
    MAX_PLAYERS,
    MIN_PLAYERS,
    NORTH,
    QUAD,
    InstantWin,
    Rules,
    Shape,
)
from tienlen_env.games.tienlen.state import NUM_KINDS, NUM_RANKS

NUM_ACTION_INPUTS: Final = 155  # of rules where suits bind; the others have the first 151
MOST_PLAYS: Final = 8  # bits of the number of plays of a hand
# The pieces that policies read whose files do not name any. This list does not change: a policy that reads a
# new piece names it.
PIECES: Final = (
    "hand", "played", "history", "scores", "cards_left", "owed", "table_top", "table_width", "table_length",
    "table_owner", "passed", "finished", "barred", "suit_lock", "opening_duty", "lead", "table_suits",
)  # fmt: skip


def num_summary_bits(num_players: int) -> int:
    """R, the number of bits of a play summary (`tienlen_agents.networks.features.tienlen`)."""
    return (num_players - 1) * 3 * NUM_KINDS * NUM_RANKS


_SUMMARY: Final = num_summary_bits(MAX_PLAYERS)

# Every shape that can be a bomb under some rules.
BOMBS: Final = (
    QUAD,
    *(Shape(2, length) for length in range(2, 7)),
    *(Shape(3, length) for length in range(2, 5)),
    *(Shape(4, length) for length in range(2, 4)),
    *(Shape(1, length) for length in range(2, 14)),
)
# Every shape that has a price in hand under some rules.
_HELD: Final = (QUAD, *(Shape(2, length) for length in range(3, 7)))
# The same of hands with more than 13 cards.
_LONG_BOMBS: Final = (Shape(2, 7), Shape(2, 8), Shape(3, 5), Shape(4, 4))
_LONG_HELD: Final = (Shape(2, 7), Shape(2, 8))
# How many inputs describe the rules for networks of before: the first ones of today's.
RULE_INPUTS_BEFORE: Final = (514,)
_PLACE_LEVELS: Final = 8  # bits of the points of a place
_PRICE_LEVELS: Final = tuple(2 ** (-0.75 * level) for level in range(8))  # parts of the highest price
_RUNG_BITS: Final = 5


def _rules_of(rules: AnyRules) -> Rules:
    if not isinstance(rules, Rules):
        raise WrongGameError(f"these inputs are of Tiến lên, not of the {rules.name} rules")
    return rules


def state_columns(rules: AnyRules, layout: Layout) -> ColumnMap:
    """See `GeneralInputs.state_columns`.

    Args:
        rules: the variant.
        layout: of the general inputs.
    """
    # The play summary begins with the opponent who plays next, and the derived inputs follow.
    index = np.concatenate(
        [
            columns_by_name(observation_layout(_rules_of(rules)), layout),
            layout.size + np.arange(num_summary_bits(rules.num_players)),
            layout.size + _SUMMARY + np.arange(NUM_CARDS),
        ]
    )
    return ColumnMap(index, layout.size + _SUMMARY + NUM_CARDS)


@cache
def action_columns(rules: AnyRules) -> ColumnMap:
    """See `GeneralInputs.action_columns`."""
    size = NUM_ACTION_INPUTS if _rules_of(rules).suits_bind else NUM_ACTION_INPUTS - 4
    return ColumnMap(np.arange(size), NUM_ACTION_INPUTS)


@cache
def privileged_columns(rules: AnyRules) -> ColumnMap:
    """See `GeneralInputs.privileged_columns`."""
    num, most, num_hands = rules.num_players, MAX_PLAYERS, (MAX_PLAYERS - 1) * NUM_CARDS
    hands = first_of_each_axis((num - 1, NUM_CARDS), (most - 1, NUM_CARDS), 0)
    plays = first_of_each_axis((num, MOST_PLAYS), (most, MOST_PLAYS), num_hands)
    return ColumnMap(np.concatenate([hands, plays]), num_hands + most * MOST_PLAYS)


@cache
def outcome_columns(rules: AnyRules) -> ColumnMap:
    """See `GeneralInputs.outcome_columns`."""
    num, most = rules.num_players, MAX_PLAYERS
    return ColumnMap(first_of_each_axis((num, num), (most, most), 0), most**2)


def _one_of(value: object, words: Sequence[object]) -> list[bool]:
    return [value == word for word in words]


def _among(shapes: Iterable[Shape], bombs: Sequence[Shape] = BOMBS) -> list[bool]:
    found = set(shapes)
    return [shape in found for shape in bombs]


def _rungs(ladder: Sequence[Shape], bombs: Sequence[Shape] = BOMBS) -> list[bool]:
    """The rung of each bomb on the ladder, from 1, in binary, lowest bit first; 0 for none."""
    rung = {shape: number for number, shape in enumerate(ladder, 1)}
    return [bool(rung.get(shape, 0) >> bit & 1) for shape in bombs for bit in range(_RUNG_BITS)]


def _prices(rules: Rules, is_paid: bool) -> tuple[list[bool], list[bool]]:
    """Every price, as a part of the highest one: whether there is one, and which levels it reaches.

    Args:
        rules: the variant.
        is_paid: whether payments are the objective; otherwise no price counts.

    Returns:
        The prices that networks of before know, and the others.
    """

    def price_of(prices: Sequence[tuple[Shape, int]], shape: Shape) -> int:
        units = [u for s, u in prices if s.width == shape.width and s.length <= shape.length]
        return max(units, default=0)

    pay = rules.payments or NO_PAYMENTS
    amounts = [
        *(*pay.pay_places, 0, 0)[:2], pay.pay_card, *pay.pay_held_twos,
        *(price_of(pay.pay_held_bombs, shape) for shape in _HELD),
        pay.pay_cong, *pay.pay_chop_twos,
        *(price_of(pay.pay_chop_bombs, shape) for shape in _HELD),
        pay.pay_instant, pay.pay_last_two, pay.pay_last_three,
    ]  # fmt: skip
    more = [
        pay.pay_first,
        *(price_of(pay.pay_held_bombs, shape) for shape in _LONG_HELD),
        *(price_of(pay.pay_chop_bombs, shape) for shape in _LONG_HELD),
    ]
    # A price for each card is paid for several.
    highest = max(*amounts, *more, HAND_SIZE * pay.pay_card, 1)

    def levels(some: Sequence[int]) -> list[bool]:
        parts = [is_paid * amount / highest for amount in some]
        return [bit for part in parts for bit in (part > 0, *(part >= level for level in _PRICE_LEVELS))]

    return levels(amounts), levels(more)


def _places(rules: Rules, objective: str) -> list[bool]:
    """What each place is worth between the last and the first, in unary."""
    worth = np.zeros(MAX_PLAYERS)
    if objective == "win":
        worth[0] = 1
    elif objective == "zero_sum":
        points = np.array(rules.place_points)
        worth[: len(points)] = (points - points[-1]) / max(points[0] - points[-1], 1)
    return [part > level / _PLACE_LEVELS for part in worth.tolist() for level in range(_PLACE_LEVELS)]


@cache
def rule_inputs(rules: AnyRules, objective: str) -> ByteArray:
    """See `GeneralInputs.rule_inputs`.

    Raises:
        WrongGameError: rules of another game.
        ValueError: an unknown objective.
    """
    own = _rules_of(rules)
    check_word("objective", objective, ("zero_sum", "win", "payments"))
    shapes = (Shape(width, length) for width in (1, 2, 3, 4) for length in range(2, 14 // width + 1))
    chops, outside = dict(own.chops), FULL_DECK & ~own.deck_mask
    prices, more_prices = _prices(own, objective == "payments")
    pay = own.payments or NO_PAYMENTS
    bits = [
        *_one_of(own.num_players, range(MIN_PLAYERS, MAX_PLAYERS + 1)),
        own.opening == "every",
        *_one_of(own.opening_play, ("include", "alone", "free")),
        *(own.allows(shape) for shape in shapes),
        own.twos_allowed(1), own.twos_allowed(2),
        own.flush_lock,
        *(bit for twos in (1, 2, 3, 4) for bit in _among(own.with_longer(chops.get(twos, ())))),
        *_rungs(own.ladder),
        own.pass_lock,
        *_among(own.with_longer(own.rejoin)),
        own.rejoin_twos,
        *_one_of(own.knockout, ("trick", "round")),
        own.heir == "last_live",
        own.suits_bind,
        own.round_end == "first",
        *(kind in own.instant_wins for kind in get_args(InstantWin)),
        own.quad_is_two_pairs,
        pay.pay_cong > 0 and own.cong == "out",
        own.last_two == "ends",
        pay.pay_last_three > 0,
        objective == "payments",
        *_places(own, objective),
        *prices,
        pay.held_overlap == "quads_first", pay.held_to == "first", pay.cong_held == "replaced",
        pay.chop_chain == "each", pay.chop_doubles, pay.chop_follow == "free", pay.chop_out == "nobody",
        # Behind these, those that networks of before do not know.
        *(outside >> card & 1 for card in range(NUM_CARDS)),
        *(own.cards_each > num for num in range(MAX_CARDS_EACH)),
        *(own.allows(shape) for shape in _LONG_BOMBS),
        *(bit for twos in (1, 2, 3, 4) for bit in _among(own.with_longer(chops.get(twos, ())), _LONG_BOMBS)),
        *_rungs(own.rungs, _LONG_BOMBS),
        *_among(own.with_longer(own.rejoin), _LONG_BOMBS),
        *_one_of(own.last_card_duty, ("highest", "pays")),
        *more_prices,
    ]  # fmt: skip
    found = np.array(bits, np.uint8)
    found.setflags(write=False)
    return found


def unseen_cards(observation: ByteArray, layout: Layout) -> ByteArray:
    """See `GeneralInputs.unseen_cards`."""
    played = observation[:, layout["played"].slice].reshape(-1, MAX_PLAYERS, NUM_CARDS)
    seen = observation[:, layout["hand"].slice] | played.any(axis=1)
    found: ByteArray = (seen == 0).astype(np.uint8)
    return found


@cache
def general_inputs(pieces: tuple[str, ...] | None = None) -> GeneralInputs:
    """See `Features.general`.

    North has all pieces of an observation, except the points of earlier rounds.
    """
    every = observation_layout(NORTH)
    named = tuple(every) if pieces is None else pieces or tuple(name for name in PIECES if name in every)
    layout = pieces_of(every, named)
    return GeneralInputs(
        layout=layout,
        num_state_inputs=layout.size + _SUMMARY + NUM_CARDS,
        num_action_inputs=NUM_ACTION_INPUTS,
        num_players=MAX_PLAYERS,
        num_rule_inputs=len(rule_inputs(NORTH, "payments")),
        num_rule_inputs_before=RULE_INPUTS_BEFORE,
        state_columns=cache(lambda rules: state_columns(rules, layout)),
        action_columns=action_columns,
        privileged_columns=privileged_columns,
        outcome_columns=outcome_columns,
        rule_inputs=rule_inputs,
        unseen_cards=lambda observation: unseen_cards(observation, layout),
    )
