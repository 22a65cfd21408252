"""Chunks on disk: one JSON line per chunk, appended when it is played, so that a killed run can resume.

The first line is a header:

    {"schema": 1, "seed": 1, ..., "tables": [...], "code": "...", "versions": {...}}
    {"table": 0, "first_deal": 0, "num_deals": 512, "points": [[...]], ...}
    {"table": 0, "first_deal": 512, ...}

The header has everything that determines a chunk; a file with a different header is refused. It does not have
the number of deals, so that a longer run of the same match can resume from a shorter one. ``table`` is the
index of the match-up.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tienlen_agents.arena.chunk import Chunk
from tienlen_agents.files import locked, write_atomic

SCHEMA: Final = 1

_WORD = re.compile(r"[^\s,:=]+")


class ArenaRunError(ValueError):
    """A file of chunks that cannot be used (another match, another run, damaged), or a worker that died."""


def file_digests(names: list[str]) -> dict[str, str]:
    """SHA-256 of the files that agents' names mention (policies, programs), by path."""
    words = {word for name in names for word in _WORD.findall(name)}
    # A path may contain any separator but a comma, so the whole argument of an agent is tried, too.
    words |= {part.partition(":")[2] for name in names for part in name.split(",")}
    found = {}
    for word in sorted(words):
        path = Path(word)
        if word and path.is_file():
            found[word] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


class ChunkStore:
    """The chunks of one run in a file, locked against other runs. Use it with ``with``.

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
            if fresh or not path.exists() or not path.stat().st_size:
                write_atomic(path, _line(header))
            else:
                self._read(header)
            self._file = stack.enter_context(path.open("ab"))
            self._stack = stack.pop_all()

    def _read(self, header: dict[str, Any]) -> None:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        try:
            first, *lines = whole.splitlines()
            there = json.loads(first)
            if not isinstance(there, dict):
                raise ValueError("no header")
        except ValueError as error:
            raise ArenaRunError(f"{self.path} is not a file of arena chunks") from error
        if there != header:
            changed = [key for key in {**there, **header} if there.get(key) != header.get(key)]
            changes = "; ".join(f"{key}: {there.get(key)} there, {header.get(key)} now" for key in changed)
            raise ArenaRunError(
                f"{self.path} holds another match ({changes}). Start afresh (--fresh), or elsewhere (--out)"
            )
        for number, line in enumerate(lines, start=2):
            try:
                values = json.loads(line)
                key = int(values["table"]), int(values["first_deal"])
                self.chunks[key] = Chunk.from_dict(values)
            except (ValueError, KeyError, TypeError) as error:
                raise ArenaRunError(f"{self.path}, line {number}: damaged ({error})") from error
        if len(whole) < len(data):  # a kill cut the last line short
            os.truncate(self.path, len(whole))

    def add(self, match_up: int, first_deal: int, chunk: Chunk) -> None:
        """Append a chunk; after this returns, a kill does not lose it."""
        self.chunks[match_up, first_deal] = chunk
        where = {"table": match_up, "first_deal": first_deal, "num_deals": len(chunk.points)}
        self._file.write(_line({**where, **chunk.to_dict()}))
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
