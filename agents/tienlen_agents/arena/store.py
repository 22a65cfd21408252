"""Chunks on disk: one JSON line per chunk, appended when it is played, so that a killed run can resume.

The first line is a header:

    {"schema": 2, "seed": 1, ..., "tables": [...], "code": "...", "versions": {...}}
    {"table": 0, "first_deal": 0, "num_deals": 512, "points": [[...]], ..., "sha256": "..."}
    {"table": 0, "first_deal": 512, ...}

The header has everything that determines a chunk; a file with a different header is refused. It does not have
the number of deals, so that a longer run of the same match can resume from a shorter one. ``table`` is the
index of the match-up.

The last key of a chunk is the SHA-256 of the line without it, so every changed byte is found. (It is not a
signature: whoever changes a line can also compute its checksum.) The type, shape and range of every value are
checked too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tienlen_agents.arena.chunk import Chunk, ChunkShape
from tienlen_agents.arena.lineup import blocks
from tienlen_agents.external.seeds import SEED_KEY
from tienlen_agents.files import locked, read_json, refusing, remove_temporaries, write_atomic
from tienlen_agents.quoting import files_in
from tienlen_env.texts import printable

SCHEMA: Final = 2

_WHERE: Final = ("table", "first_deal", "num_deals")
_OPTIONAL: Final = ("records", "units")
_CHECKSUM = re.compile(rb',"sha256":"([0-9a-f]{64})"\}')
_CHECKSUM_BYTES: Final = 11 + 64 + 2


class ArenaRunError(ValueError):
    """A file of chunks that cannot be used (another match, another run, damaged), or a worker that died."""


def file_digests(names: list[str]) -> dict[str, str]:
    """SHA-256 of the files that agents' names mention (policies, programs), by path."""
    found = {}
    for word in sorted({word for name in names for word in files_in(name)}):
        path = Path(word)
        if word and path.is_file():
            found[word] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def stored_seed_key(path: Path) -> str:
    """The ``seed_key`` in the header of a file of chunks; empty if there is none, or no such file."""
    try:
        with path.open("rb") as file:
            key = _values(file.readline()).get("seed_key", "")
    except (OSError, ValueError, RecursionError):  # `ChunkStore` says what is wrong with it
        return ""
    return key if key in SEED_KEY else ""


class ChunkStore:
    """The chunks of one run in a file, locked against other runs until it is closed.

    Args:
        path: the file; it and its folder are made if they do not exist.
        header: everything that determines the chunks, as JSON values.
        fresh: delete the chunks that are there.

    Attributes:
        chunks: the chunks in the file, by index of the match-up and first deal.

    Raises:
        ArenaRunError: the file belongs to another match, another run is writing it, or it is damaged (an
            incomplete last line is not an error).
        OSError: it cannot be read or written.
    """

    def __init__(self, path: Path, header: dict[str, Any], *, fresh: bool = False) -> None:
        self.path = path
        self.chunks: dict[tuple[int, int], Chunk] = {}
        header = json.loads(json.dumps({"schema": SCHEMA, **header}))
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(path))
            except BlockingIOError as error:
                raise ArenaRunError(
                    f"another run is writing {path}. Wait until it has ended, or start elsewhere (--out)"
                ) from error
            remove_temporaries(path.parent)
            if fresh or not path.exists() or not path.stat().st_size:
                write_atomic(path, _line(header))
            else:
                self._read(header)
            # Without a buffer, which would be written once more when the file is closed after an error.
            self._file = stack.enter_context(path.open("ab", buffering=0))
            self._stack = stack.pop_all()

    def _read(self, header: dict[str, Any]) -> None:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        first, *lines = whole.split(b"\n")[:-1] or [b""]
        with refusing(f"{self.path} is not a file of arena chunks", ArenaRunError):
            there = _values(first)
        if there != header:
            changed = [key for key in {**there, **header} if there.get(key) != header.get(key)]
            changes = "; ".join(f"{key}: {there.get(key)} there, {header.get(key)} now" for key in changed)
            raise ArenaRunError(
                f"{self.path} holds another match ({printable(changes)[:1000]}). Start afresh (--fresh), "
                "or elsewhere (--out)"
            )
        for number, line in enumerate(lines, start=2):
            advice = "Delete the line, so that its deals are played again, or start afresh (--fresh)"
            with refusing(f"{self.path}, line {number}: damaged", ArenaRunError, advice):
                values = _checked(line)
                key, shape = _place(values, header)
                self.chunks[key] = Chunk.from_dict(values, shape)
        if len(whole) < len(data):  # a kill cut the last line short
            os.truncate(self.path, len(whole))

    def add(self, match_up: int, first_deal: int, chunk: Chunk) -> None:
        """Append a chunk; after this returns, a kill does not lose it.

        Raises:
            OSError: it cannot be written; a part of its line, if there is one, is dropped by the next run.
        """
        self.chunks[match_up, first_deal] = chunk
        where = dict(zip(_WHERE, (match_up, first_deal, len(chunk.points)), strict=True))
        line = _line({**where, **chunk.to_dict()})[:-2]  # without the closing brace
        digest = hashlib.sha256(line + b"}").hexdigest()
        data = line + f',"sha256":"{digest}"}}\n'.encode()
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def close(self) -> None:
        """Close the file, and release its lock."""
        self._stack.close()


def _line(values: dict[str, Any]) -> bytes:
    # ASCII: a text may hold lone surrogates, which cannot be encoded (names of files that are not UTF-8).
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def _values(line: bytes) -> dict[str, Any]:
    """The JSON object in a line.

    Raises:
        ValueError, RecursionError: it is not one.
    """
    values = read_json(line)
    if not isinstance(values, dict):
        raise ValueError("it is not a JSON object")
    return values


def _checked(line: bytes) -> dict[str, Any]:
    """The values of a chunk's line, which ends with its checksum.

    Raises:
        ValueError: the line does not match its checksum, or is not a JSON object.
    """
    found = _CHECKSUM.fullmatch(line[-_CHECKSUM_BYTES:])
    if found is None:
        raise ValueError("it has no checksum at its end")
    line = line[:-_CHECKSUM_BYTES] + b"}"
    if hashlib.sha256(line).hexdigest() != found[1].decode():
        raise ValueError("it does not match its checksum")
    values = _values(line)
    if {*_OPTIONAL, *values} != {*_WHERE, *Chunk._fields}:
        raise ValueError(f"expected the keys {', '.join((*_WHERE, *Chunk._fields))}")
    return values


def _place(values: dict[str, Any], header: dict[str, Any]) -> tuple[tuple[int, int], ChunkShape]:
    """The key of a chunk in `ChunkStore.chunks`, and its sizes by the header.

    Raises:
        ValueError: the header has no such match-up or chunk.
    """

    def integer(name: str, low: int, high: int) -> int:
        value = values.get(name)
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{name}: expected an integer {low}..{high}")
        return value

    tables, most = header["tables"], header["chunk_deals"]
    match_up, first_deal = integer("table", 0, len(tables) - 1), integer("first_deal", 0, 2**53)
    if first_deal % most:
        raise ValueError(f"first_deal: expected a multiple of {most}")
    lineup = tuple(tables[match_up]["lineup"])
    num_games = blocks(lineup, header["permutations"]).shape[1]
    shape = ChunkShape(
        integer("num_deals", 1, most),
        num_games,
        len(lineup),
        len(tables[match_up]["agents"]),
        tables[match_up].get("payments", False),
    )
    return (match_up, first_deal), shape
