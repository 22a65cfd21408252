"""Functions that are written once, for any game, and made anew for each.

A loop over games calls the game's kernels, and compiled code must know which when it is compiled. Such a
function stands at the top of its module like any other, and what differs between games is a variable of the
module with a type and the value `GIVEN`:

    kernels: Kernels = GIVEN
    columns: Columns = GIVEN

    def deal(row: Row, spec: Spec, key: int) -> int:
        kernels.begin_game(row, spec, key, 0, -1)
        return row[columns.turn]

    deal_high_card = specialise(deal, kernels=GAME.kernels, columns=GAME.columns)

`specialise` copies the variables of the module, puts the game's values in, and makes the module's functions
anew over the copy: the same code with other globals. Functions that call one another still do, also those
that are imported from another module with such variables.

Why this way: an editor finds the definition and the type of every name; a test makes and calls any function
by itself; a debugger and the coverage of lines see the file as it is written; and to Numba, CUDA, WebAssembly
and plain Python the values are constants. A function inside of one that takes the game has none of the first
three, and a parameter for the kernels would go through every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, Final, NoReturn, TypeVar, cast

Functions = TypeVar("Functions")


class _Given:
    """Stands for what `specialise` puts in."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: this function is not of a game; call what specialise() makes of it")

    def __call__(self, *args: object) -> NoReturn:
        raise TypeError("this function is not of a game; call what specialise() makes of it")


GIVEN: Final[Any] = _Given()


def specialise(functions: Functions, **given: object) -> Functions:
    """Make functions anew, with values for variables of their modules.

    Args:
        functions: a function at the top of a module, or a tuple of such, named or not, with other values or
            tuples between them.
        given: for each variable its value. It may replace a function of the module, too. The fields of a
            named tuple are read as attributes of a module, which are constants for compiled code.

    Raises:
        TypeError: none of the modules has a variable of that name.
    """
    maker = _Maker({name: _as_module(name, value) for name, value in given.items()})
    found: Functions = maker.made(functions)
    if unknown := given.keys() - {name for names in maker.spaces.values() for name in names}:
        raise TypeError(f"{', '.join(sorted(unknown))}: not a variable of the module")
    return found


def each(functions: Functions, change: Callable[[Any], Any]) -> Functions:
    """A named tuple of functions, each of them changed: compiled, for example."""
    found: Functions = type(functions)(*map(change, cast(Iterable[Any], functions)))
    return found


def _as_module(name: str, value: Any) -> Any:
    if not hasattr(value, "_fields"):
        return value
    module = ModuleType(name)
    vars(module).update(value._asdict())
    return module


class _Maker:
    """Makes functions with some values.

    Attributes:
        spaces: for each module, by the id of its variables, a copy of them.
        functions: for each function what has been made of it.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.spaces: dict[int, dict[str, Any]] = {}
        self.functions: dict[FunctionType, Any] = {}

    def made(self, value: Any) -> Any:
        if isinstance(value, tuple):
            items = map(self.made, value)
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if not isinstance(value, FunctionType):
            return value
        names = value.__globals__
        if id(names) not in self.spaces and any(names.get(name) is GIVEN for name in self.values):
            self._copy(names)
        return self.functions.get(value, value)

    def _copy(self, names: dict[str, Any]) -> None:
        self.spaces[id(names)] = copy = {k: self.values.get(k, value) for k, value in names.items()}
        for name, value in names.items():
            if not isinstance(value, FunctionType) or value.__closure__ is not None:
                continue
            if name not in self.values and value.__globals__ is not names:
                copy[name] = self.made(value)
            elif name not in self.values:
                copy[name] = made = FunctionType(value.__code__, copy, value.__name__, value.__defaults__)
                made.__kwdefaults__ = value.__kwdefaults__
                vars(made).update(vars(value))  # marks, such as that of `noinline`
            self.functions[value] = copy[name]
