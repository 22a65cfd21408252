"""The loops for callers that hold states themselves: beside `Batch`, compiled and in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tienlen_bridges.states import state_loops
from tienlen_env.engine.backends.jit import as_ints
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.bits import KEY_STEP
from tienlen_env.games.registry import get_rules

NUM_GAMES = 3


def compiled(loop: Any) -> Callable[..., None]:
    run: Callable[..., None] = loop
    return run


def in_plain_python(loop: Any) -> Callable[..., None]:
    return lambda *arguments: loop.py_func(*map(as_ints, arguments))


class States:
    """The states of some games, played by the loops."""

    def __init__(self, batch: Batch, run: Callable[[Any], Callable[..., None]]) -> None:
        self.loops, self.run = state_loops(batch.game), run
        self.tables = batch.variant.spec, batch.variant.actions
        self.rows = np.zeros((NUM_GAMES, batch.variant.row_size), np.int64)
        self.mask = np.zeros((NUM_GAMES, batch.num_actions), np.int8)
        self.observation = np.zeros((NUM_GAMES, batch.observation_size), np.uint8)
        self.turns = np.zeros(NUM_GAMES, np.int32)
        self.rewards = np.zeros((NUM_GAMES, batch.num_players), np.float32)
        self.dones = np.zeros(NUM_GAMES, np.bool_)
        self.seen = self.mask, self.observation, self.turns

    def init(self, keys: Any) -> None:
        self.run(self.loops.init)(*self.tables, np.array(keys).reshape(-1, 1), self.rows, *self.seen)

    def step(self, ids: Any) -> None:
        penalties = np.full(NUM_GAMES, -7, np.float32)
        self.run(self.loops.step)(
            *self.tables, np.array(ids, np.int32), penalties, self.rows, self.rewards, self.dones, *self.seen
        )

    def sample(self, bits: Any) -> Any:
        out = np.zeros(NUM_GAMES, np.int32)
        self.run(self.loops.sample)(*self.tables, self.rows, np.array(bits, np.uint32), out)
        return out


@pytest.mark.parametrize("run", [compiled, in_plain_python])
@pytest.mark.parametrize("name", ["south", "thirteens"])
@pytest.mark.parametrize("auto_reset", [False, True])
def test_states_are_those_of_batch(run: Callable[..., Any], name: str, auto_reset: bool) -> None:
    batch = Batch(get_rules(name), NUM_GAMES, auto_reset=auto_reset)
    batch.deal([1, 2, 3])
    states, rng = States(batch, run), np.random.default_rng(4)
    states.init([1, 2, 3])
    # As `deal` does: a new round is marked until its first play.
    if (reader := batch.variant.payments) is not None:
        reader.forget(states.rows, batch.variant.spec)
    for _ in range(80):
        waiting = batch.turn >= 0
        np.testing.assert_array_equal(states.rows, batch._rows)
        np.testing.assert_array_equal(states.turns, np.maximum(batch.turn, 0))
        np.testing.assert_array_equal(states.observation, batch.observe())
        np.testing.assert_array_equal(states.mask[waiting], batch.action_mask()[waiting])
        assert states.mask[~waiting].all()  # of an action that changes nothing
        if not waiting.any():
            break
        actions = states.sample(rng.integers(0, 1 << 32, NUM_GAMES))
        np.testing.assert_array_equal(actions >= 0, waiting)
        rewards, dones = batch.step(actions)[:2]
        states.step(actions)
        np.testing.assert_array_equal(states.rewards, rewards)
        np.testing.assert_array_equal(states.dones, dones | ~waiting)


@pytest.mark.parametrize("run", [compiled, in_plain_python])
@pytest.mark.parametrize("auto_reset", [False, True])
def test_an_illegal_action_ends_the_game_and_costs_its_seat(
    run: Callable[..., Any], auto_reset: bool
) -> None:
    batch = Batch("cardgames", NUM_GAMES, auto_reset=auto_reset)
    batch.deal([1, 2, 3])
    states = States(batch, run)
    states.init([1, 2, 3])
    before, seats = states.rows.copy(), batch.turn.copy()
    legal = int(states.sample([0, 0, 0])[2])
    states.step([-5, batch.num_actions, legal])
    assert states.dones.tolist() == [True, True, False]
    for game in (0, 1):
        wanted = np.zeros(batch.num_players)
        wanted[seats[game]] = -7
        assert states.rewards[game].tolist() == wanted.tolist()
    if auto_reset:  # the next game of the key
        batch.deal(np.array([1, 2, 3]) + KEY_STEP)
        np.testing.assert_array_equal(states.rows[:2], batch._rows[:2])
    else:
        assert states.turns[:2].tolist() == [0, 0]
        assert states.mask[:2].all()
        ended = states.rows.copy()
        states.step([0, 0, -1])  # what is over stays as it is
        np.testing.assert_array_equal(states.rows[:2], ended[:2])
        assert states.dones.all()
    assert not np.array_equal(states.rows, before)
