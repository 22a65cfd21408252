"""What a setting may be, said once: for the fields of configurations and for options of command lines.

A `Range` is the range of a number; `Choice`, `ExistingFile` and `FreeText` are those of texts. Every one says
whether it contains a value, and what was expected as text: "expected 1..4", "expected above 0, at most 1".
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

NumberT = TypeVar("NumberT", int, float)


class Allowed(Protocol):
    """The values that a setting may have; its text stands after "expected"."""

    def __contains__(self, value: object) -> bool:
        """Whether a setting may have the value."""


@dataclass(frozen=True)
class Range:
    """Finite numbers from `least` to `most`.

    Attributes:
        least: the smallest number.
        most: the largest number; None for no limit.
        above: `least` itself is not in the range.
        or_zero: 0 is in the range, too.
    """

    least: float
    most: float | None = None
    above: bool = False
    or_zero: bool = False

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.or_zero and value == 0:
            return True
        # False for NaN. An integer of any size is finite; isfinite() would convert it.
        is_large_enough = value > self.least if self.above else value >= self.least
        is_finite = isinstance(value, int) or math.isfinite(value)
        return is_large_enough and is_finite and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        if self.above:
            text = f"above {self.least:g}" + ("" if self.most is None else f", at most {_number(self.most)}")
        elif self.most is None:
            text = f"{_number(self.least)} or more"
        else:
            text = f"{_number(self.least)}..{_number(self.most)}"
        return f"0, or {text}" if self.or_zero else text

    def reader(self, kind: Callable[[str], NumberT]) -> Callable[[str], NumberT]:
        """The ``type`` of an argparse option: ``parser.add_argument("--deals", type=Range(2).reader(int))``.

        Args:
            kind: int or float.
        """

        def read(text: str) -> NumberT:
            try:
                value = kind(text)
            except ValueError:
                value = None
            if value is None or value not in self:
                raise argparse.ArgumentTypeError(f"expected {self}, got {text!r}")
            return value

        return read


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else f"{value:g}"


@dataclass(frozen=True)
class Choice:
    """Some names.

    Attributes:
        names: called when a value is checked.
    """

    names: Callable[[], Iterable[str]]

    def __contains__(self, value: object) -> bool:
        return value in set(self.names())

    def __str__(self) -> str:
        return f"one of {', '.join(self.names())}"


def several_files(text: str) -> list[str]:
    """The paths in a text that is a file's path, or several of them, separated by blanks."""
    try:
        return [text] if Path(text).is_file() else text.split()
    except OSError:  # too long for one path
        return text.split()


@dataclass(frozen=True)
class ExistingFile:
    """The path of a file that exists; several, separated by blanks, if `several`."""

    several: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, str) or "\0" in value:
            return False
        paths = several_files(value) if self.several else [value]
        return all(Path(path).is_file() for path in paths)

    def __str__(self) -> str:
        return "files that exist, separated by blanks" if self.several else "a file that exists"


@dataclass(frozen=True)
class FreeText:
    """Any text, or what the code that reads it checks.

    Attributes:
        what: what it is, for errors.
    """

    what: str = "a text"

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and "\0" not in value

    def __str__(self) -> str:
        return self.what
