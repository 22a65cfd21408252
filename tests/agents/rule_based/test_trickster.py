"""The rule-based player of Thirteens: legal, blind to what is hidden, better than chance, with the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tests.tienlen_env.games.thirteens.test_clauses import Deal
from tests.tienlen_env.games.thirteens.test_engine_oracle import VARIANTS, variant_id
from tienlen_agents.rule_based.trickster import TricksterAgent, TricksterWeights
from tienlen_env.engine.agent import RandomAgent, View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.thirteens.cards import full_deck
from tienlen_env.games.thirteens.melds import POINTS, best_melds
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.thirteens.spec import build_spec

FOUR = ThirteensRules(num_players=4, jokers=2)
THREE = ThirteensRules(num_players=3, jokers=2)


def duel(rules: ThirteensRules, num_deals: int, seed: int = 0) -> np.ndarray:
    """float64 (num_deals,): points of one trickster less the mean of the others, who play at random.

    Each deal is played once from every seat, so that the luck of the deal cancels out.
    """
    players = rules.num_players
    batch = Batch(rules, num_deals * players)
    keys = np.random.default_rng(seed).integers(-(2**63), 2**63, num_deals)
    batch.deal(np.repeat(keys, players))
    who = np.arange(batch.num_games) % players
    ours, others = TricksterAgent(), RandomAgent()
    others.reset(seed)
    while (turn := batch.state.turn.copy()).max() >= 0:
        ids = np.full(batch.num_games, NO_ACTION)
        for agent, chosen in ((ours, turn == who), (others, (turn >= 0) & (turn != who))):
            games = np.flatnonzero(chosen)
            if len(games):
                ids[games] = agent.act(View(batch, games))
        batch.step(ids)
    points = batch.state.points
    mine = points[np.arange(batch.num_games), who]
    ahead: np.ndarray = mine - (points.sum(axis=1) - mine) / (players - 1)
    return ahead.reshape(num_deals, players).mean(axis=1)


@pytest.mark.parametrize("rules", VARIANTS[1::6] + VARIANTS[4::6], ids=variant_id)
def test_clearly_better_than_random(rules: ThirteensRules) -> None:
    ahead = duel(rules, 150)
    assert ahead.mean() - 1.96 * ahead.std() / len(ahead) ** 0.5 > 0


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_plays_legally_and_sees_nothing_hidden(rules: ThirteensRules) -> None:
    batch = Batch(rules, 30, auto_reset=True)
    batch.deal(np.arange(30))
    agent = TricksterAgent()
    for step in range(60):
        view = View(batch)
        ids = agent.act(view)
        assert view.action_mask[np.arange(30), ids].all()
        if step % 10 == 0:
            # One decision at a time, and without what is hidden.
            blind = batch.copy()
            blind.state.rows[:] = view.public_rows
            assert np.array_equal(agent.act(View(blind)), ids)
            assert [int(agent.act(View(batch, [b]))[0]) for b in range(5)] == ids[:5].tolist()
        batch.step(ids)


def chosen(deal: Deal) -> str:
    return deal.table.text(int(TricksterAgent().act(View(deal.batch))[0]))


def ending(rules: ThirteensRules, *hands: str) -> Deal:
    """A deal where all other cards have been shown."""
    deal = Deal(rules, *hands)
    deal.batch.state.shown[:] = full_deck(rules.jokers) & ~deal.batch.state.hands.sum(axis=1)
    return deal


def test_leads_the_king_when_the_ace_is_out_and_not_before() -> None:
    others = ("3h 5h 5s 6c", "6h Th 9s 8c", "8h Qh Js 9c")
    assert chosen(ending(FOUR, "Kh 7h 4s 2c", *others)) == "Kh"
    others = ("3h 5h 5s 6c", "6h Ah 9s 8c", "8h Qh Js 9c")
    assert chosen(ending(FOUR, "Kh 7h 4s 2c", *others)) != "Kh"


def test_makes_no_thirteen_for_who_wins() -> None:
    """The king wins. 8+5 would be a second thirteen for it."""
    deal = ending(FOUR, "Kc 2d 2h", "8c 4d 4h", "2c 5c 7s", "6c 6d 6s").play("Kc", "8c")
    assert deal.legal == {"2c", "5c"}
    assert chosen(deal) == "2c"


def test_dumps_a_joker_on_another_ones() -> None:
    deal = ending(THREE, "9c 2d 3d", "*1 4d Ts", "*2 Qs 5h").play("9c", "*1")
    assert chosen(deal) == "*2"


def test_last_player_takes_a_rich_trick_and_bides_its_time_on_a_poor_one() -> None:
    hands = ("Qc 2d 9h", "{} 3d 9s", "7c 4h 9d", "Ac 2c Td")
    rich = ending(FOUR, *(h.format("6c") for h in hands)).play("Qc", "6c", "7c")
    assert chosen(rich) == "Ac", "Q+A and 6+7"
    poor = ending(FOUR, "3c 2d 9h", "8c 3d 9s", "4c 4h 9d", "Kc 5s 2c Ac").play("3c", "8c", "4c")
    assert chosen(poor) != "Ac", "the king or nothing"


def test_goes_null_on_a_bad_hand() -> None:
    """Nothing but low cards, no trick yet, and this one worth a point: the three for none are more."""
    hands = ("3c Ah Kh", "5c As Ks", "2c Ad Kd", "9c 4c 2s")
    assert chosen(ending(FOUR, *hands).play("3c", "5c", "2c")) == "4c"


@pytest.mark.parametrize("rules", [r for r in VARIANTS if r.melding == "manual"][::4], ids=variant_id)
def test_declares_the_best_melds(rules: ThirteensRules) -> None:
    batch = Batch(rules, 200)
    batch.deal(np.arange(200))
    agent = TricksterAgent()
    rng = np.random.default_rng(0)
    spec = build_spec(rules)[0].tolist()
    expected: dict[int, Any] = {}
    rounds = 0
    while rounds < 120 and not (batch.state.turn < 0).all():
        rounds += 1
        melding = batch.state.pile != 0
        for b in np.flatnonzero(melding):
            if b not in expected:
                worth = best_melds(spec, int(batch.state.pile[b])) >> POINTS
                seat = int(batch.state.turn[b])
                expected[b] = seat, int(batch.state.points[b, seat]) + worth
        ids = batch.sample(rng)
        games = np.flatnonzero(melding)
        if len(games):
            ids[games] = agent.act(View(batch, games))
        batch.step(ids)
        for b in [b for b in expected if batch.state.pile[b] == 0]:
            seat, points = expected.pop(b)
            if batch.state.turn[b] >= 0:  # at the end nulls may come on top, of others
                assert batch.state.points[b, seat] == points
    assert rounds == 120 or (batch.state.turn < 0).all()


def test_loads_by_name_and_takes_weights() -> None:
    agent = tienlen_agents.load("trickster")
    assert agent.name == "trickster"
    assert TricksterAgent(TricksterWeights(spite=0.0)).weights.spite == 0.0
