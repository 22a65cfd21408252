"""What a policy reads of an observation does not depend on what else an observation shows."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

import tienlen_env  # noqa: F401  registers the environments
from tienlen_agents.networks.champion import WEIGHTS
from tienlen_agents.networks.general import load_policy
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch

FILES = sorted(WEIGHTS.rglob("*.safetensors"))


def some_views(rules: str, *histories: int) -> list[View]:
    """The same decisions of 60 games, with observations that show `history` past plays."""
    views = []
    for history in histories:
        batch = Batch(rules, 60, history=history, history_length=8)
        batch.deal(np.arange(60))
        rng = np.random.default_rng(3)
        for _ in range(12):
            batch.step(batch.sample(rng))
        views.append(View(batch, np.flatnonzero(batch.state.turn >= 0)))
    return views


def rules_of(path: Path) -> str:
    name = path.stem.split("-")[0]
    return "north" if name == "tienlen" else name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_network_reads_the_same_whatever_an_observation_shows(path: Path) -> None:
    if path.stem.startswith("thirteens"):
        pytest.skip("Thirteens shows no past plays")
    agent = load_policy(path)
    without, four = some_views(rules_of(path), 0, 4)
    assert four.observation.shape[1] > without.observation.shape[1]
    assert np.array_equal(agent.log_probabilities(four), agent.log_probabilities(without))
    assert np.array_equal(agent.act(four), agent.act(without))


@pytest.mark.parametrize("name", ["champion", "champion:size=medium", "champion:worlds=0", "reference"])
def test_a_policy_plays_where_the_learner_sees_past_plays(name: str) -> None:
    env = gymnasium.make("tienlen_env/TienLen-v1", opponents=name, history=4)
    observation, info = env.reset(seed=1)
    is_over = False
    while not is_over:
        action = int(np.flatnonzero(info["action_mask"])[-1])
        observation, _, is_over, _, info = env.step(action)
    assert env.observation_space.contains(observation)
    env.close()


def test_a_batch_shows_only_the_plays_that_it_stores() -> None:
    view = some_views("cardgames", 2)[0]
    assert view.showing(2) is view
    for history in (0, 8):
        wanted = some_views("cardgames", history)[0].observation
        assert np.array_equal(view.showing(history).observation, wanted)
    for history in (-1, 9):
        with pytest.raises(ValueError, match=r"expected 0\.\.8"):
            view.showing(history)
    other = view.select([3, 1])
    assert np.array_equal(other.showing(0).games, other.games)
