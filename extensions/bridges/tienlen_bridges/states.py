"""Loops for callers that hold the states of games themselves, and that cannot be told of an error.

Every array has one row or one number a game, so that a caller passes buffers as they are (`envs.jax`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.per_game import advance, begin, columns, kernels, legal, parts_of
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import AnyArray, BoolArray, ByteOutput, IntArray, MaskOutput, RewardArray
from tienlen_env.games.common.bits import KEY_STEP, add, as_output
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.specialise import each, specialise


class StateLoops(NamedTuple):
    """Loops over a game's kernels; this module has each, for any game."""

    init: Callable[[IntArray, IntArray, IntArray, IntArray, MaskOutput, ByteOutput, IntArray], None]
    step: Callable[
        [IntArray, IntArray, IntArray, RewardArray, IntArray, RewardArray, BoolArray, MaskOutput, ByteOutput,
         IntArray], None
    ]  # fmt: skip
    sample: Callable[[IntArray, IntArray, IntArray, AnyArray, IntArray], None]


def init(
    spec: IntArray, actions: IntArray, keys: IntArray, rows: IntArray, mask: MaskOutput, obs: ByteOutput,
    turns: IntArray,
) -> None:  # fmt: skip
    """Deal every game.

    Args:
        spec: the variant.
        actions: its action table.
        keys: int64 (B, 1).
        rows: int64 (B, ROW), overwritten.
        mask: int8 (B, A), overwritten with the masks of legal actions.
        obs: uint8 (B, O), overwritten with the observations of the seats to act.
        turns: int32 (B,), overwritten with those seats.
    """
    for b in range(len(rows)):
        row = rows[b]
        for column in range(spec[S.ROW_SIZE]):
            row[column] = 0
        begin(row, spec, actions, keys[b][0], 0, -1)
        legal.write_mask(row, spec, as_output(mask[b]), 0)
        kernels.observe(row, spec, actions, row[columns.turn], as_output(obs[b]), 0)
        turns[b] = row[columns.turn]


def step(
    spec: IntArray, actions: IntArray, ids: IntArray, penalties: RewardArray, rows: IntArray,
    rewards: RewardArray, dones: BoolArray, mask: MaskOutput, obs: ByteOutput, turns: IntArray,
) -> None:  # fmt: skip
    """Play an action in every game; an illegal one ends the game, a game that is over stays as it is.

    Args:
        spec: the variant.
        actions: its action table.
        ids: int32 (B,), any numbers.
        penalties: float32 (B,), the reward of a seat for an illegal action; the others get 0.
        rows: int64 (B, ROW), changed in place.
        rewards: float32 (B, P), overwritten with the rewards of this step.
        dones: bool (B,), overwritten: games that ended in this step, or are over.
        mask: int8 (B, A), overwritten with the masks of legal actions; ones where a game is over.
        obs: uint8 (B, O), overwritten with the observations of the seats to act.
        turns: int32 (B,), overwritten with those seats; 0 where a game is over.
    """
    for b in range(len(rows)):
        row = rows[b]
        for seat in range(spec[S.NUM_PLAYERS]):
            rewards[b][seat] = 0
        seat, action, is_over = row[columns.turn], int(ids[b]), True
        if seat >= 0 and legal.is_legal(row, spec, action):
            cards = kernels.action_cards(row[columns.hand + seat], actions, action)
            is_over = advance(row, spec, actions, action, cards, rewards[b])
        elif seat >= 0:
            rewards[b][seat] = penalties[b]
            if spec[S.AUTO_RESET]:
                begin(row, spec, actions, add(row[columns.key], KEY_STEP), 0, -1)
            else:
                row[columns.turn] = -1
                kernels.update_legal(row, spec, actions)
        dones[b] = is_over
        kernels.observe(row, spec, actions, row[columns.turn], as_output(obs[b]), 0)
        turns[b] = max(row[columns.turn], 0)
        legal.write_mask(row, spec, as_output(mask[b]), 0)
        if row[columns.turn] < 0:
            for i in range(spec[S.NUM_ACTIONS]):
                mask[b][i] = 1


def sample(spec: IntArray, actions: IntArray, rows: IntArray, bits: AnyArray, out: IntArray) -> None:
    """Choose a uniform legal action a game by a uint32 draw, -1 where no action is legal."""
    for b in range(len(rows)):
        out[b] = legal.choose_legal(rows[b], spec, bits[b] / 4294967296.0)


@cache
def state_loops(game: AnyGame) -> StateLoops:
    """The loops over a game's kernels, compiled when first called."""
    return each(specialise(StateLoops(init, step, sample), **parts_of(game)), jit.loop)
