"""The examples in docstrings print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARENTS = [ROOT, ROOT / "agents", ROOT / "train"]
MODULES = [
    ".".join(path.relative_to(parent).with_suffix("").parts).removesuffix(".__init__")
    for parent in PARENTS
    for package in sorted(parent.glob("tienlen_*"))
    for path in sorted(package.rglob("*.py"))
    if "\n    >>> " in (text := path.read_text(encoding="utf-8")) or "\n>>> " in text
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert tried
    assert not failed
