"""The searching players: their worlds, what they infer, what they spend, and how they play."""

import hashlib
import json
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest

import tienlen_agents
from tests.plays import mask_of
from tienlen_agents.arena import match
from tienlen_agents.endgame import solve
from tienlen_agents.rule_based.heuristic import HeuristicAgent
from tienlen_agents.search import HISTORY, IsmctsAgent, SearchAgent, agent as search_agent
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.tienlen_determinizations import QUERIES
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.engine.view import View
from tienlen_env.games.common.cards import FULL_DECK, masks_to_bits, parse_cards
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.rules import PRESETS, get_rules

GOLDEN = Path(__file__).parents[2] / "golden" / "search.json"


def views(agent, rules, num_rounds, *, history=HISTORY, seed=3, num_players=None):
    """Yield the batch and a view of all decisions that wait, until the rounds are over."""
    batch = Batch(rules, num_rounds, num_players=num_players, history=history)
    batch.reset(seed)
    agent.reset(seed)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        yield batch, games, view
        actions = np.full(num_rounds, NO_ACTION)
        actions[games] = agent.act(view)
        batch.step(actions)  # refuses what is not legal


def decision_of(view, index=0):
    """One decision as the search sees it."""
    return SearchAgent()._decisions(view, np.array([index]))[0]


def start(context, decision, *, seed=0, inference=0.95, mcmc_effort=1.0):
    """Begin a search step by step; the baseline's action is the default."""
    agent = SearchAgent(inference=inference, mcmc_effort=mcmc_effort)
    agent.reset(seed)
    return context.start(decision, agent.options, context.resolve(decision)[0])


def values_of(context):
    """float64 (worlds, candidates): what each candidate earned in each world so far."""
    num_values = context.num_worlds * len(context.candidates)
    return context.workspace.values[:num_values].reshape(context.num_worlds, -1).copy()


# ---------------------------------------------------------------- worlds


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("rules", PRESETS)
def test_worlds_agree_with_all_that_is_public(rules, num_players):
    context = SearchContext(get_rules(rules, num_players))
    checked = 0
    for step, (batch, games, view) in enumerate(views(RandomAgent(), rules, 4, num_players=num_players)):
        if step % 2:
            continue
        index = step % len(games)
        row, seat = batch.state.rows[games[index]], view.seat[index]
        for inference in (0.0, 0.9):
            start(context, decision_of(view, index), seed=step, inference=inference)
            drawn = context.draw(6)[:, : R.UNDEALT + 1]
            assert (drawn[:, seat] == row[R.HAND + seat]).all()
            assert (np.bitwise_count(drawn) == np.bitwise_count(row[R.HAND : R.UNDEALT + 1])).all()
            in_play = FULL_DECK & ~np.bitwise_or.reduce(row[R.PLAYED : R.PLAYED + 4])
            assert (np.bitwise_or.reduce(drawn, axis=1) == in_play).all()
            if step:  # it was opened with the lowest card dealt (RULES.md 1.3)
                played = int(np.bitwise_or.reduce(row[R.PLAYED : R.PLAYED + 4]))
                lower = (played & -played) - 1
                assert (drawn[:, : R.UNDEALT] & lower == 0).all()
            checked += 1
    assert checked > 10


def test_every_deal_is_equally_likely_without_inference():
    _, _, view = next(views(RandomAgent(), "cardgames", 1, num_players=2, seed=1))
    decision, context = decision_of(view), SearchContext(view.rules)
    start(context, decision, seed=1, inference=0.0)
    drawn = context.draw(4000)
    other = 1 - view.seat[0]
    hidden = masks_to_bits(np.array(FULL_DECK & ~int(view.hand[0]))).astype(bool)
    lowest = int(view.hand[0]) & -int(view.hand[0])
    hidden[: lowest.bit_length()] = False  # the leader holds the lowest card dealt
    share = masks_to_bits(drawn[:, other]).mean(axis=0)
    assert (share[~hidden] == 0).all()
    assert abs(share[hidden] - 13 / hidden.sum()).max() < 0.04  # five standard errors


def test_a_leader_who_was_given_says_nothing_about_low_cards():
    batch = Batch("cardgames", 1, num_players=2)
    high = mask_of(range(39, 52))
    batch.set_hands([[high, mask_of(range(13))]], leader=0)
    context = SearchContext(batch.rules)
    batch.step([int(batch.action_mask()[0].argmax())])
    start(context, decision_of(View(batch)), seed=1, inference=0.0)
    assert (np.bitwise_count(context.draw(20)[:, 0]) == 13 - 1).all()


# ---------------------------------------------------------------- inference


def deviations(batch, game, hands):
    """How many past decisions the heuristic player would have taken otherwise, round by round replayed."""
    row = batch.state.rows[game]
    events = [int(event) for event in batch.state.history[game] if event][::-1]
    replayed = Batch(batch.rules, 1)
    dealt = [int(hands[seat] | row[R.PLAYED + seat]) for seat in range(batch.num_players)]
    replayed.set_hands([dealt], leader=-1)
    count, agent = 0, HeuristicAgent()
    for event in events:
        cards = event & FULL_DECK
        action = batch.action_table.classify(cards)
        seat = int(replayed.state.turn[0])
        assert seat == (event >> R.HISTORY_SEAT_SHIFT) - 1
        if seat != batch.state.turn[game]:
            view = View(replayed)
            count += int(view.cards_of(agent.act(view))[0] != cards)
        replayed.step([action], [cards])
    return count


@pytest.mark.parametrize("rules", ["cardgames", "foicica"])
def test_worlds_are_as_likely_as_their_deviations_make_them(rules):
    inference, found = 0.7, 0
    for batch, games, view in views(tienlen_agents.load("greedy_long"), rules, 30):
        for index in range(len(games)):
            live = np.flatnonzero(view.places[index] < 0)
            left = view.num_cards_left[index][1:]
            if len(live) != 3 or not 4 <= left.sum() <= 6 or found == 6:
                continue
            seat, seats = view.seat[index], [(view.seat[index] + s) % 4 for s in live[1:]]
            seen = view.hand[index] | np.bitwise_or.reduce(view.played[index])
            hidden = [card for card in range(52) if not int(seen) >> card & 1]
            count = int(view.num_cards_left[index][live[1]])
            likelihood = {}
            for cards in combinations(hidden, count):
                hands = [0] * 4
                hands[seat] = int(view.hand[index])
                hands[seats[0]] = mask_of(cards)
                hands[seats[1]] = mask_of(set(hidden) - set(cards))
                number = deviations(batch, games[index], hands)
                likelihood[hands[seats[0]]] = (1 - inference) ** number
            if len(set(likelihood.values())) < 2:
                continue
            context = SearchContext(view.rules)
            start(context, decision_of(view, index), seed=5, inference=inference)
            drawn = context.draw(3000)[:, seats[0]]
            total = sum(likelihood.values())
            for hand, likely in likelihood.items():
                assert (drawn == hand).mean() == pytest.approx(likely / total, abs=0.06)
            found += 1
    assert found == 6


def test_a_pass_with_one_card_by_hand():
    # Seat 1 holds one card and passes over the 9d. With any of the 24 unseen cards above it it would have
    # gone out; 25 unseen cards are below.
    batch = Batch("cardgames", 1, num_players=2, history=8)
    batch.set_hands([[parse_cards("3s 9d Kh"), parse_cards("4c")]], leader=0)
    batch.step([batch.action_table.classify(parse_cards("9d"))])
    batch.step([0])
    decision, context = decision_of(View(batch)), SearchContext(batch.rules)
    above = FULL_DECK & ~(2 * parse_cards("9d") - 1)
    for inference, expected in ((0.0, 24 / 49), (0.75, 6 / (6 + 25)), (0.95, 1.2 / (1.2 + 25))):
        start(context, decision, seed=1, inference=inference)
        higher = context.draw(3000)[:, 1] & above != 0
        assert higher.mean() == pytest.approx(expected, abs=0.05)


def test_suits_tell_what_is_not_held():
    # Seat 1 beats a pair of 4s with 5d 5h and keeps one card: with the 5s or the 5c it would have taken that.
    batch = Batch("cardgames", 1, num_players=2, history=8)
    batch.set_hands([[parse_cards("4s 4c Kh 2d"), parse_cards("5d 5h 9c")]], leader=0)
    for cards in (parse_cards("4s 4c"), parse_cards("5d 5h")):
        batch.step([batch.action_table.classify(cards)], [cards])
    decision, context = decision_of(View(batch)), SearchContext(batch.rules)
    for inference, expected in ((0.0, 2 / 46), (0.99, 0.0)):
        start(context, decision, seed=1, inference=inference)
        share = (context.draw(3000)[:, 1] & parse_cards("5s 5c") != 0).mean()
        assert share == pytest.approx(expected, abs=0.015)


def test_less_effort_asks_the_heuristic_player_less():
    asked, context = {0.25: 0, 1.0: 0}, None
    for _, _, view in views(HeuristicAgent(), "cardgames", 2):
        context = context or SearchContext(view.rules)
        for effort in asked:
            if view.num_legal[0] > 1:
                start(context, decision_of(view), mcmc_effort=effort)
                context.draw(20)
                asked[effort] += int(context.memory.replay.chain_stats[QUERIES])
    assert 0 < asked[0.25] < asked[1.0] / 2


def test_worlds_tell_who_holds_what():
    # The squared error of the probabilities that the worlds give each seat for each of its cards, which are
    # the heuristic player's: alike decisions at the same tables, with inference and without.
    agent, errors = SearchAgent(), {}
    for step, (batch, games, view) in enumerate(views(HeuristicAgent(), "cardgames", 8)):
        if step < 8 or step % 4:
            continue
        for index in np.flatnonzero((view.num_cards_left[:, 1:] > 0).sum(axis=1) > 1):
            true = masks_to_bits(batch.state.rows[games[index], R.HAND : R.HAND + 4])
            for inference in (0.0, agent.inference):
                context = SearchContext(view.rules)
                start(context, decision_of(view, index), seed=1, inference=inference)
                found = masks_to_bits(context.draw(agent.worlds)[:, :4]).mean(axis=0)
                num_unseen = context.memory.chain.capacity.sum()
                errors.setdefault(inference, []).append(((found - true) ** 2).sum() / num_unseen)
    gained = np.subtract(*errors.values())
    assert len(gained) > 40
    assert gained.mean() > 0.05


@pytest.mark.parametrize("history", [0, 3])
def test_without_the_whole_record_nothing_is_inferred(history):
    for _, _, view in views(RandomAgent(), "cardgames", 2, history=history):
        context = SearchContext(view.rules)
        decision = decision_of(view)
        start(context, decision, seed=1, inference=0.9)
        with_inference = context.draw(3)
        start(context, decision, seed=1, inference=0.0)
        if (decision.history != 0).all():  # none kept, or more than were kept
            assert (with_inference == context.draw(3)).all()


# ---------------------------------------------------------------- rounds played out


def test_another_agent_may_play_the_rounds_out():
    other = SearchAgent(inference=0.0, rollout="heuristic")
    for step, (_, _, view) in enumerate(views(RandomAgent(), "cardgames", 2)):
        if step % 6 == 0 and view.num_legal[0] > 1:
            decision, context = decision_of(view), SearchContext(view.rules)
            start(context, decision, seed=1, inference=0.0)
            context.sample(3)
            compiled = values_of(context)
            start(context, decision, seed=1, inference=0.0)
            other._sample(context, decision, 3)
            assert (values_of(context) == compiled).all()


def test_what_was_played_out_is_found_again():
    for step, (_, _, view) in enumerate(views(HeuristicAgent(), "cardgames", 2)):
        if step % 5 == 0 and view.num_legal[0] > 1:
            decision = decision_of(view)
            context, another = SearchContext(view.rules), SearchContext(view.rules)
            start(context, decision, inference=0.9)
            start(another, decision, inference=0.9)
            context.sample(40)
            for _ in range(40):
                another.workspace.played[:] = 0
                another.sample(1)
            assert (values_of(context) == values_of(another)).all()


@pytest.mark.parametrize("options", [{}, {"inference": 0.0, "prior_weight": 0.0}, {"first_place_bonus": 1.0}])
def test_one_call_decides_as_a_search_step_by_step(options):
    agent, context, checked = SearchAgent(worlds=12, **options), SearchContext(get_rules("cardgames")), 0
    agent.reset(5)
    for step, (_, _, view) in enumerate(views(HeuristicAgent(), "cardgames", 3)):
        for index in np.flatnonzero(view.num_legal > 1):
            if step % 3 == 0:
                decision = decision_of(view, index)
                assert context.search(decision, agent.options) == agent._decide_in_steps(context, decision)
                checked += 1
    assert checked > 30


def by_definition(values, credit, limit):
    """The candidates that a step of sequential halving keeps, in NumPy."""
    order = np.argsort(-(values.mean(axis=0) + credit), kind="stable")
    if len(values) >= 8:
        behind = values[:, order[:1]] - values
        worse = behind.mean(axis=0) > 3 * behind.std(axis=0) / len(values) ** 0.5
        order = order[~worse[order] | (order == order[0])]
    return np.sort(order[:limit])


def test_halving_keeps_the_best_by_paired_differences():
    rng = np.random.default_rng(0)
    _, _, view = next(islice(views(RandomAgent(), "cardgames", 1), 1, None))
    decision, context, agent = decision_of(view), SearchContext(view.rules), SearchAgent(prior_weight=2.0)
    num = len(decision.actions)
    assert num > 10
    for num_worlds in (1, 5, 8, 40):
        for limit in (num, (num + 1) // 2, 1):
            context.start(decision, agent.options, 3)
            values = rng.integers(0, 4, (num_worlds, num)) + rng.normal(size=num)
            context.append(values.astype(np.float64))
            credit = (2 / num_worlds**0.5 + 1e-9) * (np.arange(num) == 3)
            kept = by_definition(values, credit, limit)
            assert context.eliminate(limit) == len(kept)
            assert context.candidates.tolist() == kept.tolist()
            assert (values_of(context) == values[:, kept]).all()


# ---------------------------------------------------------------- what is spent


def few(view, num=12):
    """The first decisions of a view, as a view of their own."""
    return View(view._batch, np.arange(min(num, len(view))))


def test_a_decision_depends_on_the_seed_and_the_position_alone():
    one, two = SearchAgent(worlds=8), SearchAgent(worlds=8, threads=3)
    changed = 0
    for step, (_, _, view) in enumerate(views(HeuristicAgent(), "cardgames", 10)):
        if step % 8:
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


@pytest.mark.parametrize("name", ["search:worlds=4", "ismcts:worlds=4"])
def test_forced_and_solved_decisions_are_not_searched(name):
    agent, num_closed = tienlen_agents.load(name), 0
    for _, _, view in views(RandomAgent(), "cardgames", 8):
        chosen = agent.act(view)
        found = solve(view)
        for index in np.flatnonzero((view.num_legal == 1) | (found.value != 0)):
            decision = decision_of(view, index)
            if view.num_legal[index] == 1:
                assert chosen[index] == decision.actions[0]
            else:
                solved = SearchContext(view.rules).resolve(decision)[1] if num_closed % 9 == 0 else 0
                assert solved >= 0
                assert found.best_mask[index, chosen[index]]
            num_closed += 1
    assert num_closed > 40


@pytest.fixture
def sampled(monkeypatch):
    """The numbers of worlds and of candidates of all samples."""
    found, plain = [], SearchContext.sample

    def counted(context, num_worlds):
        found.append((num_worlds, len(context.candidates)))
        plain(context, num_worlds)

    monkeypatch.setattr(SearchContext, "sample", counted)
    return found


def test_the_budget_in_worlds(sampled):
    agent = SearchAgent(worlds=32)
    _, _, view = next(views(RandomAgent(), "cardgames", 12))
    for index in np.flatnonzero(view.num_legal > 1):
        sampled.clear()
        num_legal = int(view.num_legal[index])
        agent._decide_in_steps(SearchContext(view.rules), decision_of(view, index))
        assert sampled[0][1] == num_legal
        assert sum(worlds for worlds, _ in sampled) <= 32
        assert sum(worlds * num for worlds, num in sampled) <= 32 * (2 + np.log2(num_legal)) + num_legal


def test_late_decisions_get_more_worlds(monkeypatch):
    totals = []
    # Nothing is evaluated or dropped before the last step.
    monkeypatch.setattr(SearchContext, "sample", lambda self, num_worlds: totals.append(num_worlds))
    monkeypatch.setattr(SearchContext, "num_worlds", property(lambda self: sum(totals)))
    agent, times = SearchAgent(worlds=16, inference=0.0), set()
    monkeypatch.setattr(SearchContext, "eliminate", lambda self, limit: 2)
    for _, _, view in views(HeuristicAgent(), "cardgames", 3):
        for index in np.flatnonzero((view.num_legal > 1) & (solve(view).value == 0)):
            left = view.num_cards_left[index, 1:]
            if (left > 0).sum() > 1:
                totals.clear()
                agent._decide_in_steps(SearchContext(view.rules), decision_of(view, index))
                times.add(sum(totals) / 16)
                assert sum(totals) == np.ceil(16 * min((39 / left.sum()) ** 2, 8))
    assert min(times) == 1
    assert max(times) == 8


def test_the_budget_in_milliseconds(monkeypatch):
    # Every world takes a millisecond of this clock.
    now = [0.0]
    plain = SearchContext.sample

    def slow(context, num_worlds):
        now[0] += 0.001 * num_worlds
        plain(context, num_worlds)

    monkeypatch.setattr(SearchContext, "sample", slow)
    monkeypatch.setattr(search_agent.time, "perf_counter", lambda: now[0])
    agent = SearchAgent(ms=100)
    _, _, view = next(views(RandomAgent(), "cardgames", 12))
    for index in np.flatnonzero(view.num_legal > 1):
        begin = now[0]
        agent._decide(SearchContext(view.rules), decision_of(view, index))
        assert now[0] - begin <= 0.1 + 1e-9
    assert now[0] > 0.05


@pytest.mark.parametrize("name", ["search:worlds=6", "ismcts:worlds=12"])
def test_a_decision_does_not_depend_on_the_layout_of_the_state(name):
    """A batch that stores more plays has longer rows; observations that show plays change them too."""
    agent = tienlen_agents.load(name)
    batches = [Batch("cardgames", 6, history_length=k, history=h) for k, h in ((160, 0), (200, 0), (160, 9))]
    for batch in batches:
        batch.deal(np.arange(6))
    for _ in range(12):
        chosen = []
        for batch in batches:
            agent.reset(3)
            chosen.append(agent.act(View(batch)))
        assert (chosen[0] == chosen[1]).all()
        assert (chosen[0] == chosen[2]).all()
        for batch in batches:
            batch.step(chosen[0])


def test_hidden_cards_are_not_looked_at():
    agent, batch, changed = SearchAgent(worlds=6), Batch("cardgames", 20, history_length=HISTORY), 0
    batch.reset(1)
    rng = np.random.default_rng(2)
    for step in range(24):
        games = np.flatnonzero(batch.state.turn >= 0)
        if step % 4 == 0:
            other = batch.copy()
            for game in games:
                row, turn = other.state.rows[game], int(other.state.turn[game])
                others = [seat for seat in range(4) if seat != turn]
                sizes = np.bitwise_count(row[others])
                cards = np.flatnonzero(int(np.bitwise_or.reduce(row[others])) >> np.arange(52) & 1)
                parts = np.split(1 << rng.permutation(cards), np.cumsum(sizes)[:-1])
                changed += any(row[seat] != part.sum() for seat, part in zip(others, parts, strict=True))
                row[others] = [part.sum() for part in parts]
                row[R.KEY] += 1
            agent.reset(1)
            chosen = agent.act(View(batch, games))
            agent.reset(1)
            assert (agent.act(View(other, games)) == chosen).all()
        batch.step(batch.sample(rng))
    assert changed > 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("worlds=0", "worlds=0: expected 1..100,000"),
        ("worlds=10000000000000", "expected 1..100,000"),
        ("threads=0", "threads=0: expected 1..256"),
        ("threads=1000000", "expected 1..256"),
        ("ms=nan", "expected 0 or more, and finite"),
        ("ms=inf", "expected 0 or more, and finite"),
        ("prior_weight=nan", "expected 0 or more, and finite"),
        ("floor=nan", "floor below 1"),
        ("first_place_bonus=nan", "first_place_bonus=nan: expected a finite number"),
        ("inference=nan", "less than 1"),
        ("inference=1", "less than 1"),
        ("inference=-0.1", "0 or more"),
        ("ms=-1", "expected 0 or more"),
        ("mcmc_effort=0", "more than 0"),
        ("mcmc_effort=1000", "100 or less"),
        ("prior=greedy", "does not score actions"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tienlen_agents.load(f"search:{options}")
    for explore in ("-1", "nan", "inf"):
        with pytest.raises(ValueError, match=r"explore=.*: expected 0 or more"):
            tienlen_agents.load(f"ismcts:explore={explore}")


# ---------------------------------------------------------------- play


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("name", ["search:worlds=3", "ismcts:worlds=24"])
def test_plays_by_the_rules(name, rules, num_players):
    agent = tienlen_agents.load(name)
    for batch, _, _ in views(agent, rules, 1, num_players=num_players):
        last = batch
    assert (last.state.turn < 0).all()


def test_plays_whole_games():
    batch = Batch(replace(get_rules("cardgames"), target=4), 2, episode="game", history=HISTORY)
    batch.reset(1)
    agent = SearchAgent(worlds=2)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        actions = np.full(2, NO_ACTION)
        actions[games] = agent.act(View(batch, games))
        batch.step(actions)
    assert (batch.scores.max(axis=1) >= 4).all()


def test_solved_endings_are_played_perfectly():
    agent = SearchAgent(worlds=2)
    num_endings = 0
    for _, _, view in views(tienlen_agents.load("greedy_long"), "cardgames", 60):
        found = solve(view)
        endings = np.flatnonzero(found.value)
        if endings.size:
            chosen = agent.act(View(view._batch, endings))
            assert found.best_mask[endings, chosen].all()
            num_endings += len(endings)
    assert num_endings > 100


def test_beats_the_heuristic_player():
    result = match(SearchAgent(worlds=8), HeuristicAgent(), num_deals=12, seed=1)
    assert result.scores[0].points.low > 1.5


class Certain(RandomAgent):
    """Thinks that the last legal action is the one to take."""

    name = "certain"

    def log_probabilities(self, view):
        legal = view.legal_actions
        found = np.full(len(legal.action), -50.0, np.float32)
        found[np.append(legal.start[1:], len(legal.action)) - 1] = 0
        return found


def test_a_prior_drops_what_it_thinks_unlikely(monkeypatch):
    monkeypatch.setattr(tienlen_agents, "_factories", dict(tienlen_agents._factories))
    tienlen_agents.register("certain", Certain)
    agent = tienlen_agents.load("search:worlds=4,prior=certain")
    for _, _, view in views(RandomAgent(), "cardgames", 5):
        legal = view.legal_actions
        last = legal.action[np.append(legal.start[1:], len(legal.action)) - 1]
        assert (agent.act(view) == last)[solve(view).value == 0].all()


def test_the_tree_visits_every_action_and_as_often_as_it_was_told():
    _, _, view = next(views(RandomAgent(), "cardgames", 1))
    options = SearchAgent(worlds=200, inference=0.0).options._replace(explore=1.0)
    _, visits = SearchContext(view.rules).grow(decision_of(view), options)
    assert visits.sum() == 200
    assert visits.min() >= 1
    one, two = IsmctsAgent(worlds=50), IsmctsAgent(worlds=50, threads=2)
    assert (one.act(view) == two.act(view)).all()


# ---------------------------------------------------------------- looking back


def test_views_show_the_last_plays():
    told = []
    batch = Batch("cardgames", 1, history=5)
    batch.reset(3)
    rng = np.random.default_rng(0)
    while batch.state.turn[0] >= 0:
        view = View(batch)
        cards, seats = view.last_plays
        expected = [(c, (s - view.seat[0]) % 4) for c, s in told[::-1][:5]]
        expected += [(0, -1)] * (5 - len(expected))
        assert list(zip(cards[0], seats[0], strict=True)) == expected
        action = view.sample(rng)
        told.append((int(view.cards_of(action)[0]), int(view.seat[0])))
        batch.step(action)


def test_an_observation_shows_no_more_plays_than_it_is_asked_for():
    batches = {k: Batch("cardgames", 20, history=k, history_length=9) for k in (0, 3, 9)}
    alone = {k: Batch("cardgames", 20, history=k) for k in (0, 3, 9)}
    rng = np.random.default_rng(0)
    for batch in (*batches.values(), *alone.values()):
        batch.reset(1)
    for _ in range(15):
        for k in (0, 3, 9):
            assert (View(batches[k]).observation == View(alone[k]).observation).all()
            assert np.array_equal(View(batches[k]).last_plays, View(batches[9]).last_plays)
        actions = batches[9].sample(rng)
        for batch in (*batches.values(), *alone.values()):
            batch.step(actions)


def test_a_match_keeps_what_its_agents_look_back_on():
    kept = []

    class Looking(RandomAgent):
        history = 12

        def act(self, view):
            kept.append((view.last_plays[0].shape[1], view.observation.shape[1]))
            return super().act(view)

    match(Looking(), tienlen_agents.load("random"), num_deals=2)
    size = Batch("cardgames", 1).observation_size
    assert set(kept) == {(12, size)}


# ---------------------------------------------------------------- frozen choices


def summary(name, rules):
    """A digest of (game, seat, action) of all decisions of some rounds, and their number."""
    digest, count = hashlib.sha256(), 0
    agent = tienlen_agents.load(name)
    reward = "payments" if rules in PRESETS and PRESETS[rules].has_payments else "points"
    batch = Batch(rules, 6, reward=reward, history_length=HISTORY if rules != "thirteens" else 0)
    batch.deal(np.arange(6))
    agent.reset(1)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        chosen = agent.act(view)
        digest.update(np.stack([games, view.seat, chosen], axis=1).astype("<i8").tobytes())
        count += len(games)
        actions = np.full(batch.num_games, NO_ACTION)
        actions[games] = chosen
        batch.step(actions)
    return {"digest": digest.hexdigest(), "decisions": count}


CASES = [
    (name, rules) for name in ("search:worlds=8", "ismcts:worlds=24") for rules in (*PRESETS, "thirteens")
]


# By day either search plays a preset.
EITHER = [
    pytest.param(*case, marks=[pytest.mark.nightly] * ((i + i // (len(CASES) // 2)) % 2))
    for i, case in enumerate(CASES)
]


@pytest.mark.parametrize(("name", "rules"), EITHER)
def test_decisions_are_frozen(name, rules):
    assert summary(name, rules) == json.loads(GOLDEN.read_text())[f"{name} {rules}"]


if __name__ == "__main__":  # writes the golden file: play has changed on purpose, figures are to be renewed
    GOLDEN.write_text(json.dumps({f"{n} {r}": summary(n, r) for n, r in CASES}, indent=1) + "\n")
