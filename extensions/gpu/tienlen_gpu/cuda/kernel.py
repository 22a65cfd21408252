"""Kernels for the device: a plain function of a game's index becomes one thread a game.

`Kernel` is to the device what `tienlen_env.engine.backends.jit.loop` is to the processor: it finds everything
that the function reaches, compiles it by Numba when it is first launched, and caches the result on disk by a
digest of all that code.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FunctionType, SimpleNamespace
from typing import Any, Final

import numpy as np
from numba import cuda, types
from numba.extending import intrinsic, overload

from tienlen_env.engine.backends import compiler, jit, overloads, sources
from tienlen_env.games.common.arrays import Items, Row
from tienlen_env.games.common.hints import is_noinline
from tienlen_gpu.cuda.arrays import (
    check_stream,
    host_view,
    is_on_device,
    is_simulated,
    native,
    stream_of,
)

THREADS_PER_BLOCK: Final = 128
MAX_LAUNCHERS: Final = 256  # a kernel's settings of a launch that are kept


def ints(array: Any) -> Row:
    """An array of a kernel as `IntView`; in compiled code the array itself."""
    return array if isinstance(array, jit.IntView) else jit.IntView(array)


class _Words(list[int]):
    """Whole numbers of a thread's own in plain Python; a list is read faster than an array."""

    dtype = np.dtype(np.int64)


def scratch(array: Any) -> Items:
    """Whole numbers of a thread's own: ``scratch(cuda.local.array(size, types.int64))``, not initialised."""
    return _Words([0] * len(array))


# An overload is a function of the argument types that returns the implementation.
overload(ints)(lambda array: lambda array: array)
overload(scratch)(lambda array: lambda array: array)


class Kernel:
    """A function that runs on the device, once for each game.

    Args:
        body: ``(b, *arguments)``: plain Python on scalars and array rows, without allocation or exceptions.
            `b` is the game's index. It returns nothing.
    """

    def __init__(self, body: Callable[..., None]) -> None:
        # The simulator gives local arrays to functions that it knows.
        run = cuda.jit(body, device=True) if is_simulated() else body

        def entry(count: int, arguments: tuple[Any, ...]) -> None:
            b = cuda.grid(1)
            if b < count:
                run(b, *arguments)

        self._entry = entry
        self._name = body.__name__
        self._compiled: Any = None
        self._launchers: dict[tuple[int, int], Any] = {}

    def launch(self, count: int, *arguments: Any, stream: int = 0) -> None:
        """Queue the function for b = 0..count-1; the host does not wait.

        Args:
            count: number of games.
            arguments: arrays on the device, of any dtypes and shapes that the function takes; ints; floats;
                tuples and named tuples of such.
            stream: handle of the stream.

        Raises:
            ValueError: something else as an argument or a stream.
        """
        if count == 0:
            return
        if self._compiled is None:
            self._compiled = cuda.jit(self._entry)
            if not is_simulated():
                _register(self._entry)
                _add_cache(self._compiled, self._entry, self._name)
        given = tuple(_argument(value, i) for i, value in enumerate(arguments))
        self._launcher(count, check_stream(stream))(count, given)

    def _launcher(self, count: int, stream: int) -> Any:
        """The compiled function for a number of threads and a stream."""
        blocks = -(-count // THREADS_PER_BLOCK)
        if is_simulated():
            # Threads of a block share the globals that the simulator exchanges: one puts them back too early.
            return self._compiled[count, 1]
        key = blocks, stream
        if key not in self._launchers:
            if len(self._launchers) >= MAX_LAUNCHERS:
                self._launchers.clear()
            with warnings.catch_warnings():
                # Few games do not fill a device; Numba warns of that, in colours.
                warnings.filterwarnings("ignore", message=".*Grid size")
                self._launchers[key] = self._compiled[blocks, THREADS_PER_BLOCK, stream_of(stream)]
        return self._launchers[key]

    def ptx(self, *argument_types: Any, cc: tuple[int, int] = (9, 0)) -> str:
        """The function's assembly code, compiled without a device.

        Args:
            argument_types: Numba's types of the arguments.
            cc: the compute capability.
        """
        _register(self._entry)
        signature = (types.int64, types.Tuple(argument_types))
        with _fake_device(cc):
            text, _ = cuda.compile_ptx(self._entry, signature, cc=cc)
        return str(text)


def kernel(body: Callable[..., None]) -> Kernel:
    """A `Kernel` of a function; for use as a decorator."""
    return Kernel(body)


def _argument(value: Any, i: int) -> Any:
    if isinstance(value, int | float | np.number):
        return value
    if isinstance(value, tuple):
        items = [_argument(item, i) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if is_simulated():
        is_array = is_on_device(value) or isinstance(value, np.ndarray)
        return jit.IntView(host_view(value)) if is_array else value
    return native(value, f"argument {i}")


@intrinsic
def _noinline_marker(typingctx: Any) -> Any:
    """Mark the function that contains this: the device calls it, and the compiler does not inline it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


_REGISTERED: Final[set[FunctionType]] = set()


def _register(entry: Callable[..., None]) -> None:
    """Let code of the device call every plain function that is reached; see `compiler.register`.

    Functions marked by `noinline` are called there. The compiler for the device would inline them in every
    place, which makes the code twice as long.
    """
    known = sources.PRIMITIVES | {ints, scratch}
    for function in sources.reachable(entry):
        is_plain = isinstance(function, FunctionType) and not sources.is_foreign(function)
        if is_plain and function not in known and function not in _REGISTERED:
            _REGISTERED.add(function)
            if compiler.register_recursive(function):
                continue
            if is_noinline(function):
                _register_noinline(function)
            else:
                compiler.register_part(function, "cuda", forceinline=True)


def _register_noinline(function: FunctionType) -> None:
    body = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    compiler.register_part(body, "cuda", forceinline=True)

    def overload_of(*args: Any) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            _noinline_marker()
            return body(*args)

        return call

    overload(function, jit_options=overloads.NO_RUNTIME, target="cuda")(overload_of)


def _add_cache(compiled: Any, entry: Callable[..., None], name: str) -> None:
    """Cache on disk by the digest of all code; where no folder can be written, compile in every process."""
    try:
        from numba.cuda.dispatcher import CUDACache

        from tienlen_env.engine.backends.private import DAMAGED
    except ImportError as error:  # a later release
        warnings.warn(f"kernels are compiled anew in every process: {error}", RuntimeWarning, stacklevel=2)
        return

    class Cache(CUDACache):
        def _index_key(self, sig: Any, codegen: Any) -> Any:
            launch = getattr(self, "_launch_config_key", None)
            return sig, codegen.magic_tuple(), sources.digest_of(entry), launch

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            found = None
            with suppress(OSError, *DAMAGED):
                found = super().load_overload(sig, target_context)
            if found is None:
                print(f"Compiling {name} for the device ...", file=sys.stderr)
            return found

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except DAMAGED:  # of the index: it is written anew
                self.flush()
                super().save_overload(sig, data)
            except OSError:
                pass  # no space: this process has its code

    try:
        with compiler.caching(entry):
            compiled._cache = Cache(entry)
    except RuntimeError:  # no folder can be written
        return


@contextmanager
def _fake_device(cc: tuple[int, int]) -> Iterator[None]:
    """While Numba compiles a called function, it asks for the device's compute capability."""
    import numba.cuda.dispatcher as dispatcher

    real = getattr(dispatcher, "get_current_device", None)  # not a public name
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
    try:
        yield
    finally:
        dispatcher.get_current_device = real
