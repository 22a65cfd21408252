"""Compiler hints: plain Python ignores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tienlen_env.games.common.arrays import IntArray

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def noinline(function: AnyFunction) -> AnyFunction:
    """Mark a large, rarely called kernel: compiled code calls it; kernels without this mark are inlined."""
    function.is_noinline = True  # type: ignore[attr-defined]
    return function


def is_noinline(function: Callable[..., Any]) -> bool:
    """Whether a kernel is marked by `noinline`."""
    return getattr(function, "is_noinline", False)


def prefetch(rows: IntArray, index: int, column: int) -> None:
    """Compiled code begins to load the memory of ``rows[index, column]``, and does not wait for it."""
