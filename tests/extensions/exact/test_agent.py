import copy
import pickle

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.errors import TienLenError
from tienlen_env.games.tienlen.rules import get_rules
from tienlen_exact import best_responses, build, measure, policy_of, small_game, solve
from tienlen_exact.agent import load_exact, save_policy, show
from tienlen_exact.policies import EdgeIndex, information_sets, uniform
from tienlen_exact.small_tienlen import PolicyError


@pytest.fixture(scope="module")
def mini():
    return build(small_game("mini"))


@pytest.fixture(scope="module")
def file(mini, tmp_path_factory):
    path = tmp_path_factory.mktemp("exact") / "policy.npz"
    save_policy(path, mini, solve(mini, "dcfr", iterations=30).policy(), "a test")
    return path


def test_agent_finds_every_information_set(mini, file):
    agent = load_exact(str(file))
    for slots, batch in information_sets(mini, history_length=agent.history, only_choices=False):
        view = View(batch)
        shares = np.exp(agent.log_probabilities(view).astype(np.float64))
        found = EdgeIndex(mini).find(slots[view.legal_actions.game], view.legal_actions.action)
        np.testing.assert_allclose(shares, agent.policy_on(mini)[found], atol=1e-6)


def test_policy_of_the_agent_is_that_of_the_file(mini, file):
    agent = tienlen_agents.load(f"exact:{file}")
    assert measure(mini, policy_of(mini, agent)).nash_conv < 2e-4


def test_the_champions_search_is_near_an_equilibrium_of_a_small_game(mini):
    """Few deals are listed, so nothing is drawn, and no prior is sure enough to be exploited."""
    assert measure(mini, policy_of(mini, tienlen_agents.load("champion"))).nash_conv < 0.01


def test_copies_choose_the_same(file):
    agent = tienlen_agents.load(f"exact:{file}")
    batch = Batch("mini", 50, history_length=agent.history)
    batch.reset(1)
    choices = []
    for copied in (agent, copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        copied.reset(3)
        choices.append(copied.act(View(batch)).tolist())
    assert choices[0] == choices[1] == choices[2]


def test_best_response_plays_in_the_arena_as_well_as_it_says(mini, tmp_path):
    heuristic = policy_of(mini, tienlen_agents.load("greedy"))
    path = tmp_path / "response.npz"
    save_policy(path, mini, best_responses(mini, heuristic), "best response to greedy")
    agents = tienlen_agents.load(f"exact:{path}"), tienlen_agents.load("greedy")
    report = arena.match(*agents, rules=get_rules("mini"), num_deals=2_000, seed=1)
    won = report.scores[0].points  # points of two players: 1 for the first place
    worth = (1 + sum(measure(mini, heuristic).best) / 2) / 2
    assert won.mean == pytest.approx(worth, abs=3 * won.half_width)
    assert won.half_width < 0.03


def test_draws_follow_the_policy(mini, file):
    agent = load_exact(str(file))
    batch = Batch("mini", 4_000, history_length=agent.history)
    hands = mini.deals.hands
    pair = np.array([hands[0], hands[(hands & hands[0]) == 0][0]])
    batch.set_hands(np.tile(pair, (4_000, 1)))
    agent.reset(1)
    first = agent.act(View(batch))
    again = load_exact(str(file))
    again.reset(1)
    assert (again.act(View(batch)) == first).all()
    shares = np.exp(agent.log_probabilities(View(batch.select([0]))))
    legal = View(batch.select([0])).legal_actions.action
    np.testing.assert_allclose([np.mean(first == a) for a in legal], shares, atol=0.04)


def test_outside_the_tree_another_agent_plays(mini, file):
    agent = load_exact(str(file))
    batch = Batch("mini", 50)  # it stores no plays, so that later decisions cannot be found
    batch.reset(1)
    agent.reset(1)
    while (batch.turn >= 0).any():
        waiting = np.flatnonzero(batch.turn >= 0)
        actions = np.full(50, -1)
        actions[waiting] = agent.act(View(batch, waiting))
        batch.step(actions)


def test_other_rules_and_damaged_files_are_refused(mini, file, tmp_path):
    agent = load_exact(str(file))
    with pytest.raises(ValueError, match="plays mini, not small"):
        agent.check_rules(get_rules("small"))
    with pytest.raises(PolicyError, match="plays mini, not small"):
        agent.policy_on(build(small_game("small")))
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_exact(str(tmp_path / "nothing.npz"))
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(file.read_bytes()[:500])
    with pytest.raises(ValueError, match="not a policy of the laboratory"):
        load_exact(str(damaged))
    with pytest.raises(PolicyError, match="add up to 1"):
        save_policy(tmp_path / "x.npz", mini, uniform(mini) * 2, "")


def test_show_has_the_probabilities(file):
    agent = load_exact(str(file))
    assert "seat 0 with 3s 4c 2s: single 3s" in show(agent, "3s 4c 2s")
    after = show(agent, plays="3s")
    assert after.count("\n") > 5
    assert "3s" not in after.split("single")[0]
    with pytest.raises(TienLenError, match="no deal leads"):
        show(agent, "4s 4c 2s", "4s")
    with pytest.raises(TienLenError):
        show(agent, "4s nonsense")
