"""Backends: loops over games that call the games' kernels.

The fast ones are the loops of `tienlen_env.engine.backends.python`, compiled. Games are independent, so the
loops give the same bits in any number of threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Literal, get_args

from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.python import Loops, loops_of, python_loops
from tienlen_env.errors import check_word
from tienlen_env.games.common.arrays import AnyArray, IntArray
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.specialise import each

BackendName = Literal["native", "numba", "python"]
MAX_THREADS = 256


def get_backend(name: BackendName, game: AnyGame, threads: int = 1) -> Loops:
    """The backend of a name.

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
    check_word("backend", name, get_args(BackendName))
    return python_loops(game) if name == "python" else compiled_loops(game, threads, name == "native")


@cache
def compiled_loops(game: AnyGame, threads: int = 1, is_native: bool = True) -> Loops:
    """The loops over a game's kernels: compiled ahead of time (`native`), else when first called.

    With threads, each takes the next stretch of the games until none is left, so that one which wakes late
    or shares its core costs little. They are plain Python threads on code that holds no lock; unlike OpenMP's
    they do not spin while other work has the processor, do not meet torch's own, and a forked child
    can start new ones.
    """
    if threads == 1:
        return each(loops_of(game), jit.loop if is_native else jit.compiled)
    loops = compiled_loops(game, is_native=is_native)

    def step(
        rows: IntArray, spec: IntArray, actions: IntArray, ids: IntArray, cards: IntArray, *others: AnyArray
    ) -> int:
        refused: int = loops.check(rows, spec, actions, ids, cards)
        if refused < 0:
            num_games = len(rows)
            size = -(-num_games // (4 * threads))
            starts = iter(range(0, num_games, size))

            def work() -> None:
                for first in starts:
                    part = slice(first, first + size)
                    loops.step(
                        rows[part], spec, actions, ids[part], cards[part], *(other[part] for other in others)
                    )

            helpers = [_pool(threads).submit(work) for _ in range(threads - 1)]
            work()
            for helper in helpers:
                if not helper.cancel():  # one that has not even woken up has nothing left to do
                    helper.result()
        return refused

    return loops._replace(step=step)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="batch")


# A forked child has the pools of its parent without their threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
