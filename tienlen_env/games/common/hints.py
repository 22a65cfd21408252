"""Hints for compilers: marks on kernels, which plain Python ignores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def noinline(function: AnyFunction) -> AnyFunction:
    """Mark a kernel that is large and rarely called: it is compiled once and called, others are inlined."""
    function.is_noinline = True  # type: ignore[attr-defined]
    return function


def is_noinline(function: Callable[..., Any]) -> bool:
    """Whether a kernel is marked by `noinline`."""
    return getattr(function, "is_noinline", False)


def fused(function: AnyFunction) -> AnyFunction:
    """Mark a kernel on floats whose products and sums may be one step (FMA); the order of sums stays."""
    function.is_fused = True  # type: ignore[attr-defined]
    return function


def is_fused(function: Callable[..., Any]) -> bool:
    """Whether a kernel is marked by `fused`."""
    return getattr(function, "is_fused", False)
