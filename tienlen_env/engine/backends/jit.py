"""Compilation by Numba: loops over plain Python functions, cached on disk by a digest of all that they use.

Kernels are plain Python functions of scalars and array rows, so that every executor runs the same source.
`loop` compiles a function that is called from Python. Before its first compilation it follows the calls from
there, and registers every plain function that it finds for compiled code: inlined, unless the function is
marked by `tienlen_env.games.common.hints.noinline`. No list of modules is kept by hand.

The same walk gives the key of the cache: a digest of their byte code and of the constants
that they read, in any module. Numba itself notices only changes of the loop's own file.

Processes that start together, such as the actors of a cluster, all need the same loops: one compiles, the
others wait and load what it wrote.
"""

from __future__ import annotations

import hashlib
import inspect
import marshal
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.extending import overload

from tienlen_env.engine.backends import overloads
from tienlen_env.games.common import bits
from tienlen_env.games.common.arrays import AnyArray
from tienlen_env.games.common.hints import is_fused, is_noinline

try:
    from tienlen_env.engine.backends import private
except ImportError as error:  # a later release of Numba
    private = None  # type: ignore[assignment]
    warnings.warn(f"loops are compiled anew in every process: {error}", RuntimeWarning, stacklevel=1)


def loop(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls; the code holds no lock and is cached on disk.

    It allocates nothing that is reference-counted: views of rows would cost several times what the rules
    cost. Where no folder for the cache can be written, the function is compiled in every process.
    """
    if numba.config.DISABLE_JIT:
        return _interpreted(function)
    compiled = numba.njit(function, nogil=True, fastmath=_fastmath(function), **overloads.NO_RUNTIME)
    if private is None:
        register(function)
    else:
        with caching(function):
            private.add_cache(compiled, register, digest_of)
    return compiled


def cache_folder() -> Path:
    """The user's folder for the compiled code of installed packages."""
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        parent = Path.home() / "Library" / "Caches"
    else:
        parent = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(parent) / __name__.partition(".")[0] / "compiled"


@contextmanager
def caching(function: Callable[..., Any]) -> Iterator[None]:
    """While the cache of a function is made: that of an installed package is in the user's folder.

    Beside the package, where Numba has it, it would stay when the package is uninstalled, and an import would
    find an empty package there. In a checkout it is beside the source. NUMBA_CACHE_DIR goes before both.
    """
    folders = Path(inspect.getfile(function)).parts
    is_installed = "site-packages" in folders or "dist-packages" in folders
    if not is_installed or numba.config.CACHE_DIR:
        yield
        return
    with suppress(RuntimeError):  # no home folder: Numba looks for another place
        numba.config.CACHE_DIR = str(cache_folder())
    try:
        yield
    finally:
        numba.config.CACHE_DIR = ""


class IntView:
    """An array as a kernel sees it in plain Python: its numbers are Python's, as in the reference executor.

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


def register(function: Any) -> None:
    """Let compiled code call a plain function and every plain function that it reaches."""
    for reached in reachable(function):
        is_plain = isinstance(reached, FunctionType) and not is_foreign(reached)
        if is_plain and reached not in overloads.REGISTERED:
            overloads.REGISTERED.add(reached)
            if _calls_itself(reached):
                _register_recursive(reached)
                continue
            options: dict[str, Any] = {"fastmath": _fastmath(reached)}
            if private is not None:
                options |= {"forceinline": not is_noinline(reached), "pipeline_class": private.PartCompiler}
            register_part(reached, "cpu", **options)


def register_part(function: FunctionType, target: str, **options: Any) -> None:
    """Let compiled code of a target, ``"cpu"`` or ``"cuda"``, call a function as it stands."""

    def overload_of(*args: Any, **kwargs: Any) -> FunctionType:
        return function

    jit_options = options | overloads.NO_RUNTIME
    overload(function, jit_options=jit_options, strict=False, target=target)(overload_of)


def _calls_itself(function: FunctionType) -> bool:
    name = function.__name__
    return name in function.__code__.co_names and function.__globals__.get(name) is function


def _register_recursive(function: FunctionType) -> None:
    """`_register` for a function that calls itself, which Numba types for dispatchers only."""
    names = dict(function.__globals__)
    body = FunctionType(function.__code__, names, function.__name__)
    names[function.__name__] = compiled = numba.njit(body, nogil=True, **overloads.NO_RUNTIME)

    def overload_of(*args: Any) -> Callable[..., Any]:
        return lambda *args: compiled(*args)

    overload(function, jit_options=overloads.INLINE, strict=False)(overload_of)


def _fastmath(function: Any) -> set[str] | bool:
    return {"contract"} if is_fused(function) else False


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
            if value not in overloads.PRIMITIVES and not is_foreign(value):
                todo.extend(reversed(list(_used_by(value))))
        elif isinstance(value, tuple):
            todo.extend(reversed(value))
        found.append(value)
    return found


def is_foreign(function: FunctionType) -> bool:
    """Whether Numba has a meaning of its own for the function: it is NumPy's, or of the standard library."""
    package = (function.__module__ or "").partition(".")[0]
    return package in ("numpy", "numba", "llvmlite") or package in sys.stdlib_module_names


def _used_by(function: FunctionType) -> Iterator[Any]:
    """What the names in a function's code stand for: globals, free variables, attributes of modules."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for code in _codes(function.__code__):
        values = [cells[name].cell_contents for name in code.co_freevars if name in cells]
        names = code.co_names
        values += [function.__globals__[name] for name in names if name in function.__globals__]
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
    files = overloads.__file__, bits.__file__  # primitives are not followed, so their whole files count
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).digest()


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
        parts = [
            (code.co_code, code.co_names, code.co_varnames, code.co_freevars, _plain_constants(code))
            for code in _codes(value.__code__)
        ]
        return marshal.dumps(
            (value.__qualname__, is_noinline(value), is_fused(value), repr(value.__defaults__), parts), 2
        )
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
    if isinstance(value, type | BuiltinFunctionType) or callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value))}".encode()
    return type(value).__qualname__.encode()


def _plain_constants(code: CodeType) -> str:
    return repr([c for c in code.co_consts if not isinstance(c, CodeType | frozenset)])
