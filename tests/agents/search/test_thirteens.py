"""The search in Thirteens: its worlds, deals played out, and how it plays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

import tienlen_agents
from tests.tienlen_env.games.thirteens.test_engine_oracle import VARIANTS, variant_id
from tienlen_agents.arena import match
from tienlen_agents.rule_based.trickster import TricksterAgent
from tienlen_agents.search import SearchAgent, deals
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import Decision
from tienlen_agents.search.thirteens import NUM_LOCATIONS
from tienlen_env.engine.agent import Agent, RandomAgent
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.engine.view import View
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.cards import full_deck, parse_cards
from tienlen_env.games.thirteens.rules import ThirteensRules

FOUR = ThirteensRules(jokers=2)


def values_of(context: SearchContext) -> np.ndarray:
    """float64 (worlds, candidates): what each candidate earned in each world so far."""
    num_values = context.num_worlds * len(context.candidates)
    return context.workspace.values[:num_values].reshape(context.num_worlds, -1).copy()


def views(
    agent: Agent, rules: ThirteensRules, num_deals: int, seed: int = 3
) -> Iterator[tuple[Batch, np.ndarray, View]]:
    """Yield the batch and a view of all decisions that wait, until the deals are over."""
    batch = Batch(rules, num_deals)
    batch.reset(seed)
    agent.reset(seed)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        yield batch, games, view
        actions = np.full(num_deals, NO_ACTION)
        actions[games] = agent.act(view)
        batch.step(actions)  # refuses what is not legal


def decision_of(view: View, index: int = 0) -> Decision:
    """One decision as the search sees it."""
    return SearchAgent()._decisions(view, np.array([index]))[0]


def start(context: SearchContext, decision: Decision, seed: int, **options: float) -> None:
    """Begin a search step by step."""
    agent = SearchAgent(**options)
    agent.reset(seed)
    context.start(decision, agent.options, context.resolve(decision)[0])


# ---------------------------------------------------------------- worlds


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_worlds_agree_with_all_that_is_public(rules: ThirteensRules) -> None:
    context, checked, num_void = SearchContext(rules), 0, 0
    for step, (batch, games, view) in enumerate(views(RandomAgent(), rules, 3)):
        index = step % len(games)
        row, seat = batch.state.rows[games[index]], view.seat[index]
        start(context, decision_of(view, index), step)
        drawn = context.draw(4)
        hands = drawn[:, :NUM_LOCATIONS]
        assert (hands[:, seat] == row[R.HAND + seat]).all()
        assert (np.bitwise_count(hands) == np.bitwise_count(row[R.HAND : R.DUMMY + 1])).all()
        assert (np.bitwise_or.reduce(hands, axis=1) == np.bitwise_or.reduce(row[R.HAND : R.DUMMY + 1])).all()
        for other in range(rules.num_players):
            for suit in range(4):
                if row[R.VOID] >> (4 * other + suit) & 1:
                    assert (hands[:, other] & 0x1111111111111 << suit == 0).all()
                    num_void += 1
        if rules.dummy:
            assert len(set(drawn[:, NUM_LOCATIONS])) == 4  # its cards are flipped in another order in each
        checked += 1
    assert checked > 20
    assert num_void > 20


def consistent(hidden: int, size: list[int], void: list[int]) -> Iterator[tuple[int, ...]]:
    """All deals of the hidden cards, one after the other, written down from scratch."""
    if not size:
        yield ()
        return
    cards = [c for c in range(54) if hidden >> c & 1]
    fitting = [c for c in cards if c >= 52 or not void[0] >> c % 4 & 1]
    for chosen in combinations(fitting, size[0]):
        own = sum(1 << c for c in chosen)
        for rest in consistent(hidden ^ own, size[1:], void[1:]):
            yield (own, *rest)


def check_uniform(drawn: list[tuple[int, ...]], possible: list[tuple[int, ...]]) -> None:
    """All possible ones and nothing else, as often as chance will have it."""
    count = Counter(drawn)
    assert set(count) <= set(possible)
    expected = len(drawn) / len(possible)
    chi2 = sum((count[deal] - expected) ** 2 / expected for deal in possible)
    freedom = len(possible) - 1
    assert abs(chi2 - freedom) < 5 * (2 * freedom) ** 0.5 + 1e-9


plan_deal, count_deals, draw_deal = map(jit.loop, (deals.plan_deal, deals.count_deals, deals.draw_deal))


def planned(hidden: int, size: list[int], void: list[int]) -> deals.DealPlan:
    plan = deals.new_plan(len(size), max(64, int(np.prod(np.array(size) + 1))))
    plan_deal(hidden, np.array(size), np.array(void), plan)
    count_deals(plan)
    return plan


def draw_deals(hidden: int, size: list[int], void: list[int], num: int) -> list[tuple[int, ...]]:
    plan, stream, out = planned(hidden, size, void), np.array([12345]), np.zeros(len(size), np.int64)
    found = []
    for _ in range(num):
        draw_deal(stream, plan, out)
        found.append(tuple(out.tolist()))
    return found


@pytest.mark.parametrize(
    ("cards", "size", "void"),
    [
        ("3s 4s 5s 6c 7c 8d 9h *1", [3, 2, 3], [0, 0, 0]),  # nothing known
        ("3s 4s 5s 6c 7c 8d 9h *1", [3, 2, 3], [1, 0, 0]),
        ("3s 4s 5s 6c 7c 8d 9h *1", [3, 2, 3], [1, 2, 0]),
        ("3s 4s 5s 6c 7c 8d 9h *1", [3, 2, 3], [1, 2, 12]),  # every seat is void in something
        ("3s 4s 6d 7d 8d 9h Th", [3, 0, 1, 3], [0, 15, 3, 3]),  # two alike; one without cards
        ("3s 4c 5d", [1, 1, 1], [12, 9, 10]),  # a ring: only all three hands together can change
        ("3s 4s 5c 6c *1 *2", [2, 2, 2], [3, 1, 2]),  # jokers only for the first
        ("3s 4s 5c 6c 7d 8d 9h Th", [1, 2, 1, 2, 1, 1], [1, 2, 4, 8, 3, 0]),
    ],
)
def test_every_deal_with_these_voids_is_equally_likely(cards: str, size: list[int], void: list[int]) -> None:
    hidden = parse_cards(cards)
    possible = list(consistent(hidden, size, void))
    assert possible
    check_uniform(draw_deals(hidden, size, void, 60 * len(possible) + 500), possible)


def test_the_number_of_deals_is_counted() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        cards = rng.choice(54, 9, replace=False)
        hidden, size = sum(1 << int(c) for c in cards), rng.multinomial(9, [0.25] * 4)
        void = rng.integers(0, 16, 4) & rng.integers(0, 16, 4)
        plan = planned(hidden, size.tolist(), void.tolist())
        # Each suit with a void by itself, the free cards together; and the locations within a group.
        found = plan.counts[0, plan.sizes[deals.NUM_STATES] - 1]
        for suit in plan.suits[: plan.sizes[deals.NUM_VOID_SUITS] + 1]:
            found /= deals.INVERSE_FACTORIALS[int(suit).bit_count()]
        for group in range(plan.sizes[deals.NUM_GROUPS]):
            found /= deals.INVERSE_FACTORIALS[plan.capacity[group]]
        for capacity in size:
            found *= deals.INVERSE_FACTORIALS[capacity]
        assert round(found) == sum(1 for _ in consistent(hidden, size.tolist(), void.tolist()))


@pytest.mark.parametrize("rules", [FOUR, ThirteensRules(num_players=3, dummy=True)], ids=variant_id)
def test_worlds_of_endings_are_equally_likely(rules: ThirteensRules) -> None:
    context, found = SearchContext(rules), 0
    for batch, games, view in views(RandomAgent(), rules, 6):
        for index in range(len(games)):
            row, seat = batch.state.rows[games[index]], int(view.seat[index])
            left = np.bitwise_count(row[R.HAND : R.DUMMY + 1])
            left[seat] = 0
            void = [int(row[R.VOID]) >> 4 * s & 15 if s < rules.num_players else 0 for s in range(8)]
            if not 4 <= left.sum() <= 7 or found == 5:
                continue
            hidden = int(np.bitwise_or.reduce(row[R.HAND : R.DUMMY + 1]) & ~row[R.HAND + seat])
            possible = list(consistent(hidden, left.tolist(), void))
            if len(possible) < 4:
                continue
            start(context, decision_of(view, index), found)
            drawn = context.draw(40 * len(possible) + 500)[:, :NUM_LOCATIONS]
            drawn[:, seat] = 0
            check_uniform([tuple(world) for world in drawn.tolist()], possible)
            found += 1
    assert found == 5


# ---------------------------------------------------------------- deals played out


@pytest.mark.parametrize("rules", VARIANTS[1::3], ids=variant_id)
def test_the_compiled_rounds_are_those_of_the_player(rules: ThirteensRules) -> None:
    other, checked = SearchAgent(first_place_bonus=0.5, rollout="trickster"), 0
    for step, (_, _, view) in enumerate(views(RandomAgent(), rules, 1)):
        if step % 5 == 0 and view.num_legal[0] > 1 and view.public_state.pile[0] == 0:
            decision, context = decision_of(view), SearchContext(view.rules)
            start(context, decision, 1, first_place_bonus=0.5)
            context.sample(3)
            compiled = values_of(context)
            start(context, decision, 1, first_place_bonus=0.5)
            other._sample(context, decision, 3)
            assert (values_of(context) == compiled).all()
            checked += 1
    assert checked >= 2


# ---------------------------------------------------------------- play


def test_a_decision_depends_on_the_seed_and_the_position_alone() -> None:
    one, two = SearchAgent(worlds=6), SearchAgent(worlds=6, threads=3)
    changed = 0
    for step, (_, _, view) in enumerate(views(TricksterAgent(), FOUR, 12)):
        if step % 6:
            continue
        one.reset(7)
        two.reset(7)
        chosen = one.act(view)
        assert (two.act(view) == chosen).all()
        for i in range(0, len(view), 3):
            assert one.act(View(view._batch, [i]))[0] == chosen[i]
        two.reset(8)
        changed += (two.act(view) != chosen).sum()
    assert changed > 0


def test_hidden_cards_are_not_looked_at() -> None:
    agent = SearchAgent(worlds=6)
    for step, (_, _, view) in enumerate(views(TricksterAgent(), FOUR, 4)):
        if step % 9 == 0:
            blind = view._batch.copy()
            agent_sees = view.public_rows
            num_left = view._batch.state.num_cards_left
            for game, seat in enumerate(view.seat):
                # Other hands of the same sizes, from all cards that the player does not see.
                seen = agent_sees[game, R.SHOWN] | agent_sees[game, R.HAND + seat]
                seen |= np.bitwise_or.reduce(agent_sees[game, R.PLAYED : R.TAKEN])
                unseen = [c for c in range(54) if not int(full_deck(2) & seen) >> c & 1]
                for other in range(4):
                    if other != seat:
                        count = int(num_left[game, other])
                        blind.state.rows[game, R.HAND + other] = sum(1 << c for c in unseen[:count])
                        unseen = unseen[count:]
            assert (agent.act(View(blind)) == agent.act(view)).all()


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_plays_by_the_rules_and_melds_as_the_player_does(rules: ThirteensRules) -> None:
    agent, player = SearchAgent(worlds=2), TricksterAgent()
    for batch, _, view in views(agent, rules, 2):
        last = batch
        melding = np.flatnonzero(view.public_state.pile)
        if melding.size:
            some = view.select(melding)
            assert (agent.act(some) == player.act(some)).all()
    assert (last.state.turn < 0).all()


@pytest.mark.parametrize("name", ["thirteens", "thirteens_dummy"])
def test_beats_the_rule_based_player(name: str) -> None:
    result = match(SearchAgent(worlds=16), TricksterAgent(), rules=name, num_deals=40, seed=1)
    assert result.scores[0].points.low > result.scores[1].points.high


@pytest.mark.parametrize("rules", VARIANTS[::4], ids=variant_id)
def test_the_tree_search_plays_by_the_rules(rules: ThirteensRules) -> None:
    agent = tienlen_agents.load("ismcts:worlds=20")
    for batch, _, _ in views(agent, rules, 2):
        last = batch
    assert (last.state.turn < 0).all()
