"""The judge of choices: a better player gives less away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research import choices


def test_a_better_player_gives_less_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(choices, "WORLDS", 40)
    out = tmp_path / "out.json"
    choices.main(["heuristic", "random", "--rounds", "4", "--out", str(out)])
    rows = json.loads(out.read_text())["rows"]
    assert 0 <= rows["heuristic"]["regret"][0] < rows["random"]["regret"][0]
    assert capsys.readouterr().out.startswith("heuristic: 0.")
