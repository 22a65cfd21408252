"""Check the submitted row of an agent: fetch its packet, check it, and make the row again.

A stranger wrote the row, the address and the archive behind it. Nothing of them is run; the archive is a zip
file of at most `MAX_ARCHIVE` bytes, and only files with the names of a packet are taken out of it.
"""

from __future__ import annotations

import re
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from tienlen_agents.files import refusing, write_atomic
from tienlen_env.texts import WEB_ADDRESS, is_web_address, printable
from tienlen_suite.checking import Checked, check
from tienlen_suite.packet import CONTENT_NAME, PACKET, RUN, PacketError, read_packet
from tienlen_suite.page import entry_of, read_entry

MAX_ARCHIVE: Final = 1 << 24  # bytes; a packet of track A has 1.2 million
MAX_FILES: Final = 200
PATIENCE: Final = 60  # seconds without a byte
SECONDS: Final = 600  # for all of them
_NAME: Final = re.compile(rf"(?:[^/]+/)?({re.escape(PACKET)}|{re.escape(RUN)}|(?:{CONTENT_NAME})\.xz)")


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows redirections to other https addresses alone."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        _https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _https(url: str) -> None:
    if not url.startswith("https://"):
        raise PacketError(f"url {url!r}: expected an address that begins with https://")


def fetch(url: str) -> bytes:
    """The archive at an address.

    Raises:
        PacketError: another kind of address, an archive that is too large, or none there.
    """
    content, end = bytearray(), time.monotonic() + SECONDS
    with refusing(f"url {printable(url)}", PacketError):
        if not is_web_address(url):
            raise ValueError(WEB_ADDRESS)
        try:
            with urllib.request.build_opener(_OnlyHttps).open(url, timeout=PATIENCE) as answer:
                while part := answer.read1(1 << 16):
                    content += part
                    if len(content) > MAX_ARCHIVE or time.monotonic() > end:
                        raise ValueError(f"expected at most {MAX_ARCHIVE} bytes within {SECONDS} s")
        except OSError as error:
            raise ValueError(str(error)) from error
    return bytes(content)


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of a packet's archive into a folder: those at its top, or in one folder there.

    Raises:
        PacketError: no zip file, or something in it that is not a file of a packet.
        OSError: a file cannot be written.
    """
    with refusing("archive", PacketError), zipfile.ZipFile(BytesIO(archive)) as opened:
        infos = [info for info in opened.infolist() if not info.is_dir()]
        found = [_NAME.fullmatch(info.filename) for info in infos]
        names = [match[1] for match in found if match]
        if len(names) < len(infos):
            raise ValueError(f"{infos[found.index(None)].filename!r}: not a file of a packet")
        if len(infos) > MAX_FILES or len(set(names)) < len(names):
            raise ValueError(f"expected at most {MAX_FILES} files, each once")
        if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
            raise ValueError("expected files that are stored or deflated")
        left = MAX_ARCHIVE  # compressed once more, the files of a packet hardly become smaller
        for info, name in zip(infos, names, strict=True):
            with opened.open(info) as file:
                content = file.read(left + 1)
            left -= len(content)
            if left < 0:
                raise ValueError(f"expected at most {MAX_ARCHIVE} bytes in its files")
            write_atomic(folder / name, content)


def check_row(
    path: Path,
    *,
    any_level: bool = False,
    seed: int | None = None,
    secret: bytes | None = None,
    on_table: Callable[[str], None] = lambda title: None,
) -> Checked:
    """Check a submitted row and the packet at its address.

    Args:
        path: of the row.
        any_level: take levels above *community*, too, which this check does not prove.
        seed: see `check`.
        secret: of held-out deals.
        on_table: see `check`.

    Raises:
        PacketError: what is wrong with the row, the archive or the packet.
        OSError: a file cannot be read or written.
    """
    entry = read_entry(path)
    if entry["level"] != "community" and not any_level:
        raise PacketError("level: a submitted row is 'community'; a maintainer raises it after a replay")
    if not entry["url"]:
        raise PacketError("url: expected the address of the packet")
    with tempfile.TemporaryDirectory() as folder:
        unpack(fetch(entry["url"]), Path(folder))
        found = check(Path(folder), seed=seed, secret=secret, on_table=on_table)
        again = entry_of(read_packet(Path(folder)), entry["level"], entry["url"])
    for key, value in again.items():
        if entry[key] != value:
            raise PacketError(f"{path.name}: {key}: not that of the packet at {entry['url']}")
    return found
