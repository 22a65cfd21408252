"""The list of what is compiled ahead of time: ``signatures.txt``, a line for each loop and signature.

A line names the module and the function of a loop, what the function was made of if it was made for a game,
and the types of its arguments. ``int64[2C]`` is an array of two axes in C's order, with an ``r`` if it is
read-only; ``int``, ``float`` and ``bool`` are numbers; ``module:Name(...)`` is a named tuple.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from numba import types

LIST: Final = Path(__file__).with_name("signatures.txt")
ELEMENTS: Final = (
    *(types.boolean, types.int8, types.uint8, types.int16, types.uint16, types.int32, types.uint32),
    *(types.int64, types.uint64, types.float32, types.float64),
)
_NUMBERS: Final = {
    types.int64: "int",
    types.boolean: "bool",
    types.float64: "float",
    types.none: "none",
    types.float32: "float32",
}
_LAYOUTS: Final = "CFA"
# As in calls.c.
_ARRAY, _TUPLE, _KINDS = 0x8000, 0x4000, {kind: 1 + i for i, kind in enumerate(_NUMBERS)}


class Signature(NamedTuple):
    """A line of the list.

    Attributes:
        loop: see `tienlen_env.engine.backends.sources.name_of`.
        types: of the arguments, as text.
    """

    loop: str
    types: str


def types_of(text: str) -> tuple[Any, ...]:
    """The types of arguments that a line names."""
    found, rest = _read(text)
    if rest:
        raise ValueError(f"{text!r}: not understood at {rest!r}")
    return found


def _read(text: str) -> tuple[tuple[Any, ...], str]:
    """The types at the beginning of a text, and what follows."""
    found: list[Any] = []
    while text and text[0] != ")":
        text = text.removeprefix(", ")
        end = min(i for i in (*map(text.find, "(,)"), len(text)) if i >= 0)
        name, text = text[:end], text[end:]
        if text.startswith("("):
            items, text = _read(text[1:])
            text = text.removeprefix(")")
            found.append(_tuple_type(name, items))
        elif "[" in name:
            element, _, axes = name.rstrip("]").partition("[")
            dtype = types.boolean if element == "bool" else getattr(types, element)
            found.append(types.Array(dtype, int(axes[0]), axes[1], readonly=axes.endswith("r")))
        else:
            found.append({word: kind for kind, word in _NUMBERS.items()}[name])
    return tuple(found), text


def _tuple_type(name: str, items: tuple[Any, ...]) -> Any:
    if not name:
        return types.Tuple(items)
    module, _, of = name.partition(":")
    found = getattr(importlib.import_module(module), of)
    if len(items) != len(found._fields):
        raise ValueError(
            f"{name} has {len(found._fields)} fields, the list has {len(items)}: make signatures"
        )
    is_uniform = len(set(items)) == 1
    return types.NamedUniTuple(items[0], len(items), found) if is_uniform else types.NamedTuple(items, found)


def kinds_of(found: Iterable[Any]) -> list[int]:
    """The kinds of arguments as ``calls.c`` has them, 16 bits each."""
    kinds: list[int] = []
    for kind in found:
        if isinstance(kind, types.Array):
            element = 1 + ELEMENTS.index(kind.dtype)
            layout = _LAYOUTS.index(kind.layout)
            kinds.append(_ARRAY | element << 8 | kind.ndim << 4 | layout << 1 | (not kind.mutable))
        elif isinstance(kind, types.BaseTuple):
            kinds += [_TUPLE | len(kind), *kinds_of(kind.types)]
        else:
            kinds.append(_KINDS[kind])
    return kinds


def read(path: Path = LIST) -> list[Signature]:
    """The lines of the list."""
    return [Signature(*line.split(" | ")) for line in path.read_text(encoding="utf-8").splitlines()]
