"""Hints for compilers: kernels are inlined into the loops that call them, unless they are marked here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def noinline(function: AnyFunction) -> AnyFunction:
    """Mark a kernel that is large and rarely called: it is compiled once, and called."""
    function.is_noinline = True  # type: ignore[attr-defined]
    return function


def is_noinline(function: Callable[..., Any]) -> bool:
    """Whether a kernel is marked by `noinline`."""
    return getattr(function, "is_noinline", False)
