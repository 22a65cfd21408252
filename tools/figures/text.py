"""Numbers and tables as the text of a page."""

from __future__ import annotations

from collections.abc import Sequence


def interval(value: Sequence[float], digits: int = 2, *, percent: bool = False) -> str:
    """A mean and its half width, ``1.63 ± 0.02``; a mean that rounds to zero has no sign."""
    mean, half = (100 * one if percent else one for one in value)
    return f"{mean:z.{digits}f} ± {half:.{digits}f}"


def significant(value: float, digits: int = 2) -> str:
    """A number with so many digits that count: ``0.93``, ``12``, ``0.021``."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e" in text else text


def duration(milliseconds: float) -> str:
    """A time with two digits that count: ``0.30 ms``, ``57 ms``, ``1.8 s``."""
    return (
        f"{significant(milliseconds)} ms" if milliseconds < 995 else f"{significant(milliseconds / 1000)} s"
    )


def probability(value: float, digits: int = 4) -> str:
    """A number without the 0 before its point, ``.0254``, ``1.2677``."""
    return f"{value:.{digits}f}".removeprefix("0")


def rate(value: float) -> str:
    """A rate with three digits: ``324,000``, ``18.1 million``."""
    return f"{value / 1e6:.3g} million" if value >= 1e6 else f"{float(f'{value:.3g}'):,.0f}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(
        [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(line)} |" for line in lines)]
    )
