"""What Numba compiled of the packages' loops, as lines of ``signatures.txt``; see ``make signatures``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numba import types

from tienlen_env.engine.backends.sources import name_of
from tools.native.signatures import _NUMBERS, ELEMENTS, Signature


def text_of(kinds: Iterable[Any]) -> str:
    """The types of arguments as text, the inverse of `signatures.types_of`.

    Raises:
        ValueError: a type that no call can have (``calls.c``).
    """
    return ", ".join(map(_text_of_one, kinds))


def _text_of_one(kind: Any) -> str:
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if isinstance(kind, types.Array) and kind.dtype in ELEMENTS and kind.ndim <= 4 and kind.aligned:
        return f"{kind.dtype}[{kind.ndim}{kind.layout}{'' if kind.mutable else 'r'}]"
    if isinstance(kind, types.BaseTuple):
        of = getattr(kind, "instance_class", tuple)
        name = "" if of is tuple else f"{of.__module__}:{of.__qualname__}"
        return f"{name}({text_of(kind.types)})"
    raise ValueError(f"{kind}: a loop with such an argument is not compiled ahead of time")


def compiled_by_numba(loops: Iterable[Any]) -> set[Signature]:
    """What Numba has compiled of loops in this process; what cannot be in the list is left out."""
    found = set()
    for loop in loops:
        for signature in loop.signatures:
            try:
                found.add(Signature(name_of(loop.py_func), text_of(signature)))
            except ValueError:
                continue
    return found
