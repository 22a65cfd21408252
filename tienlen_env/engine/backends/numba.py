"""The fast executor: compiled loops over games that call the games' own kernels.

Games are independent, so the loops give the same bits as `backends.python`, in any number of threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace

from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.per_game import per_game
from tienlen_env.engine.backends.protocol import FINISHED, PAID, REFUSED, Turn
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import (
    BoolArray,
    ByteOutput,
    FloatArray,
    IntArray,
    MaskOutput,
    RewardArray,
)
from tienlen_env.games.common.bits import as_output
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.hints import noinline


@cache
def _loops(game: AnyGame) -> SimpleNamespace:
    """All loops over a game's kernels, compiled when first called."""
    kernels, columns = game.kernels, game.columns
    begin_one, is_refused, is_refused_with, advance = per_game(game)
    begin_a_round, play = kernels.begin_round, kernels.play
    update_legal, cards_of = kernels.update_legal, kernels.action_cards
    observe, observe_everything = kernels.observe, kernels.observe_all
    _, is_legal, write_mask, num_legal, nth_legal, choose_legal, list_of_legal = kernels.legal
    TURN, HAND, PLACE = columns.turn, columns.hand, columns.place
    is_over, is_asked = int(Turn.OVER), int(Turn.ASKED)

    # Apart, so that a step without exact cards stays as fast.
    @noinline
    def check_cards(rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray) -> int:
        for b in range(rows.shape[0]):
            if is_refused_with(rows[b], spec, actions, ids[b], cards[b]):
                return b
        return -1

    # Two loops that several compiled functions share.
    def check_actions(
        rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray
    ) -> int:
        if cards.shape[0] > 0:
            return check_cards(rows, spec, actions, ids, cards)
        for b in range(rows.shape[0]):
            if is_refused(rows[b], spec, ids[b]):
                return b
        return -1

    def play_range(
        rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray,
        rewards: RewardArray, dones: BoolArray, mask: MaskOutput, obs: ByteOutput, draws: FloatArray,
        next_ids: IntArray, first: int, end: int,
    ) -> None:  # fmt: skip
        for b in range(first, end):
            row = rows[b]
            for seat in range(spec[S.NUM_PLAYERS]):
                rewards[b, seat] = 0
            dones[b] = False
            seat = row[TURN]
            if seat >= 0:
                action = ids[b]
                if cards.shape[0] > 0:
                    chosen = cards[b]
                else:
                    chosen = cards_of(row[HAND + seat], actions, action)
                dones[b] = advance(row, spec, actions, action, chosen, rewards[b])
            if mask.shape[0] > 0:
                write_mask(row, spec, as_output(mask[b]), 0)
            if obs.shape[0] > 0:
                observe(row, spec, actions, row[TURN], as_output(obs[b]), 0)
            if next_ids.shape[0] > 0:
                next_ids[b] = choose_legal(row, spec, draws[b])

    @jit.loop
    def begin(
        rows: IntArray, spec: IntArray, actions: IntArray, keys: IntArray, rounds: IntArray,
        leaders: IntArray,
    ) -> None:  # fmt: skip
        for b in range(rows.shape[0]):
            begin_one(rows[b], spec, actions, keys[b], rounds[b], leaders[b])

    @jit.loop
    def step(
        rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray, rewards:
        RewardArray, dones: BoolArray, mask: MaskOutput, obs: ByteOutput, draws: FloatArray,
        next_ids: IntArray,
    ) -> int:  # fmt: skip
        refused = check_actions(rows, spec, actions, ids, cards)
        if refused < 0:
            play_range(
                rows, spec, actions, ids, cards, rewards, dones, mask, obs, draws, next_ids,
                0, rows.shape[0],
            )  # fmt: skip
        return refused

    @jit.loop
    def first_refused(
        rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray
    ) -> int:
        return check_actions(rows, spec, actions, ids, cards)

    @jit.loop
    def step_range(
        rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray, rewards:
        RewardArray, dones: BoolArray, mask: MaskOutput, obs: ByteOutput, draws: FloatArray,
        next_ids: IntArray, first: int, end: int,
    ) -> None:  # fmt: skip
        play_range(
            rows, spec, actions, ids, cards, rewards, dones, mask, obs, draws, next_ids, first, end,
        )  # fmt: skip

    @jit.loop
    def sample(rows: IntArray, spec: IntArray, draws: FloatArray, out: IntArray) -> None:
        for b in range(rows.shape[0]):
            out[b] = choose_legal(rows[b], spec, draws[b])

    @jit.loop
    def begin_round(rows: IntArray, spec: IntArray, actions: IntArray, leaders: IntArray) -> None:
        for b in range(rows.shape[0]):
            begin_a_round(rows[b], spec, leaders[b])
            update_legal(rows[b], spec, actions)

    @jit.loop
    def write_masks(rows: IntArray, spec: IntArray, out: MaskOutput) -> None:
        for b in range(rows.shape[0]):
            write_mask(rows[b], spec, as_output(out[b]), 0)

    @jit.loop
    def observe_seats(
        rows: IntArray, spec: IntArray, actions: IntArray, seats: IntArray, out: ByteOutput,
    ) -> None:  # fmt: skip
        for b in range(rows.shape[0]):
            observe(rows[b], spec, actions, seats[b], as_output(out[b]), 0)

    @jit.loop
    def observe_all(rows: IntArray, spec: IntArray, actions: IntArray, out: ByteOutput) -> None:
        for b in range(rows.shape[0]):
            observe_everything(rows[b], spec, actions, as_output(out[b]), 0)

    @jit.loop
    def count_legal(rows: IntArray, spec: IntArray, out: IntArray) -> None:
        for b in range(rows.shape[0]):
            out[b] = num_legal(rows[b], spec)

    @jit.loop
    def list_legal(
        rows: IntArray, spec: IntArray, actions: IntArray, starts: IntArray, ids: IntArray, cards:
        IntArray,
    ) -> int:  # fmt: skip
        end = 0
        for b in range(rows.shape[0]):
            end = list_of_legal(rows[b], spec, actions, ids, cards, starts[b])
        return end

    @jit.loop
    def action_cards(rows: IntArray, actions: IntArray, ids: IntArray, out: IntArray) -> None:
        for b in range(rows.shape[0]):
            out[b] = cards_of(rows[b, HAND + rows[b, TURN]], actions, ids[b])

    @jit.loop
    def play_one(
        row: IntArray, spec: IntArray, actions: IntArray, rewards: RewardArray, mask: MaskOutput,
        obs: ByteOutput, action: int,
    ) -> int:  # fmt: skip
        seat = row[TURN]
        if seat < 0 or not is_legal(row, spec, action):
            return REFUSED
        num_players = spec[S.NUM_PLAYERS]
        for i in range(num_players):
            rewards[i] = 0
        cards = cards_of(row[HAND + seat], actions, action)
        play(row, spec, actions, action, cards, rewards)
        update_legal(row, spec, actions)
        write_mask(row, spec, mask, 0)
        seat = row[TURN]
        observe(row, spec, actions, seat, obs, 0)
        is_paid = 0
        for i in range(num_players):
            if rewards[i] != 0:
                is_paid = PAID
        return is_paid + (FINISHED if seat < 0 else seat)

    @jit.loop
    def step_games(
        rows: IntArray, spec: IntArray, actions: IntArray, games: IntArray, ids: IntArray, seats:
        IntArray, skip_forced: bool, until_placed: bool, rewards: RewardArray, turns: IntArray,
    ) -> int:  # fmt: skip
        for i in range(games.shape[0]):
            row = rows[games[i]]
            if row[TURN] < 0 or not is_legal(row, spec, ids[i]):
                return i
        for i in range(games.shape[0]):
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

    return SimpleNamespace(
        begin=begin,
        step=step,
        first_refused=first_refused,
        step_range=step_range,
        sample=sample,
        play_one=play_one,
        step_games=step_games,
        begin_round=begin_round,
        write_masks=write_masks,
        observe_seats=observe_seats,
        observe_all=observe_all,
        count_legal=count_legal,
        list_legal=list_legal,
        action_cards=action_cards,
    )


class NumbaBackend:
    """Compiled loops over games; see `PythonBackend` for what each does.

    With threads, each takes the next stretch of the games until none is left, so that one which wakes late
    or shares its core costs little. They are plain Python threads on code that holds no lock; unlike OpenMP's
    they do not spin while other work has the processor, do not meet torch's own, and a forked child
    can start new ones.
    """

    name = "numba"

    def __init__(self, game: AnyGame, threads: int = 1) -> None:
        self.threads = threads
        self._game = game
        # Attributes instead of methods: a call of a compiled loop costs nothing more.
        self.__dict__.update(_loops(game).__dict__)
        if threads > 1:
            self.__dict__["step"] = self._step_in_threads

    def _step_in_threads(
        self,
        rows: IntArray,
        spec: IntArray,
        actions: IntArray,
        ids: IntArray,
        cards: IntArray,
        *outputs: object,
    ) -> int:
        loops = _loops(self._game)
        refused: int = loops.first_refused(rows, spec, actions, ids, cards)
        if refused < 0:
            num_games = len(rows)
            size = -(-num_games // (4 * self.threads))
            starts = iter(range(0, num_games, size))

            def work() -> None:
                for first in starts:
                    loops.step_range(
                        rows, spec, actions, ids, cards, *outputs, first, min(first + size, num_games)
                    )

            others = [_pool(self.threads).submit(work) for _ in range(self.threads - 1)]
            work()
            for other in others:
                if not other.cancel():  # one that has not even woken up has nothing left to do
                    other.result()
        return refused


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="batch")


# A forked child has the pools of its parent without their threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
