"""Trajectories in few bytes, to send them from the machine that played to the one that learns.

Nothing is lost: `unpack(pack(trajectories))` has the same bits. The decisions of a seat follow one another,
so that what does not change between them compresses; columns of 0 and 1 are sent as bits; indices that follow
from others are computed again. Tiến lên takes about 140 bytes a decision instead of 3,200.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from tienlen_agents.networks.features.base import ONE
from tienlen_env.games.common.arrays import AnyArray, IntArray
from tienlen_train.rollout import PER_ACTION, Trajectories, next_indices

LEVEL: Final = 1  # of zlib: higher ones save a tenth of the bytes and take four times as long


class PackingError(ValueError):
    """Trajectories that cannot be packed, or bytes that are not packed trajectories."""


@dataclass(frozen=True)
class Column:
    """An array in bytes.

    Attributes:
        shape: of the array.
        dtype: of the array.
        packed_dtype: of the data: integers are sent in as few bytes as they need.
        data: compressed, the last axis first.
        bits: which columns of the last axis are sent as bits (compressed), and the value that stands for 1;
            None for none.
    """

    shape: tuple[int, ...]
    dtype: str
    packed_dtype: str
    data: bytes
    bits: tuple[bytes, int] | None = None

    @property
    def num_bytes(self) -> int:
        """The number of bytes of the content."""
        return len(self.data) + (0 if self.bits is None else len(self.bits[0]))


@dataclass(frozen=True)
class PackedTrajectories:
    """What `pack` returns.

    Attributes:
        columns: the arrays by name.
        num_decisions: n.
        seconds_acting: see `Trajectories`.
    """

    columns: Mapping[str, Column]
    num_decisions: int
    seconds_acting: float

    @property
    def num_bytes(self) -> int:
        """The number of bytes of the content."""
        return sum(column.num_bytes for column in self.columns.values())


def pack(trajectories: Trajectories) -> PackedTrajectories:
    """Trajectories in few bytes.

    Args:
        trajectories: of one rollout, as `rollout` returns them: by step, and within a step by game.

    Raises:
        PackingError: the decisions are in another order, as those of several rollouts joined.
    """
    t, inputs = trajectories, trajectories.inputs
    num_actions = int(inputs.num_legal.sum())
    if (
        not np.array_equal(np.lexsort((t.game, t.step)), np.arange(len(t)))
        or not np.array_equal(inputs.segment_start, _starts(inputs.num_legal))
        or num_actions != len(inputs.action)
    ):
        raise PackingError("expected the decisions of one rollout in the order of play")
    order = np.lexsort((t.step, t.seat, t.game))  # the decisions of a seat follow one another
    columns = t.columns()
    columns["chosen"] = t.chosen - inputs.segment_start
    del columns["segment_start"], columns["next_index"]
    ordered = _reordered(columns, inputs.num_legal, order)
    return PackedTrajectories(
        {name: _column(array) for name, array in ordered.items()}, len(t), t.seconds_acting
    )


def unpack(packed: PackedTrajectories) -> Trajectories:
    """The trajectories that were packed.

    Raises:
        PackingError: the bytes are damaged.
    """
    try:
        found = {name: _array(column) for name, column in packed.columns.items()}
        order = np.lexsort((found["game"], found["step"]))  # of play
        columns = _reordered(found, found["num_legal"], order)
    except (zlib.error, ValueError, KeyError, IndexError) as error:
        raise PackingError(f"damaged trajectories: {error}") from error
    columns["segment_start"] = _starts(columns["num_legal"])
    columns["chosen"] += columns["segment_start"]
    columns["next_index"] = next_indices(columns["game"], columns["seat"])
    return Trajectories.of(columns, packed.seconds_acting)


def _reordered(columns: Mapping[str, AnyArray], num_legal: IntArray, order: IntArray) -> dict[str, AnyArray]:
    """Columns of trajectories with the decisions in another order."""
    starts, lengths = _starts(num_legal), num_legal[order]
    rows = np.arange(int(lengths.sum())) + np.repeat(starts[order] - _starts(lengths), lengths)

    def reordered(name: str, array: AnyArray) -> AnyArray:
        if name == "scores" or not array.size:
            return array
        return array[rows if name in PER_ACTION else order]

    return {name: reordered(name, array) for name, array in columns.items()}


def _starts(num_legal: IntArray) -> IntArray:
    return np.cumsum(num_legal) - num_legal


def _column(array: AnyArray) -> Column:
    dtype = array.dtype.str
    if array.dtype == np.int64:
        if array.size and array.min() < 0:
            raise PackingError("expected indices from 0")
        array = array.astype(np.min_scalar_type(int(array.max(initial=0))))
    if array.dtype not in (np.uint8, np.uint16) or array.ndim != 2:
        return Column(array.shape, dtype, array.dtype.str, zlib.compress(_bytes(array), LEVEL))
    one = ONE if array.dtype == np.uint16 else 1
    is_bits = ((array == 0) | (array == one)).all(axis=0)
    bits = np.packbits(array[:, is_bits] != 0, axis=1)
    return Column(
        array.shape,
        dtype,
        array.dtype.str,
        zlib.compress(_bytes(bits) + _bytes(array[:, ~is_bits]), LEVEL),
        (zlib.compress(np.packbits(is_bits).tobytes(), LEVEL), one),
    )


def _bytes(array: AnyArray) -> bytes:
    """The content with the last axis first: a byte's neighbours are those of the same feature."""
    return np.ascontiguousarray(array.T).tobytes()


def _array(column: Column) -> AnyArray:
    data, dtype = zlib.decompress(column.data), np.dtype(column.packed_dtype)
    if column.bits is None:
        return np.array(np.frombuffer(data, dtype).reshape(column.shape[::-1]).T, column.dtype, order="C")
    rows, width = column.shape
    mask, one = column.bits
    is_bits = np.unpackbits(np.frombuffer(zlib.decompress(mask), np.uint8), count=width).astype(bool)
    num_bits = int(is_bits.sum())
    num_bytes = -(-num_bits // 8)
    packed = np.frombuffer(data, np.uint8, num_bytes * rows).reshape(num_bytes, rows).T
    array = np.empty(column.shape, dtype)
    array[:, is_bits] = np.unpackbits(packed, axis=1, count=num_bits) * dtype.type(one)
    rest = np.frombuffer(data, dtype, offset=num_bytes * rows)
    array[:, ~is_bits] = rest.reshape(width - num_bits, rows).T
    return array
