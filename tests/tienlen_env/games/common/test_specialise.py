"""Functions that are made for a game: what they see, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.tienlen_env.games.common import specialise_other as other
from tests.tienlen_env.games.common.specialise_other import plus
from tienlen_env.engine.backends.sources import key_of, name_of, reachable
from tienlen_env.games.common.hints import is_noinline, noinline
from tienlen_env.games.common.specialise import GIVEN, each, specialise


class Parts(NamedTuple):
    change: Callable[[int], int]
    factor: int


parts: Parts = GIVEN
offset: int = GIVEN


def default(x: int) -> int:
    return -x


@noinline
def inner(x: int, *, times: int = 2) -> int:
    return times * parts.factor * parts.change(x)


def outer(x: int, y: int = 1) -> int:
    return plus(inner(x), default(y))


class Two(NamedTuple):
    outer: Callable[[int], int]
    inner: Callable[[int], int]
    number: int = 5


def square(x: int) -> int:
    return x * x


def test_functions_see_the_values_and_one_another_across_modules() -> None:
    made = specialise(Two(outer, inner), parts=Parts(square, 10), offset=7)
    assert made.inner(3) == 2 * 10 * 9
    assert made.outer(3) == 180 + 7 - 1  # `plus` of another module adds the offset
    assert made.number == 5
    assert is_noinline(made.inner)
    assert not is_noinline(made.outer)
    assert each(made._replace(number=2), str)[2] == "2"  # type: ignore[arg-type]
    # Two games do not see one another, and a value may replace a function.
    third = specialise(outer, parts=Parts(abs, 1), offset=0, default=abs)
    assert (third(-3), made.outer(3)) == (7, 186)
    assert specialise(square) is square


def test_what_compiled_code_is_made_of_is_found() -> None:
    made = specialise(outer, parts=Parts(square, 10), offset=7)
    assert square in reachable(made)
    assert {7, 10} <= {value for value in reachable(made) if isinstance(value, int)}
    assert GIVEN not in reachable(made)
    assert GIVEN in reachable(outer)
    assert name_of(made) == f"{__name__}:outer {__name__}:square"
    assert name_of(outer) == f"{__name__}:outer"
    keys = {key_of(specialise(outer, parts=Parts(square, k), offset=7)) for k in (10, 10, 11)}
    assert len(keys) == 2
    assert key_of(made) in keys


def test_a_function_of_no_game_says_so_and_an_unknown_name_is_refused() -> None:
    with pytest.raises(TypeError, match="not of a game; call what specialise"):
        other.shifted()
    with pytest.raises(AttributeError, match="factor: this function is not of a game"):
        inner(1)
    with pytest.raises(TypeError, match="facto: not a variable of the module"):
        specialise(inner, parts=Parts(square, 1), facto=3)
