"""The rewards of a round by their definitions, in plain Python (RULES.md 1.11, 6.3)."""

from __future__ import annotations

import numpy as np
import pytest

from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import parse_cards


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


@pytest.mark.parametrize(
    ("reward", "expected"),
    [("points", (0, 1, 2)), ("zero_sum", (-1, 0, 1)), ("win", (-1, -1, 1)), ("payments", (-52, 26, 26))],
)
def test_who_ends_on_a_two_is_rewarded_once_as_the_last(reward: str, expected: tuple[int, ...]) -> None:
    """RULES.md 4.27: the others get their places by the cards that they hold."""
    batch = Batch("north", 1, num_players=3, reward=reward, backend="python")  # type: ignore[arg-type]
    batch.set_hands([[parse_cards(hand) for hand in ("2s 2h", "3c 4c", "5c")]], leader=0)
    pair = batch.action_mask()[0].nonzero()[0].max()
    assert batch.action_to_cards([pair])[0] == parse_cards("2s 2h")
    rewards, is_over = batch.step([pair])
    assert (batch.state.places.tolist(), is_over.tolist()) == ([[2, 1, 0]], [True])
    assert tuple(rewards[0]) == expected
    assert tuple(batch.state.scores[0]) == (0, 1, 2)
