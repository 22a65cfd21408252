"""The measurements of acting, learning and the arena, with small sizes on the processor."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from tienlen_agents.networks.network import NetworkConfig, shapes_of
from tienlen_env.games.registry import get_rules
from tienlen_gpu import bench_learning as gpu_learning
from tienlen_gpu.arena import DeviceExecutor
from tienlen_gpu.bench_environment import GpuConfig
from tienlen_gpu.machine import HostMachine

MACHINE = HostMachine()
TINY: dict[str, Any] = {
    "num_games": 4,
    "batch_size": 64,
    "state_width": 16,
    "action_width": 8,
    "threads": 1,
    "shards": 1,
    "precision": "fp32",
}


def test_rates_count_decisions() -> None:
    acting = gpu_learning.acting(MACHINE, 4)
    assert acting.details["decisions"] > 60
    assert 0 < acting.value < 1e7
    learning = gpu_learning.learning(MACHINE, 1, TINY)
    assert learning.details["decisions"] > 60
    assert learning.details["seconds_playing"] + learning.details["seconds_learning"] == pytest.approx(
        learning.details["decisions"] / learning.value, rel=0.2
    )


def test_a_run_gives_its_time_and_its_points() -> None:
    seconds, points = gpu_learning.training_run(MACHINE, {**TINY, "decisions": 300}, num_deals=2)
    assert seconds.value > 0
    assert seconds.details["decisions"] >= 300
    assert 0 <= points.value <= 3


def test_a_match_gives_its_time_and_its_points() -> None:
    found = gpu_learning.match_seconds(("heuristic", "random"), 3, executor=DeviceExecutor(MACHINE))
    assert found.value > 0
    assert 1.5 < found.details["points"] <= 3
    agents = f"policy:{gpu_learning.network_file()}", "heuristic"
    assert gpu_learning.match_seconds(agents, 8).details["points"] > 1.2


def test_the_rows_and_their_network() -> None:
    rows = gpu_learning.rows(GpuConfig())
    assert len({row.name for row in rows}) == len(rows) == 8
    assert sum(row.needs_device for row in rows) == 6
    widths = {name: gpu_learning.LARGE_RUN[name] for name in ("state_width", "action_width")}
    config = NetworkConfig.of(get_rules("cardgames"), record=True, **widths)
    assert sum(prod(shape) for shape in shapes_of(config).values()) == pytest.approx(470_000, rel=0.02)
