"""The benchmark runs and leaves what it says; its figures are not tested."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from tienlen_bench import speed as bench, startup
from tienlen_train.benchmarks import measure


def test_it_measures_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.json"
    bench.main(["--seconds", "0.02", "--runs", "2", "--only", "foicica", "--out", str(out)])
    result = json.loads(out.read_text())
    (row,) = result["rows"].values()
    assert len(row["runs"]) == 2
    assert row["median"] > 0
    assert "numba" in result["versions"]
    assert "Batch foicica" in capsys.readouterr().out


def test_every_path_plays() -> None:
    for case in bench.cases():
        assert measure(case.make(), 0.01) > 0, case.name


@pytest.mark.parametrize("module", [bench, startup])
def test_every_benchmark_refuses_before_it_measures(
    tmp_path: Path, module: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bench.json"
    for refused in (["--only", "no such row"], ["--seconds", "-1"], ["--runs", "0"]):
        with pytest.raises(SystemExit) as caught:
            module.main([*refused, "--out", str(out)])
        assert "expected" in f"{caught.value}{capsys.readouterr().err}"
    assert not out.exists()
