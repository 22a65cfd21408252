"""Training and the arena on Numba's CUDA simulator: kernels of the device, in plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from numba import typeof, types

from tests.needs import needs_cuda_compiler
from tienlen_env.errors import DeviceError
from tienlen_gpu import cuda_machine
from tienlen_gpu.device import kernel_of
from tienlen_gpu.machine import HostMachine, mapped
from tienlen_gpu.players import ScoreArgs, draw_item
from tienlen_gpu.rollout import DeviceActor
from tienlen_train.ppo import PPOConfig, PPOTrainer

ROOT = Path(__file__).parents[3]


def test_the_device_computes_the_processors_bits() -> None:
    """Features, draws, agents and the loops around them; a few rounds, since the simulator is slow."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.extensions.gpu.simulated_device"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rollout: same" in done.stdout
    assert "arena: same points" in done.stdout


def launched() -> dict[str, tuple[Any, Any]]:
    """Every body of an iteration, by name, with the arguments of its first call."""
    found: dict[str, tuple[Any, Any]] = {}

    class Recorder(HostMachine):
        def launch(self, body: Any, num_items: int, args: Any) -> None:
            found.setdefault(body.__qualname__, (body, args))
            super().launch(body, num_items, args)

    config = PPOConfig(
        num_games=2, baselines="heuristic random", baseline_share=0.9, snapshot_share=0.0, critic="playout",
        state_width=16, action_width=8, threads=1, precision="fp32",
    )  # fmt: skip
    PPOTrainer(config, actor=DeviceActor(Recorder())).play()
    return found


def compiled(body: Any, args: Any) -> str:
    return kernel_of(body).ptx(types.int64, types.int64, typeof(mapped(args, torch.Tensor.numpy)))


@needs_cuda_compiler
def test_the_draw_compiles_for_a_device() -> None:
    scores = torch.zeros(2), *(torch.zeros(2, dtype=torch.int64) for _ in range(3))
    args = ScoreArgs(*scores, 1, 2, 1.0, torch.zeros(2, dtype=torch.int64), torch.zeros(2))
    assert ".target sm_90" in compiled(draw_item, args)


@needs_cuda_compiler
@pytest.mark.nightly
def test_every_body_compiles_for_a_device() -> None:
    bodies = launched()
    assert len(bodies) >= 8, bodies.keys()
    for name, (body, args) in bodies.items():
        assert ".target sm_90" in compiled(body, args), name


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_the_machine_says_so() -> None:
    with pytest.raises(DeviceError, match="torch finds no CUDA device"):
        cuda_machine()
