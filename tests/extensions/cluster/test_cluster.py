"""A cluster of three nodes gives the figures of one process, while nodes and processes of it are lost.

The arena, training and a population share one cluster here, because its start takes long. More cases, and
losses at more moments, are in the tests of the arena, of training and of learners (nightly).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.extensions.cluster.clusters import (
    SMALL,
    Change,
    Moment,
    a_policy,
    assert_same_run,
    kill_an_actor,
    running_cluster,
    small_run,
    without_times,
)
from tests.needs import ROOT
from tienlen_agents import arena
from tienlen_cluster import pool as cluster
from tienlen_train.league import LeagueConfig, Population
from tienlen_train.loop import train


@pytest.fixture(scope="module")
def nodes():
    pytest.importorskip("ray")
    with running_cluster(3) as found:
        yield found


@pytest.mark.nightly
def test_a_league_while_a_node_is_lost_and_another_comes(nodes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    a_policy(Path("policies/small.safetensors"))
    bot = Path("bots/first.py")
    bot.parent.mkdir()
    bot.write_bytes((ROOT / "examples" / "bot.py").read_bytes())
    agents = ["heuristic", "policy:policies/small.safetensors", f"process:{sys.executable} bots/first.py"]
    options: dict[str, Any] = {"num_deals": 8, "deals_per_job": 4, "seed": 3}
    alone = arena.league(agents, **options)
    change = Change(nodes)
    with cluster.connect(nodes.address, agents) as executor:
        spread = arena.league(agents, executor=executor, progress=change, **options)
        assert len(executor.pool.tasks_of) > 1
        # Each job is counted once, and a task of Ray plays one job or several.
        assert change.num_chunks == options["num_deals"] // options["deals_per_job"] * len(spread.results)
        assert change.num_chunks >= sum(executor.pool.tasks_of.values())
    assert json.dumps(without_times(spread.to_dict())) == json.dumps(without_times(alone.to_dict()))
    shown = capsys.readouterr().err
    assert "3 nodes, 3 processors" in shown
    assert f"jobs by node: {min(executor.pool.tasks_of)[:8]} " in shown


def test_training_while_an_actor_is_killed(nodes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_policy(Path("policies/teacher.safetensors"))
    settings = {"teachers": "heuristic policy:policies/teacher.safetensors"}
    small_run(tmp_path / "alone", **settings)
    out = tmp_path / "run"
    with Moment(out, 1, lambda: kill_an_actor(nodes)):
        small_run(out, executor=f"ray:{nodes.address}", **settings)
    assert_same_run(out, tmp_path / "alone")


def test_a_population(nodes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_policy(Path("policies/teacher.safetensors"))
    shared = {**SMALL, "num_games": 24, "teachers": "policy:policies/teacher.safetensors"}
    found = []
    for name, where in (("alone", {}), ("cluster", {"executor": f"ray:{nodes.address}"})):
        out = tmp_path / name
        settings = {**shared, "generations": 2, "iterations": 1, "payoff_deals": 4}
        train(Population, LeagueConfig(**settings, **where, out=str(out)), Console(quiet=True))
        files = [out / "league.json", *sorted((out / "policies").iterdir())]
        found.append({path.name: path.read_bytes() for path in files})
    assert len(found[0]) == 1 + 4
    assert found[0] == found[1]
