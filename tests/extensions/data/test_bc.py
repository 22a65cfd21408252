"""Behaviour cloning: it learns the choices of a data set, and writes a policy file."""

import numpy as np
import pytest

import tienlen_agents
from tests.needs import needs_pyarrow
from tienlen_data import DataConfig, write_data
from tienlen_data.bc import BCConfig, BCTrainer, main
from tienlen_env.single.base import round_type

pytestmark = needs_pyarrow
SMALL = {"num_games": 32, "shards": 2, "batch_size": 256, "state_width": 32, "action_width": 16}


def test_the_choices_are_learned(tmp_path):
    write_data(DataConfig(agents="heuristic", rounds=32), tmp_path)
    config = BCConfig(data=str(tmp_path), decisions=4_000, num_games=32, batch_size=64, threads=1)
    trainer = BCTrainer(config)
    if trainer.device.type == "cpu":  # where nothing can be missing on a device
        assert "games on the processor" not in trainer.description
    found = []
    while not trainer.is_done:
        found.append(trainer.iterate())
    assert found[-1]["loss"] < 0.9 * found[0]["loss"]
    # Every pass has the same decisions: those with a choice.
    passes = np.diff([0, *(one["decisions"] for one in found)])
    assert len(set(passes.tolist())) == 1


def test_the_command_writes_a_policy_file(tmp_path):
    write_data(DataConfig(rules="thirteens", agents="trickster", rounds=32), tmp_path / "data")
    out = tmp_path / "run"
    settings = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    words = [f"--data={tmp_path / 'data'}", "--decisions=500", "--eval-every=0", "--final-deals=0"]
    assert main([*words, *settings, f"--out={out}"]) == 0
    assert tienlen_agents.load(f"policy:{out / 'policy.safetensors'}").plays == "thirteens"


def test_what_cannot_be_played_again_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected a folder"):
        BCConfig(data=str(tmp_path))
    write_data(DataConfig(rounds=2), tmp_path / "data")
    with pytest.raises(ValueError, match="rules: expected None"):
        BCConfig(data=str(tmp_path / "data"), rules="south")
    played = round_type(BCConfig(data=str(tmp_path / "data")).variant())("cardgames", 1, leader=2)
    while not played.is_over:
        played.play(played.legal_plays()[-1])
    (tmp_path / "games.txt").write_text(played.record() + "\n")
    write_data(DataConfig(records=str(tmp_path / "games.txt")), tmp_path / "other")
    with pytest.raises(ValueError, match="the first of a key"):
        BCTrainer(BCConfig(data=str(tmp_path / "other")))
