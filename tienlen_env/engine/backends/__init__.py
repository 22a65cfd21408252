"""Backends: loops over games that call the games' kernels."""

from __future__ import annotations

from typing import Literal, get_args

from tienlen_env.engine.backends.numba import compiled_loops
from tienlen_env.engine.backends.python import Loops, python_loops
from tienlen_env.games.common.game import AnyGame

BackendName = Literal["native", "numba", "python"]
MAX_THREADS = 256


def get_backend(name: BackendName, game: AnyGame, threads: int = 1) -> Loops:
    """The executor of a name.

    Args:
        name: ``"native"`` (machine code that was compiled ahead of time, where it is there and made of the
            same source; else as ``"numba"``), ``"numba"`` (compiled when first called) or ``"python"`` (the
            reference).
        game: the game whose kernels it loops over.
        threads: threads of the loops over games, 1 to 256; the reference always uses one.

    Raises:
        ValueError: an unknown name or an impossible number of threads.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"threads={threads!r}: expected 1..{MAX_THREADS}")
    if name in ("native", "numba"):
        return compiled_loops(game, threads, name == "native")
    if name == "python":
        return python_loops(game)
    raise ValueError(f"backend={name!r}: expected one of {', '.join(get_args(BackendName))}")
