"""Numba's compilation of loops, with a cache on disk whose key is a digest of all that a loop uses.

Before its first compilation the calls of a loop are followed, and every plain function that they reach is
registered for compiled code. Processes that start together, such as the actors of a cluster, all need the
same loops: one compiles, the others wait and load what it wrote.
"""

from __future__ import annotations

import dis
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic, overload

from tienlen_env.engine.backends import overloads
from tienlen_env.engine.backends.sources import cache_folder, is_foreign, reachable
from tienlen_env.games.common.hints import is_noinline, prefetch

try:
    from tienlen_env.engine.backends import private
except ImportError as error:  # a later release of Numba
    private = None  # type: ignore[assignment]
    warnings.warn(f"loops are compiled anew in every process: {error}", RuntimeWarning, stacklevel=1)

# For functions whose code is only ever linked into that of others: none that C calls, and no machine code.
PART: dict[str, Any] = {"no_cfunc_wrapper": True}
if private is not None:
    PART["pipeline_class"] = private.PartCompiler


@intrinsic
def _prefetch(typingctx: Any, rows: Any, index: Any, column: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        flag, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        array = context.make_array(signature.args[0])(context, builder, args[0])
        strides = cgutils.unpack_tuple(builder, array.strides, 2)
        offset = builder.add(builder.mul(args[1], strides[0]), builder.mul(args[2], strides[1]))
        address = cgutils.gep_inbounds(builder, builder.bitcast(array.data, pointer), offset)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag]), "llvm.prefetch.p0"
        )
        # It will be written, soon, and it is data.
        builder.call(function, [address, flag(1), flag(3), flag(1)])
        return context.get_dummy_value()

    return numba.void(rows, numba.int64, numba.int64), codegen


# Not in `overloads`, whose file is part of the digest of every loop: this one changes no result.
overload(prefetch)(lambda rows, index, column: lambda rows, index, column: _prefetch(rows, index, column))


def compiled(function: Callable[..., Any]) -> Any:
    """A dispatcher of Numba: it compiles the function for each new signature, unless the cache has it."""
    dispatcher = numba.njit(function, nogil=True, **overloads.NO_RUNTIME)
    if private is None:
        register(function)
    else:
        with caching(function):
            private.add_cache(dispatcher, register)
    return dispatcher


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


def register(function: Any) -> None:
    """Let compiled code call a plain function and every plain function that it reaches."""
    for reached in reachable(function):
        is_plain = isinstance(reached, FunctionType) and not is_foreign(reached)
        if is_plain and reached not in overloads.REGISTERED and not register_recursive(reached):
            overloads.REGISTERED.add(reached)
            options = PART | ({} if private is None else {"forceinline": not is_noinline(reached)})
            register_part(reached, "cpu", **options)


def code_of(library: Any) -> str:
    """The LLVM code of a library of Numba and of all that it calls."""
    if private is not None:
        private.link(library)
    return str(library.get_llvm_str())


def register_part(function: FunctionType, target: str, **options: Any) -> None:
    """Let compiled code of a target, ``"cpu"`` or ``"cuda"``, call a function as it stands."""

    def overload_of(*args: Any, **kwargs: Any) -> FunctionType:
        return function

    jit_options = options | overloads.NO_RUNTIME
    overload(function, jit_options=jit_options, strict=False, target=target)(overload_of)


def _calls_itself(function: FunctionType) -> bool:
    loads = (step.argval for step in dis.get_instructions(function) if step.opname == "LOAD_GLOBAL")
    return any(function.__globals__.get(name) is function for name in loads)


def register_recursive(function: FunctionType) -> bool:
    """Let compiled code of every target call a function that calls itself.

    Numba finds the types of such a function in a dispatcher only.

    Returns:
        Whether it calls itself; if not, nothing was done.
    """
    if not _calls_itself(function):
        return False
    if function not in overloads.REGISTERED:
        overloads.REGISTERED.add(function)
        names = dict(function.__globals__)
        body = FunctionType(function.__code__, names, function.__name__)
        names[function.__name__] = compiled = numba.njit(body, nogil=True, **overloads.NO_RUNTIME)

        def overload_of(*args: Any) -> Callable[..., Any]:
            return lambda *args: compiled(*args)

        overload(function, jit_options=overloads.INLINE, strict=False)(overload_of)
    return True
