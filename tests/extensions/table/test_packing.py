"""What lies beside the built page for hosts that compress nothing, and for a start without a network."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

from tests.needs import STATIC, needs_page
from tienlen_table.packing import TEXTS, WORKER, pack

pytestmark = needs_page


def list_of(folder: Path) -> dict[str, object]:
    text = (folder / "files.js").read_text(encoding="utf-8")
    found: dict[str, object] = json.loads(text.removeprefix("self.PAGE=").rstrip(";\n"))
    return found


def test_every_text_and_module_has_its_compressed_copy() -> None:
    paths = [path for path in STATIC.rglob("*") if path.suffix in TEXTS]
    assert {path.suffix for path in paths} == set(TEXTS)
    for path in paths:
        assert gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()) == path.read_bytes(), path.name
    assert {path.with_suffix("") for path in STATIC.rglob("*.gz")} == set(paths)


def test_the_service_worker_keeps_what_the_page_loads() -> None:
    """All that is there, but for the worker, its list, weights, and modules that are bundled."""
    files = list_of(STATIC)["files"]
    assert isinstance(files, list)
    assert all((STATIC / name.replace("./", "index.html")).is_file() for name in files)
    shown = {
        path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.suffix in (*TEXTS, ".png")
    }
    names = {name.replace("./", "index.html").removesuffix(".gz") for name in files}
    assert names == shown - {WORKER, "files.js"}


def test_the_list_changes_when_a_file_does(tmp_path: Path) -> None:
    """The same files give the same bytes; copies of files that are gone go."""
    (tmp_path / "engine").mkdir()
    for name in ("index.html", "sw.js", "engine/index.json"):
        shutil.copyfile(STATIC / name, tmp_path / name)
    (tmp_path / "gone.js.gz").touch()
    assert pack(tmp_path) == ["engine/index.json.gz", "./"]
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    names = ("files.js", "index.html", "index.json", "sw.js")
    assert sorted(before) == sorted([*names, *(f"{name}.gz" for name in names)])
    pack(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (tmp_path / "index.html").write_text("<html lang='vi'>")
    version = list_of(tmp_path)["version"]
    pack(tmp_path)
    assert list_of(tmp_path)["version"] != version
    assert gzip.decompress((tmp_path / "index.html.gz").read_bytes()) == b"<html lang='vi'>"
