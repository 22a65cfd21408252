"""The page's logic (its state machine, presses, tabs, ratings) in Node, without a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.extensions.table.wasm_files import run_node
from tests.needs import ROOT, STATIC, needs_page, needs_page_sources

RUN = Path(__file__).with_name("page_logic.mjs")
WEB = ROOT / "extensions" / "table" / "web"
CHECKS = re.findall(r'^  (?:async )?"(.+)"\(\) \{$', RUN.read_text(encoding="utf-8"), re.MULTILINE)

pytestmark = [needs_page, needs_page_sources]


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    """What each check found, "" where it holds."""
    answer: dict[str, str] = run_node(RUN, [str(WEB), str(STATIC / "engine")], {})
    return answer


@pytest.mark.parametrize("check", CHECKS)
def test_logic(check: str, found: dict[str, str]) -> None:
    assert found[check] == ""
