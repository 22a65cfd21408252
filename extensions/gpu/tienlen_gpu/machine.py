"""The machines of torch: arrays are tensors, bodies are compiled to loops, or to kernels of a device."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tienlen_agents.parallel import Body, Machine, host_loop
from tienlen_env.engine.backends import BackendName
from tienlen_train.network import MULTIPLE

AnyBackend = BackendName | Literal["cuda"]
DTYPES: Final = {
    np.dtype(np.int64): torch.int64,
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float64): torch.float64,
    np.dtype(np.uint8): torch.uint8,
    np.dtype(np.uint16): torch.uint16,
    np.dtype(np.uint32): torch.uint32,
    np.dtype(np.bool_): torch.bool,
}


class TorchMachine(Machine):
    """Runs bodies on tensors (see `tienlen_agents.parallel.Machine`).

    Args:
        device: of the tensors.

    Attributes:
        device: of the tensors.
        backend: the backend of batches whose rows are on it.
        num_slots: see `Machine`.
    """

    backend: AnyBackend
    multiple = MULTIPLE

    def __init__(self, device: torch.device, backend: AnyBackend, num_slots: int) -> None:
        self.device = device
        self.backend = backend
        self.num_slots = num_slots

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Tensor:
        """A new tensor, not initialised."""
        return torch.empty(shape, dtype=DTYPES[np.dtype(dtype)], device=self.device)

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Tensor:
        """A new tensor."""
        return torch.zeros(shape, dtype=DTYPES[np.dtype(dtype)], device=self.device)

    def array(self, values: npt.NDArray[Any]) -> Tensor:
        """A copy of an array on the device."""
        return torch.from_numpy(np.array(values)).to(self.device)

    def per_slot(self, row: npt.NDArray[Any]) -> Tensor:
        """A new tensor with a copy of a row for each slot, (T, n); a column is contiguous."""
        return self.array(row)[:, None].expand(-1, self.num_slots).contiguous().t()

    def host(self, array: Tensor) -> npt.NDArray[Any]:
        """A copy of a tensor in the processor's memory."""
        return np.array(array.cpu().numpy())

    def view(self, array: Tensor, dtype: npt.DTypeLike) -> Tensor:
        """The memory of a tensor as numbers of another type of the same size."""
        return array.view(DTYPES[np.dtype(dtype)])

    def tensor(self, array: Any) -> Tensor:
        """A tensor on the memory of a batch's array."""
        raise NotImplementedError

    def launch(self, body: Body, num_items: int, args: Any) -> None:
        """Call ``body(item, slot, args)`` for `item` in 0..num_items-1 (see `Machine`)."""
        raise NotImplementedError


class HostMachine(TorchMachine):
    """The processor: one thread, one slot."""

    def __init__(self) -> None:
        super().__init__(torch.device("cpu"), "numba", 1)
        self._constants: dict[int, tuple[Tensor, npt.NDArray[Any]]] = {}

    def tensor(self, array: npt.NDArray[Any]) -> Tensor:
        """A tensor on the memory of an array; of one that cannot be written, on a copy."""
        if array.flags.writeable:
            return torch.from_numpy(array)
        tensor = torch.from_numpy(array.copy())
        self._constants[tensor.data_ptr()] = tensor, array
        return tensor

    def _array(self, tensor: Tensor) -> npt.NDArray[Any]:
        # Loops are compiled anew for arrays that can be written, so a constant stays one that cannot.
        known = self._constants.get(tensor.data_ptr())
        return tensor.numpy() if known is None or known[0] is not tensor else known[1]

    def launch(self, body: Body, num_items: int, args: Any) -> None:
        """Call ``body(item, 0, args)`` for `item` in 0..num_items-1, one after the other."""
        host_loop(body)(num_items, mapped(args, self._array))


def mapped(args: Any, convert: Any) -> Any:
    """A tuple, and the tuples in it, with all tensors converted."""
    if isinstance(args, Tensor):
        return convert(args)
    if isinstance(args, tuple):
        values = (mapped(value, convert) for value in args)
        return type(args)(*values) if hasattr(args, "_fields") else tuple(values)
    return args
