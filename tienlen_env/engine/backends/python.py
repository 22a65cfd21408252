"""The loops over games, and the reference backend, which runs them as plain Python.

The loops are written once, as plain functions of arrays: other backends compile them. Here they get lists of
Python's numbers in place of arrays, which is slow and simple; every other backend gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, wraps
from inspect import signature
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_env.engine.backends.per_game import (
    REFUSED,
    Turn,
    advance,
    begin as begin_game,
    columns,
    is_refused,
    is_refused_with,
    kernels,
    legal,
    parts_of,
    play_alone,
)
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import (
    AnyArray,
    BoolArray,
    ByteOutput,
    FloatArray,
    IntArray,
    MaskOutput,
    RewardArray,
)
from tienlen_env.games.common.bits import as_output
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.hints import noinline, prefetch
from tienlen_env.games.common.specialise import each, specialise

# A processor loads short rows in time by itself. Long rows have columns that a step seldom reads, and there
# it waits for memory: so a step loads the first columns of the next game's row, which most steps read. Their
# number is constant, so that compiled code has no loop.
PREFETCHED: Final = 64
OVER: Final = int(Turn.OVER)
ASKED: Final = int(Turn.ASKED)


class Loops(NamedTuple):
    """A backend: loops over games that call the game's kernels. This module has each, for any game.

    Every loop takes the rows of a batch, its `KernelTables`, and arguments that `Batch` has checked: indices
    in range, arrays contiguous and of the stated shapes and dtypes. An empty output array means "not wanted".

    A mask or an observation of n items is written as n bytes, or, to an int64 array, in packed form: one bit
    an item, in ceil(n / 64) words (`tienlen_env.engine.packed`). The dtype of the array chooses the form.
    """

    begin: Callable[[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray], None]
    begin_round: Callable[[IntArray, IntArray, IntArray, IntArray], None]
    step: Callable[
        [IntArray, IntArray, IntArray, IntArray, IntArray, RewardArray, BoolArray, MaskOutput, ByteOutput,
         FloatArray, IntArray], int
    ]  # fmt: skip
    check: Callable[[IntArray, IntArray, IntArray, IntArray, IntArray], int]
    play_one: Callable[[IntArray, IntArray, IntArray, RewardArray, MaskOutput, ByteOutput, int], int]
    step_games: Callable[
        [IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, bool, bool, RewardArray, IntArray], int
    ]  # fmt: skip
    sample: Callable[[IntArray, IntArray, FloatArray, IntArray], None]
    write_masks: Callable[[IntArray, IntArray, MaskOutput], None]
    observe_seats: Callable[[IntArray, IntArray, IntArray, IntArray, ByteOutput], None]
    observe_all: Callable[[IntArray, IntArray, IntArray, ByteOutput], None]
    count_legal: Callable[[IntArray, IntArray, IntArray], None]
    list_legal: Callable[[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray], int]
    action_cards: Callable[[IntArray, IntArray, IntArray, IntArray], None]


# Apart, so that a step without exact cards stays as fast.
@noinline
def _check_cards(rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray) -> int:
    for b in range(len(rows)):
        if is_refused_with(rows[b], spec, actions, ids[b], cards[b]):
            return b
    return -1


def _check_actions(rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray) -> int:
    if len(cards) > 0:
        return _check_cards(rows, spec, actions, ids, cards)
    for b in range(len(rows)):
        if is_refused(rows[b], spec, ids[b]):
            return b
    return -1


def begin(
    rows: IntArray, spec: IntArray, actions: IntArray, keys: IntArray, rounds: IntArray,
    leaders: IntArray,
) -> None:  # fmt: skip
    """Start a game in every row from its key, int64 (B,) each; leader -1: as the rules say."""
    for b in range(len(rows)):
        begin_game(rows[b], spec, actions, keys[b], rounds[b], leaders[b])


def begin_round(rows: IntArray, spec: IntArray, actions: IntArray, leaders: IntArray) -> None:
    """Start a round from the hands in every row; leader -1: as the rules say."""
    for b in range(len(rows)):
        kernels.begin_round(rows[b], spec, leaders[b])
        kernels.update_legal(rows[b], spec, actions)


def step(
    rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray, rewards:
    RewardArray, dones: BoolArray, mask: MaskOutput, obs: ByteOutput, draws: FloatArray,
    next_ids: IntArray,
) -> int:  # fmt: skip
    """Play one action in every game.

    Args:
        rows: int64 (B, ROW), changed in place.
        spec: the variant.
        actions: its action table.
        ids: int64 (B,), a legal action a game; -1 for games that are over.
        cards: int64 (B,), the exact cards of the actions, or (0,) for the table's choice.
        rewards: float32 (B, P), overwritten with the rewards of this step.
        dones: bool (B,), overwritten: games that ended in this step.
        mask: int8 (B, A) or packed, overwritten with the next legal-action mask, or (0, A).
        obs: uint8 (B, O) or packed, overwritten with the next player's observation, or (0, O).
        draws: float64 (B,), draws in [0, 1) for `next_ids`, or (0,).
        next_ids: int64 (B,), overwritten with a uniform choice among the next legal actions, or (0,).

    Returns:
        -1, or the first game whose action is not legal, or not with its cards; then nothing has changed.
    """
    refused = _check_actions(rows, spec, actions, ids, cards)
    if refused >= 0:
        return refused
    last, size = len(rows) - 1, spec[S.ROW_SIZE]
    for b in range(len(rows)):
        row = rows[b]
        if size > PREFETCHED:
            for column in range(0, PREFETCHED, 8):
                prefetch(rows, min(b + 1, last), column)
        for seat in range(spec[S.NUM_PLAYERS]):
            rewards[b][seat] = 0
        dones[b] = False
        seat = row[columns.turn]
        if seat >= 0:
            action = ids[b]
            if len(cards) > 0:
                chosen = cards[b]
            else:
                chosen = kernels.action_cards(row[columns.hand + seat], actions, action)
            dones[b] = advance(row, spec, actions, action, chosen, rewards[b])
        if len(mask) > 0:
            legal.write_mask(row, spec, as_output(mask[b]), 0)
        if len(obs) > 0:
            kernels.observe(row, spec, actions, row[columns.turn], as_output(obs[b]), 0)
        if len(next_ids) > 0:
            next_ids[b] = legal.choose_legal(row, spec, draws[b])
    return -1


def check(rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray) -> int:
    """What `step` returns, without a step."""
    return _check_actions(rows, spec, actions, ids, cards)


def play_one(
    row: IntArray, spec: IntArray, actions: IntArray, rewards: RewardArray, mask: MaskOutput,
    obs: ByteOutput, action: int,
) -> int:  # fmt: skip
    """Play one action in one game, for callers that have a single one and count the microseconds.

    Args:
        row: int64 (ROW,), changed in place.
        spec: the variant.
        actions: its action table.
        rewards: float32 (P,), overwritten with the rewards of this step.
        mask: int8 (A,), overwritten with the next legal-action mask.
        obs: uint8 (O,), overwritten with the next player's observation.
        action: an action id.

    Returns:
        `REFUSED` if the action is not legal; then nothing has changed. Else the next seat to act, or
        `FINISHED`, plus `PAID` if some reward is not zero.
    """
    seat = row[columns.turn]
    if seat < 0 or not legal.is_legal(row, spec, action):
        return REFUSED
    cards = kernels.action_cards(row[columns.hand + seat], actions, action)
    found = play_alone(row, spec, actions, action, cards, rewards)
    legal.write_mask(row, spec, mask, 0)
    kernels.observe(row, spec, actions, row[columns.turn], obs, 0)
    return found


def step_games(
    rows: IntArray, spec: IntArray, actions: IntArray, games: IntArray, ids: IntArray, seats:
    IntArray, skip_forced: bool, until_placed: bool, rewards: RewardArray, turns: IntArray,
) -> int:  # fmt: skip
    """Play one action in some games, and on through decisions with a single legal action.

    One seat a game is of interest: its own decisions are played on through only if `skip_forced`.

    Args:
        rows: int64 (B, ROW), changed in place.
        spec: the variant.
        actions: its action table.
        games: int64 (n,), which games, none of them twice.
        ids: int64 (n,), an action for each.
        seats: int64 (B,), the seat of interest in every game, -1 for none.
        skip_forced: its decisions with a single legal action are played, too.
        until_placed: stop a game when the seat of interest has its place.
        rewards: float32 (B, P); the rewards of this step are added to it.
        turns: int64 (n,), overwritten: the seat that is to move, `Turn.ASKED` where that is the seat of
            interest, `Turn.OVER` for games that are over or stopped.

    Returns:
        -1, or the first index of `games` whose action is not legal; then nothing has changed.
    """
    for i in range(len(games)):
        row = rows[games[i]]
        if row[columns.turn] < 0 or not legal.is_legal(row, spec, ids[i]):
            return i
    for i in range(len(games)):
        game, action = games[i], ids[i]
        row, seat = rows[game], seats[game]
        while True:
            cards = kernels.action_cards(row[columns.hand + row[columns.turn]], actions, action)
            kernels.play(row, spec, actions, action, cards, rewards[game])
            kernels.update_legal(row, spec, actions)
            turn = row[columns.turn]
            if turn < 0 or (until_placed and row[columns.place + seat] >= 0):
                turns[i] = OVER
                break
            is_forced = legal.num_legal(row, spec) == 1
            if turn == seat and not (skip_forced and is_forced):
                turns[i] = ASKED
                break
            if not is_forced:
                turns[i] = turn
                break
            action = legal.nth_legal(row, spec, 0)
    return -1


def sample(rows: IntArray, spec: IntArray, draws: FloatArray, out: IntArray) -> None:
    """Choose a legal action a game by uniform draws in [0, 1); -1 where no action is legal."""
    for b in range(len(rows)):
        out[b] = legal.choose_legal(rows[b], spec, draws[b])


def write_masks(rows: IntArray, spec: IntArray, out: MaskOutput) -> None:
    """Write the legal-action masks, int8 (B, A) or packed."""
    for b in range(len(rows)):
        legal.write_mask(rows[b], spec, as_output(out[b]), 0)


def observe_seats(
    rows: IntArray, spec: IntArray, actions: IntArray, seats: IntArray, out: ByteOutput
) -> None:
    """Write the observation of one seat a game, uint8 (B, O) or packed; zeros for seat -1."""
    for b in range(len(rows)):
        kernels.observe(rows[b], spec, actions, seats[b], as_output(out[b]), 0)


def observe_all(rows: IntArray, spec: IntArray, actions: IntArray, out: ByteOutput) -> None:
    """Write the global observations, uint8 (B, G) or packed."""
    for b in range(len(rows)):
        kernels.observe_all(rows[b], spec, actions, as_output(out[b]), 0)


def count_legal(rows: IntArray, spec: IntArray, out: IntArray) -> None:
    """Count the legal actions of every game, int64 (B,)."""
    for b in range(len(rows)):
        out[b] = legal.num_legal(rows[b], spec)


def list_legal(
    rows: IntArray, spec: IntArray, actions: IntArray, starts: IntArray, out_ids: IntArray,
    out_cards: IntArray,
) -> int:  # fmt: skip
    """List the legal actions and their cards; game b writes from index ``starts[b]``.

    Returns:
        The index behind the last one written.
    """
    end = 0
    for b in range(len(rows)):
        end = legal.list_legal(rows[b], spec, actions, out_ids, out_cards, starts[b])
    return end


def action_cards(rows: IntArray, actions: IntArray, ids: IntArray, out: IntArray) -> None:
    """Write the cards that an action would play in every game, int64 (B,) masks."""
    for b in range(len(rows)):
        out[b] = kernels.action_cards(rows[b][columns.hand + rows[b][columns.turn]], actions, ids[b])


@cache
def loops_of(game: AnyGame) -> Loops:
    """The loops over a game's kernels, as plain functions that can be compiled."""
    loops = Loops(
        begin, begin_round, step, check, play_one, step_games, sample, write_masks, observe_seats,
        observe_all, count_legal, list_legal, action_cards,
    )  # fmt: skip
    return specialise(loops, **parts_of(game))


WRITTEN: Final = {"rows", "row", "rewards", "dones", "turns", "next_ids"}
OUTPUTS: Final = {"mask", "obs", "out", "out_ids", "out_cards"}  # arrays that a loop writes and never reads


@lru_cache(maxsize=64)
def _list_of_bytes(data: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(data, np.int64).tolist()
    return numbers


def _as_list(name: str, array: AnyArray) -> Any:
    """An argument of a loop in plain Python; a table of the rules is converted once."""
    if name in OUTPUTS or not isinstance(array, np.ndarray):
        return array
    return _list_of_bytes(array.tobytes()) if name in ("spec", "actions") else array.tolist()


def _interpreted(loop: Callable[..., Any]) -> Callable[..., Any]:
    """A loop that gets lists in place of arrays, and whose changes are written back."""
    names = tuple(signature(loop).parameters)

    @wraps(loop)
    def run(*arrays: Any) -> Any:
        lists = list(map(_as_list, names, arrays))
        found = loop(*lists)
        for name, array, numbers in zip(names, arrays, lists, strict=True):
            if name in WRITTEN and len(array):
                array[...] = numbers
        return found

    return run


@cache
def python_loops(game: AnyGame) -> Loops:
    """The reference backend of a game."""
    return each(loops_of(game), _interpreted)
