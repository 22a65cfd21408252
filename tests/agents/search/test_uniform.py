"""The search in a game of another package: uniform worlds, random rollouts, or a baseline of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import tienlen_agents
from tests.high_card import HIGH_CARD, HighCardRules
from tienlen_agents.search import SearchAgent, uniform
from tienlen_agents.search.context import SearchContext
from tienlen_env.engine.agent import Agent, RandomAgent
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.engine.view import View
from tienlen_env.errors import WrongGameError
from tienlen_env.games import registry as games


def views(agent: Agent, num_games: int, num_players: int = 3, seed: int = 3) -> Iterator[tuple[Batch, View]]:
    """Yield the batch and a view of all decisions that wait, until the games are over."""
    batch = Batch(HighCardRules(num_players), num_games)
    batch.reset(seed)
    agent.reset(seed)
    while (waiting := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, waiting)
        yield batch, view
        actions = np.full(num_games, NO_ACTION)
        actions[waiting] = agent.act(view)
        batch.step(actions)  # refuses what is not legal


@pytest.mark.parametrize(
    "name", ["search:worlds=8", "ismcts:worlds=20", "search:ms=2", "search:worlds=4,rollout=random"]
)
@pytest.mark.parametrize("num_players", [2, 5])
def test_plays_by_the_rules(name: str, num_players: int) -> None:
    for batch, _ in views(tienlen_agents.load(name), 2, num_players):
        last = batch
    assert (last.state.turn < 0).all()


def test_worlds_keep_what_is_seen_and_are_uniform() -> None:
    agent = SearchAgent()
    for step, (batch, view) in enumerate(views(RandomAgent(), 1)):
        decision, context = agent._decisions(view, np.array([0]))[0], SearchContext(batch.rules)
        context.start(decision, agent.options, -1)
        rows = np.repeat(decision.row[None], 4000, axis=0)
        context.fill(rows, context.draw(len(rows)))
        seat, hands = int(view.seat[0]), HIGH_CARD.columns.hand + np.arange(3)
        assert (rows[:, hands[seat]] == decision.row[hands[seat]]).all()
        assert (np.bitwise_count(rows[:, hands]) == np.bitwise_count(decision.row[hands])).all()
        if step == 0:
            other = rows[:, hands[(seat + 1) % 3]]
            held = (other[:, None] >> np.arange(52) & 1).mean(axis=0)
            unseen = 1 - (int(decision.row[hands[seat]]) >> np.arange(52) & 1)
            assert abs(held - unseen * 5 / unseen.sum()).max() < 0.03


def test_a_decision_depends_on_what_is_seen_and_the_seed_alone() -> None:
    agent, changed = tienlen_agents.load("search:worlds=6"), 0
    for step, (batch, view) in enumerate(views(RandomAgent(), 8)):
        agent.reset(1)
        chosen = agent.act(view)
        assert (agent.act(View(batch, np.flatnonzero(batch.state.turn >= 0)[::-1]))[::-1] == chosen).all()
        if step < 3:  # the other hands are dealt anew
            other = batch.copy()
            for row in other.state.rows:
                state, spec = row.tolist(), other.kernel_arrays.spec.tolist()
                HIGH_CARD.kernels.resample_hidden(state, spec, state[HIGH_CARD.columns.turn], 7)
                row[:] = state
            assert (other.state.rows != batch.state.rows).any()
            assert (agent.act(View(other)) == chosen).all()
        agent.reset(2)
        changed += int((agent.act(view) != chosen).sum())
    assert changed > 0


def points(agent: Agent, num_games: int = 300) -> float:
    """The mean score of seat 0 against random play."""
    others, batch = RandomAgent(), Batch(HighCardRules(3), num_games)
    batch.reset(5)
    while (turn := batch.state.turn.copy()).max() >= 0:
        actions = np.full(num_games, NO_ACTION)
        for player, waits in ((agent, turn == 0), (others, turn > 0)):
            if waits.any():
                actions[waits] = player.act(View(batch, np.flatnonzero(waits)))
        batch.step(actions)
    return float(batch.scores[:, 0].mean())


def test_beats_random_play() -> None:
    assert points(tienlen_agents.load("search:worlds=24")) > points(RandomAgent()) + 0.2


def choose_highest(policy, spec, actions, row, ids, cards):  # type: ignore[no-untyped-def]
    """A baseline: play the highest card, and count the calls."""
    policy[0] += 1
    HIGH_CARD_UPDATE(row, spec, actions)
    return HIGH_CARD_LIST(row, spec, actions, ids, cards, 0) - 1


HIGH_CARD_UPDATE, HIGH_CARD_LIST = HIGH_CARD.kernels.update_legal, HIGH_CARD.kernels.legal.list_legal


def test_a_game_may_register_its_own_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "_parts", {})
    calls = np.zeros(1, np.int64)
    games.register(HIGH_CARD, search=uniform.setup_with(uniform.Baseline(choose_highest, calls)))
    with pytest.raises(ValueError, match="has another search already"):
        games.register(HIGH_CARD, search=lambda rules: uniform.setup(HIGH_CARD, rules))
    agent = SearchAgent(worlds=4)
    _, view = next(views(RandomAgent(), 1))
    agent.act(view)
    assert calls[0] > 0
    decision = agent._decisions(view, np.array([0]))[0]
    assert SearchContext(view.rules).resolve(decision) == (len(decision.actions) - 1, -1)
    # With so much trust the default action is taken, whatever the worlds show.
    assert SearchAgent(worlds=2, prior_weight=1000.0).act(view)[0] == decision.actions[-1]


def test_a_game_without_the_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    game = replace(HIGH_CARD, kernels=HIGH_CARD.kernels._replace(resample_hidden=None))
    with pytest.raises(WrongGameError, match="resample_hidden"):
        uniform.setup(game, HighCardRules(3))


def test_worlds_are_drawn_from_different_keys() -> None:
    agent = SearchAgent()
    _, view = next(views(RandomAgent(), 1))
    context = SearchContext(view.rules)
    context.start(agent._decisions(view, np.array([0]))[0], agent.options, -1)
    assert max(Counter(context.draw(500)[:, 0].tolist()).values()) == 1
