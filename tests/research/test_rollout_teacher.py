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
def choose(line, model, row, is_baseline):
    """The action of a model, or of the rule-based agent."""
    if is_baseline:
        index = playout.choose_index(line.policy, line.spec, line.actions, row, line.ids, line.cards)
    else:
        index = players.choose_index(line, model, row)
    return line.ids[index]


@pytest.mark.parametrize("as_baseline", [0, ~0])
def test_each_action_earns_what_its_place_pays_when_the_models_play_on(as_baseline):
    rules, models = player_training.rules_of("cardgames"), players.load_models()
    line, scratch = player_training.new_line(rules), np.zeros((2, 300), np.int64)
    batch, others = Batch(rules, 6), RandomAgent()
    batch.reset(4)
    for _ in range(12):
        batch.step(others.act(View(batch)))
    legal, seats = batch.list_legal(), batch.state.turn.copy()
    earned, rows = np.zeros(len(legal.action)), batch.kernel_arrays.rows[:, : len(line.row)].copy()
    teacher.try_all(line, models, rows, seats, np.full(6, as_baseline), scratch, earned)
    for k in range(0, len(earned), 7):
        game = int(legal.game[k])
        copy = batch.select([game])
        copy.step([legal.action[k]])
        while copy.state.turn[0] >= 0:
            row = copy.kernel_arrays.rows[0, : len(line.row)].copy()
            is_own = row[R.TURN] == seats[game]
            model = models.against_baseline if as_baseline else models.others
            copy.step([choose(line, model, row, bool(as_baseline and not is_own))])
        assert earned[k] == copy.scores[0, seats[game]]


def test_a_network_learns_what_its_actions_earn():
    torch.manual_seed(0)
    table, models = teacher.VariantTable(player_training.rules_of(CARDS_3), START), players.load_models()
    lessons = table.play(START, models, rounds=40, share=0.3, explore=0.05, seed=1)
    assert len(lessons.num_legal) > 200
    assert lessons.num_legal.sum() == len(lessons.earned) == len(lessons.before)
    assert set(lessons.earned.tolist()) == {0.0, 1.0, 2.0}
    again = table.play(START, models, rounds=40, share=0.3, explore=0.05, seed=1)
    assert torch.equal(lessons.earned, again.earned)
    network = ActionNetwork.of(START.network)
    optimizer = torch.optim.Adam([w for w in network.parameters() if w.requires_grad], 1e-3)
    order = np.arange(len(lessons.num_legal))
    steps = [teacher.learn(network, optimizer, lessons, 30.0, order) for _ in range(15)]
    assert steps[-1].loss < 0.8 * steps[0].loss
    assert steps[-1].gain > max(steps[0].gain, 0.02)
    assert steps[0].gain == pytest.approx(0, abs=1e-4)  # before the first step


def test_under_rules_with_payments_it_learns_to_stay_as_it_is():
    table, models = teacher.VariantTable(player_training.rules_of("south"), START), players.load_models()
    lessons = table.play(START, models, rounds=10, share=0.5, explore=0.0, seed=2)
    assert not lessons.earned.any()
    network = ActionNetwork.of(START.network)
    optimizer = torch.optim.Adam([w for w in network.parameters() if w.requires_grad], 1e-4)
    for _ in range(5):
        teacher.learn(network, optimizer, lessons, 30.0, np.arange(len(lessons.num_legal)))
    logits = NetworkAgent(network.to_network()).network_for(table.rules)
    assert (logits.tensors["score.weight"] != table.start.tensors["score.weight"]).any()
    batch = Batch(table.rules, 60, history_length=1)
    batch.reset(3)
    same = NetworkAgent(network.to_network()).act(View(batch)) == START.act(View(batch))
    assert same.mean() > 0.9


def test_the_commands_write_files_that_can_be_played(tmp_path, monkeypatch, capsys):
    models = tmp_path / "models.json"
    short = ["--rules", "cardgames", "cardgames:2", "--rounds", "40", "--out", str(models)]
    for command in (["others", "heuristic", "--epochs", "1"], ["against_baseline", "--iterations", "2"]):
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
