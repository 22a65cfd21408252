"""The rewards of a round by their definitions, in plain Python (RULES.md 1.11, 6.3)."""

from __future__ import annotations

import numpy as np
import pytest

from tienlen_env.engine.batch import Batch


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", ["cardgames", "mobile", "foicica", "pagat"])
@pytest.mark.parametrize("reward", ["points", "zero_sum", "win", "cards"])
def test_rewards(name: str, num_players: int, reward: str) -> None:
    batch = Batch(name, 3, num_players=num_players, reward=reward, backend="python")  # type: ignore[arg-type]
    batch.deal(np.arange(3))
    rng, total = np.random.default_rng(num_players), np.zeros((3, num_players))
    at_first = np.zeros((3, num_players), np.int64)  # cards left when the first went out
    while not (batch.state.turn < 0).all():
        was_open = (batch.state.places != 0).all(axis=1)
        actions = batch.sample(rng)
        rewards, _ = batch.step(actions)
        total += rewards
        ends = was_open & (batch.state.places == 0).any(axis=1)
        at_first[ends] = np.bitwise_count(batch.state.hands[ends, :num_players])
    places = batch.state.places
    points = np.array(batch.rules.points or range(num_players)[::-1])[places]  # type: ignore[attr-defined]
    assert (batch.state.scores == points).all()
    expected = {
        "points": points,
        "zero_sum": points - points.mean(axis=1, keepdims=True),
        "win": np.where(places == 0, 1, -1),
        "cards": np.where(places == 0, at_first.sum(axis=1, keepdims=True), -at_first),
    }
    np.testing.assert_allclose(total, expected[reward], atol=1e-6)
