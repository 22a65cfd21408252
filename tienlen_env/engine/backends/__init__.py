"""Backends: loops over games that call the games' kernels."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast, get_args

from tienlen_env.engine.backends.python import PythonBackend
from tienlen_env.games.common.game import AnyGame

Backend: TypeAlias = PythonBackend  # the reference; other executors have its methods
BackendName = Literal["numba", "python"]
MAX_THREADS = 256


def get_backend(name: BackendName, game: AnyGame, threads: int = 1) -> Backend:
    """The executor of a name.

    Args:
        name: ``"numba"`` (compiled, fast) or ``"python"`` (the reference).
        game: the game whose kernels it loops over.
        threads: threads of the loops over games, 1 to 256; the reference always uses one.

    Raises:
        ValueError: an unknown name or an impossible number of threads.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"threads={threads!r}: expected 1..{MAX_THREADS}")
    if name == "numba":
        from tienlen_env.engine.backends.numba import NumbaBackend  # numba takes a while to import

        return cast(Backend, NumbaBackend(game, threads))
    if name == "python":
        return PythonBackend(game, threads)
    raise ValueError(f"backend={name!r}: expected one of {', '.join(get_args(BackendName))}")
