"""Rounds for training: every reward reaches the seat and the decision that earned it."""

from __future__ import annotations

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents.networks.features import Inputs, Reader, features_of
from tienlen_agents.networks.features.tienlen import FEATURES
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.common.arrays import Float32Array, IntArray
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules
from tienlen_env.games.tienlen.rules import PRESETS
from tienlen_train.learner import advantages
from tienlen_train.rollout import LEARNER, Trajectories, join, play_rounds

KEYS = np.arange(1, 25, dtype=np.int64) * 977


def a_policy(seed: int = 0) -> object:
    rng = np.random.default_rng(seed)

    def act(inputs: Inputs) -> tuple[IntArray, Float32Array]:
        chosen = inputs.segment_start + rng.integers(0, inputs.num_legal)
        return chosen, -np.log(inputs.num_legal).astype(np.float32)

    return act


def played(
    rules: AnyRules, *, seed: int = 0, seat_policies: IntArray | None = None, **settings: object
) -> Trajectories:
    if seat_policies is None:
        seat_policies = np.zeros((len(KEYS), rules.num_players), np.int64)
    return play_rounds(
        rules,
        KEYS,
        seat_policies,
        [a_policy(seed), a_policy(seed + 1)],
        Reader(features_of(rules), "none", 1.0, record=False),
        [tienlen_agents.load("greedy")],
        **settings,
    )


@pytest.mark.parametrize(
    ("preset", "num_players", "reward"),
    [
        ("cardgames", 4, "zero_sum"),
        ("cardgames", 2, "points"),
        ("foicica", 4, "cards"),
        ("pagat", 3, "win"),
        ("thirteens", 4, "zero_sum"),
        ("thirteens_manual", 5, "points"),
        ("thirteens_dummy", 3, "win"),
    ],
)
def test_rewards_reach_their_seat_and_step(preset: str, num_players: int, reward: str) -> None:
    """Replay every game alone, in a plain loop that shares nothing with `play_rounds`."""
    rules = get_rules(preset, num_players)
    found = played(rules, reward=reward)
    assert len(found) == len(found.reward) == len(found.next_index)
    for game, key in enumerate(KEYS):
        decisions = np.flatnonzero(found.game == game)
        single = Batch(rules, 1, reward=reward)
        single.deal([key])
        earned = dict.fromkeys(decisions.tolist(), 0.0)
        latest: dict[int, int] = {}
        followers: dict[int, int] = dict.fromkeys(decisions.tolist(), -1)
        waiting = iter(decisions.tolist())
        while single.state.turn[0] >= 0:
            legal = np.flatnonzero(single.action_mask()[0])
            seat = int(single.state.turn[0])
            action = legal[0]
            if len(legal) > 1:
                decision = next(waiting)
                assert found.seat[decision] == seat
                observation = single.observe()[0]
                assert np.array_equal(found.inputs.observation[decision, : len(observation)], observation)
                begin = found.inputs.segment_start[decision]
                mine = found.inputs.action[begin : begin + found.inputs.num_legal[decision]]
                assert np.array_equal(mine, legal)
                action = found.inputs.action[found.chosen[decision]]
                if seat in latest:
                    followers[latest[seat]] = decision
                latest[seat] = decision
            rewards, _ = single.step([action])
            for other in range(rules.num_players):
                if other in latest:
                    earned[latest[other]] += float(rewards[0, other])
        assert next(waiting, None) is None
        assert [found.reward[d] for d in decisions] == pytest.approx([earned[d] for d in decisions])
        assert [found.next_index[d] for d in decisions] == [followers[d] for d in decisions]


def test_opponents_take_their_seats_and_teach_nothing() -> None:
    rules = PRESETS["cardgames"]
    seat_policies = np.zeros((len(KEYS), 4), np.int64)
    seat_policies[:, 1] = seat_policies[:10, 3] = 1
    seat_policies[5:15, 2] = 2
    found = played(rules, seat_policies=seat_policies)
    assert (seat_policies[found.game, found.seat] == LEARNER).all()
    assert found.scores.sum() == pytest.approx(0)
    everyone = played(rules)
    assert len(found) < len(everyone)


def test_seat_policies_are_checked() -> None:
    with pytest.raises(ValueError, match="seat_policies"):
        played(PRESETS["cardgames"], seat_policies=np.full((len(KEYS), 4), 3))
    with pytest.raises(ValueError, match="seat_policies"):
        played(PRESETS["cardgames"], seat_policies=np.zeros((len(KEYS), 3), np.int64))


def test_joined_parts_are_the_parts() -> None:
    rules = PRESETS["cardgames"]
    parts = [played(rules, seed=seed) for seed in (1, 2)]
    first, second = parts
    both = join(parts)
    n = len(first)
    assert len(both) == n + len(second)
    assert np.array_equal(both.game[n:], second.game + len(KEYS))
    after = second.next_index >= 0
    assert np.array_equal(both.next_index[n:][after], second.next_index[after] + n)
    assert (both.next_index[n:][~after] == -1).all()
    i = n + 5
    assert both.inputs.action[both.chosen[i]] == second.inputs.action[second.chosen[5]]
    values = np.random.default_rng(0).normal(size=len(both)).astype(np.float32)
    whole, _ = advantages(both, values, gae_lambda=0.9)
    parts = [
        advantages(first, values[:n], gae_lambda=0.9)[0],
        advantages(second, values[n:], gae_lambda=0.9)[0],
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("gae_lambda", [0.0, 0.7, 1.0])
def test_advantages_by_their_definition(gae_lambda: float) -> None:
    found = played(PRESETS["cardgames"])
    values = np.random.default_rng(3).normal(size=len(found)).astype(np.float32)
    advantage, target = advantages(found, values, gae_lambda=gae_lambda)
    for i in range(0, len(found), 17):
        wanted, weight, now = 0.0, 1.0, i
        while now >= 0:
            after = int(found.next_index[now])
            next_value = float(values[after]) if after >= 0 else 0.0
            wanted += weight * (float(found.reward[now]) + next_value - float(values[now]))
            weight, now = weight * gae_lambda, after
        assert advantage[i] == pytest.approx(wanted, abs=1e-4)
    np.testing.assert_allclose(target, advantage + values)


def test_every_decision_of_a_seat_returns_its_score() -> None:
    """Undiscounted, with no critic: the first decision of a seat returns all that the seat got after it."""
    found = played(PRESETS["cardgames"])
    returns, _ = advantages(found, np.zeros(len(found), np.float32), gae_lambda=1.0)
    first = np.setdiff1d(np.arange(len(found)), found.next_index)
    np.testing.assert_allclose(returns[first], found.scores[found.game[first], found.seat[first]], atol=1e-5)


def test_hidden_facts_by_hand() -> None:
    batch = Batch("cardgames", 1)
    hands = [parse_cards(hand) for hand in ("3s 4s 5s", "3h", "7c 7d", "2h 9s")]
    batch.set_hands([hands], leader=0)
    hidden_fn = FEATURES.on_host(FEATURES.hidden)
    facts = hidden_fn(batch, np.array([0]))
    assert facts.shape == (1, FEATURES.hidden.num_features(batch.rules))
    bits, plays = facts[0, :156].reshape(3, 52), facts[0, 156:].reshape(4, 8)
    assert [np.flatnonzero(b).tolist() for b in bits] == [[3], [17, 18], [24, 51]]
    assert plays.sum(axis=1).tolist() == [1, 1, 1, 2]
    batch.step([batch.action_table.classify(parse_cards("3s"))])
    after = hidden_fn(batch, np.array([0]))
    assert np.array_equal(
        after, FEATURES.on_host(FEATURES.hidden)(batch, np.array([0]))
    )  # what it remembers is not in the way
    assert after[0, 156:].reshape(4, 8).sum(axis=1).tolist() == [1, 1, 2, 2]


def test_action_returns_are_what_the_heuristic_plays() -> None:
    """Play one action in a copy of the game, and go on with the agent itself."""
    batch = Batch("cardgames", 6, reward="zero_sum")
    batch.reset(4)
    heuristic, rng = tienlen_agents.load("heuristic"), np.random.default_rng(1)
    for _ in range(9):
        batch.step(batch.sample(rng))
    view = View(batch)
    legal = view.legal_actions
    assert FEATURES.returns is not None
    found = FEATURES.on_host(FEATURES.returns)(batch, np.arange(6), Reader(FEATURES).read(view))
    for i in range(len(found)):
        game = int(legal.game[i])
        copy = batch.select([game])
        seat = int(copy.state.turn[0])
        got = float(copy.step([legal.action[i]])[0][0, seat])
        while copy.state.turn[0] >= 0:
            got += float(copy.step(heuristic.act(View(copy)))[0][0, seat])
        assert found[i] == pytest.approx(got)


def test_foresight_is_what_the_heuristic_players_do() -> None:
    """The round is played on by the agent itself; the batch that was asked about has not moved."""
    batch = Batch("cardgames", 40, reward="zero_sum", history_length=8)
    batch.reset(5)
    rng = np.random.default_rng(2)
    for _ in range(20):
        batch.step(batch.sample(rng))
    games = np.flatnonzero(batch.state.turn >= 0)[::-2]
    before = batch.kernel_arrays.rows.copy()
    assert FEATURES.outcome is not None
    facts = FEATURES.on_host(FEATURES.outcome)(batch, games)
    assert facts.shape == (len(games), FEATURES.outcome.num_features(batch.rules))
    assert np.array_equal(batch.kernel_arrays.rows, before)
    copy = batch.select(games)
    turn, heuristic = copy.state.turn.copy(), tienlen_agents.load("heuristic")
    while (running := np.flatnonzero(copy.state.turn >= 0)).size:
        actions = np.full(len(games), NO_ACTION)
        actions[running] = heuristic.act(View(copy, running))
        copy.step(actions)
    seats = (turn[:, None] + np.arange(4)) % 4
    expected = np.take_along_axis(copy.state.places, seats, axis=1)
    assert np.array_equal(facts.reshape(-1, 4, 4).argmax(axis=2), expected)
    assert (facts.reshape(-1, 4, 4).sum(axis=2) == 1).all()
