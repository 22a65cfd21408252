"""A variant of Thirteens flattened to two int64 arrays, the form that the kernels read.

`spec` holds the scalar settings and what each thirteen needs; `actions` holds `ACTION_FIELDS` numbers an
action.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, get_args

import numpy as np

from tienlen_env.games.common.arrays import Fields
from tienlen_env.games.common.bits import LOWEST_SUIT
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
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.actions import MELDS, THIRTEENS, build_action_table
from tienlen_env.games.thirteens.cards import is_joker, strength
from tienlen_env.games.thirteens.rules import ThirteensRules

ThirteensReward = Literal["points", "zero_sum", "win"]

setting = Fields(HEADER_SIZE)
NUM_CARDS = setting()  # C = 52 + jokers
HAND_SIZE = setting()  # cards in a hand, tricks in a deal
HAS_DUMMY = setting()  # 1: a hand of the dummy is dealt (RULES.md 8.10)
MANUAL = setting()  # 1: the winner of a trick declares melds
TARGET = setting()  # points that end a game, 0 for none
FIRST_DRAWN = setting()  # 1: the first leader of a game is drawn from its key; 0: seat 0
ASIDE_JOKERS = setting()  # 1: jokers of the remainder cost, too
NUM_SCORE_BITS = setting()  # observation: bits of the unary score of a seat, 0 without a target
SCORE_STEP = setting()  # points a bit
NUM_UP_TO = setting(16)  # thirteens of at most n cards (index n)
NEEDS = setting(len(THIRTEENS))  # their needs (`melds`), fewest cards first, without the king alone
NEED_SIZES = setting(len(THIRTEENS))  # their numbers of cards
SPEC_SIZE: Final = setting.size

# One action: `actions[action * ACTION_FIELDS + FIELD]`
field = Fields()
KIND = field()  # lane of `state.COUNTS` of a meld, 0 for cards and the end
SUIT = field()  # all cards of the card's suit as a mask, 0 for jokers and melds
STRENGTH = field()  # of a card, `JOKER_STRENGTH` for jokers
NEED = field()  # of a meld: cards of each pip, 4 bits a pip; 0 for cards and the end
ACTION_FIELDS: Final = field.size
JOKER_STRENGTH: Final = 13


def build_spec(
    rules: ThirteensRules,
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
        num_rounds: deals of a game; 0: to the target (RULES.md 8.9).
        reward: ``"points"`` as they are scored, ``"zero_sum"`` the same less their mean over all seats,
            ``"win"`` at the end 1 to the first and -1 to the others.
        auto_reset: a game that ends is dealt anew.
        history: 0; the observation always shows the trick in order and who played what.
        history_length: ignored; the state holds the whole deal.

    Returns:
        ``(spec, actions)``: int64 (SPEC_SIZE,) and int64 (A * ACTION_FIELDS,), both read-only.

    Raises:
        ValueError: an unknown reward, or a history.
    """
    check_settings(reward, get_args(ThirteensReward), history_length=history_length)
    if isinstance(history, bool) or history != 0:
        raise ValueError(f"history={history!r}: expected 0, Thirteens always shows the trick in order")
    return _tables(rules, num_rounds, reward, bool(auto_reset))


@lru_cache(maxsize=128)
def _tables(rules: ThirteensRules, num_rounds: int, reward: str, auto_reset: bool) -> KernelTables:
    """See `build_spec`; every batch of the same settings shares the arrays."""
    table = build_action_table(rules)
    words = num_words(table.num_actions)
    spec = np.zeros(SPEC_SIZE, np.int64)
    spec[NUM_PLAYERS] = rules.num_players
    spec[NUM_ACTIONS] = table.num_actions
    spec[NUM_WORDS] = words
    spec[ROW_SIZE] = R.LEGAL + words
    spec[NUM_ROUNDS] = num_rounds
    spec[REWARD] = get_args(ThirteensReward).index(reward)
    spec[AUTO_RESET] = auto_reset
    spec[NUM_CARDS] = rules.num_cards
    spec[HAND_SIZE] = rules.hand_size
    spec[HAS_DUMMY] = rules.dummy
    spec[MANUAL] = rules.melding == "manual"
    spec[TARGET] = rules.target
    spec[FIRST_DRAWN] = rules.first_lead == "drawn"
    spec[ASIDE_JOKERS] = rules.aside_jokers
    spec[NUM_SCORE_BITS] = 60 if rules.target else 0
    spec[SCORE_STEP] = max(1, -(-rules.target // 50))
    thirteens = sorted((m for m in THIRTEENS if len(m.pips) > 1), key=lambda m: len(m.pips))
    for most in range(16):
        spec[NUM_UP_TO + most] = sum(len(m.pips) <= most for m in thirteens)
    spec[NEEDS : NEEDS + len(thirteens)] = [m.need for m in thirteens]
    spec[NEED_SIZES : NEED_SIZES + len(thirteens)] = [len(m.pips) for m in thirteens]

    actions = np.zeros((table.num_actions, ACTION_FIELDS), np.int64)
    for card in range(rules.num_cards):
        actions[card, SUIT] = 0 if is_joker(card) else LOWEST_SUIT << (card & 3)
        actions[card, STRENGTH] = JOKER_STRENGTH if is_joker(card) else strength(card)
    if table.melds:
        lanes = {"thirteen": R.THIRTEENS, "pair": R.PAIRS, "straight": R.STRAIGHTS}
        actions[rules.num_cards + 1 :, KIND] = [lanes[m.kind] for m in MELDS]
        actions[rules.num_cards + 1 :, NEED] = [m.need for m in MELDS]
    spec.setflags(write=False)
    actions.setflags(write=False)
    return KernelTables(spec, actions.ravel())
