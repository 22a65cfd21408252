"""All that needs names of Numba which are not public: the cache on disk, and fast compilation of parts.

Importing this module raises ImportError if a release of Numba lacks one of them. Then `jit` takes Numba's
public way: the same results, compiled anew in every process.
"""

from __future__ import annotations

import hashlib
import pickle
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

# A module, or a class in it, to the names that it must have.
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "numba.core.caching": ("CompileResultCacheImpl", "FunctionCache", "NullCache"),
    "numba.core.caching.CompileResultCacheImpl": ("reduce", "rebuild"),
    "numba.core.caching.FunctionCache": (
        *("load_overload", "save_overload", "_index_key", "_impl", "_impl_class", "cache_path", "flush"),
    ),
    "numba.core.codegen": ("JITCodeLibrary",),
    "numba.core.codegen.JITCodeLibrary": (
        *("_raise_if_finalized", "_linking_libraries", "_final_module", "_get_module_for_linking"),
        *("_finalize_dynamic_globals", "_finalized", "enable_object_caching", "_ensure_finalized"),
    ),
    "numba.core.compiler": ("Compiler",),
    "numba.core.compiler.Compiler": ("compile_extra",),
    "numba.core.compiler_lock": ("global_compiler_lock", "require_global_compiler_lock"),
    "numba.core.dispatcher": ("Dispatcher",),
    "numba.core.dispatcher.Dispatcher": ("_cache", "compile"),
    "numba.core.serialize": ("dumps",),
    "numba.core.options": ("DefaultOptions",),
    "numba.core.options.DefaultOptions": ("_nrt", "forceinline"),
}


def missing_names() -> Iterator[str]:
    """The names of `NEEDED` that this release of Numba lacks."""
    for owner, names in NEEDED.items():
        module, _, kind = owner.rpartition(".")
        try:
            found = getattr(import_module(module), kind) if kind[0].isupper() else import_module(owner)
        except (ImportError, AttributeError):
            yield owner
            continue
        kinds = getattr(found, "__mro__", ())
        # What a constructor sets is an attribute, too.
        written = {name for k in kinds if "__init__" in vars(k) for name in _names_in(k.__init__)}
        yield from (f"{owner}.{name}" for name in names if not hasattr(found, name) and name not in written)


def _names_in(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_names


if lacking := list(missing_names()):
    raise ImportError(f"this release of Numba has no {', '.join(lacking)}")

from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache  # noqa: E402
from numba.core.codegen import JITCodeLibrary  # noqa: E402
from numba.core.compiler import Compiler  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock, require_global_compiler_lock  # noqa: E402
from numba.core.serialize import dumps  # noqa: E402

from tienlen_env.engine.backends.sources import digest_of, name_of  # noqa: E402

if sys.platform != "win32":
    import fcntl

# How a damaged cache file fails when it is unpickled.
DAMAGED = (
    *(pickle.UnpicklingError, EOFError, AttributeError, ImportError, LookupError, ValueError, TypeError),
    *(ArithmeticError, MemoryError, RuntimeError, SystemError, AssertionError, struct.error),
)
# To wait for another process that compiles, in seconds. No loop takes so long, unless that process hangs.
PATIENCE = 600.0
_PAUSE = 0.05  # seconds between two looks


def add_cache(compiled: Any, register: Callable[[Any], None]) -> None:
    """Cache the code of a dispatcher on disk; where no folder can be written, register its functions only.

    Args:
        compiled: Numba's dispatcher.
        register: called with its function before the function is compiled.
    """
    function = compiled.py_func
    try:
        compiled._cache = cache = _Cache(function, register)
        compiled.compile = cache.guard(compiled.compile)
    except RuntimeError:  # no folder can be written
        compiled._cache = _NoCache(function, register)


class _Checked(CompileResultCacheImpl):
    """Machine code with its checksum: a file in which a bit has changed may still be a pickle."""

    def reduce(self, cres: Any) -> Any:
        data = dumps(super().reduce(cres))
        return hashlib.sha256(data).digest(), data

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        digest, data = payload
        if hashlib.sha256(data).digest() != digest:
            raise ValueError("not what was written")
        return super().rebuild(target_context, pickle.loads(data))


class _Cache(FunctionCache):
    """A cache on disk whose key is the digest; what cannot be read or written is compiled anew."""

    _impl_class = _Checked

    def __init__(self, function: Any, register: Callable[[Any], None]) -> None:
        super().__init__(function)
        self._register = register
        self._locks = ExitStack()
        self._start = 0.0

    def guard(self, compile_: Callable[[Any], Any]) -> Any:
        """Numba's compilation of a signature, after which other processes may compile the function, too."""

        def guarded(sig: Any) -> Any:
            with global_compiler_lock, ExitStack() as self._locks:
                return compile_(sig)

        return guarded

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._register(self._py_func)
        found = self._load(sig, target_context)
        if found is None:
            self._lock()
            found = self._load(sig, target_context)  # another process may have compiled it meanwhile
        if found is None:
            self._start = time.monotonic()
            self._say_what_is_compiled()
        return found

    def _seconds(self) -> Path:
        """The file with the seconds that the last compilation took."""
        name = hashlib.sha256(name_of(self._py_func).encode()).hexdigest()[:16]
        return Path(self.cache_path, f"{name}.seconds")

    def _say_what_is_compiled(self) -> None:
        """A line, since a compilation is a long silence."""
        last = ""
        with suppress(OSError, ValueError):
            last = f", which took {float(self._seconds().read_text()):.0f} s last time"
        parts = name_of(self._py_func).partition(" ")[2] or self._py_func.__module__
        print(f"Compiling {self._py_func.__name__} ({parts}){last} ...", file=sys.stderr)

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except (OSError, *DAMAGED):
            return None

    def _lock(self) -> None:
        """Be the only process that compiles this function, if the system has such locks."""
        if sys.platform == "win32":
            return
        end = time.monotonic() + PATIENCE
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
            self._seconds().write_text(f"{time.monotonic() - self._start:.1f}")

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), digest_of(self._py_func)


class _NoCache(NullCache):
    def __init__(self, function: Any, register: Callable[[Any], None]) -> None:
        self._py_func, self._register = function, register

    def load_overload(self, sig: Any, target_context: Any) -> None:
        self._register(self._py_func)


@global_compiler_lock
def link(library: Any) -> None:
    """Link into a library what it calls, unless this is done."""
    library._ensure_finalized()


class PartCompiler(Compiler):
    """Numba's pipeline for a function whose code is only ever linked into that of its callers.

    Numba optimises every function by itself and translates it into machine code, before it inlines it into
    its caller, and both are done again there. Python never calls these functions, so both are left out: a
    loop compiles in two thirds of the time, and runs as fast.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a plain function for one signature."""
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class _Part(JITCodeLibrary):
    """LLVM code that is linked, and neither optimised nor translated."""

    def finalize(self) -> None:
        require_global_compiler_lock()
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    # A part has no address, and no place for what Numba would tell the function at run time.

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> _Part:
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        pass
