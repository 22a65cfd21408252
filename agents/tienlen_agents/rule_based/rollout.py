"""Rollouts of searches, for any game: one action, then a fixed policy until a seat's result is known.

The rollouts of training, whole rounds of self-play, are another module, `rollout` of the training package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tienlen_env.games.common.arrays import ActionFields, AnyArray, IntArray, Row, Spec
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.spec import NUM_ACTIONS, NUM_PLAYERS, REWARD, ROW_SIZE
from tienlen_env.games.common.specialise import GIVEN


class RolloutGame(NamedTuple):
    """A game and a policy for rollouts, as plain functions that `tienlen_env.engine.backends.jit` compiles.

    Attributes:
        play: the game's kernel ``play(row, spec, actions, action, cards, rewards)``.
        choose: ``choose(policy, spec, actions, row, ids, cards)``: update the legal actions of a row, write
            them and their cards to `ids` and `cards`, and return the index of the policy's choice.
        turn: column of the seat to act, below 0 when the game is over.
        place: column of seat 0's place, below 0 while it is open; the other seats' follow.
        plays_on: play to the end of the game, because a seat that has its place may still get rewards.
        late_reward: index of the only reward scheme under which that is so; -1 for none.
    """

    play: Callable[..., None]
    choose: Callable[..., int]
    turn: int
    place: int
    plays_on: bool = False
    late_reward: int = -1


class Rollout(NamedTuple):
    """Arrays of a rollout.

    Attributes:
        policy: what `RolloutGame.choose` reads besides the row: weights, or a stream of random numbers.
        spec: the variant.
        actions: its action table.
        row: int64 (ROW,), the state that moves.
        ids: int64 (A,), scratch.
        cards: int64 (A,), scratch.
        rewards: (P,), the sum of the rewards of the rollout.
    """

    policy: Any
    spec: Spec
    actions: ActionFields
    row: IntArray
    ids: IntArray
    cards: IntArray
    rewards: AnyArray


def new_rollout(policy: AnyArray, spec: IntArray, actions: IntArray) -> Rollout:
    """The arrays of a rollout of a variant."""
    ids, cards = np.zeros((2, int(spec[NUM_ACTIONS])), np.int64)
    row, rewards = np.zeros(int(spec[ROW_SIZE]), np.int64), np.zeros(int(spec[NUM_PLAYERS]))
    return Rollout(policy, spec, actions, row, ids, cards, rewards)


rollout_game: RolloutGame = GIVEN


def apply_to(
    source: Row, row: Row, num_columns: int, spec: Spec, actions: ActionFields, action: int, cards: int,
    rewards: AnyArray,
) -> None:  # fmt: skip
    """Write to `row` the state after an action in the state `source`; the legal actions are not updated.

    Only the first `num_columns` columns are copied. `rewards` (P,) gets the rewards of the action.
    """
    for column in range(num_columns):
        row[column] = source[column]
    for player in range(rewards.shape[0]):
        rewards[player] = 0
    rollout_game.play(row, spec, actions, action, cards, rewards)


@noinline
def play_out(line: Rollout, seat: int) -> None:
    """Play ``line.row`` on until `seat` has all its rewards, which are added to ``line.rewards``."""
    row = line.row
    to_the_end = rollout_game.plays_on or line.spec[REWARD] == rollout_game.late_reward
    while row[rollout_game.turn] >= 0 and (to_the_end or row[rollout_game.place + seat] < 0):
        index = rollout_game.choose(line.policy, line.spec, line.actions, row, line.ids, line.cards)
        rollout_game.play(row, line.spec, line.actions, line.ids[index], line.cards[index], line.rewards)


def rollout(line: Rollout, source: Row, num_columns: int, action: int, cards: int, seat: int) -> None:
    """Play an action in the state `source`, and then on by the policy until `seat` has its place."""
    apply_to(source, line.row, num_columns, line.spec, line.actions, action, cards, line.rewards)
    play_out(line, seat)
