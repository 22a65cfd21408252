"""The loops over games, and the reference executor, which runs them as plain Python.

The loops are written once, as plain functions of arrays: other executors compile them. Here they get lists of
Python's numbers in place of arrays, which is slow and simple; every other executor gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, wraps
from inspect import signature
from typing import Any, Final

import numpy as np

from tienlen_env.engine.backends.per_game import REFUSED, Turn, per_game
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

# A processor loads short rows in time by itself. Long rows have columns that a step seldom reads, and there
# it waits for memory: so a step loads the first columns of the next game's row, which most steps read. Their
# number is constant, so that compiled code has no loop.
PREFETCHED: Final = 64


@dataclass(frozen=True)
class Loops:
    """An executor: loops over games that call the game's kernels.

    Every loop takes the rows of a batch, its `KernelTables`, and arguments that `Batch` has checked: indices
    in range, arrays contiguous and of the stated shapes and dtypes. An empty output array means "not wanted".

    A mask or an observation of n items is written as n bytes, or, to an int64 array, in packed form: one bit
    an item, in ceil(n / 64) words (`tienlen_env.engine.packed`). The dtype of the array chooses the form.

    Attributes:
        begin: ``(rows, spec, actions, keys, rounds, leaders)``: start a game in every row from its key;
            leader -1: as the rules say.
        begin_round: ``(rows, spec, actions, leaders)``: start a round from the hands in every row.
        step: play one action in every game, see `loops_of`.
        check: ``(rows, spec, actions, ids, cards)``: what `step` returns, without a step.
        play_one: play one action in one game, see `loops_of`.
        step_games: play on in some games, see `loops_of`.
        sample: ``(rows, spec, draws, out)``: choose a legal action a game by uniform draws in [0, 1); -1
            where no action is legal.
        write_masks: ``(rows, spec, out)``: write the legal-action masks, int8 (B, A) or packed.
        observe_seats: ``(rows, spec, actions, seats, out)``: write the observation of one seat a game, uint8
            (B, O) or packed; zeros for seat -1.
        observe_all: ``(rows, spec, actions, out)``: write the global observations, uint8 (B, G) or packed.
        count_legal: ``(rows, spec, out)``: count the legal actions of every game, int64 (B,).
        list_legal: ``(rows, spec, actions, starts, out_ids, out_cards)``: list legal actions and their cards;
            game b writes from index ``starts[b]``. Returns the index behind the last one written.
        action_cards: ``(rows, actions, ids, out)``: the cards that an action would play in every game, int64
            (B,) masks.
    """

    begin: Callable[..., None]
    begin_round: Callable[..., None]
    step: Callable[..., int]
    check: Callable[..., int]
    play_one: Callable[..., int]
    step_games: Callable[..., int]
    sample: Callable[..., None]
    write_masks: Callable[..., None]
    observe_seats: Callable[..., None]
    observe_all: Callable[..., None]
    count_legal: Callable[..., None]
    list_legal: Callable[..., int]
    action_cards: Callable[..., None]


@cache
def loops_of(game: AnyGame) -> Loops:
    """The loops over a game's kernels, as plain functions that can be compiled."""
    kernels, columns = game.kernels, game.columns
    begin_one, is_refused, is_refused_with, advance, play_alone = per_game(game)
    begin_a_round, play = kernels.begin_round, kernels.play
    update_legal, cards_of = kernels.update_legal, kernels.action_cards
    observe, observe_everything = kernels.observe, kernels.observe_all
    _, is_legal, write_mask, num_legal, nth_legal, choose_legal, list_of_legal = kernels.legal
    TURN, HAND, PLACE = columns.turn, columns.hand, columns.place
    is_over, is_asked = int(Turn.OVER), int(Turn.ASKED)

    # Apart, so that a step without exact cards stays as fast.
    @noinline
    def check_cards(rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray) -> int:
        for b in range(len(rows)):
            if is_refused_with(rows[b], spec, actions, ids[b], cards[b]):
                return b
        return -1

    def check_actions(
        rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray
    ) -> int:
        if len(cards) > 0:
            return check_cards(rows, spec, actions, ids, cards)
        for b in range(len(rows)):
            if is_refused(rows[b], spec, ids[b]):
                return b
        return -1

    def begin(
        rows: IntArray, spec: IntArray, actions: IntArray, keys: IntArray, rounds: IntArray,
        leaders: IntArray,
    ) -> None:  # fmt: skip
        for b in range(len(rows)):
            begin_one(rows[b], spec, actions, keys[b], rounds[b], leaders[b])

    def begin_round(rows: IntArray, spec: IntArray, actions: IntArray, leaders: IntArray) -> None:
        for b in range(len(rows)):
            begin_a_round(rows[b], spec, leaders[b])
            update_legal(rows[b], spec, actions)

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
        refused = check_actions(rows, spec, actions, ids, cards)
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
            seat = row[TURN]
            if seat >= 0:
                action = ids[b]
                if len(cards) > 0:
                    chosen = cards[b]
                else:
                    chosen = cards_of(row[HAND + seat], actions, action)
                dones[b] = advance(row, spec, actions, action, chosen, rewards[b])
            if len(mask) > 0:
                write_mask(row, spec, as_output(mask[b]), 0)
            if len(obs) > 0:
                observe(row, spec, actions, row[TURN], as_output(obs[b]), 0)
            if len(next_ids) > 0:
                next_ids[b] = choose_legal(row, spec, draws[b])
        return -1

    def check(rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray) -> int:
        return check_actions(rows, spec, actions, ids, cards)

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
        seat = row[TURN]
        if seat < 0 or not is_legal(row, spec, action):
            return REFUSED
        cards = cards_of(row[HAND + seat], actions, action)
        found = play_alone(row, spec, actions, action, cards, rewards)
        write_mask(row, spec, mask, 0)
        observe(row, spec, actions, row[TURN], obs, 0)
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
            if row[TURN] < 0 or not is_legal(row, spec, ids[i]):
                return i
        for i in range(len(games)):
            game, action = games[i], ids[i]
            row, seat = rows[game], seats[game]
            while True:
                cards = cards_of(row[HAND + row[TURN]], actions, action)
                play(row, spec, actions, action, cards, rewards[game])
                update_legal(row, spec, actions)
                turn = row[TURN]
                if turn < 0 or (until_placed and row[PLACE + seat] >= 0):
                    turns[i] = is_over
                    break
                is_forced = num_legal(row, spec) == 1
                if turn == seat and not (skip_forced and is_forced):
                    turns[i] = is_asked
                    break
                if not is_forced:
                    turns[i] = turn
                    break
                action = nth_legal(row, spec, 0)
        return -1

    def sample(rows: IntArray, spec: IntArray, draws: FloatArray, out: IntArray) -> None:
        for b in range(len(rows)):
            out[b] = choose_legal(rows[b], spec, draws[b])

    def write_masks(rows: IntArray, spec: IntArray, out: MaskOutput) -> None:
        for b in range(len(rows)):
            write_mask(rows[b], spec, as_output(out[b]), 0)

    def observe_seats(
        rows: IntArray, spec: IntArray, actions: IntArray, seats: IntArray, out: ByteOutput
    ) -> None:
        for b in range(len(rows)):
            observe(rows[b], spec, actions, seats[b], as_output(out[b]), 0)

    def observe_all(rows: IntArray, spec: IntArray, actions: IntArray, out: ByteOutput) -> None:
        for b in range(len(rows)):
            observe_everything(rows[b], spec, actions, as_output(out[b]), 0)

    def count_legal(rows: IntArray, spec: IntArray, out: IntArray) -> None:
        for b in range(len(rows)):
            out[b] = num_legal(rows[b], spec)

    def list_legal(
        rows: IntArray, spec: IntArray, actions: IntArray, starts: IntArray, out_ids: IntArray,
        out_cards: IntArray,
    ) -> int:  # fmt: skip
        end = 0
        for b in range(len(rows)):
            end = list_of_legal(rows[b], spec, actions, out_ids, out_cards, starts[b])
        return end

    def action_cards(rows: IntArray, actions: IntArray, ids: IntArray, out: IntArray) -> None:
        for b in range(len(rows)):
            out[b] = cards_of(rows[b][HAND + rows[b][TURN]], actions, ids[b])

    return Loops(
        begin, begin_round, step, check, play_one, step_games, sample, write_masks, observe_seats,
        observe_all, count_legal, list_legal, action_cards,
    )  # fmt: skip


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
    """The reference executor of a game."""
    return Loops(*map(_interpreted, vars(loops_of(game)).values()))
