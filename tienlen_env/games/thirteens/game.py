"""Thirteens as a `GameDefinition`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, get_args

import numpy as np

from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import IntArray, Row, Spec
from tienlen_env.games.common.bits import popcount
from tienlen_env.games.common.cards import SUIT_NAME, SUIT_TEXT
from tienlen_env.games.common.dealing import BEYOND_DECK, TWO_HANDS, check_disjoint
from tienlen_env.games.common.facts import Fact
from tienlen_env.games.common.game import GameDefinition, GameText, Kernels, Refusal
from tienlen_env.games.thirteens import actions, kernels, notation, observe, spec as S, state
from tienlen_env.games.thirteens.actions import ThirteensActionTable
from tienlen_env.games.thirteens.cards import (
    CARD_TEXT,
    NUM_PLAIN,
    format_cards,
    full_deck,
    is_joker,
    parse_cards,
    suit_of,
)
from tienlen_env.games.thirteens.rules import PRESETS, ThirteensRules
from tienlen_env.games.thirteens.spec import ThirteensReward, build_spec
from tienlen_env.games.thirteens.state import COLUMNS, ThirteensState

_MOST_MELDED: Final = 84  # the pips of the deck make 28 thirteens
# The cards of the trick in the order of play, the seats that led it and are winning it, the cards beside it;
# the suit that must be led, in the first trick; the cards to meld; what was taken last, its winner; tricks
# and points of this deal.
FACTS: Final = (
    Fact("trick", "order", state.TRICK),
    Fact("leader", "seat", state.LEADER),
    Fact("winner", "optional_seat", state.WINNER),
    Fact("aside", "cards", state.ASIDE),
    Fact("starter", "suit", state.FOLLOW, unless=(state.TRICK, state.PILE)),
    Fact("pile", "cards", state.PILE),
    Fact("last_winner", "optional_seat", state.LAST_WINNER),
    Fact("last_pile", "cards", state.LAST_PILE),
    Fact("tricks", "each_bits", state.COUNTS, bits=8),
    Fact("points", "each_bits", state.POINTS),
)


HAND_FAULTS: Final = (
    "",
    TWO_HANDS,
    "hands: expected equally many cards in each, 1 to {most}",
    "dummy: expected as many cards as in a hand",
    "dummy: expected no cards",
    "remainder: expected at most {most} cards",
    "starter: expected one card of the remainder, if there is one",
    BEYOND_DECK,
)


def set_hands(
    rows: IntArray,
    rules: ThirteensRules,
    hands: IntArray,
    extra: Mapping[str, IntArray],
    begin: Callable[[], None],
) -> None:
    """Start a deal in every row, or the end of one: with n cards in each hand its last n tricks.

    Cards that are not given count as shown, as if they had been played.

    Args:
        rows: int64 (B, ROW), the states.
        rules: the variant.
        hands: int64 (B, P), masks of equally many cards.
        extra: int64 (B,) masks each: ``dummy``, the dummy's hand, with as many cards as others (RULES.md
            8.10); ``remainder``, the cards that go with the first trick, no more than the rules set aside
            (8.2, 8.7); ``starter``, the card of the remainder that was flipped first (8.3).
        begin: lets the backend begin a deal of the hands in the rows.

    Raises:
        TienLenError: an impossible card distribution; nothing has changed.
    """
    dummy, remainder, starter = extra["dummy"], extra["remainder"], extra["starter"]
    union = check_disjoint(np.column_stack([hands, dummy, remainder]), rules.num_cards)
    sizes = np.bitwise_count(hands)
    if (sizes != sizes[:, :1]).any() or (sizes < 1).any() or (sizes > rules.hand_size).any():
        raise TienLenError(HAND_FAULTS[2].format(most=rules.hand_size))
    if (np.bitwise_count(dummy) != sizes[:, 0] * rules.dummy).any():
        raise TienLenError(HAND_FAULTS[3 if rules.dummy else 4])
    if (np.bitwise_count(remainder) > rules.num_aside).any():
        raise TienLenError(HAND_FAULTS[5].format(most=rules.num_aside))
    if ((np.bitwise_count(starter) != (remainder != 0)) | (starter & ~remainder != 0)).any():
        raise TienLenError(HAND_FAULTS[6])
    rows[:] = 0
    rows[:, state.HAND : state.HAND + hands.shape[1]] = hands
    rows[:, state.DUMMY], rows[:, state.REMAINDER], rows[:, state.STARTER] = dummy, remainder, starter
    begin()
    rows[:, state.SHOWN] |= full_deck(rules.jokers) & ~union
    rows[:, state.NUM_TRICKS] = rules.hand_size - np.bitwise_count(hands[:, 0])


def begin_hands(row: Row, spec: Spec, hands: Row, leader: int) -> int:
    """`set_hands` of one row of zeros, a kernel: see `GameDefinition.begin_hands`."""
    num_players, size = spec[S.NUM_PLAYERS], popcount(hands[0])
    dummy, remainder, starter = hands[num_players], hands[num_players + 1], hands[num_players + 2]
    union, fault = 0, 0 if 1 <= size <= spec[S.HAND_SIZE] else 2
    for i in range(num_players + 2):
        if union & hands[i] != 0:
            fault = 1
        elif fault == 0 and i < num_players and popcount(hands[i]) != size:
            fault = 2
        union |= hands[i]
    num_aside = spec[S.NUM_CARDS] - spec[S.HAND_SIZE] * (num_players + spec[S.HAS_DUMMY])
    most = spec[S.HAND_SIZE]
    if union >> spec[S.NUM_CARDS] != 0:
        fault, most = 7, spec[S.NUM_CARDS]
    elif fault != 0:
        pass
    elif popcount(dummy) != size * spec[S.HAS_DUMMY]:
        fault = 3 if spec[S.HAS_DUMMY] else 4
    elif popcount(remainder) > num_aside:
        fault, most = 5, num_aside
    elif popcount(starter) != (1 if remainder != 0 else 0) or starter & ~remainder != 0:
        fault = 6
    if fault != 0:
        hands[0], hands[1] = 0, most
        return fault
    for seat in range(num_players):
        row[state.HAND + seat] = hands[seat]
    row[state.DUMMY], row[state.REMAINDER], row[state.STARTER] = dummy, remainder, starter
    kernels.begin_round(row, spec, leader)
    row[state.SHOWN] |= ((1 << spec[S.NUM_CARDS]) - 1) & ~union
    row[state.NUM_TRICKS] = spec[S.HAND_SIZE] - size
    return 0


# ---------------------------------------------------------------- texts


def why_refused(
    table: ThirteensActionTable, row: Sequence[int], action: int, cards: int | None = None
) -> Refusal:
    """Why a play is not legal, with the clause of RULES.md that it breaks.

    Args:
        table: the actions.
        row: the game (`tienlen_env.games.thirteens.state`); the play is not legal there.
        action: the id of an action.
        cards: the cards given with it, any number; None for its own.
    """
    seat, pile = row[state.TURN], row[state.PILE]
    if seat < 0:
        return Refusal("the game is over", "8.9")
    if cards is not None and row[state.LEGAL + (action >> 6)] >> (action & 63) & 1:
        return Refusal("an action plays its one card, or none", "8.13")
    if pile:
        if action < table.num_cards:
            return Refusal("the trick is to be melded before the next lead", "8.8")
        return Refusal(f"{format_cards(pile)} does not hold it", "8.8")
    if action >= table.num_cards:
        return Refusal("only the winner of a trick melds, at once", "8.8")
    if not row[state.HAND + seat] >> action & 1:
        return Refusal("not in the hand", "8.5")
    suit = SUIT_NAME[suit_of(row[state.FOLLOW])]
    if row[state.TRICK] == 0:
        return Refusal(f"the starter suit, {suit}, must be led if held", "8.4")
    kind = "no joker" if is_joker(action) else "no other suit"
    return Refusal(f"{suit} were led and must be followed if held, {kind}", "8.5")


def describe(table: ThirteensActionTable, row: Sequence[int]) -> str:
    """The position of the seat to act in a few words: ``"trick: 7s Kd; hand: As 3d *1"``."""
    codes = [row[state.TRICK] >> 6 * i & 63 for i in range(table.rules.num_players)]
    trick = " ".join(CARD_TEXT[code - 1] for code in codes if code) or "none"
    text = f"trick: {trick}"
    if row[state.PILE]:
        text += f"; to meld: {format_cards(row[state.PILE])}"
    elif row[state.TRICK] == 0 and row[state.FOLLOW]:
        text += f"; starter suit: {SUIT_TEXT[suit_of(row[state.FOLLOW])]}"
    return f"{text}; hand: {format_cards(row[state.HAND + row[state.TURN]])}"


def worst_reward(rules: ThirteensRules, reward: str) -> float:
    """A lower bound of the reward of legal play of a deal: all jokers in one's only trick."""
    points = 1.0 - 4 * rules.jokers
    most = rules.hand_size + _MOST_MELDED + 3 * rules.num_players
    return {"points": points, "zero_sum": points - most / rules.num_players, "win": -1.0}[reward]


THIRTEENS: Final = GameDefinition[ThirteensRules, ThirteensActionTable](
    name="thirteens",
    rules_type=ThirteensRules,
    presets=PRESETS,
    rewards=get_args(ThirteensReward),
    columns=COLUMNS,
    state=ThirteensState,
    kernels=Kernels(
        begin_game=kernels.begin_game,
        begin_round=kernels.begin_round,
        update_legal=kernels.update_legal,
        action_cards=kernels.action_cards,
        play=kernels.play,
        observe=observe.observe,
        observe_all=observe.observe_all,
        legal=kernels.LEGAL_KERNELS,
        resample_hidden=kernels.resample_hidden,
    ),
    build_spec=build_spec,
    build_table=actions.build_action_table,
    observation=observe.observation_layout,
    global_observation_size=observe.global_observation_size,
    text=GameText(
        worst_reward=worst_reward,
        why_refused=why_refused,
        describe=describe,
        parse_cards=parse_cards,
        format_cards=format_cards,
        play_text=lambda table, action, cards: notation.NOTATION.play_text(table.rules, action),
        facts=FACTS,
        unit="deal",
    ),
    # Each card is played once, and a meld takes two or more of a trick, which then may be ended (8.8, 8.11).
    max_decisions=lambda rules: 2 * (NUM_PLAIN + rules.jokers),
    set_hands=set_hands,
    begin_hands=begin_hands,
    hand_faults=HAND_FAULTS,
    extra_hands=("dummy", "remainder", "starter"),
)
