"""Won endings: an agent that solves them gives none away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research import endings


def test_who_solves_endings_gives_none_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    endings.main(["random", "endgame:random", "--rounds", "400", "--out", str(out)])
    rows = json.loads(out.read_text())["rows"]
    lost, half = rows["random"]["given_away"]
    assert lost - half > 0
    assert rows["endgame:random"]["given_away"][0] == 0
    assert min(row["won"] for row in rows.values()) > 100
    assert capsys.readouterr().out.startswith("random: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rules", "south"], "--rules south: endings are solved in Tiến lên without payments"),
        (["--rules", "thirteens"], "--rules thirteens: endings are solved"),
        (["--rounds", "1"], "random: too few won endings for an interval"),
    ],
)
def test_where_there_are_no_endings_it_says_so(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        endings.main(["random", *arguments])
    assert message in capsys.readouterr().err
