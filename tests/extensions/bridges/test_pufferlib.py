"""The native environment for PufferLib: rows as by emulation, its buffers, its vector environments."""

import functools
import importlib
import sys

import numpy as np
import pytest

from tests.needs import needs_pufferlib
from tienlen_env import extras, thirteens_v0, tienlen_v1
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, RulesError


@pytest.fixture
def door():
    return importlib.import_module("tienlen_bridges.pufferlib")


def chosen(env, rng):
    """Random legal actions; those of seats that wait are of no importance."""
    masks, _ = env.split(env.observations)
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks], np.int32)


@needs_pufferlib
@pytest.mark.parametrize(("page", "rules"), [(tienlen_v1, "south"), (thirteens_v0, "thirteens")])
def test_rows_are_those_of_emulation(door, page, rules):
    from pettingzoo.utils.conversions import turn_based_aec_to_parallel
    from pufferlib.emulation import PettingZooPufferEnv

    rng = np.random.default_rng(1)
    env = door.SelfPlayPufferEnv(rules, reward="zero_sum")
    env.reset(seed=3)
    parallel = turn_based_aec_to_parallel(page.env(rules=rules, reward="zero_sum"))
    parallel.reset = functools.partial(parallel.reset, options={"key": int(env.games.batch.state.key[0])})
    emulated = PettingZooPufferEnv(env=parallel)
    emulated.reset()
    decisions = 0
    while not emulated.done:
        (seat,) = np.flatnonzero(env.masks)
        np.testing.assert_array_equal(emulated.observations[seat], env.observations[seat])
        for rows in (emulated.observations, env.observations):
            assert env.split(rows)[0].sum(1).min() == (0 if rows is emulated.observations else 1)
        np.testing.assert_array_equal(
            env.split(emulated.observations)[1], env.split(env.observations)[1]
        )  # those who wait see as much
        actions = chosen(env, rng)
        emulated.step(actions)
        assert env.step(actions)[0] is env.observations
        np.testing.assert_array_equal(emulated.rewards, env.rewards)
        np.testing.assert_array_equal(emulated.terminals, env.terminals)
        decisions += 1
    assert decisions > 20
    assert env.terminals.all()


@needs_pufferlib
@pytest.mark.parametrize("rules", ["cardgames", "south"])  # of `south` some deals are won at once
def test_many_games_are_those_of_batch(door, rules):
    num_games = 500
    env = door.SelfPlayPufferEnv(rules, num_games, num_players=3, reward="points")
    batch = Batch(rules, num_games, num_players=3, auto_reset=True)
    rng = np.random.default_rng(2)
    env.reset(seed=5)
    batch.reset(np.random.default_rng(5))
    every, ended = np.arange(num_games), 0
    for _ in range(120):
        while (over := np.flatnonzero(batch.turn < 0)).size:
            batch.deal_games(over, batch.state.key[over] + 1)
        masks, observations = (rows.reshape(num_games, 3, -1) for rows in env.split(env.observations))
        acts = env.masks.reshape(num_games, 3)
        np.testing.assert_array_equal(acts, np.arange(3) == batch.turn[:, None])
        np.testing.assert_array_equal(masks[acts], batch.action_mask())
        assert (masks[~acts] == (np.arange(batch.num_actions) == 0)).all()
        for seat in range(3):
            np.testing.assert_array_equal(observations[:, seat], batch.observe(seat))
        actions = batch.sample(rng)
        rewards, dones = batch.step(actions)
        given = np.full((num_games, 3), 77, np.int32)  # of those who wait: not read
        given[every, acts.argmax(1)] = actions
        _, got, terminals, truncations, infos = env.step(given.ravel())
        np.testing.assert_array_equal(got, rewards.ravel())
        np.testing.assert_array_equal(terminals, dones.repeat(3))
        assert not truncations.any()
        assert infos == []
        ended += dones.sum()
    assert ended > num_games


@needs_pufferlib
@pytest.mark.parametrize("backend", ["Serial", "Multiprocessing"])
def test_vector_environments_of_pufferlib_share_their_buffers(door, backend):
    import pufferlib.vector

    workers = {"num_workers": 2} if backend == "Multiprocessing" else {}
    settings = {"num_games": 3, "reward": "zero_sum"}
    both = pufferlib.vector.make(
        door.SelfPlayPufferEnv, env_kwargs=settings, num_envs=2, backend=backend, **workers
    )
    alone = [door.SelfPlayPufferEnv(**settings) for _ in range(2)]
    try:
        rows, _ = both.reset(seed=7)
        for i, env in enumerate(alone):
            env.reset(seed=7 + i)
        rng = np.random.default_rng(3)
        for _ in range(150):
            np.testing.assert_array_equal(rows, np.concatenate([env.observations for env in alone]))
            actions = [chosen(env, rng) for env in alone]
            rows, rewards, terminals, *_ = both.step(np.concatenate(actions))
            found = [env.step(given)[1:3] for env, given in zip(alone, actions, strict=True)]
            np.testing.assert_array_equal(rewards, np.concatenate([pair[0] for pair in found]))
            np.testing.assert_array_equal(terminals, np.concatenate([pair[1] for pair in found]))
    finally:
        both.close()


@needs_pufferlib
def test_illegal_actions(door):
    env = door.SelfPlayPufferEnv(num_games=2)
    before, _ = env.reset(seed=1)
    before = before.copy()
    rng = np.random.default_rng(0)
    legal = chosen(env, rng)
    for bad in (0, -1, env.games.num_actions):  # 0 passes, and nobody may pass at the start
        actions = legal.copy()
        actions[np.flatnonzero(env.masks)[1]] = bad
        with pytest.raises(IllegalPlayError):
            env.step(actions)
        np.testing.assert_array_equal(env.observations, before)
    for wrong in (legal[1:], legal.astype(float), legal.reshape(2, -1)):
        with pytest.raises(ValueError, match="actions: expected"):
            env.step(wrong)
    env.step(legal)

    env = door.SelfPlayPufferEnv(num_games=200, illegal="random", seed=4)
    env.reset()
    shares = [
        info["illegal"]
        for _ in range(50)
        for info in env.step(rng.integers(-3, env.games.num_actions + 3, env.num_agents))[-1]
    ]
    assert len(shares) == 50
    assert 0.5 < np.mean(shares) < 1
    assert env.step(chosen(env, rng))[-1] == []


@needs_pufferlib
def test_bad_settings(door):
    with pytest.raises(ValueError, match="illegal='terminate': expected one of raise, random"):
        door.SelfPlayPufferEnv(illegal="terminate")
    with pytest.raises(RulesError):
        door.SelfPlayPufferEnv("poker")


def test_without_pufferlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda package: package != "pufferlib")
    monkeypatch.delitem(sys.modules, "tienlen_bridges.pufferlib", raising=False)
    with pytest.raises(extras.MissingExtraError, match=r"tienlen_bridges\.pufferlib needs the package"):
        importlib.import_module("tienlen_bridges.pufferlib")
