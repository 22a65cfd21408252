"""The backend on an NVIDIA GPU: the games' own kernels, one thread a game.

``Batch(..., backend="cuda")`` gives a `CudaBatch`. `Kernel` compiles further functions for the device, for
example features and agents, from the source that runs on the processor.
"""

from tienlen_env.errors import DeviceError
from tienlen_gpu.cuda.arrays import (
    DeviceArray,
    device_array,
    is_simulated,
    require_device,
    to_device,
)
from tienlen_gpu.cuda.batch import CudaBatch
from tienlen_gpu.cuda.kernel import Kernel, ints, kernel, scratch
from tienlen_gpu.cuda.loops import unpack

__all__ = [
    "CudaBatch",
    "DeviceArray",
    "DeviceError",
    "Kernel",
    "device_array",
    "ints",
    "is_simulated",
    "kernel",
    "require_device",
    "scratch",
    "to_device",
    "unpack",
]
