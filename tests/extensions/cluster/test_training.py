"""Training on a Ray cluster: the curve of one process, whatever happens to nodes, actors and the driver.

What needs a cluster is nightly; tests/extensions/cluster/test_cluster.py has one case of it for every day.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.extensions.cluster.clusters import (
    SMALL_RUN,
    Moment,
    add_node,
    assert_same_run,
    curve,
    kill_an_actor,
    remove_a_node,
    running_cluster,
    small_run,
    start,
)
from tienlen_agents.settings import flag_of
from tienlen_train.config import RunError
from tienlen_train.ppo import PPOConfig, PPOTrainer

MOMENTS = 20


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


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Callable[..., Path]:
    """The folder of the same run in one process, by its settings."""
    found: dict[str, Path] = {}

    def folder(**settings: Any) -> Path:
        key = json.dumps(settings, sort_keys=True)
        if key not in found:
            found[key] = tmp_path_factory.mktemp("alone") / "run"
            small_run(found[key], **settings)
        return found[key]

    return folder


@pytest.mark.nightly
@pytest.mark.parametrize("staleness", [0, 1])
def test_two_actors_have_the_curve_of_one_process(nodes, tmp_path, alone, staleness):
    out = tmp_path / "run"
    trainer = small_run(out, executor=f"ray:{nodes.address}", actors=2, staleness=staleness)
    assert_same_run(out, alone(staleness=staleness))
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["staleness"] for line in lines] == [min(n, staleness) for n in range(len(lines))]
    assert trainer.num_decisions == lines[-1]["decisions"]


def test_staleness_changes_the_curve(alone):
    assert curve(alone(staleness=0))[0] == curve(alone(staleness=1))[0]
    assert curve(alone(staleness=0))[2] != curve(alone(staleness=1))[2]


def test_a_stale_run_resumes_exactly(tmp_path, alone):
    out = tmp_path / "run"
    small_run(out, staleness=2, stop_after=3)
    small_run(out, staleness=2, resume=True)
    assert_same_run(out, alone(staleness=2))


# ---------------------------------------------------------------- losses


LOSSES = {"node": remove_a_node, "actor": kill_an_actor}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 2 + MOMENTS))
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_at_many_moments(nodes, tmp_path, alone, loss, seed):
    out, staleness = tmp_path / "run", seed % 2
    with Moment(out, seed, lambda: LOSSES[loss](nodes)):
        small_run(out, executor=f"ray:{nodes.address}", staleness=staleness)
    assert_same_run(out, alone(staleness=staleness))


def killed_and_resumed(nodes: Any, out: Path, seed: int, **settings: Any) -> None:
    """Train with a driver that is killed at a random moment, and again until the end."""
    words = [f"{flag_of(name)}={value}" for name, value in {**SMALL_RUN, **settings}.items()]
    words += [f"--executor=ray:{nodes.address}", f"--out={out}"]
    driver = start("tienlen_train.ppo", *words)
    with Moment(out, seed, driver.kill):
        text, _ = driver.communicate(timeout=300)
    assert driver.returncode == -signal.SIGKILL, text
    again = start("tienlen_train.ppo", *words, "--resume")
    text, _ = again.communicate(timeout=300)
    assert again.returncode == 0, text


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
        ({"actors": 0, "executor": "ray:auto"}, "actors"),
    ],
)
def test_settings_out_of_range(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        PPOTrainer(PPOConfig(**{**SMALL_RUN, **settings}, out=str(tmp_path / "run")))


def test_no_cluster_answers(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(RunError, match="no Ray cluster answers"):
        small_run(tmp_path / "run", executor="ray:127.0.0.1:1")


def test_without_ray_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("tienlen_env.extras.is_installed", lambda package: package != "ray")
    with pytest.raises(RunError, match=r"pip install 'ray\["):
        small_run(tmp_path / "run", executor="ray:auto")


def test_more_shards_are_another_curve_of_the_same_kind(tmp_path, alone):
    threads = torch.get_num_threads()
    out = alone(shards=3)
    assert torch.get_num_threads() == threads
    assert curve(out) != curve(alone(staleness=0))
    policy = out / "policy.safetensors"
    assert policy.stat().st_size > 0
    assert all(np.isfinite(value) for line in curve(out) for value in line.values())
