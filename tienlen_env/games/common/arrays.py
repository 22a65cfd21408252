"""Types of arrays and of what kernels take, and fields that are numbered in the order of their lines."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
MaskArray: TypeAlias = npt.NDArray[np.int8]
RewardArray: TypeAlias = Float32Array
# A mask or an observation as bytes, or packed: int64 words, one bit an item.
MaskOutput: TypeAlias = npt.NDArray[np.int8] | npt.NDArray[np.int64]
ByteOutput: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.int64]
AnyArray: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = Any  # a NumPy scalar type, or a dtype


class Numbers(Protocol):
    """Whole numbers that a kernel reads: int64 (n,) in compiled code, a list of ints in plain Python."""

    def __getitem__(self, i: int, /) -> int: ...


Spec: TypeAlias = Numbers  # the variant, see `tienlen_env.games.common.spec`
ActionFields: TypeAlias = Numbers  # the action table, F numbers an action


class Row(Numbers, Protocol):
    """The state of one game, as `Numbers` that a kernel also writes."""

    def __setitem__(self, i: int, value: int, /) -> None: ...


class Items(Row, Protocol):
    """A row of a mask or an observation: one item a byte, or packed in words of 64 bits."""

    @property
    def dtype(self) -> DType:
        """As in NumPy."""

    def __len__(self) -> int: ...


class Rewards(Protocol):
    """P numbers; a kernel adds rewards to them: float32 (P,), or a list of floats in plain Python."""

    def __getitem__(self, seat: int, /) -> float: ...

    def __setitem__(self, seat: int, value: float, /) -> None: ...


class Output(Protocol):
    """Items of 0 and 1 that a kernel writes: bytes, or `tienlen_env.games.common.bits.PackedBits`."""

    def __setitem__(self, i: int, value: int, /) -> None: ...


class Fields:
    """Numbers the fields of a row or of a table in the order of their declaration.

    Args:
        first: the number of the first field.

    Attributes:
        size: the number behind the last field.

    Examples:
        >>> field = Fields()
        >>> HAND = field(4)  # 4 columns
        >>> TURN = field()
        >>> HAND, TURN, field.size
        (0, 4, 5)
    """

    def __init__(self, first: int = 0) -> None:
        self.size = first

    def __call__(self, size: int = 1) -> int:
        """The number of a field of this size."""
        start = self.size
        self.size += size
        return start
