"""The environment for JAX: bit for bit `Batch`, under `jit`, `vmap` and `scan`, both ways; Pgx's own test."""

import importlib
import sys
import typing

import numpy as np
import pytest

from tests.needs import needs_jax
from tienlen_env import extras
from tienlen_env.engine.batch import Batch
from tienlen_env.games.registry import PRESETS

SMALL = ("cardgames", "north", "thirteens")


@pytest.fixture
def door():
    return importlib.import_module("tienlen_bridges.jax")


def check_against_batch(door, name, num_games, decisions, steps=20):
    """Random play in `scan`, all that is seen; returns the number of games that ended."""
    import jax
    import jax.numpy as jnp

    env = door.Env(name, reward="zero_sum", auto_reset=True)
    batch = Batch(name, num_games, reward="zero_sum", auto_reset=True)
    keys = jax.random.split(jax.random.key(3), num_games)
    state = jax.jit(jax.vmap(env.init))(keys)
    batch.deal(np.asarray(jax.random.key_data(keys)).view(np.int64)[:, 0])
    dealt = state.batch()
    dealt.forget_payments()  # as `deal` does: there are none, but a new round is marked until its first play
    np.testing.assert_array_equal(dealt._rows, batch._rows)
    np.testing.assert_array_equal(state.observation, batch.observe())

    def move(state, bits):
        action = jax.vmap(env.sample_by)(state, bits)
        new = jax.vmap(env.step)(state, action)
        seen = (new.legal_action_mask, new.observation, new.rewards, new.terminated, new.current_player)
        return new, (action, new._rows, *seen)

    play = jax.jit(lambda state, bits: jax.lax.scan(move, state, bits))
    mask, observation = np.empty((num_games, env.num_actions), np.int8), batch.observe()
    ended, rng = 0, np.random.default_rng(5)
    for _ in range(-(-decisions // (num_games * steps))):
        bits = rng.integers(0, 2**32, (steps, num_games), np.uint32)
        state, found = play(state, jnp.asarray(bits))
        for action, rows, *seen in zip(*map(np.asarray, found), strict=True):
            rewards, dones = batch.step(action, mask=mask, observation=observation)
            assert rows.tobytes() == batch._rows.tobytes()
            for array, expected in zip(seen, (mask, observation, rewards, dones, batch.turn), strict=True):
                np.testing.assert_array_equal(array, expected)
            ended += dones.sum()
        assert np.asarray(found[0]).min() >= 0
    assert (np.asarray(state._step_count) > 0).all()
    return ended


@needs_jax
@pytest.mark.parametrize("name", SMALL)
def test_states_are_those_of_batch(door, name):
    assert door.WAY == "ffi" or "no machine code" in door.WAY
    assert check_against_batch(door, name, 30, 6_000) > 10


@needs_jax
def test_the_way_through_python_gives_the_same(door, monkeypatch):
    monkeypatch.setattr(door, "WAY", "pure_callback")
    assert check_against_batch(door, "cardgames", 30, 6_000) > 10


@needs_jax
@pytest.mark.nightly
@pytest.mark.parametrize("name", PRESETS)
def test_states_are_those_of_batch_in_a_million_decisions(door, name):
    assert check_against_batch(door, name, 500, 1_000_000) > 10_000 // 2


@needs_jax
@pytest.mark.parametrize("way", ["ffi", "pure_callback"])
def test_illegal_actions_and_games_that_are_over(door, way, monkeypatch):
    import jax

    if way == "ffi" and way != door.WAY:
        pytest.skip(door.WAY)
    monkeypatch.setattr(door, "WAY", way)
    env = door.Env("cardgames", reward="zero_sum")
    state = env.init(jax.random.PRNGKey(1))
    player = int(state.current_player)
    for action in (int(np.argmin(state.legal_action_mask)), -1, env.num_actions, 2**31 - 1):
        after = env.step(state, action)
        assert after.terminated
        assert np.asarray(after.legal_action_mask).all()
        assert not np.asarray(after.observation).any()
        assert after.rewards.tolist() == [-2.5 if seat == player else 0 for seat in range(4)]
        again = env.step(after, 0)
        assert again.terminated
        assert not np.asarray(again.rewards).any()
        np.testing.assert_array_equal(again._rows, after._rows)
    legal = int(np.argmax(state.legal_action_mask))
    moved = jax.vmap(env.step, in_axes=(None, 0))(state, np.array([legal, -1], np.int32))
    assert moved.terminated.tolist() == [False, True]
    alone = env.step(state, legal)
    np.testing.assert_array_equal(moved._rows[0], alone._rows)
    np.testing.assert_array_equal(moved.observation[0], alone.observation)
    deep = jax.vmap(jax.vmap(env.step, in_axes=(None, 0)))(
        jax.vmap(env.init)(jax.random.split(jax.random.PRNGKey(1), 3)), np.full((3, 2), -1)
    )
    assert deep.rewards.shape == (3, 2, 4)
    assert deep.terminated.all()
    dealt = door.Env("cardgames", reward="zero_sum", auto_reset=True).step
    anew = dealt(door.Env("cardgames", reward="zero_sum", auto_reset=True).init(jax.random.PRNGKey(1)), -1)
    assert anew.terminated
    assert (anew.batch().turn >= 0).all()
    assert (anew.rewards < 0).sum() == 1


@needs_jax
def test_a_scan_copies_no_states(door):
    import jax
    import jax.numpy as jnp

    if door.WAY != "ffi":
        pytest.skip(door.WAY)
    env = door.Env("cardgames", auto_reset=True)
    state = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 7))

    def move(state, bits):
        return jax.vmap(env.step)(state, jax.vmap(env.sample_by)(state, bits)), None

    play = jax.jit(lambda state, bits: jax.lax.scan(move, state, bits)[0], donate_argnums=0)
    code = play.lower(state, jnp.zeros((5, 7), jnp.uint32)).compile().as_text()
    for array in (state._rows, state.observation, state.legal_action_mask):
        kind = {"uint32": "u32", "uint8": "u8", "bool": "pred"}[array.dtype.name]
        shape = f"{kind}[7,{array.shape[1]}]"
        assert shape in code
        copies = [
            line for line in code.splitlines() if shape in line and (" copy(" in line or "transpose(" in line)
        ]
        assert copies == []


@needs_jax
def test_equal_environments_have_states_of_one_type(door):
    import jax

    one, other = (door.Env("cardgames", num_players=3) for _ in range(2))
    states = [env.init(jax.random.key(2)) for env in (one, other)]
    assert jax.tree.structure(states[0]) == jax.tree.structure(states[1])
    assert states[0].env_id == one.id == "cardgames"
    assert states[0].replace(truncated=True).truncated is True
    assert states[0].to_svg().startswith("<svg")


@needs_jax
@pytest.mark.nightly
def test_pgx_accepts_the_environment(door, monkeypatch):
    """Its test, with two changes: a list of its own games, and an axis that is wrong for one game."""
    api_test = pytest.importorskip("pgx._src.api_test")
    import jax
    from pgx.experimental import auto_reset

    def act_randomly(key, mask):  # Pgx 2.6 says axis=1, also where the mask of one game has a single axis
        return jax.random.categorical(key, jax.numpy.log(mask.astype("float32")), axis=-1)

    monkeypatch.setattr(api_test, "act_randomly", jax.jit(act_randomly))
    monkeypatch.setattr(api_test, "EnvId", typing.Literal[tuple(PRESETS)])
    for name in PRESETS:
        api_test.api_test(door.Env(name), 3)
    env = door.Env("cardgames")
    step = jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    keys = jax.random.split(jax.random.key(1), 8)
    state, ended = jax.vmap(env.init)(keys), 0
    for i in range(120):
        keys = jax.random.split(jax.random.key(i), 8)
        state = step(state, jax.vmap(env.sample)(state, keys), keys)
        ended += int(state.terminated.sum())
        assert (np.asarray(state.legal_action_mask).sum(1) < env.num_actions).all()
    assert ended >= 8


def test_without_jax_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda package: package != "jax")
    monkeypatch.delitem(sys.modules, "tienlen_bridges.jax", raising=False)
    with pytest.raises(extras.MissingExtraError, match=r"tienlen_bridges\.jax needs the package jax"):
        importlib.import_module("tienlen_bridges.jax")
