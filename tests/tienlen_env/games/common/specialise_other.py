"""A module of test_specialise with a variable that a game gives."""

from __future__ import annotations

from collections.abc import Callable

from tienlen_env.games.common.specialise import GIVEN

offset: int = GIVEN
shift: Callable[[], int] = GIVEN


def plus(x: int, y: int) -> int:
    """The sum, and the offset."""
    return x + y + offset


def shifted() -> int:
    """Calls what is given."""
    return shift()
