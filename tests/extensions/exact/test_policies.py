import itertools
from dataclasses import replace

import numpy as np
import pytest

import tienlen_agents
from tests.extensions.exact.small_games import as_table, expand, expected, num_choices, policy_from
from tests.needs import needs_openspiel
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.games.tienlen.rules import NAMED, PRESETS, Rules, deck_of
from tienlen_exact import best_responses, build, measure, policy_of, small_game, solve
from tienlen_exact.policies import edge_seats, lookahead, uniform
from tienlen_exact.small_tienlen import PolicyError


def random_policy(tree, seed):
    weights = np.random.default_rng(seed).random(tree.num_edges) ** 3
    return weights / np.bincount(tree.edge_slots(), weights, tree.num_slots)[tree.edge_slots()]


@pytest.fixture(scope="module")
def mini():
    return build(small_game("mini"))


@pytest.mark.parametrize("seat", [0, 1])
def test_best_response_is_that_of_brute_force(seat):
    """All pure strategies of a game with 12 information sets with a choice, 6 of each seat."""
    game = small_game(Rules(num_players=2, deck="3s 4s 5s 2s", cards_each=2))
    tree, reference = build(game), expand(game)
    table = as_table(tree, random_policy(tree, 3))
    own = [key for key, shares in table.items() if key[0] == seat and len(shares) > 1]
    assert num_choices(tree) == 12
    assert len(own) == 6
    best = -np.inf
    for actions in itertools.product(*(table[key] for key in own)):
        strategy = dict(table) | {key: {action: 1.0} for key, action in zip(own, actions, strict=True)}
        best = max(best, expected(reference, strategy, seat))
    assert measure(tree, random_policy(tree, 3)).best[seat] == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seat", [0, 1])
def test_best_response_with_hidden_cards_is_that_of_brute_force(seat):
    """A hand's strategies are independent of another hand's, so each hand has its own brute force."""
    game = small_game(Rules(num_players=2, deck="3s 3c 4s 4c 2s", cards_each=2))
    tree, reference = build(game), expand(game)
    policy = random_policy(tree, 5)
    table = as_table(tree, policy)
    best = dict(table)
    for hand in {key[1] for key in table}:
        own = [key for key, shares in table.items() if key[:2] == (seat, hand) and len(shares) > 1]
        strategies = [
            dict(zip(own, actions, strict=True)) for actions in itertools.product(*(table[k] for k in own))
        ]

        def worth(strategy):
            return expected(reference, table | {key: {a: 1.0} for key, a in strategy.items()}, seat)

        best |= {key: {action: 1.0} for key, action in max(strategies, key=worth).items()}
    value = measure(tree, policy).best[seat]
    assert value == pytest.approx(expected(reference, best, seat), abs=1e-12)


def test_best_responses_earn_what_they_say(mini):
    policy = random_policy(mini, 1)
    chosen = best_responses(mini, policy)
    for seat in (0, 1):
        mixed = np.where(edge_seats(mini) == seat, chosen, policy)
        assert measure(mini, mixed).values[seat] == pytest.approx(measure(mini, policy).best[seat], abs=1e-12)


@pytest.mark.parametrize("trust", [0.0, 0.3, 1.0])
def test_lookahead_plays_what_earns_the_most_history_by_history(trust):
    """Each deal of an information set weighs as much as the others' plays so far let it."""
    game = small_game(Rules(num_players=2, deck="3s 3c 4s 4c 2s", cards_each=2))
    tree, reference = build(game), expand(game)
    policy = random_policy(tree, 7)
    table = as_table(tree, policy)

    def worth(deal, history, seat):
        if (deal, history) in reference.returns:
            return reference.returns[deal, history][seat]
        shares = table[reference.key_of(deal, history)]
        return sum(p * worth(deal, reference.after(deal, history, a), seat) for a, p in shares.items())

    earned = {key: dict.fromkeys(actions, 0.0) for key, actions in reference.information_sets().items()}
    for deal, history in reference.turn:
        seat, weight = reference.turn[deal, history], 1.0
        for k, (other, action, _) in enumerate(history):
            if other != seat:
                weight *= 1 - trust + trust * table[reference.key_of(deal, history[:k])][action]
        for action in reference.legal[deal, history]:
            value = worth(deal, reference.after(deal, history, action), seat)
            earned[reference.key_of(deal, history)][action] += weight * value
    found = as_table(tree, lookahead(tree, policy, trust))
    assert sum(len(actions) > 1 for actions in earned.values()) > 30
    for key, actions in earned.items():
        best = [action for action, value in actions.items() if value > max(actions.values()) - 1e-9]
        if len(best) < len(actions):
            assert found[key] == pytest.approx(
                {action: (action in best) / len(best) for action in actions}, abs=1e-12
            )


def test_lookahead_of_heuristic_solves_mini(mini):
    heuristic = policy_of(mini, tienlen_agents.load("heuristic"))
    assert measure(mini, lookahead(mini, heuristic, 0.0)).nash_conv == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match=r"trust=1\.5: expected 0\.\.1"):
        lookahead(mini, heuristic, 1.5)


def rules_of(name, ranks, suits):
    return replace(PRESETS[name], num_players=2, deck=deck_of(ranks, suits), cards_each=2)


SMALL_RULES = [
    pytest.param(rules_of(name, ranks, suits), marks=marks, id=f"{name}, {ranks}")
    for ranks, marks in (("342", ()), ("3452", pytest.mark.nightly))
    for name, suits in (("cardgames", "sc"), ("foicica", "sc"), ("south", "sd"))
]


def openspiel_game(rules):
    """The same game in OpenSpiel, and a function that gives it a policy of ours."""
    import pyspiel
    from open_spiel.python import policy as open_spiel_policy

    import tienlen_bridges.openspiel  # noqa: F401 - registers the games

    chosen = {"rules": rules.name} if rules.name in NAMED else {"deck": rules.deck, "cards": rules.cards_each}
    for name, preset in PRESETS.items():
        if replace(preset, num_players=2, deck=rules.deck, cards_each=rules.cards_each) == rules:
            chosen["rules"] = name
    reward = small_game(rules).reward
    game = pyspiel.load_game("python_tienlen", {**chosen, "players": 2, "reward": reward})
    assert game.start.batch.rules == rules

    class Same(open_spiel_policy.Policy):
        def __init__(self, table):
            super().__init__(game, [0, 1])
            self.table = table

        def action_probabilities(self, state, player_id=None):
            at = state.at
            return self.table[at.turn, at.hands[at.turn], tuple(play[:3] for play in at.plays)]

    return game, Same


@needs_openspiel
@pytest.mark.parametrize("rules", SMALL_RULES)
def test_nash_conv_is_that_of_openspiel(rules):
    from open_spiel.python.algorithms import exploitability

    tree = build(small_game(rules))
    peer, same = openspiel_game(rules)
    policies = {
        "uniform": uniform(tree),
        "greedy": policy_of(tree, tienlen_agents.load("greedy")),
        "heuristic": policy_of(tree, tienlen_agents.load("heuristic")),
        "random 1": random_policy(tree, 1),
        "random 2": random_policy(tree, 2),
        "cfr+": solve(tree, "cfr+", iterations=7).policy(),
    }
    for label, policy in policies.items():
        theirs = exploitability.nash_conv(peer, same(as_table(tree, policy)))
        assert measure(tree, policy).nash_conv == pytest.approx(theirs, abs=1e-9), label


@needs_openspiel
def test_cfr_plus_of_openspiel_is_judged_alike_by_both():
    from open_spiel.python.algorithms import cfr, exploitability

    rules = replace(PRESETS["cardgames"], num_players=2, deck="3s 3c 4s 4c 2s", cards_each=2)
    tree = build(small_game(rules))
    peer, same = openspiel_game(rules)
    solver = cfr.CFRPlusSolver(peer)
    for _ in range(10):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    table = as_table(tree, uniform(tree))

    def fill(state):
        if state.is_terminal():
            return
        if not state.is_chance_node():
            same(table).action_probabilities(state).update(average.action_probabilities(state))
        for action in state.legal_actions():
            fill(state.child(action))

    fill(peer.new_initial_state())
    ours = policy_from(tree, table)
    theirs = exploitability.nash_conv(peer, average)
    assert measure(tree, ours).nash_conv == pytest.approx(theirs, abs=1e-9)
    assert 0 < theirs < 0.1


# The agents reckon with the cards of the deck only.
GOLDEN = {"random": 0.9675099206349205, "greedy": 0.6, "greedy_long": None, "heuristic": 0.05}


@pytest.mark.parametrize("name", [name for name, value in GOLDEN.items() if value is not None])
def test_golden_nash_conv_of_agents_on_mini(mini, name):
    assert measure(mini, policy_of(mini, tienlen_agents.load(name))).nash_conv == pytest.approx(
        GOLDEN[name], abs=1e-12
    )


def test_three_players_have_gains_of_one_seat():
    tree = build(
        small_game(replace(PRESETS["cardgames"], num_players=3, deck=deck_of("3452", "s"), cards_each=1))
    )
    measured = measure(tree, uniform(tree))
    assert len(measured.gains) == 3
    assert min(measured.gains) >= -1e-12


class Choosing:
    """An agent that answers by a function of its view."""

    name = "choosing"

    def __init__(self, act):
        self._act, self._rng = act, np.random.default_rng(0)

    def reset(self, seed):
        self._rng = np.random.default_rng(seed)

    def act(self, view):
        return self._act(view, self._rng)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda view, rng: np.full(len(view), 452), "action 452 is not legal with"),
        (lambda view, rng: np.full(len(view), -1), "action -1 is not legal with"),
        (lambda view, rng: np.zeros(3, np.int64), "expected integers of shape .* got int64"),
        (lambda view, rng: np.zeros(len(view)), "expected integers of shape .* got float64"),
        (lambda view, rng: view.sample(rng), "draws its actions"),
    ],
)
def test_agents_that_answer_nonsense_are_refused(mini, act, message):
    with pytest.raises(PolicyError, match=message):
        policy_of(mini, Choosing(act))


def test_repeated_choices_come_near_the_probabilities(mini):
    agent, exact = RandomAgent(), measure(mini, uniform(mini)).nash_conv

    def bias(repeats):
        """Of a policy of known NashConv that is sampled; over some seeds, because it is an expectation."""
        found = [policy_of(mini, agent, repeats=repeats, seed=1000 * k, sampled=True) for k in range(8)]
        return np.mean([measure(mini, policy).nash_conv for policy in found]) - exact

    few, many = bias(2), bias(32)
    assert few > 0.02  # upwards: the best response to a sample exploits its noise, too
    assert abs(many) < few / 4


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: p[:-1], "expected float64"),
        (lambda p: p.astype(np.float32), "expected float64"),
        (lambda p: p * 1.1, "add up to 1"),
        (lambda p: np.where(np.arange(len(p)) == 5, -p, p), "0 and above"),
        (lambda p: np.where(np.arange(len(p)) == 5, np.nan, p), "0 and above"),
    ],
)
def test_what_is_not_a_policy_is_refused(mini, spoil, message):
    with pytest.raises(PolicyError, match=message):
        measure(mini, spoil(uniform(mini)))
    with pytest.raises(PolicyError, match=message):
        best_responses(mini, spoil(uniform(mini)))
    with pytest.raises(ValueError, match="repeats=0"):
        policy_of(mini, RandomAgent(), repeats=0)
