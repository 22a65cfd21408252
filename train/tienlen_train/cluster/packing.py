"""Trajectories in few bytes, to send them from the machine that played to the one that learns.

Nothing is lost: `unpack(pack(trajectories))` has the same bits. The decisions of a seat follow one another,
so that what does not change between them compresses; columns of 0 and 1 are sent as bits; indices that follow
from others are computed again. Tiến lên takes about 140 bytes a decision instead of 3,200.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tienlen_agents.networks.features.base import ONE, Inputs
from tienlen_train.rollout import IntArray, Trajectories, next_indices

AnyArray = npt.NDArray[Any]

LEVEL: Final = 1  # of zlib: higher ones save a tenth of the bytes and take four times as long


class PackingError(ValueError):
    """Trajectories that cannot be packed, or bytes that are not packed trajectories."""


@dataclass(frozen=True)
class Column:
    """An array in bytes.

    Attributes:
        shape: of the array.
        dtype: of the array.
        data: compressed, the last axis first.
        bits: which columns of the last axis are sent as bits (compressed), and the value that stands for 1;
            None for none.
    """

    shape: tuple[int, ...]
    dtype: str
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
    rows = _rows(inputs.segment_start, inputs.num_legal, order)
    arrays: dict[str, AnyArray] = {
        "game": t.game[order],
        "seat": t.seat[order],
        "step": t.step[order],
        "observation": inputs.observation[order],
        "num_legal": inputs.num_legal[order],
        "action": inputs.action[rows],
        "action_features": inputs.action_features[rows],
        "prior": inputs.prior[rows],
        "privileged": t.privileged[order],
        "position": (t.chosen - inputs.segment_start)[order],
        "log_probability": t.log_probability[order],
        "action_values": t.action_values[rows] if t.action_values.size else t.action_values,
        "winning_actions": t.winning_actions[rows] if t.winning_actions.size else t.winning_actions,
        "teacher_probabilities": t.teacher_probabilities[rows]
        if t.teacher_probabilities.size
        else t.teacher_probabilities,
        "reward": t.reward[order],
        "scores": t.scores,
    }
    columns = {name: _column(array) for name, array in arrays.items()}
    return PackedTrajectories(columns, len(t), t.seconds_acting)


def unpack(packed: PackedTrajectories) -> Trajectories:
    """The trajectories that were packed.

    Raises:
        PackingError: the bytes are damaged.
    """
    try:
        found = {name: _array(column) for name, column in packed.columns.items()}
        order = np.lexsort((found["game"], found["step"]))  # of play
        num_legal = found["num_legal"].astype(np.int64)
        rows = _rows(_starts(num_legal), num_legal, order)
    except (zlib.error, ValueError, KeyError, IndexError) as error:
        raise PackingError(f"damaged trajectories: {error}") from error

    def whole(name: str) -> IntArray:
        return found[name][order].astype(np.int64)

    starts = _starts(num_legal[order])
    game, seat = whole("game"), whole("seat")
    values, winning, taught = (
        found[k] for k in ("action_values", "winning_actions", "teacher_probabilities")
    )
    return Trajectories(
        inputs=Inputs(
            observation=found["observation"][order],
            segment_start=starts,
            num_legal=num_legal[order],
            action=found["action"][rows].astype(np.int64),
            action_features=found["action_features"][rows],
            prior=found["prior"][rows],
        ),
        privileged=found["privileged"][order],
        chosen=starts + whole("position"),
        log_probability=found["log_probability"][order],
        action_values=values[rows] if values.size else values,
        winning_actions=winning[rows] if winning.size else winning,
        teacher_probabilities=taught[rows] if taught.size else taught,
        reward=found["reward"][order],
        next_index=next_indices(game, seat),
        game=game,
        seat=seat,
        step=whole("step"),
        scores=found["scores"],
        seconds_acting=packed.seconds_acting,
    )


def _starts(num_legal: IntArray) -> IntArray:
    return np.cumsum(num_legal) - num_legal


def _rows(starts: IntArray, num_legal: IntArray, order: IntArray) -> IntArray:
    """The rows of the ragged actions of the decisions in another order."""
    lengths = num_legal[order]
    return np.arange(int(lengths.sum())) + np.repeat(starts[order] - _starts(lengths), lengths)


def _column(array: AnyArray) -> Column:
    if array.dtype == np.int64:
        if array.size and array.min() < 0:
            raise PackingError("expected indices from 0")
        array = array.astype(np.min_scalar_type(int(array.max(initial=0))))
    if array.dtype not in (np.uint8, np.uint16) or array.ndim != 2:
        return Column(array.shape, array.dtype.str, zlib.compress(_bytes(array), LEVEL))
    one = ONE if array.dtype == np.uint16 else 1
    is_bits = ((array == 0) | (array == one)).all(axis=0)
    bits = np.packbits(array[:, is_bits] != 0, axis=1)
    return Column(
        array.shape,
        array.dtype.str,
        zlib.compress(_bytes(bits) + _bytes(array[:, ~is_bits]), LEVEL),
        (zlib.compress(np.packbits(is_bits).tobytes(), LEVEL), one),
    )


def _bytes(array: AnyArray) -> bytes:
    """The content with the last axis first: a byte's neighbours are those of the same feature."""
    return np.ascontiguousarray(array.T).tobytes()


def _array(column: Column) -> AnyArray:
    data, dtype = zlib.decompress(column.data), np.dtype(column.dtype)
    if column.bits is None:
        return np.ascontiguousarray(np.frombuffer(data, dtype).reshape(column.shape[::-1]).T)
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
