"""What every executor does with one game, made of the game's kernels: plain functions of one row.

Also the numbers that loops over games return.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple

from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import ActionFields, Rewards, Row, Spec
from tienlen_env.games.common.bits import KEY_STEP, add
from tienlen_env.games.common.game import AnyGame

# `play_one` returns one number: `REFUSED`, or the next seat (below 8) or `FINISHED`, plus `PAID` if it paid.
REFUSED: Final = -1
PAID: Final = 8
FINISHED: Final = 16


class Turn(IntEnum):
    """The values that stand where a seat would.

    Attributes:
        OVER: no seat acts, the game is over (or stopped, see `Batch.step_games`).
        ASKED: the seat of interest must decide (see `Batch.step_games`).
    """

    OVER = -1
    ASKED = -2


class PerGame(NamedTuple):
    """Functions of one game.

    Attributes:
        begin: ``(row, spec, actions, key, round, leader)``: start a game; leader -1: by the rules.
        is_refused: ``(row, spec, action)``: whether the action cannot be played; in a game that is over only
            -1 can.
        is_refused_with: ``(row, spec, actions, action, cards)``: the same for an action with exact cards.
            They are not read in a game that is over.
        advance: ``(row, spec, actions, action, cards, rewards)``: play a legal action with `cards`, add
            its rewards, and deal anew if the game is over and the variant says so. Returns whether it was
            over.
        play_alone: with the arguments of `advance`: play a legal action, and overwrite the rewards. Returns
            the next seat to act, or `FINISHED`, plus `PAID` if some reward is not zero.
    """

    begin: Callable[[Row, Spec, ActionFields, int, int, int], None]
    is_refused: Callable[[Row, Spec, int], bool]
    is_refused_with: Callable[[Row, Spec, ActionFields, int, int], bool]
    advance: Callable[[Row, Spec, ActionFields, int, int, Rewards], bool]
    play_alone: Callable[[Row, Spec, ActionFields, int, int, Rewards], int]


@cache
def per_game(game: AnyGame) -> PerGame:
    """The functions of a game."""
    kernels = game.kernels
    begin_game, play, update_legal = kernels.begin_game, kernels.play, kernels.update_legal
    is_legal = kernels.legal.is_legal
    action_cards, can_play_cards = kernels.action_cards, kernels.can_play_cards
    TURN, KEY, HAND = game.columns.turn, game.columns.key, game.columns.hand

    def begin(row: Row, spec: Spec, actions: ActionFields, key: int, game_round: int, leader: int) -> None:
        begin_game(row, spec, key, game_round, leader)
        update_legal(row, spec, actions)

    def is_refused(row: Row, spec: Spec, action: int) -> bool:
        # A game that is over has no legal action, so for most games one column is read.
        if is_legal(row, spec, action):
            return False
        return bool(action != -1 or row[TURN] >= 0)

    def is_refused_with(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int) -> bool:
        if is_legal(row, spec, action):
            return not can_play(row, spec, actions, action, cards)
        return bool(action != -1 or row[TURN] >= 0)

    def plays_its_own(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int) -> bool:
        return bool(cards == action_cards(row[HAND + row[TURN]], actions, action))

    can_play = plays_its_own if can_play_cards is None else can_play_cards

    def advance(
        row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards
    ) -> bool:
        play(row, spec, actions, action, cards, rewards)
        is_over = row[TURN] < 0
        if is_over and spec[S.AUTO_RESET]:
            begin_game(row, spec, add(row[KEY], KEY_STEP), 0, -1)
        update_legal(row, spec, actions)
        return bool(is_over)

    def play_alone(
        row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards
    ) -> int:
        num_players = spec[S.NUM_PLAYERS]
        for i in range(num_players):
            rewards[i] = 0
        play(row, spec, actions, action, cards, rewards)
        update_legal(row, spec, actions)
        is_paid = 0
        for i in range(num_players):
            if rewards[i] != 0:
                is_paid = PAID
        return is_paid + (FINISHED if row[TURN] < 0 else row[TURN])

    return PerGame(begin, is_refused, is_refused_with, advance, play_alone)
