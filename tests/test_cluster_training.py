"""Training on a Ray cluster: the curve of one process, whatever happens to nodes, actors and the driver."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from tests.clusters import add_node, children, running_cluster, start
from tienlen_train.command import RunError
from tienlen_train.config import flag_of
from tienlen_train.loop import train
from tienlen_train.ppo import PPOConfig, PPOTrainer

# Clusters start slowly: CI has no time for them.
pytestmark = pytest.mark.nightly

# Figures of time and place; all others must agree.
FREE = {"time", "seconds", "cpu_seconds", "decisions_per_second", "outside_network"}
FREE |= {"cluster_nodes", "bytes_per_decision", "staleness"}
SMALL: dict[str, Any] = {
    "num_games": 48,
    "batch_size": 256,
    "state_width": 16,
    "action_width": 8,
    "critic_width": 16,
    "snapshot_every": 2,
    "eval_every": 0,
    "final_deals": 0,
    "checkpoint_every": 1,
    "stop_after": 5,
    "threads": 1,
}
MOMENTS = 5


@pytest.fixture(scope="module")
def all_nodes():
    pytest.importorskip("ray")
    with running_cluster(3) as found:
        yield found


@pytest.fixture
def nodes(all_nodes):
    """A cluster of three nodes, whatever an earlier test did to them."""
    while len(all_nodes.list_all_nodes()) < 3:
        add_node(all_nodes)
    all_nodes.wait_for_nodes(60)
    return all_nodes


def curve(out: Path) -> list[dict[str, float]]:
    """The lines of a run's metrics, without times."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in FREE} for line in lines]


def run(out: Path, **settings: Any) -> PPOTrainer:
    config = PPOConfig(**{**SMALL, **settings}, out=str(out))
    return train(PPOTrainer, config, Console(quiet=True))[0]


def assert_same_run(one: Path, other: Path) -> None:
    """Every figure and every bit of the policy is the same, and every decision is counted once."""
    assert curve(one) == curve(other)
    assert [line["iteration"] for line in curve(one)] == list(range(1, SMALL["stop_after"] + 1))
    assert (one / "policy.safetensors").read_bytes() == (other / "policy.safetensors").read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Callable[..., Path]:
    """The folder of the same run in one process, by its settings."""
    found: dict[str, Path] = {}

    def folder(**settings: Any) -> Path:
        key = json.dumps(settings, sort_keys=True)
        if key not in found:
            found[key] = tmp_path_factory.mktemp("alone") / "run"
            run(found[key], **settings)
        return found[key]

    return folder


@pytest.mark.parametrize("staleness", [0, 1])
def test_two_actors_have_the_curve_of_one_process(nodes, tmp_path, alone, staleness):
    out = tmp_path / "run"
    trainer = run(out, cluster=nodes.address, actors=2, staleness=staleness)
    assert_same_run(out, alone(staleness=staleness))
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["staleness"] for line in lines] == [min(n, staleness) for n in range(len(lines))]
    assert trainer.num_decisions == lines[-1]["decisions"]


def test_staleness_changes_the_curve(alone):
    assert curve(alone(staleness=0))[0] == curve(alone(staleness=1))[0]
    assert curve(alone(staleness=0))[2] != curve(alone(staleness=1))[2]


def test_a_stale_run_resumes_exactly(tmp_path, alone):
    out = tmp_path / "run"
    run(out, staleness=2, stop_after=3)
    settings = json.loads((out / "config.json").read_text())
    settings["config"]["stop_after"] = SMALL["stop_after"]
    (out / "config.json").write_text(json.dumps(settings))
    run(out, staleness=2, resume=True)
    assert_same_run(out, alone(staleness=2))


@pytest.mark.nightly  # tests/test_cluster_learners.py has the same without Ray
def test_two_learners_are_near_one_process_with_two_shards(nodes, tmp_path, alone):
    out = tmp_path / "run"
    trainer = run(out, cluster=nodes.address, learners=2)
    for ours, theirs in zip(curve(out), curve(alone(staleness=0)), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)
    assert trainer.iteration == SMALL["stop_after"]


# ---------------------------------------------------------------- losses


def remove_a_node(nodes: Any) -> None:
    nodes.remove_node(sorted(nodes.worker_nodes, key=id)[0], allow_graceful=False)


def kill_an_actor(nodes: Any) -> None:
    for pid in children(nodes, b"ray::run_here") or children(nodes, b"ray::"):
        os.kill(pid, signal.SIGKILL)
        return


def at_a_random_moment(out: Path, seed: int, act: Callable[[], None]) -> threading.Thread:
    """Do something once while a run trains."""
    rng = random.Random(seed)
    after, delay = rng.randrange(SMALL["stop_after"] - 1), rng.random()

    def watch() -> None:
        metrics = out / "metrics.jsonl"
        while not metrics.exists() or len(metrics.read_text().splitlines()) < after:
            time.sleep(0.02)
        time.sleep(delay)
        act()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


LOSSES = {"node": remove_a_node, "actor": kill_an_actor}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_changes_no_figure(nodes, tmp_path, alone, loss):
    out = tmp_path / "run"
    thread = at_a_random_moment(out, 1, lambda: LOSSES[loss](nodes))
    run(out, cluster=nodes.address)
    thread.join()
    assert_same_run(out, alone(staleness=0))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 2 + MOMENTS))
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("staleness", [0, 1])
def test_losses_at_many_moments(nodes, tmp_path, alone, loss, seed, staleness):
    out = tmp_path / "run"
    thread = at_a_random_moment(out, seed, lambda: LOSSES[loss](nodes))
    run(out, cluster=nodes.address, staleness=staleness)
    thread.join()
    assert_same_run(out, alone(staleness=staleness))


@pytest.mark.nightly
def test_a_lost_learner(nodes, tmp_path, alone):
    out = tmp_path / "run"

    def kill() -> None:
        os.kill(children(nodes, b"ray::RayTrainWorker")[-1], signal.SIGKILL)

    thread = at_a_random_moment(out, 4, kill)
    run(out, cluster=nodes.address, learners=2)
    thread.join()
    for ours, theirs in zip(curve(out), curve(alone(staleness=0)), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


def killed_and_resumed(nodes: Any, out: Path, seed: int, **settings: Any) -> None:
    """Train with a driver that is killed at a random moment, and again until the end."""
    words = [f"{flag_of(name)}={value}" for name, value in {**SMALL, **settings}.items()]
    words += [f"--cluster={nodes.address}", f"--out={out}"]
    driver = start("tienlen_train.ppo", *words)
    at_a_random_moment(out, seed, driver.kill)
    driver.communicate(timeout=300)
    again = start("tienlen_train.ppo", *words, "--resume")
    text, _ = again.communicate(timeout=300)
    assert again.returncode == 0, text


def test_a_killed_driver_resumes(nodes, tmp_path, alone):
    killed_and_resumed(nodes, tmp_path / "run", 3)
    assert_same_run(tmp_path / "run", alone(staleness=0))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4, 4 + MOMENTS))
def test_a_driver_killed_at_many_moments(nodes, tmp_path, alone, seed):
    killed_and_resumed(nodes, tmp_path / "run", seed, staleness=seed % 2)
    assert_same_run(tmp_path / "run", alone(staleness=seed % 2))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shards": 0}, "shards"),
        ({"staleness": -1}, "staleness"),
        ({"learners": 3, "cluster": "auto"}, "learners"),
        ({"actors": 0, "cluster": "auto"}, "actors"),
        ({"learners": 2}, "cluster"),
    ],
)
def test_settings_out_of_range(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        PPOTrainer(PPOConfig(**{**SMALL, **settings}, out=str(tmp_path / "run")))


def test_no_cluster_answers(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(RunError, match="no Ray cluster answers"):
        run(tmp_path / "run", cluster="127.0.0.1:1")


def test_without_ray_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("tienlen_agents.extras.is_installed", lambda package: package != "ray")
    with pytest.raises(RunError, match=r"tienlen-env\[cluster\]"):
        run(tmp_path / "run", cluster="auto")


def test_more_shards_are_another_curve_of_the_same_kind(tmp_path, alone):
    out = alone(shards=3)
    assert curve(out) != curve(alone(staleness=0))
    policy = out / "policy.safetensors"
    assert policy.stat().st_size > 0
    assert all(np.isfinite(value) for line in curve(out) for value in line.values())
    assert torch.get_num_threads() == 1
