"""High Card (`tests/high_card.py`), a game from another package, goes through every room."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

import tienlen_agents
from tests.high_card import HAND_SIZE, HIGH_CARD, HighCardRules
from tienlen_agents import arena
from tienlen_env import Batch, SelfPlayEnv
from tienlen_env.engine.view import View
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.pettingzoo import GameEnv, make_aec
from tienlen_env.envs.sb3 import OneSeatVecEnv
from tienlen_env.envs.vector import OneSeatVectorEnv
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games import registry
from tienlen_env.single.session import Session
from tienlen_train import dmc, ppo

PLAYERS = (2, 3, 7)


def test_rules_and_registration() -> None:
    assert registry.get_rules("high_card", 4) == HighCardRules(num_players=4)
    assert registry.get_rules("high_card", 4).name == "high_card"
    assert registry.game_of(HighCardRules()) is HIGH_CARD
    registry.register(HIGH_CARD)
    with pytest.raises(ValueError, match="num_players=8"):
        registry.get_rules("high_card", 8)
    with pytest.raises(ValueError, match="another game has this name"):
        registry.register(dataclasses.replace(HIGH_CARD))


@pytest.mark.parametrize("num_players", PLAYERS)
@pytest.mark.parametrize("reward", ["points", "zero_sum"])
def test_backends_agree_and_points_add_up(num_players: int, reward: str) -> None:
    first, second = (
        Batch("high_card", 40, num_players=num_players, reward=reward, backend=backend)  # type: ignore[arg-type]
        for backend in ("numba", "python")
    )
    for batch in (first, second):
        batch.reset(seed=5)
    total = np.zeros((40, num_players), np.float32)
    rng = np.random.default_rng(1)
    while (first.state.turn >= 0).any():
        actions = first.sample(rng)
        rewards = [batch.step(actions)[0].copy() for batch in (first, second)]
        assert np.array_equal(*rewards)
        assert np.array_equal(first.state.rows, second.state.rows)
        assert np.array_equal(first.action_mask(), second.action_mask())
        assert np.array_equal(first.observe(0), second.observe(0))
        assert np.array_equal(first.global_observation(), second.global_observation())
        total += rewards[0]
    assert np.allclose(total.sum(axis=1), HAND_SIZE if reward == "points" else 0, atol=1e-4)
    assert np.array_equal(np.sort(first.state.places, axis=1), np.tile(np.arange(num_players), (40, 1)))


def test_copies_and_refusals() -> None:
    batch = Batch("high_card", 3)
    batch.reset(seed=1)
    before = batch.state.rows.copy()
    for same in (batch.copy(), copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        same.step(same.sample(np.random.default_rng(0)))
        assert np.array_equal(batch.state.rows, before)
    illegal = int(np.flatnonzero(batch.action_mask()[0] == 0)[0])
    actions = batch.sample(np.random.default_rng(0))
    actions[0] = illegal
    with pytest.raises(IllegalPlayError, match="not in the hand") as refusal:
        batch.step(actions)
    assert (refusal.value.game, refusal.value.seat, refusal.value.action) == (0, 0, illegal)


def test_resampling_keeps_what_a_seat_sees() -> None:
    batch = Batch("high_card", 1, backend="python")
    batch.reset(seed=4)
    for _ in range(4):
        batch.step(batch.sample(np.random.default_rng(2)))
    seat = int(batch.state.turn[0])
    row, spec = batch.state.rows[0].tolist(), batch.kernel_arrays.spec.tolist()
    hands = set()
    for key in range(30):
        other = list(row)
        HIGH_CARD.kernels.resample_hidden(other, spec, seat, key)  # type: ignore[misc]
        assert other[seat] == row[seat]
        assert [hand.bit_count() for hand in other[:3]] == [hand.bit_count() for hand in row[:3]]
        assert other[7:] == row[7:]
        hands.add(tuple(other[:3]))
    assert len(hands) > 20


# PettingZoo's test expects arrays; with masks observations are dictionaries, as in its own classic games.
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array")
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be")
@pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros")
@pytest.mark.parametrize("num_players", PLAYERS)
def test_pettingzoo(num_players: int) -> None:
    api_test(make_aec("high_card", num_players=num_players), num_cycles=100)
    seed_test(lambda: make_aec("high_card", num_players=num_players), num_cycles=50)


@pytest.mark.parametrize("mode", ["ansi", "svg", "rgb_array"])
def test_pictures(mode: str) -> None:
    env = GameEnv("high_card", render_mode=mode)
    env.reset(seed=3)
    env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    picture = env.render()
    if mode == "rgb_array":
        assert picture.ndim == 3
    else:
        assert "player_0" in picture


def test_gymnasium_and_its_vectors() -> None:
    check_env(OneSeatEnv("high_card", render_mode="rgb_array"), skip_render_check=True)
    env = OneSeatVectorEnv(num_envs=4, rules="high_card", opponents="random")
    _, infos = env.reset(seed=1)
    for _ in range(20):
        masks = infos["action_mask"]
        _, _, _, _, infos = env.step(masks.argmax(axis=1))
    vec = OneSeatVecEnv(num_envs=3, rules="high_card")
    vec.reset()
    for _ in range(10):
        _, rewards, _, _ = vec.step(np.stack(vec.env_method("action_masks")).argmax(axis=1))
        assert rewards.shape == (3,)
    play = SelfPlayEnv("high_card", 5)
    now = play.reset(seed=1)
    assert now.action_mask.shape == (5, 52)


def test_action_ids_are_text() -> None:
    env = make_aec("high_card")
    env.reset(seed=1)
    assert env.unwrapped.action_to_text(51) == "2h"
    assert env.unwrapped.text_to_action("2h") == 51


def test_a_session_plays_undoes_and_shows_no_hidden_card() -> None:
    session = Session("high_card", key=7, whole_game=False)
    rng = np.random.default_rng(1)
    while not session.is_over:
        seat, state = session.turn, session.batch.state
        view = session.view(seat)
        seen = int(state.hands[0, seat]) | int(np.bitwise_or.reduce(state.played[0]))
        hidden = [session.batch.action_to_text(card) for card in range(52) if not seen >> card & 1]
        words = set(json.dumps(view).replace('"', " ").replace(",", " ").split())
        assert not words & set(hidden)
        assert len(view["hand"].split()) == HAND_SIZE - int(state.played[0, seat]).bit_count()
        session.apply(int(rng.choice(view["legal_ids"])))
        if rng.random() < 0.3:
            session.undo()
            assert session.turn == seat
    assert session.view(0)["current_seat"] is None


def test_the_arena_and_search() -> None:
    result = arena.match(
        tienlen_agents.load("search:worlds=12"), "random", rules="high_card", num_deals=60, seed=3
    )
    points = result.scores[0].points
    assert points.mean - points.half_width > result.scores[1].points.mean, "search beats random play"


def test_an_agent_for_another_game_says_so() -> None:
    batch = Batch("high_card", 2)
    batch.reset(seed=1)
    with pytest.raises(ValueError, match="high_card"):
        tienlen_agents.load("greedy").act(View(batch))


TINY = [
    "--num-games", "32", "--batch-size", "64", "--state-width", "16", "--action-width", "16",
    "--eval-deals", "4", "--final-deals", "4",
]  # fmt: skip


@pytest.mark.parametrize("algorithm", [ppo, dmc])
def test_training(algorithm: object, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--env", "high_card", "--decisions", "1500", "--out", str(out), *TINY]
    assert not algorithm.main(arguments)  # type: ignore[attr-defined]
    agent = tienlen_agents.load(f"policy:{out / 'policy.safetensors'}")
    result = arena.match(agent, "random", rules="high_card", num_deals=4, seed=1)
    assert result.scores[0].points.mean > 0
