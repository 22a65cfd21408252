"""Types of arrays, and column numbers that are computed instead of typed."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
MaskArray: TypeAlias = npt.NDArray[np.int8]
RewardArray: TypeAlias = npt.NDArray[np.float32]
# A mask or an observation as bytes, or packed: int64 words, one bit an item.
MaskOutput: TypeAlias = npt.NDArray[np.int8] | npt.NDArray[np.int64]
ByteOutput: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.int64]
AnyArray: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = Any  # a NumPy scalar type, or a dtype

# Input of a kernel, int64 (..,): an array row in compiled code, a list of ints in plain Python.
Row: TypeAlias = Any
Spec: TypeAlias = Any
ActionFields: TypeAlias = Any
# Output of a kernel: an array row, or a list.
Output: TypeAlias = Any


def offsets(*sizes: int) -> tuple[int, ...]:
    """The start of each of several consecutive fields, and the end of the last one.

    Examples:
        >>> offsets(4, 1, 3)
        (0, 4, 5, 8)
    """
    return tuple(accumulate(sizes, initial=0))
