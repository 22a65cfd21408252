"""Which machine there is: that of a CUDA device, or the processor."""

from __future__ import annotations

import torch

from tienlen_agents.device.machine import HostMachine, TorchMachine


def machine_on(device: torch.device) -> TorchMachine:
    """The machine of a device.

    Raises:
        DeviceError: there is no such device, or its driver or a package is missing.
    """
    return HostMachine() if device.type == "cpu" else cuda_machine()


def cuda_machine() -> TorchMachine:
    """The machine of the current CUDA device.

    Raises:
        DeviceError: there is no device, or its driver or a package is missing.
    """
    from tienlen_agents.device.cuda import CudaMachine  # imports Numba's compiler for devices

    return CudaMachine()
