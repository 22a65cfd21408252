"""Training and the arena on Numba's CUDA simulator: kernels of the device, in plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tienlen_agents.device.machine import cuda_machine
from tienlen_env.errors import DeviceError

ROOT = Path(__file__).parents[1]


def test_the_device_computes_the_processors_bits() -> None:
    """Features, draws, agents and the loops around them; a few rounds, since the simulator is slow."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulated_device"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rollout: same" in done.stdout
    assert "arena: same points" in done.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_the_machine_says_so() -> None:
    with pytest.raises(DeviceError, match="torch finds no CUDA device"):
        cuda_machine()
