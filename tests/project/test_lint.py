"""`tests/lint.py`: it finds long functions, and leaves out the packages that a clone lacks."""

from __future__ import annotations

import tomllib

import pytest

from tests.lint import LIMIT, contracts, is_here, long_functions
from tests.needs import ROOT


@pytest.mark.parametrize("surplus", [0, 1])
def test_lines_of_code_are_counted(surplus: int) -> None:
    lines = ["x = 1", "", "# a comment", 'y = """two', 'lines"""']  # three lines of code
    body = lines * ((LIMIT - 1) // 3) + ["pass"] * ((LIMIT - 1) % 3 + surplus)
    source = "\n    ".join(["def f():", '"""A docstring', 'of two lines."""', *body])
    assert list(long_functions(source)) == [(1, "f", LIMIT + 1)] * surplus


@pytest.mark.parametrize("missing", [["tienlen_suite"], ["tienlen_exact", "tienlen_gpu", "research"]])
def test_contracts_leave_out_what_is_missing(missing: list[str]) -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = tomllib.loads(contracts(text, missing))["tool"]["importlinter"]
    assert contracts(text, []) == text[text.index("[tool.importlinter]") :]
    assert not {*missing} & {*found["root_packages"]}
    for contract in found["contracts"]:
        named = str({key: value for key, value in contract.items() if key != "name"})
        assert not [package for package in missing if package in named]
    assert is_here("tienlen_env")
    assert not is_here("tienlen_nothing")
