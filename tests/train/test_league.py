"""A population: opponents, payoffs, and resuming. Its figures on a cluster are tested in test_cluster.py."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from tests.train.test_run_damage import damage, names, write_state
from tests.train.test_trainer import curve
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import Network, NetworkConfig, shapes_of
from tienlen_env.games.registry import get_rules
from tienlen_train import league
from tienlen_train.config import DivergenceError, RunError
from tienlen_train.league import LeagueConfig, Member, PayoffTable, Population, payoff, show
from tienlen_train.loop import train

SMALL: dict[str, Any] = {
    "batch_size": 256,
    "state_width": 16,
    "action_width": 8,
    "critic_width": 16,
    "threads": 1,
    "generations": 3,
    "iterations": 1,
    "payoff_deals": 4,
    "num_games": 24,
}


def a_league(out: Path, **settings: Any) -> Population:
    config = LeagueConfig(**{**SMALL, **settings}, out=str(out))
    return train(Population, config, Console(quiet=True))[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("league") / "run"
    a_league(out)
    return out


def files(out: Path) -> dict[str, bytes]:
    """The table and the policies."""
    return {path.name: path.read_bytes() for path in [out / "league.json", *(out / "policies").iterdir()]}


def test_every_pair_has_a_payoff(whole):
    table = json.loads((whole / "league.json").read_text())
    members = [f"{member['name']}-{member['generation']}" for member in table["members"]]
    assert members == ["main-1", "exploiter-1", "main-2", "exploiter-2", "main-3", "exploiter-3"]
    for row, entries in enumerate(table["payoffs"]):
        assert [entry is None for entry in entries] == [row == column for column in range(6)]
    assert {path.stem for path in (whole / "policies").iterdir()} == set(members)
    NetworkAgent.load(str(whole / "policies" / "exploiter-2.safetensors"))


def test_a_stopped_league_goes_on(tmp_path, whole, monkeypatch):
    out = tmp_path / "run"

    class Stopped(Exception):
        pass

    def stop(table: PayoffTable, console: Console) -> None:
        if len(table.members) == 4:  # after the second generation
            raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(league, "show", stop)
        with pytest.raises(Stopped):
            a_league(out)
    a_league(out, resume=True)
    assert files(out) == files(whole)


def flags_of(out: Path, *extra: str) -> list[str]:
    return [
        *(f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()),
        "--out",
        str(out),
        *extra,
    ]


def test_a_signal_ends_with_one_line_and_a_checkpoint(whole, tmp_path, monkeypatch, capsys):
    """In the middle of the second generation: one learner has trained, and the other has not."""
    out, real = tmp_path / "run", league.train_segment

    def interrupted(segment):
        trained = real(segment)
        if trained.iteration == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return trained

    with monkeypatch.context() as patched:
        patched.setattr(league, "train_segment", interrupted)
        assert league.main(flags_of(out)) == 143
    (told,) = capsys.readouterr().err.splitlines()
    assert told.endswith(f"terminated; {out} holds generation 1: continue with --resume")
    assert names(out) == ["000000.pt", "000001.pt"]
    assert len(curve(out)) == 1
    assert len(json.loads((out / "league.json").read_text())["members"]) == 2
    assert league.main(flags_of(out, "--resume")) == 0
    assert files(out) == files(whole)
    assert curve(out) == curve(whole)


def test_what_a_kill_left_undone_is_done(whole, tmp_path):
    """A run that was killed after its last checkpoint: what comes after it is written."""
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "league.json").write_text("{}")
    (out / "policies" / "main-3.safetensors").write_bytes(b"of another run")
    (out / "policies" / "main-1.safetensors").unlink()
    left = out / "policies" / ".main-3.safetensors.77.tmp"
    left.write_bytes(b"x")
    a_league(out, resume=True)
    assert files(out) == files(whole)
    assert not left.exists()


def test_a_league_never_begins_anew_by_itself(whole, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    for path in (out / "checkpoints").iterdir():
        damage(path)
    with pytest.raises(RunError, match="all 3 are damaged"):
        a_league(out, resume=True)


def test_the_state_of_another_run_is_named(whole, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    path = out / "checkpoints" / "000003.pt"
    good = torch.load(io.BytesIO(path.read_bytes()[32:]), weights_only=True)
    main = good["learners"]["main"]
    nan = {name: torch.full_like(value, torch.nan) for name, value in main["state"]["learner"].items()}
    for state in (
        {},
        {**good, "learners": {}},
        {**good, "learners": {**good["learners"], "main": {**main, "state": {}}}},
        {**good, "learners": {**good["learners"], "main": {**main, "weights": 7}}},
        {
            **good,
            "learners": {**good["learners"], "main": {**main, "state": {**main["state"], "learner": nan}}},
        },
        {**good, "members": good["members"][:1]},
        {**good, "payoffs": good["payoffs"][:1]},
        {**good, "payoffs": 7},
        {**good, "restarts": None},
    ):
        write_state(path, state)
        with pytest.raises(RunError, match=r"000003\.pt"):
            a_league(out, resume=True)


def test_new_metrics_continue_a_league(whole, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "checkpoints" / "000003.pt").unlink()
    (out / "metrics.jsonl").write_text("")
    with pytest.raises(SystemExit, match=r"metrics\.jsonl: line 1 is not that of iteration 1"):
        league.main(flags_of(out, "--resume"))
    assert league.main(flags_of(out, "--resume", "--new-metrics")) == 0
    assert curve(out) == curve(whole)[2:]
    assert files(out) == files(whole)


def test_divergence_keeps_the_last_good_generation(tmp_path, monkeypatch):
    real = league.PPOTrainer.play_and_learn

    def diverge(trainer):
        return {**real(trainer), **({"policy_loss": np.inf} if trainer.iteration == 1 else {})}

    with monkeypatch.context() as patched:
        patched.setattr(league.PPOTrainer, "play_and_learn", diverge)
        with pytest.raises(DivergenceError, match="the run has diverged in iteration 2"):
            a_league(tmp_path)
    assert names(tmp_path) == ["000000.pt", "000001.pt"]
    assert len(curve(tmp_path)) == 1


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--baselines=greddy", "baselines: unknown agent 'greddy'"),
        ("--start-from=OTHER", "made for the foicica rules with 4 players, not for cardgames with 4"),
        ("--resume", "holds no run"),
    ],
)
def test_what_cannot_be_is_refused_before_a_folder_is_made(whole, tmp_path, option, told):
    other = tmp_path / "other.safetensors"
    NetworkAgent(a_network(get_rules("foicica"), 1)).save(other)
    with pytest.raises(SystemExit, match=told):
        league.main(flags_of(tmp_path / "run", option.replace("OTHER", str(other))))
    assert not (tmp_path / "run").exists()


def test_exploiters_play_the_present_main_learners_alone():
    population = Population(LeagueConfig(**SMALL))
    main, exploiter = population.config.names
    rules = get_rules("cardgames")
    for generation in (1, 2):
        for name in (main, exploiter):
            population.table.members.append(Member(name, generation, a_network(rules, generation)))
    for row in range(4):
        for column in range(4):
            if row != column:
                population.table.payoffs[row, column] = Estimate(row - column, 0.1)
    population.iteration = 2
    of_main = population._segment(0, main)
    assert [index for index, _, _ in of_main.opponents] == [0, 1, 3]  # all but itself
    assert [score for _, _, score in of_main.opponents] == [2, 1, -1]
    of_exploiter = population._segment(1, exploiter)
    assert [index for index, _, _ in of_exploiter.opponents] == [2]
    assert of_exploiter.config.snapshot_share == 1.0
    population._restart_exploiters()
    start = population._segment(1, exploiter).start
    assert start is not None  # it beats the main learner, so it begins again from it
    main_network = population.table.members[2].network
    assert all(np.array_equal(start[name], tensor) for name, tensor in main_network.tensors.items())


def a_network(rules: Any, seed: int) -> Network:
    config = NetworkConfig.of(rules, state_width=8, action_width=8)
    rng = np.random.default_rng(seed)
    shapes = shapes_of(config)
    return Network(
        config, {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    )


def test_a_payoff_of_a_policy_against_itself_is_parity():
    network = a_network(get_rules("cardgames"), 1)
    found = payoff((network, network), get_rules("cardgames"), 20, 0)
    assert found.mean == 0


def test_who_exploits_whom():
    rules = get_rules("cardgames")
    table = PayoffTable([Member(name, 1, a_network(rules, 1)) for name in "abc"])
    values = {(0, 1): 0.5, (1, 0): -0.4, (1, 2): 0.3, (2, 1): -0.6, (2, 0): 0.9, (0, 2): 0.05}
    table.payoffs = {where: Estimate(value, 0.1) for where, value in values.items()}
    assert [row for row, _ in table.exploiters_of(0)] == [2]
    assert [row for row, _ in table.exploiters_of(1)] == [0]
    assert [row for row, _ in table.exploiters_of(2)] == [1]
    assert table.best().name == "c"
    console = Console(record=True, width=120)
    show(table, console)
    text = console.export_text()
    assert "a-1 is exploited by c-1 (+0.90 ± 0.10)" in text


@pytest.mark.parametrize("settings", [{"generations": 0}, {"mains": 0}, {"payoff_deals": 1}])
def test_settings_out_of_range(tmp_path, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        a_league(tmp_path / "run", **settings)
