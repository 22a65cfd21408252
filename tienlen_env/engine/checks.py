"""Checks of arguments before they reach compiled code, which checks nothing."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final, SupportsIndex, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tienlen_env.errors import expected_one_of
from tienlen_env.games.common.arrays import AnyArray, DType, IntArray
from tienlen_env.games.common.spec import num_words

T = TypeVar("T")
Buffer = TypeVar("Buffer", bound=AnyArray)
_INT64: Final = np.dtype(np.int64)  # compared in a fifth of the time of `np.int64`


def as_integers(values: npt.ArrayLike, name: str, length: int | None = None) -> IntArray:
    """An int64 array that compiled code takes; numbers beyond int64 become negative.

    Compiled code has one form for arrays: contiguous, aligned, writeable, in this machine's order of bytes.
    An array that has it is returned; of any other a copy.

    Args:
        values: integers; an empty list of any type passes.
        name: the argument, for the message.
        length: n if the shape must be (n,); None for any shape.

    Raises:
        ValueError: values of another type, also bools and objects, or another shape.
    """
    array = np.asarray(values)
    shape = array.shape if length is None else (length,)
    is_ready = array.dtype == _INT64 and array.flags.carray
    if array.shape != shape or not (is_ready or array.dtype.kind in "iu" or not array.size):
        raise ValueError(
            f"{name}: expected integers of shape {shape}, got {array.dtype} of shape {array.shape}"
        )
    return array if is_ready else np.array(array, np.int64, order="C")


def owned(value: T) -> T:
    """A copied state whose arrays may be written: those that come out of an object store (Ray's) may not.

    Args:
        value: arrays, also in dicts, lists and tuples; anything else is returned as it is.
    """
    found: object = value
    if isinstance(value, np.ndarray):
        found = value if value.flags.writeable else value.copy()
    elif isinstance(value, dict):
        found = {name: owned(item) for name, item in value.items()}
    elif isinstance(value, list):
        found = [owned(item) for item in value]
    elif isinstance(value, tuple):
        items = [owned(item) for item in value]
        found = value._make(items) if hasattr(value, "_make") else tuple(items)
    return cast(T, found)


def as_indices(games: npt.ArrayLike, num_games: int) -> IntArray:
    """Indices of games: int64 (n,), contiguous; the same array if it is that already.

    Args:
        games: integers (n,), each in 0..B-1.
        num_games: B.

    Raises:
        ValueError: another type or shape, or an index out of range.
    """
    which = as_integers(games, "games")
    if which.ndim != 1:
        raise ValueError(f"games: expected shape (n,), got {which.shape}")
    # Seen as unsigned, negative numbers are the largest.
    if which.size and which.view(np.uint64).max() >= num_games:
        raise ValueError(f"games: expected 0..{num_games - 1}, got {which.min()}..{which.max()}")
    return which


def as_distinct_indices(games: npt.ArrayLike, num_games: int) -> IntArray:
    """`as_indices` that also refuses an index that comes twice.

    Raises:
        ValueError: see `as_indices`; or an index comes twice.
    """
    which = as_indices(games, num_games)
    seen = np.zeros(num_games, np.bool_)
    seen[which] = True
    if np.count_nonzero(seen) != which.size:
        raise ValueError("games: expected no game twice")
    return which


def check_buffer(given: Buffer, name: str, shape: tuple[int, ...], dtype: DType) -> Buffer:
    """An array that compiled code writes to, without a subclass of NumPy's arrays around it.

    Raises:
        ValueError: another type, dtype or shape, or it is not contiguous, aligned and writeable.
    """
    if (
        not isinstance(given, np.ndarray)
        or given.shape != shape
        or given.dtype != dtype
        or not given.flags.carray
    ):
        raise ValueError(f"{name}: expected a contiguous, writeable {np.dtype(dtype)} array of shape {shape}")
    return cast(Buffer, np.asarray(given))


def buffer(given: Buffer | None, name: str, shape: tuple[int, ...], dtype: DType) -> Buffer:
    """A buffer that compiled code writes to: the given one, or a new one.

    Raises:
        ValueError: see `check_buffer`.
    """
    return cast(Buffer, np.empty(shape, dtype)) if given is None else check_buffer(given, name, shape, dtype)


def check_items(given: Buffer, name: str, rows: tuple[int, ...], size: int, dtype: DType) -> Buffer:
    """A mask or observation array that compiled code writes to, as bytes or packed.

    Args:
        given: the array.
        name: the argument, for the message.
        rows: the shape before the last axis.
        size: items of a row.
        dtype: of the bytes.

    Raises:
        ValueError: see `check_buffer`; a packed array is int64 (..., ceil(size / 64)).
    """
    if getattr(given, "dtype", None) == np.int64:
        return check_buffer(given, name, (*rows, num_words(size)), np.int64)
    return check_buffer(given, name, (*rows, size), dtype)


def as_integer(value: object, name: str) -> int:
    """An integer of any size; `name` is the argument, for the message.

    Raises:
        ValueError: not an integer.
    """
    with suppress(TypeError):
        return operator.index(cast(SupportsIndex, value))
    raise ValueError(f"{name}={value!r}: expected an integer")


def as_index(value: object, size: int, name: str) -> int:
    """An index.

    Args:
        value: an integer in 0..size-1.
        size: how many there are.
        name: the argument, for the message.

    Raises:
        ValueError: another type, or out of range.
    """
    index = as_integer(value, name)
    if not 0 <= index < size:
        raise ValueError(f"{name}={index}: expected 0..{size - 1}")
    return index


def check_options(options: Mapping[str, object] | None, known: Collection[str]) -> Mapping[str, object]:
    """The options of an environment's `reset`; an empty mapping for None.

    Args:
        options: by name.
        known: the names that the environment has.

    Raises:
        ValueError: not a mapping, or an unknown name.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options={options!r}: expected a dict or None")
    for name in options:
        if name not in known:
            raise ValueError(f"options: {name!r} is not a valid option; {expected_one_of(name, known)}")
    return options


def as_key(value: object) -> int:
    """The key of a deal as a signed number; an unsigned one of the same 64 bits is the same key.

    Raises:
        ValueError: not an integer of 64 bits.
    """
    with suppress(ValueError):
        key = as_integer(value, "key")
        if not isinstance(value, bool | np.bool_) and -(2**63) <= key < 2**64:
            return as_seed(key)
    raise ValueError(f"key={value!r}: expected an integer of 64 bits")


def as_seed(value: object) -> int:
    """An integer of any size as a signed 64-bit seed.

    Raises:
        ValueError: not an integer.
    """
    return (as_integer(value, "seed") + 2**63) % 2**64 - 2**63
