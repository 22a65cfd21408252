"""The arena on a device, with the processor as the device: the points of the other executors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main
from tienlen_agents.arena.chunk import Chunk, Job, play_chunk
from tienlen_agents.arena.tasks import Task, play_task
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.shipped import shipped
from tienlen_env.engine.agent import Agent
from tienlen_env.games.registry import get_rules
from tienlen_gpu import arena as device_arena
from tienlen_gpu.arena import DeviceExecutor, play_jobs
from tienlen_gpu.machine import HostMachine
from tienlen_train import ppo

RULES = get_rules("cardgames")
MACHINE = HostMachine()


def jobs(num_deals: int = 4, number: int = 2) -> list[Job]:
    return [
        Job(
            (0, 1, 1, 1),
            RULES,
            seed=3,
            first_deal=i * num_deals,
            num_deals=num_deals,
            deals_per_job=num_deals,
        )
        for i in range(number)
    ]


def the_network() -> NetworkAgent:
    """The champion's network, without its search."""
    return NetworkAgent.load(shipped()["cardgames", "medium"])


def assert_same(found: Chunk, wanted: Chunk) -> None:
    assert np.array_equal(found.points, wanted.points)
    assert np.array_equal(found.places, wanted.places)
    assert np.array_equal(found.decisions, wanted.decisions)


@pytest.mark.parametrize("close", [device_arena.CLOSE, 1e9])
def test_chunks_are_those_of_the_processor(close: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network's close decisions go to its compiled loops; with ``1e9`` all of them do."""
    monkeypatch.setattr(device_arena, "CLOSE", close)
    agents: list[Agent] = [the_network(), tienlen_agents.load("heuristic")]
    found = play_jobs(MACHINE, agents, jobs())
    for job, chunk in zip(jobs(), found, strict=True):
        assert_same(chunk, play_chunk(agents, job))
        assert (chunk.seconds > 0).all()


@pytest.mark.nightly
def test_a_match_has_the_points_of_the_processor() -> None:
    agents: list[Agent] = [the_network(), tienlen_agents.load("heuristic")]
    found = play_jobs(MACHINE, agents, jobs(256, 4))
    for job, chunk in zip(jobs(256, 4), found, strict=True):
        assert_same(chunk, play_chunk(agents, job))


def test_an_executor_plays_match_ups() -> None:
    executor = DeviceExecutor(MACHINE, games_at_once=20)
    options = {"num_deals": 12, "deals_per_job": 4, "seed": 1}
    found = arena.match("heuristic", "random", executor=executor, **options)
    again = arena.match("heuristic", "random", executor=executor, **options)
    assert found.scores[0].points.mean == again.scores[0].points.mean > 0.5
    assert found.num_deals == 12


def test_draws_do_not_depend_on_the_games_at_once() -> None:
    agents = [tienlen_agents.load("heuristic"), tienlen_agents.load("random")]
    one, two = jobs(2, 2)
    together, alone = play_jobs(MACHINE, agents, [one, two]), play_jobs(MACHINE, agents, [one])
    assert_same(together[0], alone[0])


@pytest.mark.parametrize("name", ["greedy", "search:worlds=2"])
def test_agents_of_the_processor_are_refused(name: str) -> None:
    task = Task(0, (0, 1), (name, "heuristic"), jobs()[0])
    tasks: Iterator[Task] = iter([task])
    with pytest.raises(ValueError, match="on the processor alone"):
        next(DeviceExecutor(MACHINE).unordered(play_task, tasks))


@pytest.mark.parametrize("option", ["history", "num_records", "blunder_deals"])
def test_what_is_not_computed_is_refused(option: str) -> None:
    job = Job((0, 1, 1, 1), RULES, seed=0, first_deal=0, num_deals=2, **{option: 1})
    with pytest.raises(ValueError, match="expected 0 on a device"):
        play_jobs(MACHINE, [tienlen_agents.load("heuristic")] * 2, [job])
    name = {"num_records": "records"}.get(option, option)
    with pytest.raises(ValueError, match="expected no blunders, records and history"):
        arena.match("heuristic", "random", executor=DeviceExecutor(MACHINE), num_deals=2, **{name: 1})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "torch finds no CUDA device"),
        (["--workers", "2"], "expected one of them"),
    ],
)
def test_the_command_refuses_before_any_work(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as error:
        main(["match", "heuristic", "random", "--executor", "cuda", *options])
    assert error.value.code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_training_is_refused_before_its_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_arena, "cuda_machine", lambda: MACHINE)
    with pytest.raises(SystemExit, match="training has --actor cuda"):
        ppo.main(["--executor", "cuda", "--baselines", "heuristic", "--out", str(tmp_path / "run")])
    assert not list(tmp_path.rglob("*.json"))


def test_the_command_names_the_agent(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["match", "heuristic", "greedy", "--executor", "cuda"])
    assert "'greedy' plays on the processor alone" in capsys.readouterr().err
