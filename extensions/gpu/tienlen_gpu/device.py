"""The machine of a CUDA device: bodies are kernels, and a thread is a slot."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from tienlen_agents.parallel import Body
from tienlen_env.errors import DeviceError
from tienlen_gpu.cuda import DeviceArray, Kernel, is_simulated, require_device
from tienlen_gpu.cuda.arrays import host_view
from tienlen_gpu.machine import TorchMachine, mapped

THREADS_PER_PROCESSOR: Final = 256  # threads of each multiprocessor that work at the same time
SIMULATED_SLOTS: Final = 4
STACK_BYTES: Final = 8192  # of a thread: a split of 13 ranks calls itself as often, with 408 bytes each time
_STACK_SIZE: Final = 0  # CU_LIMIT_STACK_SIZE of cuda.h


class CudaMachine(TorchMachine):
    """Runs bodies on the current CUDA device, or in Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``).

    Launches are queued on torch's current stream.

    Raises:
        DeviceError: there is no device, or its driver or a package is missing.
    """

    def __init__(self) -> None:
        if is_simulated():
            super().__init__(torch.device("cpu"), "cuda", SIMULATED_SLOTS)
            return
        if not torch.cuda.is_available():
            raise DeviceError("torch finds no CUDA device here")
        require_device()
        device = torch.device("cuda", torch.cuda.current_device())
        num_processors = torch.cuda.get_device_properties(device).multi_processor_count
        super().__init__(device, "cuda", num_processors * THREADS_PER_PROCESSOR)
        torch.empty(1, device=device)  # makes the context
        _set_stack_size(STACK_BYTES)

    def tensor(self, array: DeviceArray | np.ndarray[Any, Any]) -> Tensor:
        """A tensor on the memory of a batch's array."""
        if is_simulated():
            view = host_view(array)
            return torch.from_numpy(view if view.flags.writeable else view.copy())
        return torch.as_tensor(array, device=self.device)

    def launch(self, body: Body, num_items: int, args: Any) -> None:
        """Queue ``body(item, slot, args)`` for `item` in 0..num_items-1."""
        threads = min(num_items, self.num_slots)
        stream = 0 if is_simulated() else torch.cuda.current_stream(self.device).cuda_stream
        given = mapped(args, Tensor.numpy) if is_simulated() else args
        kernel_of(body).launch(threads, num_items, threads, given, stream=stream)


@cache
def kernel_of(body: Body) -> Kernel:
    """The kernel of a body: ``(thread, num_items, num_threads, args)``, each thread takes every T-th item."""

    def strided(thread: Any, num_items: Any, num_threads: Any, args: Any) -> None:
        for item in range(thread, num_items, num_threads):
            body(item, thread, args)

    strided.__name__ = body.__name__  # which is said while it is compiled
    return Kernel(strided)


def _set_stack_size(size: int) -> None:
    """Let every thread of the current context have a stack of that many bytes; the default is 1024.

    Raises:
        DeviceError: the driver refuses.
    """
    driver = ctypes.CDLL("nvcuda.dll" if hasattr(ctypes, "WinDLL") else "libcuda.so.1")
    if code := driver.cuCtxSetLimit(_STACK_SIZE, ctypes.c_size_t(size)):
        raise DeviceError(f"the CUDA driver refused a stack of {size} bytes a thread (error {code})")
