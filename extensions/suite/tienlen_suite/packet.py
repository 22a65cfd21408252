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
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import tienlen_agents
from tienlen_agents.external.seeds import SEED_KEY
from tienlen_agents.files import read_json, refusing, remove_temporaries, write_atomic
from tienlen_agents.settings import COUNT_OR_NONE, Config, Range, setting, settings_of
from tienlen_env.texts import is_plain

SCHEMA: Final = 1
PACKET, RUN = "packet.json", "run.json"
MAX_CONTENTS: Final = 1 << 26  # bytes of all contents together, unpacked; track D has 22 million
MAX_LINE: Final = 1 << 12  # characters of a record; 600 are many
MAX_DECLARED: Final = 300  # characters
MAX_JSON: Final = 1 << 20  # a packet of track A has 13,000
MEMORY: Final = 1 << 27  # of the decompressor


class PacketError(ValueError):
    """A packet that is not what it says; the message names the place."""


@dataclass(frozen=True)
class Declared:
    """A text that people read: see `is_plain`.

    Attributes:
        or_empty: the empty text is allowed, too.
    """

    or_empty: bool = False

    def __contains__(self, value: object) -> bool:
        is_short = isinstance(value, str) and len(value) <= MAX_DECLARED
        return is_short and (is_plain(str(value)) or (self.or_empty and value == ""))

    def __str__(self) -> str:
        return (
            f"1 to {MAX_DECLARED} signs that people see, no blanks at the ends or side by side, no accents "
            "apart from their letters, and each word of one alphabet"
        )


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

    name: str = setting("", Declared(or_empty=True))
    authors: str = setting("not stated", Declared())
    licence: str = setting("not stated", Declared())
    kind: Literal["rules", "search", "network", "network and search", "program", "other"] = "other"
    training: str = setting("none", Declared())
    hardware: str = setting("none", Declared())
    attempts: int = setting(1, Range(1, 1_000_000))


def check_declaration(values: Mapping[str, Any]) -> None:
    """Refuse a packet whose declaration is not one, or has the name of another agent of the project.

    Args:
        values: those of packet.json.

    Raises:
        PacketError: what is wrong.
    """
    said, agent = values["declaration"], values["agent"]
    if missing := [name for name in settings_of(Declaration) if name not in said]:
        raise PacketError(f"declaration: {missing[0]} is missing")
    with refusing("declaration", PacketError):
        if not re.fullmatch("[1-9][0-9]{0,6}", said["attempts"]):
            raise ValueError(f"attempts: expected a number from 1, got {said['attempts']!r}")
        found = Declaration(**{**said, "attempts": int(said["attempts"])})
        if not found.name:
            raise ValueError("name: expected one")
    head, _, _ = unicodedata.normalize("NFKC", found.name).partition(":")
    if _letters(head) in map(_letters, tienlen_agents.BUILT_IN) and found.name != agent:
        raise PacketError(f"declaration: name: {found.name!r} is an agent of the project; this is {agent!r}")


def _letters(name: str) -> str:
    """What people may remember of a name."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", name).casefold())


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
    values = read_values(folder)
    said = values.pop("digest")
    run = _read(folder / RUN, RUN_VALUES)
    contents: dict[str, bytes] = {}
    for name in values["contents"]:
        contents[name] = _content(folder / f"{name}.xz", MAX_CONTENTS - sum(map(len, contents.values())))
    packet = Packet(values, contents, run)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if unknown := sorted(there - {PACKET, RUN, *(f"{name}.xz" for name in packet.contents)}):
        raise PacketError(f"{unknown[0]}: not a file of this packet")
    for name, checksum in checksums(packet.contents).items():
        if values["contents"][name] != checksum:
            raise PacketError(f"{name}: it does not match its checksum")
    if packet.digest != said:
        raise PacketError(f"{PACKET}: it does not match its digest")
    return packet


def read_values(folder: Path) -> dict[str, Any]:
    """The values of a packet with its digest: their types are checked, nothing else.

    Raises:
        PacketError: the file is missing, too large, damaged, or holds something else.
        OSError: it cannot be read.
    """
    return _read(folder / PACKET, VALUES)


def _json(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True, indent=1).encode() + b"\n"


def _read(path: Path, keys: Mapping[str, Callable[[Any], bool]]) -> dict[str, Any]:
    data = read_file(path, path.name, MAX_JSON)
    with refusing(f"{path.name}: not JSON", PacketError):
        values = read_json(data)
    if problem := problem_of(values, keys):
        raise PacketError(f"{path.name}: {problem}")
    found: dict[str, Any] = values
    return found


def problem_of(values: Any, keys: Mapping[str, Callable[[Any], bool]]) -> str:
    """What is wrong with the keys of values, or with their kinds; empty if nothing is."""
    if not isinstance(values, dict) or not set(keys) - _OPTIONAL <= set(values) <= set(keys):
        return f"expected the keys {', '.join(sorted(keys))}"
    wrong = next((key for key, value in values.items() if not keys[key](value)), "")
    return wrong and f"{wrong}: a value of another kind"


def _content(path: Path, most: int) -> bytes:
    name = f"{path.parent.name}/{path.name}"
    data = read_file(path, name, MAX_CONTENTS)
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY)
    with refusing(f"{name}: damaged", PacketError):
        content = decompressor.decompress(data, most + 1)
    if len(content) > most:
        raise PacketError(f"{name}: expected at most {MAX_CONTENTS} bytes in all contents")
    if not decompressor.eof or decompressor.unused_data:
        raise PacketError(f"{name}: expected one stream")
    return content


def read_file(path: Path, name: str, most: int) -> bytes:
    """The bytes of a file that is no link.

    Args:
        path: the file.
        name: its name for errors.
        most: bytes.

    Raises:
        PacketError: there is none, or it is too large.
        OSError: it cannot be read.
    """
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
UNITS: Final = Range(0, 1e12)
_OPTIONAL: Final = frozenset({"seed_key"})
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
    "seed_key": SEED_KEY.__contains__,  # of an agent in another process
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
    "units": UNITS.__contains__,
    "seconds": UNITS.__contains__,
    "decisions": lambda value: type(value) is int and value in UNITS,
    "forfeits": _are_forfeits,
}
