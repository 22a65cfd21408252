"""Every door takes integers in any array; compiled code gets one form, so nothing is compiled anew."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from tienlen_agents import load
from tienlen_env import Batch, OneSeatVectorEnv, SelfPlayEnv, tienlen_v1
from tienlen_env.engine import checks
from tienlen_env.engine.agent import View
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.one_seat import OneSeatGames

GAMES = 6
KEYS = np.arange(GAMES)
Change = Callable[[np.ndarray], Any]


class Sub(np.ndarray):
    """A subclass of NumPy's arrays."""


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def unaligned(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"x" + array.tobytes(), np.int64, offset=1).reshape(array.shape)


CHANGES: dict[str, Change] = {
    "read-only": read_only,
    "broadcast": lambda array: np.broadcast_to(array, (3, *array.shape))[1],
    "strided": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "backwards": lambda array: array[..., ::-1].copy()[..., ::-1],
    "int32": lambda array: read_only(array.astype(np.int32)),
    "int16": lambda array: array.astype(np.int16),
    "big-endian": lambda array: array.astype(">i8"),
    "unaligned": unaligned,
    "subclass": lambda array: read_only(array).view(Sub),
    "list": lambda array: array.tolist(),
}


def batch() -> Batch:
    made = Batch("cardgames", GAMES, history_length=2)
    made.deal(KEYS)
    return made


def step(change: Change) -> object:
    games = batch()
    return games.step(change(games.list_legal().action[games.list_legal().start]))


def step_with(change: Change) -> object:
    games = batch()
    legal = games.list_legal()
    cards = legal.cards[legal.start]
    small = change is not CHANGES["int32"] and change is not CHANGES["int16"]  # masks have 52 bits
    return games.step(legal.action[legal.start], change(cards) if small else cards)


def step_games(change: Change) -> object:
    games, rewards = batch(), np.zeros((GAMES, 4), np.float32)
    return games.step_games(change(KEYS[::2].copy()), change(games.first_legal(KEYS[::2])), rewards), rewards


def observe(change: Change) -> object:
    games = batch()
    seats = np.array([0, 1, 2])
    return (
        games.observe(change(seats), games=change(KEYS[:3])),
        games.packed_observation(change(KEYS % 4)),
        games.first_legal(change(KEYS)),
        games.select(change(KEYS[1:])).action_mask(),
        games.action_to_cards(change(games.first_legal(KEYS))),
    )


def deal(change: Change) -> object:
    games = batch()
    games.deal(change(KEYS + 5), rounds=change(KEYS % 2), leader=change(KEYS % 4))
    games.deal_games(change(KEYS[1:3]), change(KEYS[1:3]))
    return games.action_mask()


def view(change: Change) -> object:
    games = batch()
    seen = View(games, change(KEYS[::-1].copy()), copy=False)
    some = seen.select(change(KEYS[:3]))
    return seen.legal_actions, load("heuristic").act(seen), some.cards_of(change(games.first_legal(KEYS[:3])))


def self_play(change: Change) -> object:
    env = SelfPlayEnv("cardgames", GAMES)
    env.reset(1)
    return env.step(change(env.batch.first_legal(KEYS)))


class Answers:
    """Answers the first legal action in an array of another kind."""

    name = "answers"

    def __init__(self, change: Change) -> None:
        self.change = change

    def reset(self, seed: int) -> None: ...

    def act(self, view: View) -> Any:
        legal = view.legal_actions
        return self.change(legal.action[legal.start])


def opponent(change: Change) -> object:
    pool: Any = [Answers(change), "random"]
    env = OneSeatVectorEnv(GAMES, opponents=pool, line_up=False)
    env.reset(seed=1)
    return [env.step(env.action_masks().argmax(1))[0] for _ in range(5)]


def one_seat(change: Change) -> object:
    games = OneSeatGames("cardgames", GAMES, illegal="random", auto_reset=False)
    games.reset(1, change(KEYS))
    games.step(change(games.batch.first_legal(KEYS)))
    games.deal(change(KEYS[:2]), change(KEYS[:2]))
    return games.batch.action_mask()


def vector(change: Change) -> object:
    env = gymnasium.make_vec("tienlen_env:tienlen_env/TienLen-v1", num_envs=GAMES)
    env.reset(seed=1, options={"key": change(KEYS)})
    return env.step(change(env.action_masks().argmax(1)))[:4]


def stable_baselines(change: Change) -> object:
    pytest.importorskip("stable_baselines3")
    from tienlen_env.envs.sb3 import OneSeatVecEnv

    env = OneSeatVecEnv(GAMES, seed=1)
    env.reset()
    return env.step(change(env.action_masks().argmax(1)))[:3]


def single(change: Change) -> object:
    env = OneSeatEnv()
    env.reset(seed=1)
    action = change(np.array([env.action_masks().argmax()]))
    return env.step(action)[:2]


def aec(change: Change) -> object:
    env = tienlen_v1.env()
    env.reset(seed=1)
    action = change(np.array([env.last()[0]["action_mask"].argmax()]))
    env.step(action[0])
    return env.last()[0]


def pufferlib(change: Change) -> object:
    pytest.importorskip("pufferlib")
    pytest.importorskip("tienlen_bridges")
    from tienlen_bridges.pufferlib import SelfPlayPufferEnv

    env = SelfPlayPufferEnv("cardgames", GAMES)
    rows, _ = env.reset(seed=1)
    return env.step(change(env.split(rows)[0].argmax(1)))[:4]


def jax(change: Change) -> object:
    pytest.importorskip("jax")
    pytest.importorskip("tienlen_bridges")
    import jax

    from tienlen_bridges.jax import Env

    env = Env("cardgames")
    state = jax.vmap(env.init)(jax.random.split(jax.random.key(1), GAMES))
    actions = np.asarray(state.legal_action_mask.argmax(1)).astype(np.int64)
    return jax.vmap(env.step)(state, np.asarray(change(actions)).astype(np.int32)).observation


DOORS = (
    *(step, step_with, step_games, observe, deal, view, self_play, opponent, one_seat),
    *(vector, stable_baselines, single, aec, pufferlib, jax),
)


def numbers(value: Any) -> list[Any]:
    """Arrays of an answer, also within tuples and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [each for item in value for each in numbers(item)]
    return [np.asarray(value)]


def compiled() -> int:
    """How many signatures of the engine's loops Numba has compiled."""
    return sum(len(loop.signatures) for loop in Batch("cardgames").loops)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_any_array_of_integers_is_the_same(door: Callable[[Change], object], kind: str) -> None:
    expected = numbers(door(lambda array: array))
    before = compiled()
    for one, other in zip(expected, numbers(door(CHANGES[kind])), strict=True):
        np.testing.assert_array_equal(one, other)
    assert compiled() == before


@pytest.mark.parametrize(
    "values",
    [np.zeros(3), np.zeros(3, bool), np.array([1, 2, 3], object), np.array(["1"] * 3), np.zeros((3, 1), int)],
    ids=["floats", "bools", "objects", "texts", "two axes"],
)
def test_other_arrays_are_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"actions: expected integers of shape \(3,\), got"):
        checks.as_integers(values, "actions", 3)


def test_buffers_of_a_subclass_are_written() -> None:
    found = []
    for change in (lambda array: array, lambda array: array.view(Sub)):
        before, games = compiled(), batch()
        mask, observation, rewards = (
            change(np.zeros((GAMES, n), t)) for n, t in ((453, np.int8), (452, np.uint8), (4, np.float32))
        )
        games.step(games.first_legal(KEYS), mask=mask, observation=observation, rewards=rewards)
        np.testing.assert_array_equal(mask, games.action_mask(out=change(np.zeros((GAMES, 453), np.int8))))
        found.append([mask, observation, rewards])
    assert compiled() == before
    np.testing.assert_array_equal(np.hstack(found[0]), np.hstack(found[1]))


@pytest.mark.parametrize("buffer", [CHANGES["read-only"], CHANGES["strided"], CHANGES["unaligned"]])
def test_buffers_that_cannot_be_written_are_refused(buffer: Change) -> None:
    with pytest.raises(ValueError, match="expected a contiguous, writeable int64 array"):
        batch().packed_mask(buffer(np.zeros((GAMES, 8), np.int64)))


def from_a_store(value: Any) -> Any:
    """A copy through pickle's buffers, as Ray's object store makes it: its arrays are read-only."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])


def plays(env: Any) -> list[Any]:
    """What some decisions for the first legal action lead to."""
    if isinstance(env, View):
        return [load("heuristic").act(env)]
    if isinstance(env, SelfPlayEnv):
        return [env.step(env.batch.first_legal(KEYS)) for _ in range(2)]
    if isinstance(env, OneSeatVectorEnv):
        return [env.step(env.action_masks().argmax(1))[0].copy() for _ in range(9)]
    found = []
    for _ in range(3):
        mask = env.action_masks() if isinstance(env, OneSeatEnv) else env.last()[0]["action_mask"]
        found.append(env.step(int(mask.argmax())) or env.last())
    return [each[0] for each in found]


@pytest.mark.parametrize("door", ["self-play", "vector", "vector, in its buffers", "single", "aec", "view"])
def test_what_comes_out_of_an_object_store_plays_on(door: str) -> None:
    env: Any = {
        "self-play": lambda: SelfPlayEnv("cardgames", GAMES),
        "vector": lambda: OneSeatVectorEnv(GAMES, opponents="heuristic"),
        "vector, in its buffers": lambda: OneSeatVectorEnv(GAMES, copy=False, opponents="greedy"),
        "single": lambda: OneSeatEnv(opponents=["greedy", "random", "heuristic"]),
        "aec": tienlen_v1.raw_env,
        "view": lambda: View(batch()),
    }[door]()
    if door != "view":
        env.reset(seed=1)
    copy = from_a_store(env)
    expected = numbers(plays(env))
    before = compiled()
    for mine, theirs in zip(numbers(plays(copy)), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert compiled() == before
