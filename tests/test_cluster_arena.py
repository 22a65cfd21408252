"""The arena on a Ray cluster: the same figures as in one process, whatever happens to the nodes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.clusters import ROOT, add_node, environment, figures, running_cluster, start, without_times
from tienlen_agents import arena, cluster, load
from tienlen_agents.arena.__main__ import main
from tienlen_agents.cluster import Identity, NodeRefusedError
from tienlen_agents.cluster.identity import is_shipped

# Clusters start slowly: CI has no time for them.
pytestmark = pytest.mark.nightly

OPTIONS = {"num_deals": 8, "deals_per_job": 4, "seed": 3}


@pytest.fixture(scope="module")
def nodes():
    pytest.importorskip("ray")
    with running_cluster(3) as found:
        yield found


class Change:
    """Progress that removes a node and adds another while the run plays."""

    def __init__(self, nodes) -> None:
        self.nodes = nodes
        self.num_chunks = 0

    def start(self, title, num_games):
        pass

    def advance(self, num_games, num_decisions):
        self.num_chunks += 1
        if self.num_chunks == 2:
            self.nodes.remove_node(sorted(self.nodes.worker_nodes, key=id)[0], allow_graceful=False)
        if self.num_chunks == 4:
            add_node(self.nodes)


def a_policy(path: Path, seed: int = 1) -> None:
    from tienlen_agents.networks.network import NetworkAgent, NetworkConfig
    from tienlen_env.games.registry import get_rules
    from tienlen_train.action_network import ActionNetwork

    module = ActionNetwork(
        NetworkConfig.of(get_rules("cardgames"), record=True, state_width=16, action_width=8)
    )
    rng = np.random.default_rng(seed)
    for weight in module.parameters():
        weight.data.copy_(weight.data.new_tensor(rng.normal(0, 0.3, weight.shape)))
    path.parent.mkdir(parents=True, exist_ok=True)
    NetworkAgent.from_module(module, "small").save(path)


def test_a_lost_node_and_a_new_one_change_no_figure(nodes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    a_policy(Path("policies/small.safetensors"))
    bot = Path("bots/first.py")
    bot.parent.mkdir()
    bot.write_bytes((ROOT / "examples" / "bot.py").read_bytes())
    agents = ["heuristic", "policy:policies/small.safetensors", f"process:{sys.executable} bots/first.py"]
    change = Change(nodes)
    with cluster.connect(nodes.address, agents) as executor:
        spread = arena.league(agents, executor=executor, progress=change, **OPTIONS)
        assert len(executor.pool.tasks_of) > 1
        assert change.num_chunks == sum(executor.pool.tasks_of.values())
    shown = capsys.readouterr().err
    assert "3 nodes, 6 processors" in shown
    assert f"jobs by node: {min(executor.pool.tasks_of)[:8]} " in shown
    alone = arena.league(agents, **OPTIONS)
    assert json.dumps(without_times(spread.to_dict())) == json.dumps(without_times(alone.to_dict()))


def test_tune_gives_the_same_parameters(nodes, tmp_path):
    from rich.console import Console

    from tienlen_agents.rule_based.heuristic import Parameters
    from tienlen_train.tune_heuristic import TuneConfig, search

    config = TuneConfig(generations=2, population=4, num_deals=4, greedy=0, random=0, out=str(tmp_path / "x"))
    console = Console(quiet=True)
    with cluster.connect(nodes.address, quiet=True) as executor:
        spread = search(config, Parameters(), console, executor.pool)
    assert spread == search(config, Parameters(), console)


# ---------------------------------------------------------------- refusals


def test_a_file_with_other_bytes_is_refused(nodes, tmp_path):
    policy = tmp_path / "shared.safetensors"  # an absolute path: expected on every node
    a_policy(policy)
    agents = [f"policy:{policy}", "greedy"]
    with cluster.connect(nodes.address, agents, quiet=True) as executor:
        a_policy(policy, seed=2)
        with pytest.raises(NodeRefusedError, match=r"shared\.safetensors has digest"):
            arena.match(*agents, executor=executor, num_deals=2)


def test_a_node_with_other_code_is_left_out(nodes, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(ROOT / "agents" / "tienlen_agents", other / "tienlen_agents")
    with (other / "tienlen_agents" / "versions.py").open("a") as file:
        file.write("# changed\n")
    paths = os.pathsep.join([str(other), environment()["PYTHONPATH"]])
    node = add_node(nodes, env_vars={"PYTHONPATH": paths})
    try:
        nodes.wait_for_nodes(60)
        with cluster.connect(nodes.address, ["heuristic", "greedy"], quiet=True) as executor:
            spread = arena.match("heuristic", "greedy", executor=executor, num_deals=64, deals_per_job=4)
            refusals = dict(executor.pool.refusals)
            assert not refusals.keys() & executor.pool.tasks_of.keys()
    finally:
        nodes.remove_node(node)
    assert [refusal.reasons[0].split(" has ")[0] for refusal in refusals.values()] == [
        "the code of tienlen_agents"
    ]
    assert "left out" in capsys.readouterr().err
    alone = arena.match("heuristic", "greedy", num_deals=64, deals_per_job=4)
    assert spread.points.tobytes() == alone.points.tobytes()


def test_an_agents_error_is_that_of_one_process(nodes):
    with (
        cluster.connect(nodes.address, quiet=True) as executor,
        pytest.raises(ValueError, match="unknown agent 'nobody'"),
    ):
        executor.pool.map(load, ["nobody"])


@pytest.mark.parametrize(
    ("path", "shipped"),
    [("runs/a.safetensors", True), ("../a.safetensors", False), ("/data/a.safetensors", False)],
)
def test_relative_paths_below_the_folder_are_sent(path, shipped):
    assert is_shipped(path) is shipped


def test_what_differs_is_named():
    here = Identity.here()
    assert here.differences() == ()
    other = replace(
        here,
        versions={**here.versions, "numpy": "1.0"},
        code={"tienlen_agents": "0" * 16},
        files={"missing.safetensors": "1" * 64},
    )
    numpy, code, file = other.differences()
    assert numpy.startswith("numpy ")
    assert numpy.endswith("expected 1.0")
    assert "code of tienlen_agents" in code
    assert "missing.safetensors is missing" in file


# ---------------------------------------------------------------- the command


def test_a_killed_driver_resumes(nodes, tmp_path):
    out = tmp_path / "out"
    command = [
        "tienlen_agents.arena",
        "match",
        "heuristic",
        "greedy",
        "--deals",
        "64",
        "--chunk",
        "4",
        "--quiet",
    ]
    driver = start(*command, "--cluster", nodes.address, "--out", str(out))
    chunks = out / "chunks.jsonl"
    while driver.poll() is None and (not chunks.exists() or chunks.read_bytes().count(b"\n") < 6):
        time.sleep(0.02)
    driver.kill()
    text, _ = driver.communicate()
    assert driver.returncode == -signal.SIGKILL, text
    num_played = chunks.read_bytes().count(b"\n") - 1
    assert num_played < 48
    again = start(*command, "--cluster", nodes.address, "--out", str(out))
    text, _ = again.communicate()
    assert again.returncode == 0, text
    assert chunks.read_bytes().count(b"\n") == 49  # a header, and 16 chunks of three compositions
    alone = start(*command, "--out", str(tmp_path / "alone"))
    text, _ = alone.communicate()
    assert alone.returncode == 0, text
    assert figures(out / "arena.json") == figures(tmp_path / "alone" / "arena.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cluster", "auto", "--workers", "2"], "expected one of them"),
        (["--cluster", "127.0.0.1:1"], "no Ray cluster answers"),
        (["--cluster", "localhost"], "expected auto, local, HOST:PORT or ray://HOST:PORT"),
    ],
)
def test_errors_of_the_command(arguments, message, capsys):
    pytest.importorskip("ray")
    with pytest.raises(SystemExit) as raised:
        main(["match", "greedy", "random", "--deals", "2", *arguments])
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_without_ray_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setattr("tienlen_agents.extras.is_installed", lambda package: package != "ray")
    with pytest.raises(SystemExit):
        main(["match", "greedy", "random", "--cluster", "auto"])
    assert "pip install 'tienlen-env[cluster]'" in capsys.readouterr().err


def test_nothing_imports_ray_unless_asked():
    code = (
        "import sys, tienlen_env, tienlen_agents.arena.__main__, tienlen_agents.cluster, tienlen_train.cli, "
        "tienlen_train.ppo, tienlen_train.league, tienlen_train.cluster.link, tienlen_train.tune_heuristic; "
        "sys.exit('ray' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], env=environment()).returncode == 0


@pytest.mark.nightly
def test_a_league_is_the_same_everywhere(nodes, tmp_path):
    """The league of the docs: 2,000 deals in one process, in two, on three nodes, and with a node lost."""
    agents = ["heuristic", "greedy", "greedy_long", "random"]
    alone = without_times(arena.league(agents, num_deals=2000).to_dict())
    assert without_times(arena.league(agents, num_deals=2000, workers=2).to_dict()) == alone
    for progress in (None, Change(nodes)):
        with cluster.connect(nodes.address, agents, quiet=True) as executor:
            spread = arena.league(agents, num_deals=2000, executor=executor, progress=progress)
        assert without_times(spread.to_dict()) == alone
