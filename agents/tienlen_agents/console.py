"""The console of all commands: a terminal shows the text of a stranger, and does not obey it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tienlen_env.texts import printable


class PlainConsole(Console):
    """A console of rich whose texts have no marks: ``[bold]``, ``[link=x]``, ``:smile:`` stand as they are.

    Control characters become blanks. Styles are given by the code that prints.

    Args:
        options: of `rich.console.Console`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """See `rich.console.Console.render`."""
        for segment in super().render(renderable, options):
            lines = "\n".join(map(printable, segment.text.split("\n")))
            yield segment if segment.control else Segment(lines, segment.style)
