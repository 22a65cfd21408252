"""Stairs: a whole climbing game in one file, with rounds, a history, a choice of cards, and payments.

Each of 2 to 4 players gets four cards of a deck of six ranks; the others are hidden. A trick is led with any
card and answered by a card of a higher rank, or by a pass of a seat that has none. When all others have
passed, the last to play leads again. Who is out first wins the round; fewer cards make the better place, and
each card left costs a unit to the winner. The winner leads the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tienlen_env.errors import RulesError, TienLenError
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import ActionFields, Fields, IntArray, Output, Rewards, Row, Spec
from tienlen_env.games.common.bits import lowest_index, popcount, write_bits
from tienlen_env.games.common.cards import RANK_TEXT
from tienlen_env.games.common.dealing import check_disjoint, draw_cards
from tienlen_env.games.common.game import (
    GameDefinition,
    GameText,
    Kernels,
    Layout,
    Payment,
    PaymentReader,
    Refusal,
)
from tienlen_env.games.common.legal import legal_kernels
from tienlen_env.games.common.rules import RulesBase, as_int
from tienlen_env.games.common.spec import KernelTables
from tienlen_env.games.common.state import HISTORY_SEAT_SHIFT, ClimbingState, Columns

NUM_SEATS, HAND_SIZE, NUM_RANKS = 4, 4, 6
DECK = (1 << 4 * NUM_RANKS) - 1
REWARDS = ("points", "zero_sum", "win", "payments")


@dataclass(frozen=True)
class StairsRules(RulesBase):
    """The rules: the number of players, the target, and units for a card."""

    num_players: int = 3
    target: int = 5
    unit: int = 1
    name = "stairs"

    def __post_init__(self) -> None:
        if not 2 <= as_int("num_players", self.num_players) <= NUM_SEATS:
            raise RulesError(f"num_players={self.num_players}: expected 2..{NUM_SEATS}")


class StairsTable:
    """The actions: the pass, and a card of each rank."""

    num_actions = 1 + NUM_RANKS

    def text(self, action: int) -> str:
        """``"pass"``, or the rank."""
        if not 0 <= action < self.num_actions:
            raise ValueError(f"action {action}: expected 0..{self.num_actions - 1}")
        return f"a {RANK_TEXT[action - 1]}" if action else "pass"


column = Fields()
HAND = column(NUM_SEATS)  # cards in each seat's hand (mask)
UNDEALT = column()  # cards in no hand (mask)
PLAYED = column(NUM_SEATS)  # cards played by each seat (mask)
SCORE = column(NUM_SEATS)  # points of the game
PLACE = column(NUM_SEATS)
MOST = column(NUM_SEATS)  # cards that a seat may hold for all that it has passed on (mask)
BALANCE = column(NUM_SEATS)  # units got in the game, less those that were paid
COST = column(NUM_SEATS)  # units paid in this round, or before its first play in the one that has just ended
KEY = column()
ROUND = column()
TURN = column()
TABLE = column()  # action on the table, 0 for none
TABLE_CARDS = column()
OWNER = column()  # who played it, -1 for nobody
PASSED = column()  # seat mask: passed in this trick
WINNER = column()  # of the round before, -1 for none
IS_NEW = column()  # 1: nothing has been played in this round
LEGAL = column()
HISTORY = column.size  # the last plays, the newest first
HIDDEN = (*range(HAND, UNDEALT + 1), KEY)

setting = Fields(S.HEADER_SIZE)
NUM_STORED = setting()  # plays in the row
NUM_SHOWN = setting()  # plays in the observation
TARGET = setting()
UNIT = setting()  # of payments, for a card


class StairsState(ClimbingState):
    """Named views of rows."""

    def __init__(self, rows: IntArray, columns: Columns, num_players: int, num_words: int) -> None:
        super().__init__(rows, columns, num_players, num_words)
        self.table = rows[:, TABLE]
        self.table_cards = rows[:, TABLE_CARDS]
        self.owner = rows[:, OWNER]
        self.passed = rows[:, PASSED]
        self.history = rows[:, HISTORY:]


def deal(row: Row, spec: Spec) -> None:
    """Deal the cards of a round."""
    row[UNDEALT] = DECK
    for seat in range(spec[S.NUM_PLAYERS]):
        row[HAND + seat] = draw_cards(row[UNDEALT], HAND_SIZE, row[KEY], row[ROUND], HAND_SIZE * seat)
        row[UNDEALT] &= ~row[HAND + seat]


def begin_game(row: Row, spec: Spec, key: int, game_round: int, leader: int) -> None:
    """Begin a game: no points, no payments."""
    row[KEY], row[ROUND], row[WINNER] = key, game_round, -1
    for seat in range(NUM_SEATS):
        row[SCORE + seat], row[BALANCE + seat] = 0, 0
    deal(row, spec)
    begin_round(row, spec, leader)


def begin_round(row: Row, spec: Spec, leader: int) -> None:
    """Begin a round of the hands in the row; without a leader the holder of the lowest card dealt leads."""
    lowest = 1 << 4 * NUM_RANKS
    for seat in range(spec[S.NUM_PLAYERS]):
        row[PLAYED + seat], row[PLACE + seat], row[MOST + seat] = 0, -1, DECK
        low = row[HAND + seat] & -row[HAND + seat]
        if low < lowest and (leader < 0 or lowest < 1 << 4 * NUM_RANKS):
            lowest, leader = low, seat
    for event in range(spec[NUM_STORED]):
        row[HISTORY + event] = 0
    row[IS_NEW] = 1
    clear_table(row, leader)


def clear_table(row: Row, leader: int) -> None:
    """Begin a trick."""
    row[TABLE], row[TABLE_CARDS], row[OWNER], row[PASSED], row[TURN] = 0, 0, -1, 0, leader


def higher_cards(row: Row) -> int:
    """The cards that beat the table (mask)."""
    return DECK & ~((1 << 4 * row[TABLE]) - 1)


def update_legal(row: Row, spec: Spec, actions: ActionFields) -> None:
    """A card of each rank that beats the table, or else the pass."""
    row[LEGAL] = 0
    if row[TURN] >= 0:
        rest = row[HAND + row[TURN]] & higher_cards(row)
        row[LEGAL] = 1 if rest == 0 else 0
        while rest != 0:
            rank = lowest_index(rest) >> 2
            row[LEGAL] |= 1 << rank + 1
            rest &= ~(15 << 4 * rank)


def action_cards(hand: int, actions: ActionFields, action: int) -> int:
    """The lowest card of the rank, none for the pass."""
    cards = hand & 15 << 4 * (action - 1) if action > 0 else 0
    return cards & -cards


def can_play_cards(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int) -> bool:
    """Any one card of the rank, none for the pass."""
    if action == 0:
        return bool(cards == 0)
    held = row[HAND + row[TURN]] & 15 << 4 * (action - 1)
    return bool(cards != 0 and cards & ~held == 0 and cards & cards - 1 == 0)


def play(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards) -> None:
    """Play a card, or pass."""
    seat, num_players = row[TURN], spec[S.NUM_PLAYERS]
    if row[IS_NEW]:
        row[IS_NEW] = 0
        for other in range(NUM_SEATS):
            row[COST + other] = 0
    for event in range(spec[NUM_STORED] - 1, 0, -1):
        row[HISTORY + event] = row[HISTORY + event - 1]
    if spec[NUM_STORED] > 0:
        row[HISTORY] = cards | 1 + seat << HISTORY_SEAT_SHIFT
    if action == 0:
        row[PASSED] |= 1 << seat
        row[MOST + seat] &= ~higher_cards(row)
    else:
        row[HAND + seat] &= ~cards
        row[PLAYED + seat] |= cards
        row[TABLE], row[TABLE_CARDS], row[OWNER] = action, cards, seat
        if row[HAND + seat] == 0:
            end_round(row, spec, seat, rewards)
            return
    row[TURN] = (seat + 1) % num_players
    while row[PASSED] >> row[TURN] & 1:
        row[TURN] = (row[TURN] + 1) % num_players
    if row[TURN] == row[OWNER]:
        clear_table(row, row[OWNER])


def end_round(row: Row, spec: Spec, winner: int, rewards: Rewards) -> None:
    """Settle places, points and payments; deal again or end the game."""
    num_players, best, num_best, total = spec[S.NUM_PLAYERS], 0, 0, 0
    for seat in range(num_players):
        place = 0
        for other in range(num_players):
            place += 1 if popcount(row[HAND + other]) < popcount(row[HAND + seat]) else 0
        row[PLACE + seat] = place
        points = num_players - 1 - place
        total += points
        row[SCORE + seat] += points
        best = max(best, row[SCORE + seat])
        row[COST + seat] = spec[UNIT] * popcount(row[HAND + seat])
        row[BALANCE + seat] -= row[COST + seat]
        row[BALANCE + winner] += row[COST + seat]
        if spec[S.REWARD] == 0:
            rewards[seat] += points
        elif spec[S.REWARD] == 2:
            rewards[seat] += 1 if place == 0 else -1
        elif spec[S.REWARD] == 3:
            rewards[seat] -= row[COST + seat]
            rewards[winner] += row[COST + seat]
    for seat in range(num_players):
        num_best += 1 if row[SCORE + seat] == best else 0
        if spec[S.REWARD] == 1:  # in one addition, so that float32 and float64 agree
            rewards[seat] += num_players - 1 - row[PLACE + seat] - total / num_players
    row[WINNER] = winner
    is_short = spec[S.NUM_ROUNDS] == 0 and (best < spec[TARGET] or num_best > 1)
    if row[ROUND] + 1 < spec[S.NUM_ROUNDS] or is_short:
        row[ROUND] += 1
        deal(row, spec)
        begin_round(row, spec, winner)
    else:
        row[TURN] = -1


def observe(row: Row, spec: Spec, actions: ActionFields, seat: int, out: Output, start: int) -> None:
    """Write the own hand, and of each seat its plays, cards, pass and play on the table, then the history."""
    num_players, at = spec[S.NUM_PLAYERS], start + 4 * NUM_RANKS
    write_bits(out, start, row[HAND + seat] if seat >= 0 else 0, 4 * NUM_RANKS)
    for i in range(num_players):
        other = (seat + i) % num_players
        write_bits(out, at, row[PLAYED + other] if seat >= 0 else 0, 4 * NUM_RANKS)
        num_left = popcount(row[HAND + other]) if seat >= 0 else 0
        write_bits(out, at + 4 * NUM_RANKS, (1 << num_left) - 1, HAND_SIZE)
        write_bits(out, at + 4 * NUM_RANKS + HAND_SIZE, row[PASSED] >> other & 1 if seat >= 0 else 0, 1)
        on_table = row[TABLE_CARDS] if seat >= 0 and row[OWNER] == other else 0
        write_bits(out, at + 4 * NUM_RANKS + HAND_SIZE + 1, on_table, 4 * NUM_RANKS)
        at += 8 * NUM_RANKS + HAND_SIZE + 1
    for event in range(spec[NUM_SHOWN]):
        stored = row[HISTORY + event] if seat >= 0 else 0
        write_bits(out, at, stored, 4 * NUM_RANKS)
        who = ((stored >> HISTORY_SEAT_SHIFT) - 1 - seat) % num_players
        write_bits(out, at + 4 * NUM_RANKS, 1 << who if stored > 0 else 0, num_players)
        at += 4 * NUM_RANKS + num_players


def observe_all(row: Row, spec: Spec, actions: ActionFields, out: Output, start: int) -> None:
    """Write the other hands, and then what seat 0 sees."""
    num_others = spec[S.NUM_PLAYERS] - 1
    for other in range(num_others):
        write_bits(out, start + 4 * NUM_RANKS * other, row[HAND + 1 + other], 4 * NUM_RANKS)
    observe(row, spec, actions, 0, out, start + 4 * NUM_RANKS * num_others)


def resample_hidden(row: Row, spec: Spec, seat: int, key: int) -> None:
    """Deal the hidden cards anew, uniformly; a seat gets no card that it would have had to play.

    What seats may hold is nested, so that a hand with the fewest possible cards is drawn first.
    """
    num_players, rest = spec[S.NUM_PLAYERS], DECK & ~row[HAND + seat]
    for other in range(num_players):
        rest &= ~row[PLAYED + other]
    is_dealt, block = 1 << seat, 0
    for _ in range(num_players - 1):
        least = -1
        for other in range(num_players):
            if not is_dealt >> other & 1 and (least < 0 or row[MOST + other] < row[MOST + least]):
                least = other
        size = popcount(row[HAND + least])
        row[HAND + least] = draw_cards(rest & row[MOST + least], size, key, 0, block)
        rest &= ~row[HAND + least]
        is_dealt |= 1 << least
        block += size
    row[UNDEALT], row[KEY] = rest, key


@lru_cache
def observation(rules: StairsRules, history: int = 0) -> Layout:
    """The pieces of the observation."""
    p, cards = rules.num_players, 4 * NUM_RANKS
    seat = "plays of each seat, its cards left in unary, whether it has passed, its play on the table"
    return Layout(
        [
            ("hand", (cards,), "own cards, by card id"),
            ("seats", (p, 2 * cards + HAND_SIZE + 1), seat),
            ("history", (history, cards + p), "last plays, newest first: the card, and who"),
        ]
    )


def build_spec(
    rules: StairsRules,
    *,
    num_rounds: int = 1,
    reward: str = "points",
    auto_reset: bool = False,
    history: int = 0,
    history_length: int = 0,
) -> KernelTables:
    """Flatten rules and settings."""
    S.check_settings(reward, REWARDS, history, history_length)
    spec = np.zeros(setting.size, np.int64)
    spec[S.NUM_PLAYERS], spec[S.NUM_ACTIONS], spec[S.NUM_WORDS] = rules.num_players, 1 + NUM_RANKS, 1
    spec[S.NUM_ROUNDS], spec[S.REWARD], spec[S.AUTO_RESET] = num_rounds, REWARDS.index(reward), auto_reset
    spec[NUM_SHOWN], spec[NUM_STORED] = history, max(history, history_length)
    spec[TARGET], spec[UNIT] = rules.target, rules.unit
    spec[S.ROW_SIZE] = HISTORY + spec[NUM_STORED]
    return KernelTables(spec, np.zeros(1, np.int64))


def set_hands(
    rows: IntArray,
    rules: StairsRules,
    hands: IntArray,
    extra: Mapping[str, IntArray],
    begin: Callable[[], None],
) -> None:
    """Begin a round of given hands in every row."""
    union = check_disjoint(hands, 4 * NUM_RANKS)
    if (hands == 0).any():
        raise TienLenError("hands: expected a card in each")
    rows[:] = 0
    rows[:, HAND : HAND + hands.shape[1]] = hands
    rows[:, UNDEALT], rows[:, WINNER] = DECK & ~union, -1
    begin()


def booked(row: Sequence[int], spec: Spec) -> list[Payment]:
    """What was paid for the round that has just ended."""
    seats = range(spec[S.NUM_PLAYERS])
    return [Payment(seat, row[WINNER], row[COST + seat], "cards") for seat in seats if row[COST + seat]]


def forget(rows: IntArray, spec: Spec) -> None:
    """Forget the payments of a round that has ended."""
    rows[:, COST : COST + NUM_SEATS] = 0


def why_refused(table: StairsTable, row: Sequence[int], action: int, cards: int | None = None) -> Refusal:
    """Why a play is not legal."""
    if cards is not None and row[LEGAL] >> action & 1:
        return Refusal("not a card of this rank in the hand")
    return Refusal(
        "a seat that can beat the table may not pass" if action == 0 else "does not beat the table"
    )


STAIRS = GameDefinition[StairsRules, StairsTable](
    name="stairs",
    rules_type=StairsRules,
    presets={"stairs": StairsRules()},
    rewards=REWARDS,
    columns=Columns(HAND, PLACE, SCORE, TURN, KEY, ROUND, LEGAL, HIDDEN, PLAYED),
    state=StairsState,
    kernels=Kernels(
        begin_game=begin_game,
        begin_round=begin_round,
        update_legal=update_legal,
        can_play_cards=can_play_cards,
        action_cards=action_cards,
        play=play,
        observe=observe,
        observe_all=observe_all,
        legal=legal_kernels(turn=TURN, hand=HAND, legal=LEGAL, action_cards=action_cards),
        resample_hidden=resample_hidden,
    ),
    build_spec=build_spec,
    build_table=lambda rules: StairsTable(),
    observation=observation,
    global_observation_size=lambda rules, history: (
        observation(rules, history).size + 4 * NUM_RANKS * (rules.num_players - 1)
    ),
    text=GameText(
        worst_reward=lambda rules, reward: {"points": 0.0, "payments": -4.0 * rules.unit}.get(reward, -2.0),
        why_refused=why_refused,
        describe=lambda table, row: f"table: {table.text(row[TABLE]) if row[TABLE] else 'empty'}",
        play_text=lambda table, action, cards: table.text(action),
        causes={"cards": "cards in hand"},
    ),
    set_hands=set_hands,
    has_history=True,
    payments=PaymentReader(
        exist=lambda rules: rules.unit > 0,
        booked=booked,
        owed=lambda row, spec: [],
        balances=lambda spec: BALANCE,
        forget=forget,
    ),
    max_decisions=lambda rules: HAND_SIZE * rules.num_players**2,
)
