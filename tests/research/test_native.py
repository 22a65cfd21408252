"""The benchmark of machine code beside Numba's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research import native
from tienlen_env.engine.backends import native as machine_code


def test_rows_are_pairs_of_runs(tmp_path: Path) -> None:
    if machine_code.library() is None:
        pytest.skip("the loops are not compiled (make native)")
    out = tmp_path / "out.json"
    options = ["--runs", "2", "--seconds", "0.01", "--only", "one game", "--out", str(out)]
    assert native.main(options) == 0
    found = json.loads(out.read_text())
    assert found["machine_code"] in machine_code.LEVELS.values()
    (row,) = found["rows"].values()
    assert [len(pair) for pair in row["runs"]] == [2, 2]
    assert min(map(min, row["runs"])) > 0


def test_without_machine_code_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_level", str)
    with pytest.raises(SystemExit, match="make native"):
        native.main(["--out", str(tmp_path / "out.json")])
    assert not list(tmp_path.iterdir())


def test_it_refuses_before_it_measures(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    with pytest.raises(SystemExit, match="expected a part of one of"):
        native.main(["--only", "no such row", "--out", str(out)])
    assert not out.exists()
