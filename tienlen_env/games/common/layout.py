"""Named pieces of a flat observation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    Span = slice[int, int, None]


class Piece(NamedTuple):
    """One named piece of the observation.

    Attributes:
        name: its key in the `Layout`.
        slice: its position in the flat array.
        shape: the shape for ``reshape``.
        meaning: one line of description.
    """

    name: str
    slice: Span
    shape: tuple[int, ...]
    meaning: str


class Layout(Mapping[str, Piece]):
    """The pieces of an observation by name, in order; they fill the array without gaps.

    Args:
        parts: ``(name, shape, meaning)`` of each piece; pieces of size 0 are left out.

    Attributes:
        size: O, the length of the observation.
    """

    def __init__(self, parts: Iterable[tuple[str, tuple[int, ...], str]]) -> None:
        self._pieces: dict[str, Piece] = {}
        start = 0
        for name, shape, meaning in parts:
            end = start + prod(shape)
            if end > start:
                self._pieces[name] = Piece(name, slice(start, end), shape, meaning)
            start = end
        self.size = start

    def __getitem__(self, name: str) -> Piece:
        return self._pieces[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)
