"""P(true owner): a search that knows how the others play knows more about their cards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research import hands


def test_inference_finds_the_owners_of_cards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, blind = tmp_path / "out.json", "search:inference=0"
    hands.main(["heuristic", blind, "search", "--rounds", "12", "--out", str(out)])
    rows = json.loads(out.read_text())["rows"]
    assert list(rows) == [blind, "search"]
    # Three opponents have a third of the cards each on average; of uneven hands one knows a little more.
    assert 0.3 < rows[blind]["20-29"] < 0.45
    assert rows["search"]["10-19"] > rows[blind]["10-19"] + 0.05
    assert capsys.readouterr().out.startswith(f"{blind}: ")


def test_an_agent_without_a_search_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        hands.main(["heuristic", "greedy"])
    assert "greedy: expected an agent that searches in worlds" in capsys.readouterr().err
