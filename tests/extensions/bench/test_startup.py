"""The benchmark of what a newcomer waits for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tienlen_bench import startup
from tienlen_train.benchmarks import run_program


def test_a_row(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert startup.main(["--runs", "1", "--only", "import tienlen_env", "--out", str(out)]) == 0
    (row,) = json.loads(out.read_text())["rows"].values()
    assert row["first"] > 0
    assert row["memory"] > 1


def test_a_program_that_fails_is_named() -> None:
    with pytest.raises(RuntimeError, match="no_such_module"):
        run_program("import no_such_module", "")


def test_each_package_that_comes_along_is_a_row() -> None:
    rows = startup.packages()
    modules = {row.removeprefix("import ") for row in rows}
    assert {"numpy", "PIL", "cloudpickle", "typing_extensions", "mdurl"} <= modules
    assert not modules & {"numba", "torch", "tienlen_env"}  # extras, and this one
