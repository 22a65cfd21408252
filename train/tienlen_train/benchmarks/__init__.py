"""Measurements of speed, learning and search; each is a command.

Rows that are compared with one another are measured in turn, so that ratios hold when the machine's speed
drifts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tienlen_agents.command import cpu_name, versions
from tienlen_agents.files import write_atomic
from tienlen_agents.settings import COUNT, Config, FreeText, Range, setting

AnyRow = TypeVar("AnyRow")


@dataclass(frozen=True, kw_only=True)
class BenchConfig(Config):
    """Settings of a benchmark.

    Attributes:
        seconds: length of one run of one row.
        runs: runs of each row, in turn.
        only: measure only rows whose name contains this text.
        out: the JSON file of the result.
    """

    seconds: float = setting(2.0, Range(0, 86_400, above=True))
    runs: int = setting(3, COUNT)
    only: str = setting("", FreeText())
    out: str = setting("runs/bench.json", FreeText("a file"))


def chosen(config: BenchConfig, rows: Mapping[str, AnyRow]) -> dict[str, AnyRow]:
    """The rows, by their names, that ``--only`` chooses, in their order.

    Raises:
        ConfigError: it chooses none.
    """
    found = {name: row for name, row in rows.items() if config.only in name}
    if not found:
        config.refuse("only", f"expected a part of one of {', '.join(rows)}")
    return found


def short(rate: float) -> str:
    """A rate to three digits, in thousands or millions."""
    return f"{rate / 1e6:.3g} M" if rate >= 1e6 else f"{rate / 1e3:.3g} k"


def new_table(*headers: str, **options: Any) -> Table:
    """A table of results; columns that have a header are of numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, **options)
    for header in headers:
        table.add_column(header, justify="right" if header else "left")
    return table


def write_result(config: BenchConfig, rows: dict[str, Any], console: Console, **about: Any) -> None:
    """Write the JSON file: the processor, the versions, the rows, and what else is known about them."""
    result = {"cpu": cpu_name(), "versions": versions(), **about, "rows": rows}
    write_atomic(Path(config.out), (json.dumps(result, indent=1) + "\n").encode())
    console.print(f"written to {config.out}", style="dim")
