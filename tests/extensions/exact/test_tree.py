import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import tienlen_agents
from tests.extensions.exact.small_games import as_table, expand, expected, num_choices
from tienlen_env.errors import RulesError, WrongGameError
from tienlen_env.games.tienlen.rules import PRESETS, deck_of
from tienlen_exact import Solver, build, measure, passes, policy_of, small_game
from tienlen_exact.plan import check_fits, plan
from tienlen_exact.policies import lookahead, uniform
from tienlen_exact.small_tienlen import GameTooLargeError
from tienlen_exact.tree import estimate

# Rules that differ in what a public tree has to know: the opening, flushes, payments, instant wins, seats.
GAMES = {
    "cardgames": replace(PRESETS["cardgames"], num_players=2, deck=deck_of("3452", "sc"), cards_each=2),
    "foicica": replace(PRESETS["foicica"], num_players=2, deck=deck_of("3452", "sc"), cards_each=2),
    "south": replace(PRESETS["south"], num_players=2, deck=deck_of("342", "sd"), cards_each=2),
    "four_twos": replace(PRESETS["south"], num_players=2, deck="4s 5s 2s 2c 2d 2h", cards_each=2 + 2 - 1),
    "three": replace(PRESETS["cardgames"], num_players=3, deck=deck_of("3452", "sc"), cards_each=2),
    "free": replace(
        PRESETS["cardgames"], num_players=2, opening_play="free", deck=deck_of("342", "scd"), cards_each=2
    ),
}


@pytest.fixture(scope="module", params=GAMES)
def both(request):
    game = small_game(GAMES[request.param])
    return build(game), expand(game)


def test_tree_has_the_information_sets_of_the_engine(both):
    tree, reference = both
    sets = reference.information_sets()
    table = as_table(tree, uniform(tree))
    assert {key: set(actions) for key, actions in table.items()} == sets
    size = tree.size()
    assert size.information_sets == len(sets)
    assert num_choices(tree) == sum(len(actions) > 1 for actions in sets.values())
    assert size.edges == sum(map(len, sets.values()))
    assert size.leaves == len(reference.returns)
    assert size.deals == len(reference.deals)


def test_values_are_those_of_all_histories(both):
    tree, reference = both
    rng = np.random.default_rng(1)
    policy = rng.random(tree.num_edges)
    policy /= np.bincount(tree.edge_slots(), policy, tree.num_slots)[tree.edge_slots()]
    table = as_table(tree, policy)
    values = measure(tree, policy).values
    for seat in range(tree.num_players):
        assert values[seat] == pytest.approx(expected(reference, table, seat), abs=1e-12)


def test_every_deal_ends_with_certainty(both):
    tree, _ = both
    policy = uniform(tree)
    reach, mass = np.empty((2, tree.num_slots))
    passes.reach_down(tree.arrays, policy, reach, -1)
    for seat in range(tree.num_players):
        assert passes.mass_up(tree.arrays, policy, reach, seat, mass) == pytest.approx(tree.num_deals)


# Information sets with forced ones, with a choice, deals, NashConv of uniform play.
GOLDEN = {"mini": (12_210, 4_480, 560, 0.9675099206349205), "small": (431_396, 163_380, 630, None)}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_sizes(name):
    information_sets, choices, deals, nash_conv = GOLDEN[name]
    tree = build(small_game(name))
    size = tree.size()
    assert (size.information_sets, num_choices(tree), size.deals) == (information_sets, choices, deals)
    if nash_conv is not None:
        assert measure(tree, uniform(tree)).nash_conv == pytest.approx(nash_conv, abs=1e-12)


def test_estimate_is_near(monkeypatch):
    game = small_game("small")
    monkeypatch.setattr("tienlen_exact.tree.NODES_PER_DEPTH", 500)
    found, size = estimate(game), build(game).size()
    assert not found.is_exact
    for name in ("nodes", "information_sets", "slots", "edges", "leaves"):
        assert getattr(found, name) == pytest.approx(getattr(size, name), rel=0.15)
    monkeypatch.setattr("tienlen_exact.tree.NODES_PER_DEPTH", 10**6)
    assert estimate(small_game("mini")).information_sets == 12_210


@pytest.mark.parametrize("name", ["mini", "small", pytest.param("large", marks=pytest.mark.nightly)])
def test_the_memory_that_is_said_is_the_memory_that_is_taken(name):
    game, found = small_game(name), {}

    def solved():
        tree = build(game)
        solver = Solver(tree, "cfr+")
        solver.step()
        measure(tree, solver.policy())

    def looked_ahead():
        tree = build(game)
        measure(tree, lookahead(tree, policy_of(tree, tienlen_agents.load("greedy")), 0.5))

    def asked():
        tree = build(game)
        measure(tree, policy_of(tree, tienlen_agents.load("greedy")))

    work = {"solver": solved, "agents": asked, "lookahead": looked_ahead}
    work["solver"]()  # compiles
    for purpose, run in work.items():
        tracemalloc.start()
        run()
        found[purpose] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    said = {purpose: plan(game, purpose).num_bytes for purpose in work}
    assert said == pytest.approx(found, rel=0.15)


def test_what_does_not_fit_is_refused_with_the_numbers():
    with pytest.raises(GameTooLargeError, match=r"5\.36e\+28 deals"):
        build(small_game("cardgames"))
    needs = plan(small_game("mini"), "solver")
    check_fits(needs, 1.0)
    with pytest.raises(GameTooLargeError, match=r"12,210 information sets.*expected at most 0\.0001 GiB"):
        check_fits(needs, 0.0001)


def test_other_games_and_rules_are_refused():
    with pytest.raises(WrongGameError, match="thirteens"):
        small_game("thirteens")
    with pytest.raises(RulesError):
        small_game("no_rules")
    with pytest.raises(RulesError, match="the deck has"):
        small_game("mini", 4)
