"""Executors: loops over games and nothing else. The rules they run are the functions of `core`."""

from __future__ import annotations

from typing import Any

from tienlen_env.games.common.game import Definition
from tienlen_env.games.tienlen.game import TIENLEN


def get_backend(name: str = "numba", threads: int = 1, definition: Definition = TIENLEN) -> Any:
    """The executor of a name, with the loops documented in `backends.python.PythonBackend`.

    Args:
        name: ``"numba"`` (compiled, fast) or ``"python"`` (the reference).
        threads: threads of the loops over games; the reference always uses one.
        definition: the game whose kernels it loops over.

    Raises:
        ValueError: an unknown name or a number of threads below 1.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads={threads!r}: expected 1 or more")
    if name == "numba":
        from tienlen_env.engine.backends.numba import NumbaBackend

        return NumbaBackend(definition, threads)
    if name == "python":
        from tienlen_env.engine.backends.python import PythonBackend

        return PythonBackend(definition, threads)
    raise ValueError(f"backend={name!r}: expected 'numba' or 'python'")
