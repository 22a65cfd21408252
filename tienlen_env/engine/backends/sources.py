"""What the code of a loop is made of: the functions and constants that it reaches, and digests of them.

`digest_of`, of byte code, is the key of Numba's cache: Numba itself notices only changes of the loop's own
file. `key_of`, of source text, is that of code which was compiled ahead of time.
"""

from __future__ import annotations

import hashlib
import linecache
import marshal
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from tienlen_env.games.common import bits
from tienlen_env.games.common.hints import is_noinline, prefetch

# Functions for which compiled code has instructions of its own (`overloads`); what they call is not followed.
PRIMITIVES: Final[frozenset[Any]] = frozenset(
    {
        bits.as_output,
        bits.put_bits,
        bits.write_bits,
        bits.popcount,
        bits.lowest_index,
        bits.highest_index,
        bits.shift_left,
        bits.shift_right,
        bits.add,
        bits.write_word,
        bits.write_half,
        prefetch,
    }
)


def cache_folder() -> Path:
    """The user's folder for the compiled code of installed packages."""
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        parent = Path.home() / "Library" / "Caches"
    else:
        parent = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(parent) / __name__.partition(".")[0] / "compiled"


def reachable(function: Any) -> list[Any]:
    """The functions that compiled code of a function contains, and the constants that it reads.

    Args:
        function: a plain or compiled function.

    Returns:
        Plain functions (the given one first) and other values, in a fixed order. Functions for which compiled
        code has instructions, or Numba an implementation, are listed but not followed.
    """
    found: list[Any] = []
    seen: set[FunctionType] = set()
    todo = [function]
    while todo:
        value = todo.pop()
        value = getattr(value, "py_func", value)
        if isinstance(value, FunctionType):
            if value in seen:
                continue
            seen.add(value)
            if value not in PRIMITIVES and not is_foreign(value):
                todo.extend(reversed(list(_used_by(value))))
        elif isinstance(value, tuple):
            todo.extend(reversed(value))
        found.append(value)
    return found


def is_foreign(function: FunctionType) -> bool:
    """Whether Numba has a meaning of its own for the function: it is NumPy's, or of the standard library."""
    package = (function.__module__ or "").partition(".")[0]
    return package in ("numpy", "numba", "llvmlite") or package in sys.stdlib_module_names


def _used_by(function: FunctionType, but_of: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """What the names in a function's code stand for: globals, free variables, attributes of modules.

    Args:
        function: the function.
        but_of: globals that are left out where the function has the same.
    """
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    has, others = function.__globals__, but_of or {}
    for code in _codes(function.__code__):
        values = [cells[name].cell_contents for name in code.co_freevars if name in cells]
        names = code.co_names
        values += [has[n] for n in names if n in has and (n not in others or has[n] is not others[n])]
        for value in values:
            if isinstance(value, ModuleType):
                yield from (getattr(value, name) for name in names if name in vars(value))
            else:
                yield value


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@cache
def _overloads_digest() -> bytes:
    # Primitives are not followed, so their whole files count.
    files = Path(bits.__file__), Path(__file__).with_name("overloads.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).digest()


@cache
def digest_of(function: Any) -> str:
    """64 hex digits that change with the code of a function, or with any code or constant that it uses."""
    digest = hashlib.sha256(_overloads_digest())
    for value in reachable(function):
        digest.update(_description(value) + b"\0")
    return digest.hexdigest()


def _description(value: Any) -> bytes:
    """Bytes that are the same in every process, and others for another value."""
    if isinstance(value, FunctionType) and not is_foreign(value):
        parts = []
        for code in _codes(value.__code__):
            constants = repr([c for c in code.co_consts if not isinstance(c, CodeType | frozenset)])
            parts.append((code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants))
        return marshal.dumps((value.__qualname__, is_noinline(value), repr(value.__defaults__), parts), 2)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}".encode() + value.tobytes()
    if isinstance(value, frozenset):
        return repr(sorted(value, key=repr)).encode()
    if isinstance(value, int | float | str | bytes | None):
        return repr(value).encode()
    if isinstance(value, tuple):
        return f"{type(value).__qualname__} of {len(value)}".encode()  # its items follow
    if isinstance(value, type) and hasattr(
        value, "_fields"
    ):  # a NamedTuple: code may give fields by position
        return f"{value.__module__}.{value.__qualname__}{value._fields}".encode()
    if isinstance(value, np.ufunc):  # before NumPy 2.2 it has neither of the two names below
        return f"numpy.{value.__name__}".encode()
    if isinstance(value, type | BuiltinFunctionType) or callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value))}".encode()
    return type(value).__qualname__.encode()


@cache
def key_of(function: Any) -> str:
    """64 hex digits that change with the source of a function, or of what it uses; the same in any Python.

    Returns:
        The key; empty if the source is not at hand, so that nothing which was compiled ahead of time has it.
    """
    try:
        values = {_source(v) if _has_source(v) else _description(v) for v in reachable(function)}
    except OSError:
        return ""
    return hashlib.sha256(_overloads_digest() + b"\0".join(sorted(values))).hexdigest()


def _has_source(value: Any) -> bool:
    return isinstance(value, FunctionType) and not is_foreign(value)


def _source(function: FunctionType) -> bytes:
    """The lines of a function: from its first one to the next that is not further right."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    if not lines:
        raise OSError(f"{code.co_filename}: not found")
    margin = len(lines[0]) - len(lines[0].lstrip())
    heads = (i for i, line in enumerate(lines) if line.lstrip().startswith("def "))  # after decorators
    end = 1 if function.__name__ == "<lambda>" else next(heads, 0) + 1
    while end < len(lines):
        text = lines[end].lstrip()
        if text and len(lines[end]) - len(text) <= margin and not text.startswith(")"):
            break
        end += 1
    marks = (function.__module__, function.__qualname__, function.__defaults__)
    text = "".join(lines[:end]).rstrip()
    return f"{marks} {is_noinline(function)}\n{text}".encode()


def name_of(function: FunctionType) -> str:
    """``module:name`` of a loop's function, and after a blank the kernels that it was made of, if it was."""
    parts = sorted(set(_parts(function, set())))
    if len(parts) > 1:
        parts = sorted({part.partition(":")[0] for part in parts})
    return " ".join([f"{function.__module__}:{function.__qualname__}", ",".join(parts)]).rstrip()


def _parts(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """The functions that stand at the top of a module, of those that a closure or `specialise` put in."""
    for value in _used_by(function, _module_of(function)):
        if isinstance(value, FunctionType) and value not in seen:
            seen.add(value)
            if "<locals>" not in value.__qualname__ and value.__globals__ is _module_of(value):
                yield f"{value.__module__}:{value.__qualname__}"
            yield from _parts(value, seen)


def _module_of(function: FunctionType) -> Mapping[str, Any]:
    """The variables of a function's module, which are its globals unless `specialise` has made it."""
    return vars(sys.modules[function.__module__]) if function.__module__ in sys.modules else {}
