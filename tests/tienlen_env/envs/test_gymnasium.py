"""The Gymnasium environment: the checkers of Gymnasium and stable-baselines3, and its own promises."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tienlen_env  # noqa: F401 - registers the environment where the package is not installed
from tienlen_env.engine.agent import RandomAgent, View
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.tienlen.rules import PRESETS

ID = "tienlen_env/TienLen-v1"


def choose(rng: np.random.Generator, mask: np.ndarray) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_gymnasium_checker(rules: str, players: int) -> None:
    env = gymnasium.make(ID, rules=rules, num_players=players)
    check_env(env.unwrapped, skip_render_check=True)


def test_gymnasium_checker_with_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    check_env(gymnasium.make(ID, render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("episode", ["round", "game"])
def test_stable_baselines3_checker(episode: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make(ID, episode=episode).unwrapped)


@pytest.mark.parametrize("episode", ["round", "game"])
def test_episodes(episode: str) -> None:
    env = gymnasium.make(ID, episode=episode, reward="points")
    rng = np.random.default_rng(0)
    for seed in range(12):
        _, info = env.reset(seed=seed)
        total, terminated = 0.0, False
        while not terminated:
            np.testing.assert_array_equal(info["action_mask"], env.get_wrapper_attr("action_masks")())
            assert env.action_space.contains(env.action_space.sample(info["action_mask"]))
            _, reward, terminated, truncated, info = env.step(choose(rng, info["action_mask"]))
            assert not truncated
            total += float(reward)
        assert info["action_mask"].nonzero()[0].tolist() == [0]
        assert env.get_wrapper_attr("action_masks")().nonzero()[0].tolist() == [0]
        state = env.unwrapped.games.batch.state
        assert total == state.scores[0, info["seat"]]
        if episode == "round":
            assert total == 3 - info["place"]
        with pytest.raises(IllegalPlayError, match="over"):
            env.step(0)


def test_illegal_action() -> None:
    for illegal in ("terminate", "raise"):
        env = OneSeatEnv(illegal=illegal, reward="zero_sum")
        _, info = env.reset(seed=0)
        rows = env.games.batch.kernel_arrays.rows.copy()
        bad = int(np.flatnonzero(info["action_mask"] == 0)[0])
        if illegal == "raise":
            with pytest.raises(IllegalPlayError):
                env.step(bad)
            env.step(choose(np.random.default_rng(0), info["action_mask"]))
        else:
            _, reward, terminated, truncated, info = env.step(bad)
            np.testing.assert_array_equal(env.games.batch.kernel_arrays.rows, rows)
            assert (reward, terminated, truncated, info["illegal"]) == (-2.5, True, False, True)
            assert info["action_mask"].nonzero()[0].tolist() == [0]


class Watcher(RandomAgent):
    """Remembers the seats it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.seats: set[int] = set()

    def act(self, view: View) -> np.ndarray:
        self.seats.update(view.seat.tolist())
        return super().act(view)


def test_line_up_and_fixed_seat() -> None:
    line_up = [Watcher(), Watcher(), Watcher()]
    env = gymnasium.make(ID, opponents=line_up, seat=2)
    rng = np.random.default_rng(0)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        assert info["seat"] == 2
        terminated = False
        while not terminated:
            _, _, terminated, _, info = env.step(choose(rng, info["action_mask"]))
    assert [agent.seats for agent in line_up] == [{3}, {0}, {1}]


@pytest.mark.parametrize(
    "arguments",
    [
        {"opponents": "nobody"},
        {"opponents": [RandomAgent()] * 2},
        {"opponents": [1, 2, 3]},
        {"seat": 4},
        {"seat": "north"},
        {"illegal": "ignore"},
        {"render_mode": "x"},
        {"rules": "x"},
    ],
)
def test_bad_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(arguments)))):
        OneSeatEnv(**arguments)


def test_pictures() -> None:
    env = OneSeatEnv(render_mode="ansi", seat=1)
    env.reset(seed=0)
    text = env.render()
    assert "player_1" in text
    assert env._repr_svg_().lstrip().startswith("<svg")
