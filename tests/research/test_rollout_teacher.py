"""A network that learns what its actions earn in rollouts, and small models of players."""

import json

import numpy as np
import pytest
import torch

from research import players as player_training, rollout_teacher as teacher
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_agents.rule_based.heuristic import playout
from tienlen_agents.search import tienlen_players as players
from tienlen_env import Batch, View
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.engine.backends import jit
from tienlen_env.games.tienlen import state as R
from tienlen_train.network import ActionNetwork

START = NetworkAgent.load(WEIGHTS / "tienlen-general-v4.safetensors")
CARDS_3 = "cardgames:3"


@jit.loop
def choose(line, model, inputs, row, is_baseline):
    """The action of a model, or of the rule-based agent."""
    if is_baseline:
        index = playout.choose_index(line.policy, line.spec, line.actions, row, line.ids, line.cards)
    else:
        index = players.choose_index(line, model, inputs, row)
    return line.ids[index]


@pytest.mark.parametrize(
    ("preset", "who"),
    [
        pytest.param("cardgames", "models", marks=pytest.mark.nightly),
        ("cardgames", "baseline"),
        ("south", "all"),
        pytest.param("north", "all", marks=pytest.mark.nightly),
    ],
)
def test_each_action_earns_what_it_is_paid_when_the_players_play_on(preset, who):
    """The others are models or the rule-based agent; or this agent plays all seats."""
    rules, models = player_training.rules_of(preset), players.load_models()
    reward = "payments" if who == "all" else "points"
    line, scratch = player_training.new_line(rules, reward), np.zeros((2, 1000), np.int64)
    batch, others = Batch(rules, 6, reward=reward), RandomAgent()
    batch.reset(4)
    for _ in range(12):
        batch.step(others.act(View(batch)))
    legal, seats = batch.list_legal(), batch.state.turn.copy()
    earned, rows = np.zeros(len(legal.action)), batch.kernel_arrays.rows[:, : len(line.row)].copy()
    alike = {"models": players.NETWORK, "baseline": players.BASELINE}
    kinds = teacher.WITHOUT_MODELS if who == "all" else alike[who] * players.EVERY_SEAT
    inputs = players.new_inputs()
    teacher.try_all(line, models, inputs, rows, seats, np.full(6, kinds), scratch, earned)
    for k in range(0, len(earned), 7):
        game = int(legal.game[k])
        copy, total = batch.select([game]), 0.0
        copy.step([legal.action[k]])
        while copy.state.turn[0] >= 0:
            row = copy.kernel_arrays.rows[0, : len(line.row)].copy()
            is_own = row[R.TURN] == seats[game]
            model = models.against_baseline if who == "baseline" else models.network
            is_baseline = bool(who == "all" or (who == "baseline" and not is_own))
            copy.step([choose(line, model, inputs, row, is_baseline)])
        total = (copy.balances if who == "all" else copy.scores)[0, seats[game]]
        before = batch.balances[game, seats[game]] if who == "all" else 0
        assert earned[k] == total - before


def test_a_network_learns_what_its_actions_earn():
    torch.manual_seed(0)
    table, models = teacher.VariantTable(player_training.rules_of(CARDS_3), START), players.load_models()
    lessons = table.play(START, models, rounds=40, share=0.3, explore=0.05, seed=1)
    assert len(lessons.num_legal) > 200
    assert lessons.num_legal.sum() == len(lessons.earned) == len(lessons.before)
    assert set(lessons.earned.tolist()) == {0.0, 1.0, 2.0}
    again = table.play(START, models, rounds=40, share=0.3, explore=0.05, seed=1)
    assert np.array_equal(lessons.earned, again.earned)
    network = ActionNetwork.of(START.network)
    optimizer = torch.optim.Adam([w for w in network.parameters() if w.requires_grad], 1e-3)
    order = np.arange(len(lessons.num_legal))
    steps = [teacher.learn(network, optimizer, lessons, 30.0, order) for _ in range(15)]
    assert steps[-1].loss < 0.8 * steps[0].loss
    assert steps[-1].gain > max(steps[0].gain, 0.02)
    assert steps[0].gain == pytest.approx(0, abs=1e-4)  # before the first step


def test_under_rules_with_payments_a_stake_counts_like_a_point():
    table, models = teacher.VariantTable(player_training.rules_of("south"), START), players.load_models()
    lessons = table.play(START, models, rounds=10, share=0.5, explore=0.0, seed=2)
    units = table.unit * lessons.earned
    assert table.unit > 1
    assert (units == np.round(units)).all()
    assert units.min() < 0 < units.max()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_processes_play_what_one_plays(workers, tmp_path):
    path = tmp_path / "start.safetensors"
    START.save(path)
    tasks = (teacher.PlayTask(n % 2, START, 8, 0.3, 0.05, n) for n in range(6))
    found = teacher.decisions_of(tasks, workers, [CARDS_3, "cardgames:2"], path)
    table = teacher.VariantTable(player_training.rules_of(CARDS_3), START)
    for number, (which, lessons) in zip(range(3), found, strict=False):
        assert which == number % 2
        if which == 0:
            wanted = table.play(START, players.load_models(), 8, 0.3, 0.05, number)
            for one, other in zip(lessons, wanted, strict=True):
                assert np.array_equal(one, other)
    found.close()


def test_the_commands_write_files_that_can_be_played(tmp_path, monkeypatch, capsys):
    models = tmp_path / "models.json"
    short = ["--rules", "cardgames", "cardgames:2", "--rounds", "40", "--out", str(models)]
    foresee = [[kind, "heuristic", "--epochs", "1"] for kind in ("network", "self_play")]
    for command in (*foresee, ["against_baseline", "--iterations", "2"]):
        monkeypatch.setattr("sys.argv", ["players", *command, *short])
        player_training.main()
    assert "nats a decision" in capsys.readouterr().out
    written = json.loads(models.read_text("utf-8"))
    assert set(written) == set(players.PlayerModels._fields)
    for weights in written.values():
        assert players.model_of(weights).first.shape == (players.NUM_INPUTS, player_training.WIDTH)
    out = tmp_path / "policy.safetensors"
    command = [str(WEIGHTS / "tienlen-general-v4.safetensors"), "--rules", "cardgames", "--rounds", "8"]
    monkeypatch.setattr("sys.argv", ["teacher", *command, "--minutes", "0.01", "--out", str(out)])
    teacher.main()
    batch = Batch("cardgames", 3, history_length=1)
    batch.reset(1)
    assert len(NetworkAgent.load(out).act(View(batch))) == 3
