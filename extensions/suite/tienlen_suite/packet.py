"""A packet: what an agent did in a track, as files that anyone can check. Data only; reading it runs no code.

    packet.json     what was entered, and the figures; its last key is the digest of the others
    run.json        times, forfeits: what differs from run to run. The digest leaves it out
    records/01.xz   the records of a table, one round a line, in the suite's order
    choices/01.xz   of the endings' track: one action a line; policies/01.xz of NashConv: float64, one an edge

The checksums are those of the contents before compression, so they do not depend on the compressor.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from tienlen_agents.files import remove_temporaries, write_atomic
from tienlen_agents.settings import COUNT, COUNT_OR_NONE, Config, FreeText, setting

SCHEMA: Final = 1
PACKET, RUN = "packet.json", "run.json"
MAX_CONTENT: Final = 1 << 28  # bytes of a content; compressed zeros of a stranger may be much longer
MAX_JSON: Final = 1 << 24
MEMORY: Final = 1 << 28  # of the decompressor


class PacketError(ValueError):
    """A packet that is not what it says; the message names the place."""


@dataclass(frozen=True, kw_only=True)
class Declaration(Config):
    """What whoever enters an agent says of it; a check cannot verify it.

    Attributes:
        name: of the agent on the leaderboard; empty: as it is loaded.
        authors: of the agent.
        licence: of the agent.
        kind: of agent.
        training: how it was trained, a sentence.
        hardware: that it was trained on.
        attempts: packets of this track that were made of versions of the agent, this one included.
    """

    name: str = setting("", FreeText())
    authors: str = setting("not stated", FreeText())
    licence: str = setting("not stated", FreeText())
    kind: Literal["rules", "search", "network", "network and search", "program", "other"] = "other"
    training: str = setting("none", FreeText())
    hardware: str = setting("none", FreeText())
    attempts: int = setting(1, COUNT)


@dataclass(frozen=True)
class Packet:
    """A packet.

    Attributes:
        values: those of packet.json, without the digest.
        contents: by name (``"records/01"``).
        run: those of run.json.
    """

    values: dict[str, Any]
    contents: dict[str, bytes]
    run: dict[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 of all but run.json."""
        return hashlib.sha256(_json(self.values)).hexdigest()

    def write(self, folder: Path) -> None:
        """Write the files, packet.json last.

        Raises:
            OSError: they cannot be written.
        """
        # What a kill has left would not be a file of this packet.
        for path in {folder / PACKET, *(folder / f"{name}.xz" for name in self.contents)}:
            remove_temporaries(path.parent)
        for name, content in self.contents.items():
            write_atomic(folder / f"{name}.xz", lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
        write_atomic(folder / RUN, _json(self.run))
        write_atomic(folder / PACKET, _json({**self.values, "digest": self.digest}))


def checksums(contents: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of contents, by name."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def read_packet(folder: Path) -> Packet:
    """Read a packet: types of all values, checksums. What they mean is `check`'s work.

    Raises:
        PacketError: a file is missing, too large, damaged, or holds something else.
        OSError: it cannot be read.
    """
    values = _read(folder / PACKET, VALUES)
    said = values.pop("digest")
    run = _read(folder / RUN, RUN_VALUES)
    packet = Packet(values, {name: _content(folder / f"{name}.xz") for name in values["contents"]}, run)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if unknown := sorted(there - {PACKET, RUN, *(f"{name}.xz" for name in packet.contents)}):
        raise PacketError(f"{unknown[0]}: not a file of this packet")
    for name, checksum in checksums(packet.contents).items():
        if values["contents"][name] != checksum:
            raise PacketError(f"{name}: it does not match its checksum")
    if packet.digest != said:
        raise PacketError(f"{PACKET}: it does not match its digest")
    return packet


def _json(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True, indent=1).encode() + b"\n"


def _read(path: Path, keys: Mapping[str, Callable[[Any], bool]]) -> dict[str, Any]:
    data = _bytes(path, path.name, MAX_JSON)

    def refuse(text: str) -> None:
        raise ValueError(f"{text} is not JSON")

    try:
        values = json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise PacketError(f"{path.name}: not JSON ({error})") from None
    if not isinstance(values, dict) or set(values) != set(keys):
        raise PacketError(f"{path.name}: expected the keys {', '.join(sorted(keys))}")
    for key, is_valid in keys.items():
        if not is_valid(values[key]):
            raise PacketError(f"{path.name}: {key}: a value of another kind")
    return values


def _content(path: Path) -> bytes:
    name = f"{path.parent.name}/{path.name}"
    try:
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY)
        content = decompressor.decompress(_bytes(path, name, MAX_CONTENT), MAX_CONTENT)
    except lzma.LZMAError as error:
        raise PacketError(f"{name}: damaged ({error})") from None
    if not decompressor.eof or decompressor.unused_data:
        raise PacketError(f"{name}: expected one stream of at most {MAX_CONTENT} bytes")
    return content


def _bytes(path: Path, name: str, most: int) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise PacketError(f"{name}: there is no such file")
    if path.stat().st_size > most:
        raise PacketError(f"{name}: expected at most {most} bytes")
    return path.read_bytes()


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 2000 and value.isprintable()


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: _is_text(value) and re.fullmatch(pattern, value) is not None


def _texts(pattern: str = ".*", names: str = ".+") -> Callable[[Any], bool]:
    is_name, is_text = _matches(names), _matches(pattern)
    return lambda value: isinstance(value, dict) and all(is_name(k) and is_text(v) for k, v in value.items())


def _are_forfeits(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list) and len(one) == 2 and _is_text(one[0]) and type(one[1]) is int for one in value
    )


SHA256: Final = "[0-9a-f]{64}"
CONTENT_NAME: Final = "(?:records|choices|policies)/[0-9]{2}"
VALUES: Final[dict[str, Callable[[Any], bool]]] = {
    "schema": lambda value: value is not True and value == SCHEMA,
    "suite": _is_text,
    "track_digest": _matches(SHA256),
    "track": _is_text,
    "quick": lambda value: type(value) is bool,
    "held_out": _matches(f"({SHA256})?"),
    "agent": _is_text,
    "agent_files": _texts(SHA256),
    "declaration": _texts(),
    "budget": COUNT_OR_NONE.__contains__,
    "versions": _texts(r"\S.*"),
    "code": _matches("[0-9a-f]{16}"),
    "contents": _texts(SHA256, CONTENT_NAME),
    "figures": lambda value: isinstance(value, dict),
    "digest": _matches(SHA256),
}
RUN_VALUES: Final[dict[str, Callable[[Any], bool]]] = {
    "created": _is_text,
    "units": COUNT_OR_NONE.__contains__,
    "seconds": COUNT_OR_NONE.__contains__,
    "decisions": lambda value: type(value) is int and value >= 0,
    "forfeits": _are_forfeits,
}
