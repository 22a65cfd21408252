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
import marshal
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.extending import overload

from tienlen_env.engine.backends import overloads
from tienlen_env.engine.backends.parts import PartCompiler
from tienlen_env.games.common import bits
from tienlen_env.games.common.hints import is_fused, is_noinline

if sys.platform != "win32":
    import fcntl

# How a damaged cache file fails when it is unpickled.
DAMAGED = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, ValueError)
# To wait for another process that compiles, in seconds. No loop takes so long, unless that process hangs.
_PATIENCE = 600.0
_PAUSE = 0.05  # seconds between two looks


def loop(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls; the code holds no lock and is cached on disk.

    It allocates nothing that is reference-counted: views of rows would cost several times what the rules
    cost. Where no folder for the cache can be written, the function is compiled in every process.
    """
    compiled = njit(function, nogil=True, _nrt=False, fastmath=_fastmath(function))
    if isinstance(compiled, Dispatcher):  # not with NUMBA_DISABLE_JIT
        try:
            compiled._cache = cache = _Cache(function)  # type: ignore[attr-defined]
            compiled.compile = cache.guard(compiled.compile)  # type: ignore[method-assign]
        except RuntimeError:  # no folder can be written
            compiled._cache = _NoCache(function)  # type: ignore[attr-defined]
    return compiled


class _Cache(FunctionCache):
    """A cache on disk whose key is the digest; what cannot be read or written is compiled anew."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._locks = ExitStack()

    def guard(self, compile_: Callable[[Any], Any]) -> Any:
        """Numba's compilation of a signature, after which other processes may compile the function, too."""

        def guarded(sig: Any) -> Any:
            with global_compiler_lock, ExitStack() as self._locks:
                return compile_(sig)

        return guarded

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        register(self._py_func)
        found = self._load(sig, target_context)
        if found is None:
            self._lock()
            found = self._load(sig, target_context)  # another process may have compiled it meanwhile
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except (OSError, *DAMAGED):
            return None

    def _lock(self) -> None:
        """Be the only process that compiles this function, if the system has such locks."""
        if sys.platform == "win32":
            return
        end = time.monotonic() + _PATIENCE
        with suppress(OSError):
            self._impl.locator.ensure_cache_path()
            path = Path(self.cache_path, f"{self._impl.filename_base}.lock")
            file = self._locks.enter_context(path.open("ab"))
            while time.monotonic() < end:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    time.sleep(_PAUSE)

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # no space: this process has its code, the next one compiles it again
            try:
                super().save_overload(sig, data)
            except DAMAGED:  # of the index: it is written anew
                self.flush()
                super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), digest_of(self._py_func)


class _NoCache(NullCache):
    def __init__(self, function: Any) -> None:
        self._py_func = function

    def load_overload(self, sig: Any, target_context: Any) -> None:
        register(self._py_func)


def register(function: Any) -> None:
    """Let compiled code call a plain function and every plain function that it reaches."""
    for reached in reachable(function):
        is_plain = isinstance(reached, FunctionType) and not is_foreign(reached)
        if is_plain and reached not in overloads.REGISTERED:
            overloads.REGISTERED.add(reached)
            if _calls_itself(reached):
                _register_recursive(reached)
                continue
            register_part(
                reached,
                "cpu",
                _nrt=False,
                forceinline=not is_noinline(reached),
                fastmath=_fastmath(reached),
                pipeline_class=PartCompiler,
            )


def register_part(function: FunctionType, target: str, **options: Any) -> None:
    """Let compiled code of a target, ``"cpu"`` or ``"cuda"``, call a function as it stands."""

    def overload_of(*args, **kwargs):  # type: ignore[no-untyped-def]
        return function

    overload(function, jit_options=options, strict=False, target=target)(overload_of)


def _calls_itself(function: FunctionType) -> bool:
    name = function.__name__
    return name in function.__code__.co_names and function.__globals__.get(name) is function


def _register_recursive(function: FunctionType) -> None:
    """`_register` for a function that calls itself, which Numba types for dispatchers only."""
    names = dict(function.__globals__)
    compiled: Any = njit(FunctionType(function.__code__, names, function.__name__), nogil=True, _nrt=False)
    names[function.__name__] = compiled

    def overload_of(*args):  # type: ignore[no-untyped-def]
        return lambda *args: compiled(*args)

    overload(function, jit_options={"_nrt": False, "forceinline": True})(overload_of)


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
