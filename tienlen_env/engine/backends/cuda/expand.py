"""From the packed form to bytes or floats, on the device; neighbouring threads write neighbouring items."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import cuda

from tienlen_env.engine.backends.cuda.arrays import check_array, is_simulated, native
from tienlen_env.engine.backends.cuda.kernel import kernel
from tienlen_env.engine.packed import packed_size
from tienlen_env.games.common.arrays import AnyArray, ByteArray, IntArray
from tienlen_env.games.common.bits import shift_left

_SPREAD: Final = 0x0002040810204081  # copies 7 bits so that each meets the lowest bit of a byte
_LOWEST_OF_BYTES: Final = 0x0101010101010101
_BFLOAT16_ONE: Final = 0x3F80
_ONES: Final = {np.dtype(d): 1 for d in (np.bool_, np.int8, np.uint8, np.float32)} | {
    np.dtype(np.uint16): _BFLOAT16_ONE
}


def item(words: IntArray, i: int, size: int) -> int:
    """The i-th item of all rows together."""
    row = i // size
    column = i - row * size
    return int(words[row, column >> 6] >> (column & 63) & 1)


@kernel
def write_bytes(t: int, words: IntArray, size: int, eights: IntArray, rest: ByteArray) -> None:
    """Eight items, as one number of 64 bits; behind the last eight, single ones."""
    first = 8 * t
    if t < eights.shape[0]:
        row = first // size
        column = first - row * size
        offset = column & 63
        bits = words[row, column >> 6] >> offset & 255
        if offset <= 56 and column + 8 <= size:
            low = (bits & 127) * _SPREAD & _LOWEST_OF_BYTES
            eights[t] = low | shift_left(bits >> 7, 56)
        else:  # of two words or two rows
            found = 0
            for k in range(8):
                found |= shift_left(item(words, first + k, size), 8 * k)
            eights[t] = found
    else:
        for k in range(rest.shape[0]):
            rest[k] = item(words, first + k, size)


@kernel
def write_items(i: int, words: IntArray, size: int, one: int, out: AnyArray) -> None:
    """One item."""
    out[i] = item(words, i, size) * one


def unpack(words: object, out: object, *, stream: int = 0) -> None:
    """Expand packed masks or observations on the device; the host does not wait.

    Args:
        words: int64 (n, ceil(size / 64)), contiguous.
        out: (n, size), contiguous, of 0 and 1 afterwards: bool, int8, uint8 or float32; or uint16 for the
            bits of bfloat16 (``tensor.view(torch.uint16)``).
        stream: handle of the stream.

    Raises:
        ValueError: other arrays, or not a stream.
    """
    found = native(out, "out")
    dtype = np.dtype(found.dtype)
    if len(found.shape) != 2 or dtype not in _ONES:
        known = ", ".join(map(str, _ONES))
        raise ValueError(
            f"out: expected shape (n, size) and one of {known}, got {dtype} {tuple(found.shape)}"
        )
    num_rows, size = (int(length) for length in found.shape)
    target = check_array(out, "out", (num_rows, size), dtype)
    source = check_array(words, "words", (num_rows, packed_size(size)), np.int64)
    flat = target.reshape(num_rows * size)
    if dtype.itemsize > 1 or _address(flat) % 8:
        write_items.launch(flat.size, source, size, _ONES[dtype], flat, stream=stream)
        return
    num_eights = flat.size // 8
    eights = _reinterpret(flat, num_eights, np.int64, 0)
    rest = _reinterpret(flat, flat.size - 8 * num_eights, np.uint8, 8 * num_eights)
    write_bytes.launch(num_eights + (1 if rest.size else 0), source, size, eights, rest, stream=stream)


def _address(array: Any) -> int:
    interface = array.__array_interface__ if is_simulated() else array.__cuda_array_interface__
    return int(interface["data"][0])


def _reinterpret(flat: Any, length: int, dtype: type[np.generic], start: int) -> Any:
    """`length` numbers of another dtype in the same memory, from byte `start` on."""
    if is_simulated():
        return flat.view(np.uint8)[start : start + length * np.dtype(dtype).itemsize].view(dtype)
    if length == 0:
        return cuda.device_array(0, dtype)
    interface = dict(flat.__cuda_array_interface__)
    address, _ = interface["data"]
    interface.update(
        shape=(length,), typestr=np.dtype(dtype).str, strides=None, data=(address + start, False)
    )
    return cuda.from_cuda_array_interface(interface, owner=flat, sync=False)
