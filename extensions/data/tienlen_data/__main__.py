"""Rounds and decisions as Parquet files, played or from records."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tienlen_agents.command import interruptible_work, program, shows_any_text
from tienlen_agents.settings import FreeText, Parser, Range, add_options, make_config, setting
from tienlen_data.config import DataConfig
from tienlen_data.writer import write_data

MODULE: Final = "tienlen_data"


@dataclass(frozen=True, kw_only=True)
class DataCommandLine(DataConfig):
    """The options of the command.

    Attributes:
        out: the folder of the data set.
        workers: number of processes.
    """

    out: str = setting("data", FreeText("a folder"))
    workers: int = setting(1, Range(1, 1024))


@shows_any_text
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = Parser(prog=program(MODULE), description="Rounds and decisions as Parquet files.")
    add_options(parser, DataCommandLine)
    options = make_config(parser, DataCommandLine, vars(parser.parse_args(argv)))

    def write() -> int:
        total = write_data(options, options.out, options.workers)
        print(f"{total:,} rounds in {options.out}")
        return 0

    try:
        return interruptible_work(parser.prog, write, lambda: ": the same command goes on from here")
    except (ValueError, OSError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    sys.exit(main())
