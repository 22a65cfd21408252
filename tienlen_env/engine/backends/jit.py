"""The loops that Python calls: compiled ahead of time, or by Numba when they are called first.

Kernels are plain Python functions of scalars and array rows, so that every backend runs the same source.
`loop` compiles a function that is called from Python, with every plain function that it reaches: inlined,
unless the function is marked by `tienlen_env.games.common.hints.noinline`. No list of modules is kept by
hand.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import numpy as np

from tienlen_env.engine.backends import native
from tienlen_env.extras import require
from tienlen_env.games.common import bits
from tienlen_env.games.common.arrays import AnyArray

LOOPS: Final[list[Any]] = []  # all of this process


def loop(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls; the code holds no lock.

    It allocates nothing that is reference-counted: views of rows would cost several times what the rules
    cost. Machine code that was compiled ahead of time is used where it is there and made of the same source
    (`native`); else Numba compiles the function when it is called, and caches the code on disk.
    """
    if _is_disabled():
        return _interpreted(function)
    found = compiled(function) if native.library() is None else native.loop_of(function, compiled)
    LOOPS.append(found)
    return found


def _is_disabled() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def compiled(function: Callable[..., Any]) -> Any:
    """The loop as Numba compiles it. It is imported only here: that takes longer than all of the rest.

    Raises:
        MissingExtraError: Numba is not installed.
    """
    if _is_disabled():
        return _interpreted(function)
    require("numba", "jit", f"{function.__name__}, without machine code here,")
    from tienlen_env.engine.backends import compiler

    return compiler.compiled(function)


class IntView:
    """An array as a kernel sees it in plain Python: its numbers are Python's, as in the reference backend.

    Args:
        array: a NumPy array; writes go to it.
    """

    def __init__(self, array: AnyArray) -> None:
        self._array = array

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        # Python's numbers: compiled code computes a float32 with a float64 in double precision, too.
        return as_ints(self._array[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, IntView):
            value = value._array
        elif isinstance(value, int) and self._array.dtype == np.int64:
            value = bits.add(value, 0)  # compiled code wraps
        self._array[key] = value


def as_ints(value: Any) -> Any:
    """An argument of a kernel in plain Python: arrays as `IntView`, numbers as Python's; in tuples, too."""
    if isinstance(value, np.ndarray):
        return IntView(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        items = [as_ints(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _interpreted(function: Any) -> Any:
    """A loop with NUMBA_DISABLE_JIT, for debuggers and the coverage of lines."""

    @wraps(function)
    def run(*args: Any) -> Any:
        return function(*map(as_ints, args))

    run.py_func = function  # type: ignore[attr-defined]
    return run
