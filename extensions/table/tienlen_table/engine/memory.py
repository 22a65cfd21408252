"""Arrays of compiled functions in the memory of a module.

A function that needs many arrays takes them as a NamedTuple of arrays, numbers and further NamedTuples. For a
module a value of this type is the *template*: its shapes say how much memory JavaScript takes, its contents
what it writes there. `layout_of` describes a template as JSON data, and `opener` makes a function that
compiled code calls to get the same NamedTuple from the addresses that JavaScript has chosen.

The addresses, sizes and numbers lie in a table of words of 64 bits: for an array its address and its shape,
for a number its value (an int64 or the bits of a float64).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from tienlen_env.games.common.arrays import AnyArray

_WORD: Final = ir.IntType(64)
_MAX_EXACT: Final = 1 << 53  # larger numbers are strings in JSON


def leaves_of(template: Any, path: str = "") -> Iterator[tuple[str, AnyArray]]:
    """The arrays of a template, and its numbers as arrays without dimensions, in the order of its fields.

    Each comes after its path, the names of the fields down to it, joined by dots.

    Raises:
        TypeError: something else, or an array that is not contiguous.
    """
    if isinstance(template, tuple):
        names = getattr(template, "_fields", range(len(template)))
        for name, value in zip(names, template, strict=True):
            yield from leaves_of(value, f"{path}.{name}" if path else str(name))
    elif isinstance(template, np.ndarray):
        if not template.flags.c_contiguous:
            raise TypeError(f"{path}: not a contiguous array")
        yield path, template
    elif isinstance(template, bool | int | float | np.number):
        yield path, np.array(template)
    else:
        raise TypeError(f"{path}: {type(template).__name__} is not a valid array or number")


def numbers_of(array: AnyArray) -> list[int | float | str]:
    """The numbers of an array as JSON data, without the zeros at the end."""
    flat = array.ravel()
    if array.dtype == np.bool_:
        flat = flat.astype(np.int64)
    used = np.flatnonzero(flat)
    values = flat[: used[-1] + 1 if used.size else 0].tolist()
    return [x if isinstance(x, float) or abs(x) <= _MAX_EXACT else str(x) for x in values]


def add_constant(
    dtype: str, numbers: list[int | float | str], constants: dict[str, list[int | float | str]]
) -> str:
    """Add the numbers of an array to `constants`; their key, a digest."""
    key = hashlib.sha256(repr((dtype, numbers)).encode()).hexdigest()[:16]
    constants[key] = numbers
    return key


def layout_of(template: Any, constants: dict[str, list[int | float | str]]) -> list[dict[str, Any]]:
    """Describe a template as JSON data.

    Args:
        template: a NamedTuple.
        constants: gets the contents of arrays that are not zero, by a digest; templates may share it.

    Returns:
        For each array and number its ``name``, ``type`` (of NumPy), ``shape``, and one or none of ``same``
        (the index of an earlier array in whose memory it lies), ``constant`` (a key of `constants`), and
        ``value`` (of a number).
    """
    found: list[dict[str, Any]] = []
    places: dict[int, int] = {}
    for index, (path, value) in enumerate(leaves_of(template)):
        leaf: dict[str, Any] = {"name": path, "type": value.dtype.name, "shape": list(value.shape)}
        if not value.shape:
            leaf["value"] = numbers_of(value.reshape(1))[0] if value else 0
        elif value.size and (address := value.__array_interface__["data"][0]) in places:
            leaf["same"] = places[address]
        else:
            if value.size:
                places[address] = index
            if value.any():
                leaf["constant"] = add_constant(value.dtype.name, numbers_of(value), constants)
        found.append(leaf)
    return found


def clear(template: Any) -> None:
    """Set all arrays of a template to zero."""
    for _, array in leaves_of(template):
        array[...] = 0


def type_of(template: Any) -> Any:
    """The type of a template in compiled code; all arrays are writable."""
    if isinstance(template, tuple):
        return types.BaseTuple.from_types([type_of(value) for value in template], type(template))
    if isinstance(template, np.ndarray):
        return types.Array(from_dtype(template.dtype), template.ndim, "C")
    if isinstance(template, bool | np.bool_):
        return types.boolean
    if isinstance(template, np.number):
        return from_dtype(template.dtype)
    return types.float64 if isinstance(template, float) else types.int64


def array_at(context: Any, builder: Any, wanted: Any, pointer: Any, shape: list[Any]) -> Any:
    """LLVM code for the contiguous array of a type and a shape (int64 values) at a pointer."""
    array = context.make_array(wanted)(context, builder)
    size = ir.Constant(_WORD, context.get_abi_sizeof(context.get_data_type(wanted.dtype)))
    strides, step = [], size
    for length in reversed(shape):
        strides.append(step)
        step = builder.mul(step, length)
    populate_array(
        array,
        data=builder.bitcast(pointer, array.data.type),
        shape=shape,
        strides=strides[::-1],
        itemsize=size,
        meminfo=None,  # nothing is counted
    )
    return array._getvalue()


def opener(template: Any) -> Any:
    """A function for compiled code: from a pointer to the table of words to a value like the template."""
    kind = type_of(template)

    def read(context: Any, builder: Any, table: Any, wanted: Any, at: int) -> tuple[Any, int]:
        def word(index: int) -> Any:
            return builder.load(builder.gep(table, [ir.Constant(ir.IntType(32), index)]))

        if isinstance(wanted, types.BaseTuple):
            parts = []
            for part in wanted.types:
                value, at = read(context, builder, table, part, at)
                parts.append(value)
            return context.make_tuple(builder, wanted, parts), at
        if isinstance(wanted, types.Array):
            shape = [word(at + 1 + axis) for axis in range(wanted.ndim)]
            pointer = builder.inttoptr(word(at), context.get_data_type(wanted.dtype).as_pointer())
            return array_at(context, builder, wanted, pointer, shape), at + 1 + wanted.ndim
        value = word(at)
        if isinstance(wanted, types.Float):
            value = builder.bitcast(value, ir.DoubleType())
            return context.cast(builder, value, types.float64, wanted), at + 1
        return context.cast(builder, value, types.int64, wanted), at + 1

    @intrinsic
    def open_memory(typingctx: Any, pointer: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return read(context, builder, args[0], kind, 0)[0]

        return kind(pointer), codegen

    return open_memory
