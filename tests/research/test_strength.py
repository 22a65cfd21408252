"""The strength of every shipped agent at every table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research import strength
from research.strength import main, tables
from tienlen_agents.networks.shipped import can_play
from tienlen_env.games.registry import game_named, variants_of


def test_every_agent_is_at_the_tables_that_it_plays() -> None:
    found = {(t.preset, t.rules.num_players): t for game in ("tienlen", "thirteens") for t in _of(game)}
    assert len(found) == sum(
        rules.num_players > 1
        for game in ("tienlen", "thirteens")
        for _, rules in variants_of(game_named(game))
    )
    assert found["cardgames", 4].agents == strength.AGENTS
    assert "reference" not in found["cardgames", 3].agents
    assert found["north", 2].base == "heuristic"
    assert "greedy" not in found["thirteens", 4].agents
    for table in found.values():
        assert ("champion" in table.agents) == can_play(table.rules)
        assert {"random", "search"} <= {*table.agents}


def _of(game: str) -> list[strength.StrengthTable]:
    return list(tables(game_named(game)))


def test_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(strength, "AGENTS", ("random", "greedy"))
    few = [
        (preset, rules)
        for preset, rules in variants_of(game_named("tienlen"))
        if (preset, rules.num_players) in (("cardgames", 4), ("south", 4), ("cardgames", 2))
    ]
    monkeypatch.setattr(strength, "variants_of", lambda game: few)
    options = [
        "--env",
        "tienlen",
        "--deals",
        "6",
        "--search-deals",
        "2",
        "--players",
        "4",
        "--out",
        str(tmp_path),
    ]
    assert main(options) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("about ")
    assert first.endswith("minutes with --workers 1")
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert {name: (row["figure"], row["parity"]) for name, row in found["rows"].items()} == {
        "cardgames": ("points", 1.5),
        "south": ("units", 0),
    }
    assert found["rows"]["south"]["agents"]["random"][0] < 0
    main(options)  # from the stored results
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == found
    assert len(list(tmp_path.glob("*/*/chunks.jsonl"))) == 4


def test_the_parity_of_thirteens_is_what_equal_players_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strength, "AGENTS", ("random", "trickster"))
    four = [found for found in variants_of(game_named("thirteens")) if found[1].num_players == 4][:1]
    monkeypatch.setattr(strength, "variants_of", lambda game: four)
    main(["--env", "thirteens", "--deals", "8", "--out", str(tmp_path)])
    (row,) = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"].values()
    assert row["agents"]["trickster"][0] == pytest.approx(row["parity"], abs=1e-5)
