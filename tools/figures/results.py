"""The files in ``results/``."""

from __future__ import annotations

import json
from typing import Any, Final

from tools.figures.registry import ENTRIES, FigureEntry
from tools.figures.sources import ROOT, digest_of

RESULTS: Final = ROOT / "results"


def result_of(name: str) -> dict[str, Any] | None:
    """The stored result of an entry; None if it was never measured."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


class NotMeasuredError(Exception):
    """A result that was never measured."""


def values_of(name: str) -> Any:
    """The values of a result.

    Raises:
        NotMeasuredError: it was never measured.
    """
    found = result_of(name)
    if found is None:
        raise NotMeasuredError(f"results/{name}.json: not measured yet")
    return found["values"]


def minutes_of(entry: FigureEntry) -> float:
    """The processor time that an entry takes: that of its last measurement, if there is one."""
    found = result_of(entry.name)
    return entry.minutes if found is None else float(found["seconds"]) / 60


def state_of(entry: FigureEntry) -> str:
    """``"new"`` if it was never measured, ``"stale"`` if its sources or commands have changed, or ``""``."""
    found = result_of(entry.name)
    if found is None:
        return "new"
    same = found["commands"] == entry.all_commands() and found["sources"] == digest_of(entry.sources)
    return "" if same else "stale"


def cheapest_first() -> list[FigureEntry]:
    """All entries."""
    return sorted(ENTRIES.values(), key=lambda entry: (minutes_of(entry), entry.name))
