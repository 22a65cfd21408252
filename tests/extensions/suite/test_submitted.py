"""Rows and archives of strangers: what is not a packet is refused, and nothing leaves the folder."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.extensions.suite.suites import tiny
from tests.needs import ROOT
from tienlen_suite import Packet, PacketError, run, submitted
from tienlen_suite.__main__ import main
from tienlen_suite.page import entry_of, write_entry

URL = "https://example.org/packet.zip"


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", compression) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return archive.getvalue()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packet of the small suite, and its row."""
    place = tmp_path_factory.mktemp("played")
    write_entry(place / "row.json", entry_of(run("greedy", tiny("A"), place / "mine"), "community", URL))
    return place


@pytest.fixture
def packet(played: Path, tmp_path: Path) -> dict[str, bytes]:
    """The files of the packet; its row is a file of the test's own."""
    shutil.copy(played / "row.json", tmp_path)
    files = (path for path in (played / "mine").rglob("*") if path.is_file())
    return {path.relative_to(played).as_posix(): path.read_bytes() for path in files}


def serve(monkeypatch: pytest.MonkeyPatch, archive: bytes) -> None:
    monkeypatch.setattr(submitted, "fetch", {URL: archive}.__getitem__)


@pytest.mark.parametrize("top", ["mine/", ""])
def test_a_row_and_its_packet(
    top: str, packet: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, zipped({name.replace("mine/", top): content for name, content in packet.items()}))
    assert submitted.check_row(tmp_path / "row.json").rounds == 64
    assert main(["check-row", str(tmp_path / "row.json"), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": "replayed"}, "level: a submitted row is 'community'"),
        ({"url": ""}, "url: expected the address"),
        ({"units": 0.1}, "row.json: units: not that of the packet"),
        ({"games": []}, "row.json: games: not that of the packet"),
    ],
)
def test_a_row_that_is_not_its_packets(
    change: dict[str, Any],
    message: str,
    packet: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    serve(monkeypatch, zipped(packet))
    row = tmp_path / "row.json"
    row.write_text(json.dumps({**json.loads(row.read_bytes()), **change}))
    with pytest.raises(PacketError, match=message):
        submitted.check_row(row)
    assert main(["check-row", str(row), "--quiet"]) == 1
    assert "refused: " in capsys.readouterr().err
    if "level" in change:
        assert submitted.check_row(row, any_level=True).rounds == 64


def test_figures_of_a_row_are_those_of_its_packet(
    packet: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, zipped(packet))
    entry = json.loads((tmp_path / "row.json").read_bytes())
    entry["packet"]["figures"]["score"]["mean"] += 0.1
    said = {key: value for key, value in entry["packet"].items() if key != "digest"}
    entry["packet"]["digest"] = Packet(said, {}, {}).digest
    write_entry(tmp_path / "row.json", entry)
    with pytest.raises(PacketError, match=r"row.json: packet: not that of the packet at https://example.org"):
        submitted.check_row(tmp_path / "row.json")


def link(files: dict[str, bytes]) -> bytes:
    """An archive whose packet.json is a symbolic link: its content is the link's target."""
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        info = zipfile.ZipInfo("mine/packet.json")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(info, "/etc/passwd")
    return archive.getvalue()


BAD: dict[str, tuple[Callable[[dict[str, bytes]], bytes], str]] = {
    "outside": (lambda files: zipped({**files, "../evil.json": b""}), "'../evil.json': not a file"),
    "above": (lambda files: zipped({"../packet.json": b"{}"}), "packet.json: expected the keys"),
    "absolute": (lambda files: zipped({"/etc/packet.json": b"{}"}), "'/etc/packet.json': not a file"),
    "another file": (lambda files: zipped({**files, "mine/run.py": b""}), "'mine/run.py': not a file"),
    "a file twice": (lambda files: zipped({**files, "run.json": b"{}"}), "each once"),
    "a link": (link, "packet.json: not JSON"),
    "no archive": (lambda files: b"<html>", "archive: File is not a zip file"),
    "cut off": (lambda files: zipped(files)[:-30], "archive: "),
    "too large": (
        lambda files: zipped({"packet.json": bytes(submitted.MAX_ARCHIVE + 1)}),
        "at most 16777216",
    ),
    "nothing": (lambda files: zipped({}), "packet.json: there is no such file"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_archive_that_is_no_packet(
    name: str, packet: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, message = BAD[name]
    serve(monkeypatch, make(packet))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PacketError, match=message):
        submitted.check_row(tmp_path / "row.json")
    assert sorted(tmp_path.rglob("*")) == before


# `ru_maxrss` would begin with the memory of the process that starts this one.
CHECK = """
import sys
from pathlib import Path
from tests.extensions.suite.suites import TINY
from tienlen_suite import PacketError, checking, submitted

checking.SUITES["tiny"] = TINY
row, *archives = map(Path, sys.argv[1:])
for archive in archives:
    submitted.fetch = lambda url: archive.read_bytes()
    try:
        submitted.check_row(row)
    except PacketError as error:
        print(archive.stem, error)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_bombs_take_little_memory(packet: dict[str, bytes], tmp_path: Path) -> None:
    """An archive of some kilobytes may promise gigabytes: `check-row` takes at most one, with its imports."""
    said = json.loads(packet["mine/packet.json"])
    zeros, lines = lzma.compress(bytes(1 << 28), preset=0), lzma.compress(b"\n" * (1 << 25), preset=0)

    def with_contents(content: bytes, number: int) -> dict[str, bytes]:
        names = [f"records/{i:02}" for i in range(number)]
        values = said | {"contents": dict.fromkeys(names, hashlib.sha256(content).hexdigest())}
        return {
            "packet.json": json.dumps(values).encode(),
            "run.json": packet["mine/run.json"],
            **{f"{name}.xz": content for name in names},
        }

    nested = b'{"a":[' + b"[]," * 300_000 + b"[]]}"
    archives = {
        "contents": with_contents(zeros, 90),
        "lines": packet | {"mine/records/01.xz": lines},
        "json": {"packet.json": nested, "run.json": nested},
        "large json": {"packet.json": b"[" + b"[]," * 5_000_000 + b"[]]"},
        "names": {f"records/{i:05}.xz": b"" for i in range(60_000)},
    }
    paths = []
    for name, files in archives.items():
        paths.append(tmp_path / f"{name}.zip")
        paths[-1].write_bytes(zipped(files))
    command = [sys.executable, "-c", CHECK, str(tmp_path / "row.json"), *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    *refused, most = done.stdout.splitlines()
    assert [line.split()[0] for line in refused] == [path.stem.split()[0] for path in paths]
    assert int(most) < 1_000_000  # kilobytes


def test_nothing_is_written_outside_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    submitted.unpack(zipped({"../packet.json": b"{}"}), inner)  # ".." is a folder's name like another
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["packet.json"]
    assert (inner / "packet.json").read_bytes() == b"{}"


@pytest.mark.parametrize("url", ["http://example.org/x", "file:///etc/passwd", "ftp://example.org/x", ""])
def test_other_addresses_are_not_fetched(url: str) -> None:
    with pytest.raises(PacketError, match="begins with https://"):
        submitted.fetch(url)
    with pytest.raises(PacketError, match="begins with https://"):
        submitted._OnlyHttps().redirect_request(None, None, 302, "", {}, url)


def test_an_archive_at_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    class Opener:
        content = b"x"

        def open(self, url: str, timeout: float) -> BytesIO:
            if not self.content:
                raise TimeoutError("no answer")
            return BytesIO(self.content)

    monkeypatch.setattr(submitted.urllib.request, "build_opener", lambda handler: Opener())
    assert submitted.fetch(URL) == b"x"
    Opener.content = bytes(submitted.MAX_ARCHIVE + 1)
    with pytest.raises(PacketError, match="at most 16777216 bytes"):
        submitted.fetch(URL)
    Opener.content = b""
    with pytest.raises(PacketError, match=f"url {URL}: no answer"):
        submitted.fetch(URL)
