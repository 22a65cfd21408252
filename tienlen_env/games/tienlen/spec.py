"""A variant flattened to two int64 arrays, the form that the kernels read.

`spec` holds the scalar settings and the small tables (where a group of actions begins, which groups beat a
class of tables); `actions` holds `ACTION_FIELDS` numbers an action. What beats what is in here, not in code.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, get_args

import numpy as np

from tienlen_env.errors import RulesError
from tienlen_env.games.common.arrays import Fields, IntArray
from tienlen_env.games.common.cards import RANK_OF_TWO
from tienlen_env.games.common.spec import (
    AUTO_RESET as AUTO_RESET,
    HEADER_SIZE,
    NUM_ACTIONS as NUM_ACTIONS,
    NUM_PLAYERS as NUM_PLAYERS,
    NUM_ROUNDS as NUM_ROUNDS,
    NUM_WORDS as NUM_WORDS,
    REWARD as REWARD,
    ROW_SIZE as ROW_SIZE,
    KernelTables,
    check_settings,
    num_words,
)
from tienlen_env.games.tienlen.actions import TienlenActionTable, build_action_table
from tienlen_env.games.tienlen.fields import NO_PAYMENTS
from tienlen_env.games.tienlen.layout import num_cards_left_bits, num_score_bits, observation_layout
from tienlen_env.games.tienlen.rules import QUAD, InstantWin, Prices, Rules, Shape
from tienlen_env.games.tienlen.state import DUTY_SIZE, LEGAL, PLAY_SUMMARY_SIZE, num_extra_columns

Reward = Literal["points", "zero_sum", "win", "cards", "payments"]

BEATERS_SIZE: Final = 24  # more than any variant has

setting = Fields(HEADER_SIZE)
NUM_HISTORY = setting()  # plays that the observation shows
OPENING_EVERY = setting()  # 1: the holder of the opening card leads every round (3.1)
OPENING_PLAY = setting()  # 0 free, 1 include, 2 alone
FLUSH_LOCK = setting()  # 1: a suited run locks the trick (RULES.md 3.4)
PASS_LOCK = setting()  # 1: who passed keeps passing until the table is cleared (1.7)
KNOCKOUT = setting()  # 0 none, 1 trick, 2 round
HEIR_LAST_LIVE = setting()  # 1: the last who has not passed leads for a winner that is out (1.14)
TARGET = setting()  # points that end a game, 0 for none
NUM_SCORE_BITS = setting()  # observation: bits of the unary score of a seat, 0 without a target
OBSERVATION_SIZE = setting()  # O, items of an observation
POINTS = setting(4)  # points of each place
POINTS_SUM = setting()  # their sum
RUN_TWOS = setting()  # 1: a run may end in a 2
SET_RUN_TWOS = setting()  # 1: a sequence of sets may
HISTORY = setting()  # column where the history begins
SEQUENCE_MIN = setting(4)  # fewest ranks of a sequence of this width (index width - 1), 0 for none
NUM_KEPT = setting()  # plays that are stored, no fewer than are shown
PLAY_SUMMARY = setting()  # column where the record begins, if plays are stored
GROUP_FIRST = setting(4 * 16 * 2)  # first action id of (width - 1, length, suited), -1 for none
GROUP_REJOIN = setting(4 * 16)  # 1 where a player who passed may still play the shape
BEATERS = setting(24 * BEATERS_SIZE)  # shapes that beat each class: width * 16 + length, 0 at the end
EXTRA = setting()  # column where the columns begin that only some variants have
HAS_OTHER_LEADS = setting()  # 1: `add_other_leads` may have something to do
HAS_OTHER_ANSWERS = setting()  # 1: `add_other_answers` is needed
PLAY_HAS_EFFECTS = setting()  # 1: `before_play` and `end_trick` have something to do
REJOIN_TWOS = setting()  # 1: only 2s in play reopen a trick to players who passed (3.6)
SUITS_BIND = setting()  # 1: combinations and answers are bound to suits (4.20, 4.21)
ROUND_END_FIRST = setting()  # 1: the first player out ends the round
LAST_TWO_ENDS = setting()  # 1: going out with a 2 ends the round, its player is last
DECLARE = setting()  # action id of the declaration of an instant win, -1 for none
INSTANT_WINS = setting(11)  # the kinds, strongest first, 1 + index in `InstantWin`; 0 ends the list
QUAD_IS_TWO_PAIRS = setting()  # 1: four of a rank count as two of six pairs
GROUP_BOMB = setting(4 * 16)  # 1 where a shape is a bomb
HAS_PAYMENTS = setting()  # 1: something is paid in this variant
PAY_PLACES = setting(2)  # units that the last pays the first, the last but one the second
PAY_CARD = setting()  # units for each card left, to the first
PAY_HELD_TWOS = setting(2)  # units for a black 2, a red 2 in hand
PAY_HELD_QUAD = setting()  # units for four of a rank in hand
PAY_HELD_RUN = setting(16)  # units for n pairs in a row in hand (index n)
QUADS_FIRST = setting()  # 1: quads in hand are counted first, then the dearest of the rest
HELD_TO_FIRST = setting()  # 1: the first gets what is paid for cards in hand; 0: the next better place
PAY_CONG = setting()  # units of a cóng player to the first, 0: there is no cóng
CONG_IS_OUT = setting()  # 1: a cóng player is out at once
CONG_HELD_IS_ADDED = setting()  # 1: a cóng player pays for 2s and bombs in hand besides
PAY_CHOP_TWOS = setting(2)  # units for a black 2, a red 2 that is chopped
PAY_CHOP = setting(4 * 16)  # units for a bomb that is beaten
EACH_PAYS = setting()  # 1: each chopped player pays its own; 0: the last one for all
CHOP_DOUBLES = setting()  # 1: each further chop in a trick costs twice as much as the one before
FOLLOW_IS_FREE = setting()  # 1: a bomb beaten by one of its own shape is free, unless it is a quad
NOBODY_PAYS = setting()  # 1: who is out when chopped does not pay
PAY_INSTANT = setting()  # units of each other player for an instant win
PAY_LAST_TWO = setting()  # units to each other player for each 2 in the last play
PAY_LAST_THREE = setting()  # units for the 3♠ as the last card, won or caught
DECK = setting()  # the cards in play (mask); all others are out of play from the deal on
CARDS_EACH = setting()  # cards dealt to each seat
PAY_FIRST = setting()  # units of each other seat to the first
LAST_CARD_DUTY = setting()  # 0 none, 1 highest, 2 pays
DUTY = setting()  # column where the columns of that duty begin
CARDS_LEFT_BITS = setting()  # observation: bits of the unary number of cards of a seat
SPEC_SIZE: Final = setting.size

# One action: `actions[action * ACTION_FIELDS + FIELD]`
field = Fields()
WIDTH = field()  # its cards of each rank, 0 for the pass
LENGTH = field()  # its consecutive ranks
TOP = field()  # its highest card (id)
NEED = field()  # its cards of each rank in 13 nibbles
SUITED = field()  # 0 suits do not matter, 1 must be mixed, 2 must be one suit; else the exact cards << 2
CLASS = field()  # 0: only its own shape beats it; 1..4: that many 2s; 5..: rung of the ladder
HAS_PRICE = field()  # 1: who beats it may be paid for a chop
REOPENS_TRICK = field()  # 1: a player who passed is offered the turn again, a bomb could beat it
TOP_CARD = field()  # the top card as a mask, 0 for the pass
SHAPE_BITS = field()  # observation: bit width - 1, and bit 3 + length; 0 for the pass
ACTION_FIELDS: Final = field.size


def build_spec(
    rules: Rules,
    *,
    num_rounds: int = 1,
    reward: str = "points",
    auto_reset: bool = False,
    history: int = 0,
    history_length: int = 0,
) -> KernelTables:
    """Flatten rules and episode settings for the kernels.

    Args:
        rules: the variant.
        num_rounds: rounds of a game; 0: to the target.
        reward: one of `Reward`; see `tienlen_env.envs.tienlen`.
        auto_reset: a game that ends is dealt anew.
        history: how many of the last plays the observation shows.
        history_length: number of past plays stored in the state; at least `history`. If it is above 0, the
            play summary is stored as well.

    Returns:
        ``(spec, actions)``: int64 (SPEC_SIZE,) and int64 (A * ACTION_FIELDS,), both read-only.

    Raises:
        ValueError: an unknown reward, or a history (or its length) outside 0..256.
        RulesError: the reward ``"payments"`` of rules without payments.
    """
    check_settings(reward, get_args(Reward), history, history_length)
    if reward == "payments" and not rules.has_payments:
        raise RulesError(f"reward='payments': the {rules.name} rules have no payments")
    return _tables(rules, num_rounds, reward, bool(auto_reset), history, history_length)


@lru_cache(maxsize=128)
def _tables(
    rules: Rules, num_rounds: int, reward: str, auto_reset: bool, history: int, history_length: int
) -> KernelTables:
    """See `build_spec`; it takes milliseconds, so that every batch of the same settings shares the arrays."""
    table = build_action_table(rules)
    words = num_words(table.num_actions)
    spec = np.zeros(SPEC_SIZE, np.int64)
    spec[NUM_PLAYERS] = rules.num_players
    spec[NUM_ACTIONS] = table.num_actions
    spec[NUM_WORDS] = words
    spec[NUM_HISTORY] = history
    spec[NUM_KEPT] = max(history, history_length)
    spec[EXTRA] = LEGAL + words + 1
    spec[PLAY_SUMMARY] = spec[EXTRA] + num_extra_columns(rules)
    spec[DUTY] = spec[PLAY_SUMMARY] - (DUTY_SIZE if rules.last_card_duty != "none" else 0)
    spec[HISTORY] = spec[PLAY_SUMMARY] + (PLAY_SUMMARY_SIZE if spec[NUM_KEPT] else 0)
    spec[ROW_SIZE] = spec[HISTORY] + spec[NUM_KEPT]
    spec[NUM_ROUNDS] = num_rounds
    spec[REWARD] = get_args(Reward).index(reward)
    spec[AUTO_RESET] = auto_reset
    spec[OPENING_EVERY] = rules.opening == "every"
    spec[OPENING_PLAY] = ("free", "include", "alone").index(rules.opening_play)
    spec[FLUSH_LOCK] = rules.flush_lock
    spec[PASS_LOCK] = rules.pass_lock
    spec[KNOCKOUT] = ("none", "trick", "round").index(rules.knockout)
    spec[HEIR_LAST_LIVE] = rules.heir == "last_live"
    spec[TARGET] = rules.target
    spec[NUM_SCORE_BITS] = num_score_bits(rules)
    spec[OBSERVATION_SIZE] = observation_layout(rules, history).size
    spec[POINTS : POINTS + rules.num_players] = rules.place_points
    spec[POINTS_SUM] = sum(rules.place_points)
    spec[RUN_TWOS] = rules.twos_allowed(1)
    spec[SET_RUN_TWOS] = rules.twos_allowed(2)
    for width in (1, 2, 3, 4):
        spec[SEQUENCE_MIN + width - 1] = rules.min_length(width)
    spec[GROUP_FIRST:GROUP_REJOIN] = -1
    for (shape, suited), ids in table.group.items():
        spec[GROUP_FIRST + (shape.width - 1) * 32 + shape.length * 2 + suited] = ids[0]
    rejoin = set(rules.with_longer(rules.rejoin))
    for shape in rejoin:
        spec[GROUP_REJOIN + (shape.width - 1) * 16 + shape.length] = 1
    for shape in rules.bombs:
        spec[GROUP_BOMB + (shape.width - 1) * 16 + shape.length] = 1
    _fill_special_rules(spec, rules, table)
    beaters = _beaters(rules)
    for index, shapes in beaters.items():
        codes = [s.width * 16 + s.length for s in shapes]
        at = BEATERS + index * BEATERS_SIZE
        spec[at : at + len(codes)] = codes

    actions = np.zeros((table.num_actions, ACTION_FIELDS), np.int64)
    actions[:, WIDTH] = table.width
    actions[:, LENGTH] = table.length
    actions[:, TOP] = table.top
    actions[:, NEED] = table.need
    actions[:, SUITED] = table.unsuited_mask + 2 * table.suited_mask
    if table.cards is not None:
        actions[:, SUITED] = table.cards << 2
    plays = table.width > 0  # neither the pass nor the declaration
    actions[plays, TOP_CARD] = np.int64(1) << table.top[plays]
    actions[plays, SHAPE_BITS] = (1 << (table.width[plays] - 1)) | (1 << (3 + table.length[plays]))
    for (shape, _), ids in table.group.items():
        for action in ids:
            is_twos = shape.length == 1 and int(table.top[action]) >> 2 == RANK_OF_TWO
            index = shape.width if is_twos else 5 + rules.rungs.index(shape) if shape in rules.rungs else 0
            actions[action, CLASS] = index
            price = PAY_CHOP_TWOS if is_twos else PAY_CHOP + (shape.width - 1) * 16 + shape.length
            actions[action, HAS_PRICE] = spec[price : price + 1 + is_twos].any()
            higher_same_shape = shape in rejoin and action != ids[-1]
            actions[action, REOPENS_TRICK] = higher_same_shape or any(
                s in rejoin for s in beaters.get(index, ())
            )
    spec.setflags(write=False)
    actions.setflags(write=False)
    return KernelTables(spec, actions.ravel())


def _fill_special_rules(spec: IntArray, rules: Rules, table: TienlenActionTable) -> None:
    """The settings of instant wins, payments and other ends of a round."""
    pay = rules.payments or NO_PAYMENTS
    spec[PLAY_HAS_EFFECTS] = (
        rules.knockout != "none" or rules.rejoin_twos or num_extra_columns(rules) >= DUTY_SIZE
    )
    is_bound = rules.last_card_duty == "highest"
    spec[HAS_OTHER_LEADS] = rules.suits_bind or is_bound or bool(rules.instant_wins)
    spec[HAS_OTHER_ANSWERS] = rules.suits_bind or is_bound
    spec[LAST_CARD_DUTY] = ("none", "highest", "pays").index(rules.last_card_duty)
    spec[REJOIN_TWOS] = rules.rejoin_twos
    spec[SUITS_BIND] = rules.suits_bind
    spec[ROUND_END_FIRST] = rules.round_end == "first"
    spec[LAST_TWO_ENDS] = rules.last_two == "ends"
    spec[DECLARE] = -1 if table.declare is None else table.declare
    kinds = [1 + get_args(InstantWin).index(kind) for kind in rules.instant_wins]
    spec[INSTANT_WINS : INSTANT_WINS + len(kinds)] = kinds
    spec[QUAD_IS_TWO_PAIRS] = rules.quad_is_two_pairs
    spec[HAS_PAYMENTS] = rules.has_payments
    spec[PAY_PLACES : PAY_PLACES + len(pay.pay_places)] = pay.pay_places
    spec[PAY_CARD] = pay.pay_card
    spec[PAY_HELD_TWOS : PAY_HELD_TWOS + 2] = pay.pay_held_twos
    for length in range(3, 14):
        spec[PAY_HELD_RUN + length] = _price(pay.pay_held_bombs, 2, length)
    spec[PAY_HELD_QUAD] = dict(pay.pay_held_bombs).get(QUAD, 0)
    spec[QUADS_FIRST] = pay.held_overlap == "quads_first" and spec[PAY_HELD_QUAD] > 0
    spec[HELD_TO_FIRST] = pay.held_to == "first"
    spec[PAY_CONG] = pay.pay_cong
    spec[CONG_IS_OUT] = rules.cong == "out"
    spec[CONG_HELD_IS_ADDED] = pay.cong_held == "added"
    spec[PAY_CHOP_TWOS : PAY_CHOP_TWOS + 2] = pay.pay_chop_twos
    for shape in rules.bombs:
        spec[PAY_CHOP + (shape.width - 1) * 16 + shape.length] = _price(pay.pay_chop_bombs, *shape)
    spec[EACH_PAYS] = pay.chop_chain == "each"
    spec[CHOP_DOUBLES] = pay.chop_doubles
    spec[FOLLOW_IS_FREE] = pay.chop_follow == "free"
    spec[NOBODY_PAYS] = pay.chop_out == "nobody"
    spec[PAY_INSTANT] = pay.pay_instant
    spec[PAY_LAST_TWO] = pay.pay_last_two
    spec[PAY_LAST_THREE] = pay.pay_last_three
    spec[PAY_FIRST] = pay.pay_first
    spec[DECK] = rules.deck_mask
    spec[CARDS_EACH] = rules.cards_each
    spec[CARDS_LEFT_BITS] = num_cards_left_bits(rules)


def _price(prices: Prices, width: int, length: int) -> int:
    """The price of the longest shape of this width in the list that is no longer than this; 0 for none."""
    found = [(shape.length, units) for shape, units in prices if shape.width == width]
    return max((item for item in found if item[0] <= length), default=(0, 0))[1]


def _beaters(rules: Rules) -> dict[int, list[Shape]]:
    """Class of a table to the other shapes that beat it, in the order of their action ids."""
    beaters = {
        num_twos: [s for s in rules.with_longer(shapes) if s != Shape(num_twos, 1)]
        for num_twos, shapes in rules.chops
    }
    for rung in range(len(rules.rungs)):
        beaters[5 + rung] = list(rules.rungs[rung + 1 :])
    order = list(build_action_table(rules).group)
    return {k: sorted(v, key=lambda s: order.index((s, False))) for k, v in beaters.items()}
