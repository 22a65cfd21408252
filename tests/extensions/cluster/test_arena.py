"""The arena on a Ray cluster: the same figures as in one process, whatever happens to the nodes.

What needs a cluster is nightly; tests/extensions/cluster/test_cluster.py has one case of it for every day.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tests.extensions.cluster.clusters import (
    Change,
    a_policy,
    add_node,
    environment,
    figures,
    running_cluster,
    start,
    without_times,
)
from tests.needs import ROOT
from tienlen_agents import arena, load
from tienlen_agents.arena.__main__ import main
from tienlen_cluster import pool as cluster
from tienlen_cluster.pool import MOST_JOBS, Identity, NodeRefusedError, is_shipped


@pytest.fixture(scope="module")
def nodes():
    pytest.importorskip("ray")
    with running_cluster(3) as found:
        yield found


class PoolHere:
    """A `TaskPool` that calls the functions in this process, and counts the items of each call."""

    def __init__(self):
        self.sizes = []

    def unordered(self, function, items):
        for number, item in enumerate(items):
            self.sizes.append(len(item))
            yield number, item, function(item)


def test_a_task_of_ray_plays_several_short_jobs():
    pool = PoolHere()
    spread = arena.match(
        "random", "greedy", executor=cluster.RayExecutor(pool), num_deals=400, deals_per_job=1
    )
    assert sum(pool.sizes) == 400
    assert pool.sizes[0] == 1  # the time of a job is not known yet
    assert 1 < max(pool.sizes) <= MOST_JOBS
    alone = arena.match("random", "greedy", num_deals=400, deals_per_job=1)
    assert spread.points.tobytes() == alone.points.tobytes()


# ---------------------------------------------------------------- refusals


@pytest.mark.nightly
def test_a_file_with_other_bytes_is_refused(nodes, tmp_path):
    policy = tmp_path / "shared.safetensors"  # an absolute path: expected on every node
    a_policy(policy)
    agents = [f"policy:{policy}", "greedy"]
    with cluster.connect(nodes.address, agents, say=str) as executor:
        a_policy(policy, seed=2)
        with pytest.raises(NodeRefusedError, match=r"shared\.safetensors has digest"):
            arena.match(*agents, executor=executor, num_deals=2)


@pytest.mark.nightly
def test_a_node_with_other_code_is_left_out(nodes, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(ROOT / "agents" / "tienlen_agents", other / "tienlen_agents")
    with (other / "tienlen_agents" / "command.py").open("a") as file:
        file.write("# changed\n")
    paths = os.pathsep.join([str(other), environment()["PYTHONPATH"]])
    node = add_node(nodes, env_vars={"PYTHONPATH": paths})
    try:
        nodes.wait_for_nodes(60)
        with cluster.connect(nodes.address, ["heuristic", "greedy"], say=str) as executor:
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


@pytest.mark.nightly
def test_an_agents_error_is_that_of_one_process(nodes):
    with (
        cluster.connect(nodes.address, say=str) as executor,
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


KILLED = ["tienlen_agents.arena", "match", "heuristic", "greedy", "--deals", "64", "--chunk", "2", "--quiet"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The figures of the match in one process."""
    out = tmp_path_factory.mktemp("alone")
    assert main([*KILLED[1:], "--out", str(out)]) == 0
    return figures(out / "arena.json")


@pytest.mark.nightly
@pytest.mark.parametrize("num_chunks", range(1, 81, 4))
def test_a_killed_driver_resumes(nodes, alone, num_chunks, tmp_path):
    words = [*KILLED, "--executor", f"ray:{nodes.address}", "--out", str(tmp_path)]
    driver, chunks = start(*words), tmp_path / "chunks.jsonl"
    while driver.poll() is None and (not chunks.exists() or chunks.read_bytes().count(b"\n") < num_chunks):
        time.sleep(0.001)
    driver.kill()
    text, _ = driver.communicate()
    assert driver.returncode == -signal.SIGKILL, text
    assert chunks.read_bytes().count(b"\n") < 97  # it was in the middle
    again = start(*words)
    text, _ = again.communicate()
    assert again.returncode == 0, text
    assert chunks.read_bytes().count(b"\n") == 97  # a header, and 32 chunks of three compositions
    assert figures(tmp_path / "arena.json") == alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--executor", "ray:auto", "--workers", "2"], "expected one of them"),
        (["--executor", "ray:127.0.0.1:1"], "no Ray cluster answers"),
        (["--executor", "ray:localhost"], "expected ray:auto, ray:local or ray:HOST:PORT"),
    ],
)
def test_errors_of_the_command(arguments, message, capsys):
    pytest.importorskip("ray")
    with pytest.raises(SystemExit) as raised:
        main(["match", "greedy", "random", "--deals", "2", *arguments])
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_without_ray_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setattr("tienlen_env.extras.is_installed", lambda package: package != "ray")
    with pytest.raises(SystemExit):
        main(["match", "greedy", "random", "--executor", "ray:auto"])
    assert "not installed: pip install 'ray[" in capsys.readouterr().err


def test_nothing_imports_ray_unless_asked():
    code = (
        "import sys, tienlen_env, tienlen_agents.arena.__main__, tienlen_cluster.pool, tienlen_train.cli, "
        "tienlen_train.ppo, tienlen_train.league, tienlen_cluster.training; "
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
        with cluster.connect(nodes.address, agents, say=str) as executor:
            spread = arena.league(agents, num_deals=2000, executor=executor, progress=progress)
        assert without_times(spread.to_dict()) == alone
