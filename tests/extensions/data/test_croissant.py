"""The metadata of a data set in Croissant: every column, the same bytes, and its own library reads it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs_mlcroissant, needs_pyarrow
from tienlen_data import DataConfig, write_data
from tienlen_env import Round


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A data set that agents played, one of records, and the first once more."""
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("data")
    played = DataConfig(agents="greedy random", rounds=12, rules="south", seed=5)
    record = Round("cardgames", key=7)
    while plays := record.legal_plays():
        record.play(plays[0])
    (folder / "records.txt").write_text(f"{record.record()}\n" * 10, encoding="utf-8")
    write_data(played, folder / "played")
    write_data(played, folder / "again", workers=1)
    write_data(DataConfig(records=str(folder / "records.txt")), folder / "records")
    return {name: folder / name for name in ("played", "again", "records")}


@needs_pyarrow
@pytest.mark.parametrize("name", ["played", "records"])
def test_it_says_what_the_tables_have(data: dict[str, Path], name: str) -> None:
    import pyarrow.parquet as pq

    content = json.loads((data[name] / "croissant.json").read_text(encoding="utf-8"))
    for table in content["recordSet"]:
        schema = pq.read_schema(data[name] / table["name"] / "00000.parquet")
        fields = {field["name"]: field for field in table["field"]}
        assert list(fields) == schema.names
        for field in schema:
            assert fields[field.name].get("repeated", False) == str(field.type).startswith("list")
            kind = fields[field.name]["dataType"]
            assert (kind == "sc:Integer") == ("int" in str(field.type)), field
    ethics = {key: text for key, text in content.items() if key.startswith("rai:")}
    assert {"rai:dataCollection", "rai:dataBiases", "rai:personalSensitiveInformation"} <= set(ethics)
    assert all(ethics.values())
    assert ("no people" in ethics["rai:personalSensitiveInformation"]) == (name == "played")
    assert (data["played"] / "croissant.json").read_bytes() == (data["again"] / "croissant.json").read_bytes()


LOAD = """
import itertools, sys
import mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
assert not dataset.metadata.ctx.issues.errors, dataset.metadata.ctx.issues.report()
for table in ("rounds", "decisions"):
    rows = list(itertools.islice(dataset.records(table), 10))
    assert len(rows) == 10, rows
    assert all(len(row) == int(sys.argv[2 + (table == "decisions")]) for row in rows)
print(rows[9]["decisions/action"])
"""


@needs_mlcroissant
@pytest.mark.parametrize("name", ["played", "records"])
def test_its_library_validates_it_and_loads_ten_records(data: dict[str, Path], name: str) -> None:
    import pyarrow.parquet as pq

    path = data[name] / "croissant.json"
    widths = [len(pq.read_schema(data[name] / t / "00000.parquet").names) for t in ("rounds", "decisions")]
    done = subprocess.run(
        [sys.executable, "-c", LOAD, path, *map(str, widths)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    action = pq.read_table(data[name] / "decisions", columns=["action"])["action"][9].as_py()
    assert int(done.stdout) == action
