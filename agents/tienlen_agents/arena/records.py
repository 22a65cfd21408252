"""Files of the records of a run: one text file a round, beside the report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from tienlen_agents.arena.result import MatchResult
from tienlen_agents.files import write_atomic

FOLDER: Final = "records"
_FILE: Final = re.compile(r"\d+-\d+-\d+\.txt")


class RecordFile(NamedTuple):
    """The record of a round as a file.

    Attributes:
        name: of the file.
        match_up: its title.
        rules: name of the variant.
        deal: of the match-up, from 1.
        seats: the names of the agents, by seat.
        text: the record.
    """

    name: str
    match_up: str
    rules: str
    deal: int
    seats: tuple[str, ...]
    text: str


def record_files(results: tuple[MatchResult, ...]) -> list[RecordFile]:
    """The records of a run, in the order of its match-ups: ``<match-up>-<deal>-<seating>.txt``, from 1."""
    files = []
    for number, result in enumerate(results, start=1):
        for index, text in enumerate(result.records):
            deal, seating = divmod(index, result.num_seatings)
            seats = tuple(result.names[agent] for agent in result.seats_of(deal)[seating])
            name = f"{number}-{deal + 1}-{seating + 1}.txt"
            files.append(RecordFile(name, result.title, result.rules.name, deal + 1, seats, text))
    return files


def write_records(folder: Path, files: list[RecordFile]) -> None:
    """Write records into ``<folder>/records``, and delete those of an earlier run there."""
    target = folder / FOLDER
    names = {file.name for file in files}
    for path in target.glob("*.txt"):
        if _FILE.fullmatch(path.name) and path.name not in names:
            path.unlink()
    for file in files:
        write_atomic(target / file.name, f"{file.text}\n".encode())
