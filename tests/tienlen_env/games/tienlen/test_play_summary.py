"""What the others passed over, followed with and led (`update_play_summary`), as bits for
a network."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import tienlen_agents
from tienlen_agents.networks.features import Reader
from tienlen_agents.networks.features.tienlen import FEATURES
from tienlen_agents.networks.features.tienlen_general import num_summary_bits
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.tienlen.state import FOLLOWED, LED, PASSED_ON

HANDS = ["3s 4s 5s 9h 9d 2h", "6s 6d 7s 8s 9s 10s", "Js Jd Qs Ks As 2s", "3d 4d 5d Kh Kd Ah"]


def read_record(batch: Batch) -> npt.NDArray[np.uint8]:
    """uint8 (n, R): what the networks of the seats to move read of the record."""
    observation = Reader(FEATURES, "none", record=True).read(View(batch)).observation
    size = batch.observation_size
    return observation[:, size : size + num_summary_bits(batch.num_players)]


def test_the_history_has_the_last_plays_newest_first() -> None:
    batch = Batch("cardgames", 1, history_length=3, backend="python")
    batch.set_hands([[parse_cards(hand) for hand in HANDS]], leader=0)
    events: list[int] = []
    for seat, cards in enumerate(("3s", "6d", "", "Ah", "2h")):
        mask = parse_cards(cards) if cards else 0
        batch.step([batch.action_table.classify(mask)], [mask])
        events.insert(0, mask | (1 + seat % 4) << 52)
        assert batch.state.history[0].tolist() == [*events, 0, 0][:3]


def test_a_trick_by_hand() -> None:
    batch = Batch("cardgames", 1, history_length=1)
    batch.set_hands([[parse_cards(hand) for hand in HANDS]], leader=0)

    def play(cards: str) -> None:
        legal = batch.list_legal()
        mask = parse_cards(cards) if cards else 0
        batch.step(legal.action[legal.cards == mask][:1])

    def records() -> set[tuple[int, int, int, int]]:
        found = read_record(batch).reshape(3, 3, 4, 13)
        return set(zip(*(axis.tolist() for axis in np.nonzero(found)), strict=True))

    assert records() == set()
    play("3s")  # seat 0 leads a single three
    play("6d")  # seat 1 follows
    play("")  # seat 2 passes over the six
    # Seat 3 sees seat 0 next, then 1, then 2; kind 0 is a single; rank 0 is the three.
    assert records() == {(0, LED, 0, 0), (1, FOLLOWED, 0, 3), (2, PASSED_ON, 0, 3)}
    play("Ah")
    play("2h")
    play("")  # seat 1; seat 2 is out of the trick
    play("")  # seat 3: seat 0 leads again
    play("9d 9h")
    # Seat 1 sees seats 2, 3, 0.
    assert records() == {
        *((0, PASSED_ON, 0, 3), (1, FOLLOWED, 0, 11), (1, PASSED_ON, 0, 12)),
        *((2, LED, 0, 0), (2, FOLLOWED, 0, 12), (2, LED, 1, 6)),
    }
    play("")
    play("Js Jd")
    play("Kd Kh")
    play("")
    play("")
    play("3d 4d 5d")
    # Seat 0: a straight of three is kind 3, by its highest rank.
    assert {(2, LED, 3, 2), (1, FOLLOWED, 1, 8), (2, FOLLOWED, 1, 10), (0, PASSED_ON, 1, 6)} <= records()


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_a_record_is_shown_to_a_network_and_empties_with_the_deal(num_players: int) -> None:
    batch = Batch("cardgames", 20, num_players=num_players, history_length=1)
    batch.reset(3)
    assert not read_record(batch).any()
    rng, plain = np.random.default_rng(3), Reader(FEATURES, "none")
    for _ in range(12):
        batch.step(batch.sample(rng))
    view = View(batch)
    after = (view.seat[:, None] + np.arange(1, num_players)) % num_players
    words = batch.state.play_summary[:, :12].reshape(20, 4, 3)[np.arange(20)[:, None], after]
    record = (words[..., None] >> np.arange(52) & 1).reshape(20, -1).astype(np.uint8)
    assert record.shape == (len(view), num_summary_bits(num_players))
    assert record.any()
    shown = Reader(FEATURES, "none", record=True).read(view)
    seen = np.split(plain.read(view).observation, [batch.observation_size], axis=1)
    assert np.array_equal(shown.observation, np.concatenate([seen[0], record, seen[1]], axis=1))
    batch.reset(4)
    assert not read_record(batch).any()


@pytest.mark.parametrize("kept", [0, 1, 7])
def test_the_record_does_not_depend_on_how_many_plays_are_kept(kept: int) -> None:
    batches = [Batch("foicica", 10, history_length=k, auto_reset=True) for k in (kept, 40)]
    for batch in batches:
        batch.reset(2)
    rng = np.random.default_rng(2)
    for _ in range(30):
        actions = batches[0].sample(rng)
        for batch in batches:
            batch.step(actions)
    few, many = batches
    assert many.state.play_summary.any()
    assert few.state.history.shape == (10, kept)
    if kept:
        assert np.array_equal(few.state.play_summary, many.state.play_summary)
    else:
        assert few.state.play_summary.shape == (10, 0)
        assert not read_record(few).any()


def test_a_record_is_public() -> None:
    """It does not change when the hidden cards do."""
    batch = Batch("cardgames", 30, history_length=1)
    batch.reset(8)
    heuristic = tienlen_agents.load("heuristic")
    for _ in range(9):
        batch.step(heuristic.act(View(batch)))
    before = read_record(batch)
    state = batch.state
    other = (state.turn[:, None] + np.array([1, 2, 3])) % 4
    rows = np.arange(30)[:, None]
    state.hands[rows, other] = state.hands[rows, np.roll(other, 1, axis=1)]
    assert np.array_equal(read_record(batch), before)
