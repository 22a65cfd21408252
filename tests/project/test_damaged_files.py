"""Files of strangers: one that is damaged or forged is refused in one line, or read as it was."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.files import KINDS, one_file
from tests.needs import needs_onnx, needs_pyarrow

NEEDS = {"": (), "onnx": needs_onnx, "pyarrow": needs_pyarrow}


@pytest.mark.parametrize("number", [25, pytest.param(650, marks=pytest.mark.nightly)])  # 10,400 of all kinds
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=NEEDS[kind.package]) for name, kind in KINDS.items()]
)
def test_files_of_strangers(name: str, number: int, capfd: pytest.CaptureFixture[str]) -> None:
    for i in range(number):
        one_file(random.Random(f"{name} {i}"), name)
    out, err = capfd.readouterr()
    assert out == ""
    assert "Traceback" not in err
