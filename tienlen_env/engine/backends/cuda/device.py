"""The device: whether there is one, and its streams."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import Any

from numba import cuda
from numba.core import config

from tienlen_env.errors import DeviceError


def is_simulated() -> bool:
    """Whether Numba runs device code in plain Python, because ``NUMBA_ENABLE_CUDASIM=1`` was set.

    It must be set before Numba is imported. The memory of the "device" is then the host's.
    """
    return bool(config.ENABLE_CUDASIM)


def require_device() -> None:
    """Check that kernels can run.

    Raises:
        DeviceError: there is no device, no driver, or no compiler.
    """
    if is_simulated():
        return
    if importlib.util.find_spec("numba_cuda") is None:
        raise DeviceError("backend='cuda' needs the package numba-cuda: pip install 'numba-cuda[cu13]'")
    if not cuda.is_available():
        try:
            reason = str(cuda.cuda_error() or "no device was found")
        except Exception as error:
            reason = str(error)
        reason = reason.strip().partition("\n")[0].rstrip(".")
        raise DeviceError(
            f"backend='cuda' needs an NVIDIA GPU and its driver: {reason}. Without one, "
            "NUMBA_ENABLE_CUDASIM=1 in the environment runs the same code in plain Python, slowly"
        )


@lru_cache(maxsize=64)
def stream_of(handle: int) -> Any:
    """The stream of a handle, as Numba takes it; 0 is the legacy default stream, which is torch's default."""
    if is_simulated() or handle == 0:
        return 0
    return cuda.external_stream(handle)


def check_stream(stream: object, name: str = "stream") -> int:
    """The handle of a stream.

    Args:
        stream: a handle, as ``torch.cuda.Stream.cuda_stream``.
        name: the argument, for the message.

    Raises:
        ValueError: not a handle.
    """
    if isinstance(stream, bool) or not isinstance(stream, int) or stream < 0:
        raise ValueError(
            f"{name}={stream!r}: expected the handle of a stream, an integer (0 for the default)"
        )
    return stream
