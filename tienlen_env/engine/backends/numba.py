"""The fast executor: compiled loops over games that call the core's own functions.

Games are independent, so the loops give the same bits as `backends.python`, in any number of threads.

"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace
from typing import Any

from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.python import OVER, PAID
from tienlen_env.games.common import bits
from tienlen_env.games.common.game import Definition


@cache
def _loops(definition: Definition) -> SimpleNamespace:
    """All loops over a game's kernels, compiled when first called."""
    kernels, observe, R, S = definition.kernels, definition.observe, definition.state, definition.spec
    paid, over = PAID, OVER

    # Two loops that several compiled functions share.
    def check_actions(rows, spec, ids, cards):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            # A game that is over has no legal action, so most games are asked about a single column.
            if not kernels.is_legal(rows[b], spec, ids[b]):
                if ids[b] != -1 or rows[b, R.TURN] >= 0:
                    return b
            elif cards.shape[0] > 0 and not kernels.can_play_cards(rows[b], cards[b]):
                return b
        return -1

    def play_range(  # type: ignore[no-untyped-def]
        rows, spec, actions, ids, cards, rewards, dones, mask, obs, draws, next_ids, first, end,
    ):  # fmt: skip
        for b in range(first, end):
            row = rows[b]
            for seat in range(spec[S.NUM_PLAYERS]):
                rewards[b, seat] = 0
            dones[b] = False
            seat = row[R.TURN]
            if seat >= 0:
                action = ids[b]
                if cards.shape[0] > 0:
                    chosen = cards[b]
                else:
                    chosen = kernels.action_cards(row[R.HAND + seat], actions, action)
                kernels.play(row, spec, actions, action, chosen, rewards[b])
                if row[R.TURN] < 0:
                    dones[b] = True
                    if spec[S.AUTO_RESET]:
                        kernels.begin_game(row, spec, bits.add(row[R.KEY], kernels.KEY_STEP), 0, -1)
                kernels.update_legal(row, spec, actions)
            if mask.shape[0] > 0:
                kernels.write_mask(row, spec, mask[b], 0)
            if obs.shape[0] > 0:
                observe.observe(row, spec, actions, row[R.TURN], obs[b], 0)
            if next_ids.shape[0] > 0:
                next_ids[b] = kernels.choose_legal(row, spec, draws[b])

    @jit.loop
    def begin(rows, spec, actions, keys, rounds, leaders):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            kernels.begin_game(rows[b], spec, keys[b], rounds[b], leaders[b])
            kernels.update_legal(rows[b], spec, actions)

    @jit.loop
    def step(  # type: ignore[no-untyped-def]
        rows, spec, actions, ids, cards, rewards, dones, mask, obs, draws, next_ids
    ):
        refused = check_actions(rows, spec, ids, cards)
        if refused < 0:
            play_range(
                rows, spec, actions, ids, cards, rewards, dones, mask, obs, draws, next_ids,
                0, rows.shape[0],
            )  # fmt: skip
        return refused

    @jit.loop
    def first_refused(rows, spec, ids, cards):  # type: ignore[no-untyped-def]
        return check_actions(rows, spec, ids, cards)

    @jit.loop
    def step_range(  # type: ignore[no-untyped-def]
        rows, spec, actions, ids, cards, rewards, dones, mask, obs, draws, next_ids, first, end
    ):
        play_range(
            rows, spec, actions, ids, cards, rewards, dones, mask, obs, draws, next_ids, first, end,
        )  # fmt: skip

    @jit.loop
    def sample(rows, spec, draws, out):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            out[b] = kernels.choose_legal(rows[b], spec, draws[b])

    @jit.loop
    def begin_round(rows, spec, actions, leaders):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            kernels.begin_round(rows[b], spec, leaders[b])
            kernels.update_legal(rows[b], spec, actions)

    @jit.loop
    def write_masks(rows, spec, out):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            kernels.write_mask(rows[b], spec, out[b], 0)

    @jit.loop
    def observe_seats(rows, spec, actions, seats, out):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            observe.observe(rows[b], spec, actions, seats[b], out[b], 0)

    @jit.loop
    def observe_all(rows, spec, actions, out):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            observe.observe_all(rows[b], spec, actions, out[b], 0)

    @jit.loop
    def count_legal(rows, spec, out):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            out[b] = kernels.num_legal(rows[b], spec)

    @jit.loop
    def list_legal(rows, spec, actions, starts, ids, cards):  # type: ignore[no-untyped-def]
        end = 0
        for b in range(rows.shape[0]):
            end = kernels.list_legal(rows[b], spec, actions, ids, cards, starts[b])
        return end

    @jit.loop
    def action_cards(rows, actions, ids, out):  # type: ignore[no-untyped-def]
        for b in range(rows.shape[0]):
            out[b] = kernels.action_cards(rows[b, R.HAND + rows[b, R.TURN]], actions, ids[b])

    @jit.loop
    def play_one(row, spec, actions, action, rewards, mask, obs):  # type: ignore[no-untyped-def]
        seat = row[R.TURN]
        if seat < 0 or not kernels.is_legal(row, spec, action):
            return -1
        num_players = spec[S.NUM_PLAYERS]
        for i in range(num_players):
            rewards[i] = 0
        cards = kernels.action_cards(row[R.HAND + seat], actions, action)
        kernels.play(row, spec, actions, action, cards, rewards)
        kernels.update_legal(row, spec, actions)
        kernels.write_mask(row, spec, mask, 0)
        seat = row[R.TURN]
        observe.observe(row, spec, actions, seat, obs, 0)
        is_paid = 0
        for i in range(num_players):
            if rewards[i] != 0:
                is_paid = paid
        return is_paid + (over if seat < 0 else seat)

    @jit.loop
    def step_games(rows, spec, actions, games, ids, seats, skip, cut, rewards, turns):  # type: ignore[no-untyped-def]
        for i in range(games.shape[0]):
            row = rows[games[i]]
            if row[R.TURN] < 0 or not kernels.is_legal(row, spec, ids[i]):
                return i
        for i in range(games.shape[0]):
            game, action = games[i], ids[i]
            row, seat = rows[game], seats[game]
            while True:
                cards = kernels.action_cards(row[R.HAND + row[R.TURN]], actions, action)
                kernels.play(row, spec, actions, action, cards, rewards[game])
                kernels.update_legal(row, spec, actions)
                turn = row[R.TURN]
                if turn < 0 or (cut and row[R.PLACE + seat] >= 0):
                    turns[i] = -2
                    break
                is_forced = kernels.num_legal(row, spec) == 1
                if turn == seat and not (skip and is_forced):
                    turns[i] = -1
                    break
                if not is_forced:
                    turns[i] = turn
                    break
                action = kernels.nth_legal(row, spec, 0)
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
    """Loops over games, compiled; see `backends.python.PythonBackend` for what each does.

    With threads, each takes the next stretch of the games until none is left, so that one which wakes late
    or shares its core costs little. They are plain Python threads on code that holds no lock; unlike OpenMP's
    they do not spin while other work has the processor, do not meet torch's own, and a forked child
    can start new ones.
    """

    name = "numba"

    def __init__(self, definition: Definition, threads: int = 1) -> None:
        self.definition = definition
        self.threads = threads
        self.__dict__.update(_loops(definition).__dict__)
        if threads > 1:
            self.step = self._step_in_threads

    def _step_in_threads(
        self, rows: Any, spec: Any, actions: Any, ids: Any, cards: Any, *outputs: Any
    ) -> int:
        loops = _loops(self.definition)
        refused: int = loops.first_refused(rows, spec, ids, cards)
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
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="tienlen")


# A forked child has the pools of its parent without their threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
