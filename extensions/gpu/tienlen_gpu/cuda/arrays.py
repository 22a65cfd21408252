"""The device: whether there is one, its streams, and arrays on it, of a batch and of users.

Memory is shared by the CUDA array interface and by DLPack: ``torch.from_dlpack(array)`` copies nothing, and a
torch tensor can be passed wherever a method takes an array on the device. In Numba's simulator the memory is
the host's: NumPy arrays and torch's tensors on the CPU take the place of arrays on the device.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import cuda
from numba.core import config

from tienlen_env.errors import DeviceError
from tienlen_env.games.common.arrays import AnyArray, DType


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
    try:
        importlib.import_module("numba.cuda.cudaimpl")  # what the compiler loads when it first compiles
    except (ImportError, AttributeError) as error:  # numba-cuda 0.30 with NumPy 2.5
        raise DeviceError(
            f"backend='cuda': numba-cuda {version('numba-cuda')} does not work with NumPy {np.__version__} "
            f"({error}): pip install 'numpy<2.5', or a later numba-cuda"
        ) from None


@lru_cache(maxsize=64)
def stream_of(handle: int) -> Any:
    """The stream of a handle, as Numba takes it; 0 is the legacy default stream, which is torch's default."""
    if is_simulated() or handle == 0:
        return 0
    return cuda.external_stream(handle)


def check_stream(stream: object) -> int:
    """The handle of a stream.

    Args:
        stream: a handle, as ``torch.cuda.Stream.cuda_stream``.

    Raises:
        ValueError: not a handle.
    """
    if isinstance(stream, bool) or not isinstance(stream, int) or stream < 0:
        raise ValueError(
            f"stream={stream!r}: expected the handle of a stream, an integer (0 for the default)"
        )
    return stream


class DeviceArray:
    """An array on the device.

    Basic slices are views, as in NumPy. Reading a single number, and assigning, synchronise with the host.

    Args:
        array: Numba's array on the device.

    Attributes:
        array: the same.
        shape: as in NumPy.
        dtype: as in NumPy.
        strides: in bytes.
    """

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.dtype: np.dtype[Any] = np.dtype(array.dtype)
        self.strides: tuple[int, ...] = tuple(array.strides)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        found = self.array[key]
        return DeviceArray(found) if getattr(found, "shape", ()) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[key] = value

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}, {self.shape})"

    def copy_to_host(self) -> AnyArray:
        """A NumPy array with the same numbers, in C order; waits for the device."""
        if is_simulated():
            return np.array(host_view(self))
        cuda.synchronize()
        return np.ascontiguousarray(self.array.copy_to_host())

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> AnyArray:
        raise TypeError("an array on the device is not copied unasked; call copy_to_host()")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if is_simulated():
            raise AttributeError("the simulator's arrays are in the host's memory")
        interface: dict[str, Any] = self.array.__cuda_array_interface__
        return interface

    def __dlpack__(self, *, stream: Any = None, **settings: Any) -> Any:
        if is_simulated():
            return host_view(self).__dlpack__(**settings)
        # The stream -1 asks for no synchronisation: what was launched is ordered by the batch's stream.
        return self._memory_view().__dlpack__(stream=-1 if stream is None else stream, **settings)

    def __dlpack_device__(self) -> tuple[int, int]:
        if is_simulated():
            return host_view(self).__dlpack_device__()
        place: tuple[int, int] = self._memory_view().__dlpack_device__()
        return place

    def _memory_view(self) -> Any:
        from cuda.core.utils import StridedMemoryView

        return StridedMemoryView.from_cuda_array_interface(self, stream_ptr=-1)


def device_array(shape: int | tuple[int, ...], dtype: DType, order: Literal["C", "F"] = "C") -> DeviceArray:
    """An array on the device, not initialised.

    Args:
        shape: as in NumPy.
        dtype: as in NumPy.
        order: ``"C"``: rows are contiguous; ``"F"``: columns are, for arrays with a row a thread.
    """
    return DeviceArray(cuda.device_array(shape, np.dtype(dtype), order=order))


def to_device(array: npt.ArrayLike) -> DeviceArray:
    """A copy of a host array, in the same order of memory."""
    return DeviceArray(cuda.to_device(np.asarray(array)))


def host_view(array: Any) -> AnyArray:
    """In the simulator: the memory of an array as a NumPy array.

    Raises:
        TypeError: not an array, or not in the host's memory.
    """
    if isinstance(array, DeviceArray):
        array = array.array
    if isinstance(array, np.ndarray):
        return array
    inner = getattr(array, "_ary", None)  # Numba's simulated array
    if isinstance(inner, np.ndarray):
        return inner
    return np.from_dlpack(array)


@lru_cache(maxsize=512)
def _foreign(address: int, shape: tuple[int, ...], typestr: str, strides: tuple[int, ...] | None) -> Any:
    """Numba's array over memory that another library owns; the owner keeps it alive."""
    interface = {
        "shape": shape,
        "typestr": typestr,
        "strides": strides,
        "data": (address, False),
        "version": 3,
    }
    return cuda.from_cuda_array_interface(interface, owner=None, sync=False)


def is_on_device(value: object) -> bool:
    """Whether a value is an array on the device; in the simulator, also any tensor in the host's memory."""
    if isinstance(value, DeviceArray) or hasattr(value, "__cuda_array_interface__"):
        return True
    return is_simulated() and not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__")


def native(value: object, name: str) -> Any:
    """The array as a kernel takes it: Numba's array, or in the simulator a NumPy array, of the same memory.

    Raises:
        ValueError: not an array on the device.
    """
    if is_simulated():
        try:
            return host_view(value)
        except (TypeError, RuntimeError, BufferError, AttributeError):
            pass
    elif isinstance(value, DeviceArray):
        return value.array
    else:
        interface = getattr(value, "__cuda_array_interface__", None)
        if interface is not None:
            address, is_read_only = interface["data"]
            if not is_read_only:
                strides = interface.get("strides")
                shape = tuple(interface["shape"])
                return _foreign(address, shape, interface["typestr"], strides and tuple(strides))
    raise ValueError(f"{name}: expected an array on the device, not {type(value).__name__}")


def check_array(value: object, name: str, shape: tuple[int, ...], dtype: DType) -> Any:
    """`native` of an array of the given shape and dtype, contiguous in C order.

    Raises:
        ValueError: something else.
    """
    array = native(value, name)
    wanted = np.dtype(dtype)
    strides: list[int] = []
    step = wanted.itemsize
    for length in reversed(shape):
        strides.insert(0, step)
        step *= length
    is_contiguous = all(
        length < 2 or found == stride
        for length, found, stride in zip(array.shape, array.strides, strides, strict=False)
    )
    if tuple(array.shape) != shape or np.dtype(array.dtype) != wanted or not is_contiguous:
        raise ValueError(
            f"{name}: expected a contiguous {wanted} array of shape {shape} on the device, "
            f"got {array.dtype} of shape {tuple(array.shape)}"
        )
    return array
