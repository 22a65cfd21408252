import hashlib

import numpy as np
import pytest

import tienlen_agents
from tests.plain_python import printed
from tienlen_env.games.tienlen.rules import Rules
from tienlen_exact import (
    Solver,
    best_responses,
    build,
    measure,
    policy_of,
    small_game,
    solve,
)
from tienlen_exact.policies import lookahead
from tienlen_exact.solvers import ALGORITHMS, Steps


@pytest.fixture(scope="module")
def mini():
    return build(small_game("mini"))


@pytest.mark.parametrize(
    ("algorithm", "iterations", "most"),
    [("cfr", 300, 0.005), ("cfr+", 300, 1e-4), ("dcfr", 100, 1e-4), ("mccfr", 40, 0.06), ("mmd", 100, 1e-4)],
)
def test_algorithms_solve_mini(mini, algorithm, iterations, most):
    measured = measure(mini, solve(mini, algorithm, iterations=iterations).policy())
    assert measured.nash_conv < most
    lower, upper = measured.bounds
    assert lower <= 0 <= upper  # the seats are alike, so the value is 0
    assert upper - lower == pytest.approx(measured.nash_conv, abs=1e-12)


@pytest.mark.nightly
def test_cfr_plus_solves_small():
    tree = build(small_game("small"))
    solver = solve(tree, "cfr+", iterations=300, until=1e-4, every=20)
    assert measure(tree, solver.policy()).nash_conv <= 1e-4
    assert solver.iteration < 300


def digests(num_players, deck):
    """Digests of what is computed of a small game: tree, policies of all algorithms, best responses."""
    tree = build(small_game("south", num_players, deck=deck, cards_each=2))
    trusting = policy_of(tree, tienlen_agents.load("heuristic"))
    policies = {name: solve(tree, name, iterations=4, seed=3).policy() for name in ALGORITHMS}
    arrays = {
        "heuristic": trusting,
        **policies,
        **{f"responses to {name}": best_responses(tree, policy) for name, policy in policies.items()},
        **{f"values of {name}": np.array(measure(tree, p).values) for name, p in policies.items()},
        **{f"lookahead, {trust}": lookahead(tree, trusting, trust) for trust in (0.0, 0.3)},
    }
    return {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in arrays.items()}


def of_two():
    return digests(2, "3s 3c 4s 4c 2s")


def of_three():
    return digests(3, "3s 3c 4s 4c 5s 2s")


@pytest.mark.parametrize("numbers", [of_two, pytest.param(of_three, marks=pytest.mark.nightly)])
def test_plain_python_computes_the_same_bits(numbers):
    """Powers are ours, too: the last bits of the C library's depend on the platform."""
    wanted = numbers()
    assert len(set(wanted.values())) > 10
    assert printed(f"{__name__}:{numbers.__name__}") == f"{wanted}\n"


@pytest.mark.nightly
def test_cfr_plus_solves_medium():
    tree = build(small_game("medium"))
    assert measure(tree, solve(tree, "cfr+", iterations=200, until=1e-3).policy()).nash_conv < 1e-3


def test_cfr_is_what_the_definition_says():
    """Vanilla CFR with alternating updates on a game small enough for dictionaries."""
    tree = build(small_game(Rules(num_players=2, deck="3s 3c 4s 4c 2s", cards_each=2)))
    from tests.extensions.exact.small_games import as_table, expand

    game = expand(small_game(tree.game.rules))
    regret = {key: dict.fromkeys(actions, 0.0) for key, actions in game.information_sets().items()}
    average = {key: dict.fromkeys(actions, 0.0) for key, actions in regret.items()}

    def policy_at(key):
        positive = {a: max(r, 0.0) for a, r in regret[key].items()}
        total = sum(positive.values())
        return {a: p / total if total else 1 / len(positive) for a, p in positive.items()}

    for _ in range(5):
        for seat in (0, 1):
            now = {key: policy_at(key) for key in regret}
            more = {key: dict.fromkeys(actions, 0.0) for key, actions in regret.items()}
            reached = {}

            def walk(deal, history, own, others, seat=seat, now=now, more=more, reached=reached):
                if (deal, history) in game.returns:
                    return game.returns[deal, history][seat]
                key = game.key_of(deal, history)
                values = {}
                for action, p in now[key].items():
                    is_own = key[0] == seat
                    values[action] = walk(
                        deal,
                        game.after(deal, history, action),
                        own * p if is_own else own,
                        others if is_own else others * p,
                    )
                value = sum(p * values[action] for action, p in now[key].items())
                if key[0] == seat:
                    reached[key] = own
                    for action in values:
                        more[key][action] += others * (values[action] - value)
                return value

            for deal in range(len(game.deals)):
                walk(deal, (), 1.0, 1.0)
            for key, own in reached.items():
                for action, p in now[key].items():
                    average[key][action] += own * p
                    regret[key][action] += more[key][action]
    table = as_table(tree, solve(tree, "cfr", iterations=5).policy())
    for key, shares in average.items():
        total = sum(shares.values())
        for action, share in shares.items():
            expected = share / total if total else 1 / len(shares)
            assert table[key][action] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_resumed_run_is_an_uninterrupted_one(mini, algorithm, tmp_path):
    whole = Solver(mini, algorithm, seed=3)
    half = Solver(mini, algorithm, seed=3)
    for _ in range(4):
        whole.step()
    for _ in range(2):
        half.step()
    half.save(tmp_path / "checkpoint.npz")
    resumed = Solver(mini, algorithm, seed=3)
    resumed.resume(tmp_path / "checkpoint.npz")
    assert resumed.iteration == 2
    for _ in range(2):
        resumed.step()
    assert (resumed.policy() == whole.policy()).all()


def test_checkpoints_of_other_runs_are_refused(mini, tmp_path):
    path = tmp_path / "checkpoint.npz"
    Solver(mini, "mccfr", seed=3).save(path)
    for other, message in [
        (Solver(mini, "mccfr", seed=4), "it is of seed 3, expected 4"),
        (Solver(mini, "cfr+", seed=3), "it is of algorithm 'mccfr'"),
    ]:
        with pytest.raises(ValueError, match=message):
            other.resume(path)
    Solver(mini, "mmd", steps=Steps(magnet=1.0)).save(path)
    with pytest.raises(ValueError, match="magnet"):
        Solver(mini, "mmd").resume(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="not a checkpoint"):
        Solver(mini, "mmd").resume(path)
    with pytest.raises(ValueError, match="expected one of cfr, "):
        Solver(mini, "nothing")


def test_three_players_can_be_run():
    tree = build(small_game(Rules(num_players=3, deck="3s 3c 4s 4c 5s 5c 2s", cards_each=2)))
    policy = solve(tree, "cfr+", iterations=50).policy()
    assert np.isfinite(measure(tree, policy).gains).all()
