"""High Card: a whole game in one file, as another package would add it (docs/extending.md).

Each of 2 to 7 players gets five cards. In a trick everyone plays one card, in turn; the highest card wins the
trick, a point, and the lead. After five tricks the points decide the places, equal points by the seat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from tienlen_env.errors import RulesError
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import ActionFields, Fields, Output, Rewards, Row, Spec
from tienlen_env.games.common.bits import FULL, highest_index, write_bits
from tienlen_env.games.common.cards import CARD_TEXT
from tienlen_env.games.common.dealing import draw_cards, redeal_others
from tienlen_env.games.common.game import GameDefinition, GameText, Kernels, Layout, Refusal
from tienlen_env.games.common.legal import legal_kernels
from tienlen_env.games.common.rules import RulesBase, as_int
from tienlen_env.games.common.spec import KernelTables
from tienlen_env.games.common.state import Columns

NUM_SEATS, HAND_SIZE = 7, 5
REWARDS = ("points", "zero_sum")

# ---------------------------------------------------------------- rules and actions


@dataclass(frozen=True)
class HighCardRules(RulesBase):
    """The rules: only the number of players can be chosen."""

    num_players: int = 3
    target: int = 0

    def __post_init__(self) -> None:
        if not 2 <= as_int("num_players", self.num_players) <= NUM_SEATS:
            raise RulesError(f"num_players={self.num_players}: expected 2..{NUM_SEATS}")

    @cached_property
    def name(self) -> str:
        """The preset's name."""
        return "high_card" if replace(self, num_players=3) == HighCardRules() else f"custom-{self.digest()}"


class CardTable:
    """The actions: card c is action c."""

    num_actions = 52

    def text(self, action: int) -> str:
        """The card's name."""
        if not 0 <= action < 52:
            raise ValueError(f"action {action}: expected 0..51")
        return CARD_TEXT[action]


# ---------------------------------------------------------------- state and kernels

column = Fields()
HAND = column(NUM_SEATS)  # cards in each seat's hand (mask)
PLAYED = column(NUM_SEATS)  # cards played by each seat (mask)
SCORE = column(NUM_SEATS)  # tricks taken
PLACE = column(NUM_SEATS)  # place at the end, -1 before
KEY = column()  # of the deal
ROUND = column()
TURN = column()  # seat to act, -1 when the game is over
BEST = column()  # the highest card of the trick, -1 before the lead
WINNER = column()  # who played it
NUM_IN_TRICK = column()
LEGAL = column()  # the packed legal-action mask
ROW_SIZE = column.size
HIDDEN = (*range(HAND, HAND + NUM_SEATS), KEY)


def begin_game(row: Row, spec: Spec, key: int, game_round: int, leader: int) -> None:
    """Deal five cards to each seat."""
    row[KEY], row[ROUND] = key, game_round
    dealt = 0
    for seat in range(spec[S.NUM_PLAYERS]):
        row[HAND + seat] = draw_cards(FULL & ~dealt, HAND_SIZE, key, game_round, HAND_SIZE * seat)
        dealt |= row[HAND + seat]
    begin_round(row, spec, leader)


def begin_round(row: Row, spec: Spec, leader: int) -> None:
    """Start a round of the hands in the row; seat 0 leads unless another is given."""
    for seat in range(NUM_SEATS):
        row[PLAYED + seat], row[SCORE + seat], row[PLACE + seat] = 0, 0, -1
    row[TURN] = max(leader, 0)
    row[BEST], row[WINNER], row[NUM_IN_TRICK] = -1, -1, 0


def update_legal(row: Row, spec: Spec, actions: ActionFields) -> None:
    """Every card of the hand may be played."""
    row[LEGAL] = row[HAND + row[TURN]] if row[TURN] >= 0 else 0


def action_cards(hand: int, actions: ActionFields, action: int) -> int:
    """The card of an action."""
    return (1 << action) & hand


def play(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards) -> None:
    """Play a card; the last one of a trick decides it."""
    seat, num_players = row[TURN], spec[S.NUM_PLAYERS]
    row[HAND + seat] &= ~cards
    row[PLAYED + seat] |= cards
    if highest_index(cards) > row[BEST]:
        row[BEST], row[WINNER] = highest_index(cards), seat
    row[NUM_IN_TRICK] += 1
    row[TURN] = (seat + 1) % num_players
    if row[NUM_IN_TRICK] == num_players:
        winner = row[WINNER]
        row[SCORE + winner] += 1
        for other in range(num_players):
            # With zero_sum the mean of all seats is taken off.
            share = spec[S.REWARD] / num_players
            rewards[other] += (1.0 if other == winner else 0.0) - share
        row[TURN], row[BEST], row[NUM_IN_TRICK] = winner, -1, 0
        if row[HAND + winner] == 0:
            end_round(row, num_players)


def end_round(row: Row, num_players: int) -> None:
    """Settle the places by points, equal points by seat."""
    for seat in range(num_players):
        place = 0
        for other in range(num_players):
            ahead = row[SCORE + other] > row[SCORE + seat]
            equal = row[SCORE + other] == row[SCORE + seat]
            place += 1 if ahead or (equal and other < seat) else 0
        row[PLACE + seat] = place
    row[TURN] = -1


def observe(row: Row, spec: Spec, actions: ActionFields, seat: int, out: Output, start: int) -> None:
    """Write the own hand, everyone's played cards and points, relative to the observer."""
    num_players = spec[S.NUM_PLAYERS]
    write_bits(out, start, row[HAND + seat] if seat >= 0 else 0, 52)
    for i in range(num_players):
        other = (seat + i) % num_players
        at = start + 52 + (52 + HAND_SIZE) * i
        write_bits(out, at, row[PLAYED + other] if seat >= 0 else 0, 52)
        write_bits(out, at + 52, (1 << row[SCORE + other]) - 1 if seat >= 0 else 0, HAND_SIZE)


def observe_all(row: Row, spec: Spec, actions: ActionFields, out: Output, start: int) -> None:
    """Write the observation of seat 0, the turn, and the other hands."""
    num_players = spec[S.NUM_PLAYERS]
    observe(row, spec, actions, 0, out, start)
    at = start + 52 + (52 + HAND_SIZE) * num_players
    write_bits(out, at, 1 << row[TURN] if row[TURN] >= 0 else 0, num_players)
    for seat in range(1, num_players):
        write_bits(out, at + num_players + 52 * (seat - 1), row[HAND + seat], 52)


def resample_hidden(row: Row, spec: Spec, seat: int, key: int) -> None:
    """Deal the cards that a seat cannot see anew."""
    seen = row[HAND + seat]
    for other in range(spec[S.NUM_PLAYERS]):
        seen |= row[PLAYED + other]
    redeal_others(row, HAND, spec[S.NUM_PLAYERS], seat, FULL & ~seen, key)


# ---------------------------------------------------------------- the game


@lru_cache
def observation(rules: HighCardRules, history: int = 0) -> Layout:
    """The pieces of the observation."""
    return Layout(
        [
            ("hand", (52,), "own cards, by card id"),
            (
                "seats",
                (rules.num_players, 52 + HAND_SIZE),
                "played cards of each seat, its points in unary",
            ),
        ]
    )


def global_observation_size(rules: HighCardRules, history: int = 0) -> int:
    """The length of what `observe_all` writes."""
    return observation(rules).size + rules.num_players + 52 * (rules.num_players - 1)


def build_spec(
    rules: HighCardRules,
    *,
    num_rounds: int = 1,
    reward: str = "points",
    auto_reset: bool = False,
    history: int = 0,
    history_length: int = 0,
) -> KernelTables:
    """Flatten the settings for the kernels; nothing is needed beyond the header."""
    S.check_settings(reward, REWARDS)
    if num_rounds != 1:
        raise ValueError(f"num_rounds={num_rounds}: expected 1, a game is one round")
    if history:
        raise ValueError(f"history={history}: expected 0, the observation shows all that was played")
    spec = np.zeros(S.HEADER_SIZE, np.int64)
    spec[S.NUM_PLAYERS], spec[S.NUM_ACTIONS], spec[S.NUM_WORDS] = rules.num_players, 52, 1
    spec[S.ROW_SIZE], spec[S.REWARD], spec[S.AUTO_RESET] = ROW_SIZE, REWARDS.index(reward), auto_reset
    return KernelTables(spec, np.zeros(1, np.int64))


def why_refused(table: CardTable, row: Row, action: int, cards: int | None = None) -> Refusal:
    """Why a card cannot be played."""
    return Refusal("the game is over" if row[TURN] < 0 else "not in the hand")


PRESETS: Mapping[str, HighCardRules] = {"high_card": HighCardRules()}

HIGH_CARD = GameDefinition[HighCardRules, CardTable](
    name="high_card",
    rules_type=HighCardRules,
    presets=PRESETS,
    rewards=REWARDS,
    columns=Columns(HAND, PLACE, SCORE, TURN, KEY, ROUND, LEGAL, HIDDEN, PLAYED),
    kernels=Kernels(
        begin_game=begin_game,
        begin_round=begin_round,
        update_legal=update_legal,
        action_cards=action_cards,
        play=play,
        observe=observe,
        observe_all=observe_all,
        legal=legal_kernels(turn=TURN, hand=HAND, legal=LEGAL, action_cards=action_cards),
        resample_hidden=resample_hidden,
    ),
    build_spec=build_spec,
    build_table=lambda rules: CardTable(),
    observation=observation,
    global_observation_size=global_observation_size,
    text=GameText(worst_reward=lambda rules, reward: -float(HAND_SIZE), why_refused=why_refused),
)
