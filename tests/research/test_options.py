"""The commands of research refuse wrong options before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from research import learning, search, ship
from tests.train.test_config import check_refusal

MAINS = {"ship": ship.main, "learning": learning.main, "search": search.main}


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("ship", "--deals 1"), ("ship", "--policy /nosuch.safetensors"), ("ship", "--size ../x"),
        ("ship", "--version 0"),
        ("learning", "--seconds 0"), ("learning", "--runs 0"),
        ("search", "--rounds -1"), ("search", "--deals 1"), ("search", "--threads 0"),
        ("search", "--num-players 0"),
    ],
)  # fmt: skip
def test_commands_refuse_before_any_work(
    name: str,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refusal(MAINS[name], option, tmp_path, capsys)


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [("search", "--agents greddy", "unknown agent 'greddy'"), ("ship", "--deals 2", "expected")],
)
def test_what_only_the_command_can_know_is_one_line_before_any_work(
    name: str, option: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=message):
        MAINS[name](option.split())
    assert list(tmp_path.iterdir()) == []
