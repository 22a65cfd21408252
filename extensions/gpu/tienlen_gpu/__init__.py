"""Agents and rounds on a device: everything is a torch tensor there, and the games' rows are as well.

`machine` runs the bodies of `tienlen_agents.parallel` on tensors, `rounds` plays a batch whose rows are
there, `network` is the network as a torch module, `players` are the agents, and `arena` is an executor of the
arena. With ``torch.device("cpu")`` the same code runs on the processor, which is how it is tested without a
device.
"""

from __future__ import annotations

from tienlen_gpu.machine import TorchMachine


def cuda_machine() -> TorchMachine:
    """The machine of the current CUDA device.

    Raises:
        DeviceError: there is no device, or its driver or a package is missing.
    """
    from tienlen_gpu.device import CudaMachine  # imports Numba's compiler for devices

    return CudaMachine()
