"""The stable-baselines3 environment: its API, its infos, and MaskablePPO on it."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor

from tests.games import copies
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.sb3 import OneSeatVecEnv
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.tienlen.rules import get_rules
from tienlen_env.single.painter import RENDER_MODES


def infos_before_the_end(env: OneSeatVecEnv, game: int) -> dict[str, Any]:
    """What the info of a game has while its episode lasts."""
    seat = env.games.seat[game]
    return {"seat": seat, "illegal": False, "place": -1, "units": 0, "TimeLimit.truncated": False}


def choose(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    return np.array([rng.choice(np.flatnonzero(row)) for row in masks])


def test_steps_masks_and_infos() -> None:
    env = OneSeatVecEnv(16, reward="zero_sum", seed=3)
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        monitored = VecMonitor(OneSeatVecEnv(16, reward="zero_sum", seed=3))
    rng = np.random.default_rng(0)
    observation = env.reset()
    np.testing.assert_array_equal(observation, monitored.reset())
    assert is_masking_supported(env)
    totals, lengths, num_finished = np.zeros(16), np.zeros(16), 0
    for _ in range(60):
        masks = get_action_masks(env)
        assert masks.shape == (16, 453)
        np.testing.assert_array_equal(masks, env.games.batch.action_mask())
        actions = choose(rng, masks)
        before = observation.copy()
        new, rewards, dones, infos = env.step(actions)
        np.testing.assert_array_equal(observation, before)  # SB3 stores it only now
        observation = new
        _, _, _, same_infos = monitored.step(actions)
        totals += rewards
        lengths += 1
        for game, info in enumerate(infos):
            assert dones[game] == ("terminal_observation" in info)
            if dones[game]:
                num_finished += 1
                assert info["episode"]["r"] == totals[game] == 1.5 - info["place"]
                assert info["episode"]["l"] == lengths[game]
                assert same_infos[game]["episode"]["r"] == totals[game]
                assert env.observation_space.contains(info["terminal_observation"])
                totals[game] = lengths[game] = 0
            else:
                assert info == infos_before_the_end(env, game)
    assert num_finished > 16


def test_seeds() -> None:
    env, other = OneSeatVecEnv(4, seed=1), OneSeatVecEnv(4, seed=1)
    first = env.reset().copy()
    np.testing.assert_array_equal(first, other.reset())
    assert not np.array_equal(first, env.reset())
    env.seed(1)
    np.testing.assert_array_equal(first, env.reset())


def test_vec_env_methods() -> None:
    env = OneSeatVecEnv(5, rules=get_rules("mobile", 3), render_mode="rgb_array", seat=1)
    env.reset()
    assert env.rules == get_rules("mobile", 3)
    assert len(env.env_method("action_masks", indices=[0, 3])) == 2
    assert env.get_attr("rules", 2) == [env.rules]
    assert env.get_attr("render_mode") == ["rgb_array"] * 5
    assert not env.has_attr("no_such_thing")
    env.env_method("set_opponents", [RandomAgent(), RandomAgent()], probabilities=[1, 3])
    env.set_attr("note", 1)
    assert env.get_attr("note", [1, 2]) == [1, 1]
    with pytest.raises(ValueError, match="share"):
        env.set_attr("note", 1, indices=0)
    picture = env.render()
    assert picture is not None
    assert picture.dtype == np.uint8
    with pytest.raises(IllegalPlayError):
        env.step(np.full(5, 9999))
    env.close()


@copies
def test_copies_go_on_alike(duplicate: Callable[[Any], Any]) -> None:
    env = OneSeatVecEnv(6, seed=2, opponents=["random", RandomAgent()])
    rng = np.random.default_rng(0)
    env.reset()
    env.step(choose(rng, env.action_masks()))
    other = duplicate(env)
    for _ in range(40):
        actions = choose(rng, env.action_masks())
        for mine, theirs in zip(env.step(actions)[:3], other.step(actions)[:3], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(env.action_masks(), np.array(other.env_method("action_masks")))
    assert env.text_to_action(env.action_to_text(7)) == 7


@pytest.mark.parametrize("episode", ["round", "game"])
def test_maskable_ppo_learns_on_it(episode: Any) -> None:
    env = OneSeatVecEnv(32, episode=episode, seed=0)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=256, n_epochs=1, seed=0, device="cpu")
    model.learn(32 * 16 * (2 if episode == "round" else 8))
    assert len(model.ep_info_buffer) > 0
    if episode == "round":
        mean, _ = evaluate_policy(model, OneSeatVecEnv(8, seed=1), n_eval_episodes=16)
        assert 0 <= mean <= 3


def test_returned_arrays_are_the_callers() -> None:
    """Also infos; with ``copy=False`` observations are reused by the second step after."""
    for copy in (True, False):
        env = OneSeatVecEnv(4, seed=0, copy=copy)
        rng = np.random.default_rng(0)
        first = env.reset()
        mask, rows = env.action_masks(), env.env_method("action_masks")
        kept = first.copy(), mask.copy(), np.array(rows)
        for _ in range(3):
            _, _, _, infos = env.step(choose(rng, env.action_masks()))
            infos[0]["mine"] = 1
        assert np.array_equal(first, kept[0]) == copy
        assert np.array_equal(mask, kept[1]) == copy
        assert np.array_equal(np.array(rows), kept[2]) == copy
        if copy:
            assert "mine" not in env.step(choose(rng, env.action_masks()))[3][0]


@pytest.mark.parametrize("illegal", ["terminate", "random"])
def test_algorithms_without_masks_run(illegal: Any) -> None:
    from stable_baselines3 import PPO

    env = OneSeatVecEnv(8, seed=0, illegal=illegal)
    model = PPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, seed=0, device="cpu")
    model.learn(256)
    lengths = [episode["l"] for episode in model.ep_info_buffer]
    assert np.mean(lengths) < 3 if illegal == "terminate" else np.mean(lengths) > 5
    env.reset()
    _, rewards, dones, infos = env.step(env.action_masks().argmin(axis=1))
    assert all(info["illegal"] for info in infos)
    if illegal == "terminate":
        assert dones.all()
        assert (rewards == -1).all()
        assert [info["place"] for info in infos] == [3] * 8
    masked = OneSeatVecEnv(2, seed=0)
    masked.reset()
    with pytest.raises(IllegalPlayError, match="action mask, or set illegal='terminate'"):
        masked.step(masked.action_masks().argmin(axis=1))


def dummy(num_envs: int, **settings: Any) -> DummyVecEnv:
    """SB3's own vector of the single environment."""
    return DummyVecEnv([lambda: OneSeatEnv(**settings)] * num_envs)


@pytest.mark.parametrize("mode", [*RENDER_MODES, None])
def test_every_render_mode_is_drawn(mode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    env = OneSeatVecEnv(2, render_mode=mode)
    env.reset()
    if mode is None:
        with pytest.warns(UserWarning, match="no `render_mode`"):
            env.render()
    else:
        assert (env.render() is None) == (mode != "rgb_array")
        kinds = {"human": type(None), "rgb_array": np.ndarray}
        assert [type(one) for one in env.env_method("render", indices=[1])] == [kinds.get(mode, str)]
    assert (capsys.readouterr().out != "") == (mode == "human")


@pytest.mark.parametrize(
    "name", ["reset", "step", "close", "seed", "set_options", "env_method", "get_images"]
)
def test_methods_of_the_whole_are_not_those_of_a_game(name: str) -> None:
    env = OneSeatVecEnv(2)
    with pytest.raises(ValueError, match=f"{name}: a method of all games"):
        env.env_method(name)
    with pytest.raises(ValueError, match="set_opponents: the games share"):
        env.env_method("set_opponents", "random", indices=[0])
    assert env.env_method("action_to_text", 1, indices=[0]) == [env.action_to_text(1)]


def test_options_of_a_reset_are_read() -> None:
    env, theirs = OneSeatVecEnv(3), dummy(3)
    for options in ({"key": 5}, [{"key": 5}, {}, {"key": 2**64 - 1}]):
        for one in (env, theirs):
            one.set_options(options)
            one.reset()
        keys = [options] * 3 if isinstance(options, dict) else options
        dealt = [one.games.batch.state.key[0] for one in theirs.envs]
        for game, wanted in enumerate(keys):
            if wanted:
                assert env.games.batch.state.key[game] == dealt[game]
    env.reset()
    assert not set(env.games.batch.state.key.tolist()) & {5, -1}  # options are for one reset
    before = env.games.batch.state.rows.copy()
    for wrong in ({"kye": 5}, {"key": "x"}, [{"key": 5}]):
        env.set_options(wrong)
        with pytest.raises(ValueError, match=r"'kye' is not a valid option|key='x'|expected a dict, or 3"):
            env.reset()
    np.testing.assert_array_equal(env.games.batch.state.rows, before)


@pytest.mark.parametrize("settings", [{}, {"illegal": "random"}, {"max_episode_steps": 2}], ids=str)
@pytest.mark.parametrize("copy", [True, False])
def test_infos_have_the_keys_of_sb3s_own_vector(settings: dict[str, Any], copy: bool) -> None:
    """Also in `VecMonitor`; the masks are asked for by `action_masks`."""
    settings = {"illegal": "terminate", **settings}
    words = ("seat", "illegal", "place", "units")
    with pytest.warns(UserWarning, match="already wrapped"):
        env = VecMonitor(OneSeatVecEnv(4, copy=copy, seed=1, **settings), info_keywords=words)
    theirs = dummy(4, **settings)
    rng, ends = np.random.default_rng(0), 0
    env.reset(), theirs.reset()
    assert [set(info) for info in env.unwrapped.reset_infos] == [{*words, "TimeLimit.truncated"}] * 4
    for _ in range(40):
        actions = choose(rng, env.env_method("action_masks"))
        _, _, dones, infos = env.step(actions)
        _, _, done, their_infos = theirs.step(choose(rng, theirs.env_method("action_masks")))
        expected = {True: set(), False: set()}
        for end, info in zip(done, their_infos, strict=True):
            expected[bool(end)] = set(info) - {"action_mask"}
        for end, info in zip(dones, infos, strict=True):
            ends += end
            assert not expected[bool(end)] or set(info) - {"episode"} == expected[bool(end)]
            if end:
                assert {*words} <= set(info["episode"])
                assert info["TimeLimit.truncated"] == (info["place"] < 0)
    assert ends > 4


def test_observations_may_be_floats() -> None:
    env, whole = (OneSeatVecEnv(3, seed=1, dtype=dtype) for dtype in ("float32", "uint8"))
    assert env.observation_space.dtype == np.float32
    np.testing.assert_array_equal(env.reset(), whole.reset())
    for _ in range(30):
        actions = env.action_masks().argmax(1)
        seen, _, dones, infos = env.step(actions)
        np.testing.assert_array_equal(seen, whole.step(actions)[0])
        assert seen.dtype == np.float32
        assert all(info["terminal_observation"].dtype == np.float32 for info in np.array(infos)[dones])
    with pytest.raises(ValueError, match="dtype='int8'"):
        OneSeatVecEnv(dtype="int8")  # type: ignore[arg-type]


def test_without_the_library_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['stable_baselines3'] = None; import tienlen_env.envs.sb3"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert "MissingExtraError: tienlen_env.envs.sb3 needs the package stable_baselines3" in done.stderr


def test_processes_find_an_id_that_names_its_module() -> None:
    """As from a notebook: what the processes import is the function alone."""
    make = functools.partial(gymnasium.make, "tienlen_env:tienlen_env/TienLen-v1", illegal="random")
    env = SubprocVecEnv([make], start_method="spawn")
    try:
        assert env.reset().shape == (1, 452)
    finally:
        env.close()
