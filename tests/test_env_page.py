"""The environment page (the docstring of `tienlen_env.aec`) says what the code does."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tienlen_env import aec


@pytest.mark.parametrize("name", ["observation", "actions", "sizes"])
def test_tables_follow_from_the_code(name: str) -> None:
    assert aec.page_tables()[name] in (aec.__doc__ or "")


@pytest.mark.parametrize("maker", [aec.env, aec.raw_env])
def test_arguments_follow_from_the_code(maker: object) -> None:
    page = (aec.__doc__ or "").partition("| argument |")[2].partition("\n\n")[0]
    documented = dict(re.findall(r"^\| (\w+) \| (\S+) \|", page, re.MULTILINE))
    parameters = inspect.signature(maker).parameters  # type: ignore[arg-type]
    assert documented == {name: repr(parameter.default) for name, parameter in parameters.items()}


def test_version_history_ends_with_the_version_of_the_name() -> None:
    newest = re.findall(r"^\* (v\d+):", aec.__doc__ or "", re.MULTILINE)[-1]
    assert aec.raw_env.metadata["name"] == f"tienlen_{newest}"
    assert (Path(aec.__file__).parent / f"tienlen_{newest}.py").exists()
