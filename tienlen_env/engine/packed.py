"""The packed form of masks and observations: one bit an item, in words of 64.

A row of n bytes of 0 and 1 is ``ceil(n / 64)`` words, int64. Item i is bit ``i & 63`` of word ``i >> 6``;
bits behind the last item are 0. All pieces of the observations of all games are 0 and 1 (numbers are unary,
one-hot or binary), so no information is lost. In memory it is an eighth of the bytes.

Buffers of `tienlen_env.engine.batch.Batch` have either form; their dtype chooses it. The words of a packed
mask are those of ``Batch.state.legal``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tienlen_env.games.common.arrays import AnyArray, DType, IntArray
from tienlen_env.games.common.spec import num_words


def pack(items: npt.ArrayLike) -> IntArray:
    """The packed form of masks or observations.

    Args:
        items: (..., n), of 0 and 1, or bool.

    Returns:
        int64 (..., ceil(n / 64)).

    Raises:
        ValueError: numbers other than 0 and 1, or a single number.
    """
    array = np.asarray(items)
    if array.ndim == 0 or not ((array == 0) | (array == 1)).all():
        raise ValueError("items: expected an array (..., n) of 0 and 1")
    packed = np.packbits(array.astype(np.bool_), axis=-1, bitorder="little")
    out = np.zeros((*array.shape[:-1], num_words(array.shape[-1])), np.dtype("<i8"))
    out.view(np.uint8)[..., : packed.shape[-1]] = packed
    return out.astype(np.int64, copy=False)


def unpack(words: npt.ArrayLike, size: int, dtype: DType = np.uint8) -> AnyArray:
    """The items of packed masks or observations.

    Args:
        words: int64 or uint64 (..., ceil(size / 64)).
        size: n, the number of items.
        dtype: of the result.

    Returns:
        (..., n) of 0 and 1.

    Raises:
        ValueError: words of another dtype or shape.
    """
    array = np.asarray(words)
    if array.ndim == 0 or array.dtype.kind not in "iu" or array.dtype.itemsize != 8:
        raise ValueError(f"words: expected an int64 array, got {array.dtype} of shape {array.shape}")
    if array.shape[-1] != num_words(size):
        raise ValueError(
            f"words: expected {num_words(size)} words a row for {size} items, got {array.shape[-1]}"
        )
    as_bytes = np.ascontiguousarray(array, np.dtype("<i8")).view(np.uint8)
    return np.unpackbits(as_bytes, axis=-1, count=size, bitorder="little").astype(dtype, copy=False)
