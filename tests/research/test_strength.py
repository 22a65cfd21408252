"""The page of every shipped agent's strength at every table."""

from __future__ import annotations

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


def _of(game: str) -> list[strength.Table]:
    return list(tables(game_named(game)))


def test_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(strength, "AGENTS", ("random", "greedy"))
    few = [
        (preset, rules)
        for preset, rules in variants_of(game_named("tienlen"))
        if (preset, rules.num_players) in (("cardgames", 4), ("south", 4), ("cardgames", 2))
    ]
    monkeypatch.setattr(strength, "variants_of", lambda game: few)
    page, out = tmp_path / "strength.md", tmp_path / "out"
    options = ["--env", "tienlen", "--deals", "6", "--search-deals", "2", "--page", str(page)]
    assert main([*options, "--out", str(out)]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("about ")
    assert first.endswith("minutes with --workers 1")
    text = page.read_text(encoding="utf-8")
    assert text.index("### 4 players") < text.index("### 2 players")
    assert "| preset | parity | `random` | `greedy` |" in text
    assert "| `cardgames` | 1.5 points | 0." in text
    assert "| `south` | 0 units | -" in text
    assert "6 held-out deals" in text
    monkeypatch.setattr(strength, "PAGE", "{sections}")
    main([*options, "--out", str(out)])  # from the stored results
    assert page.read_text(encoding="utf-8") == text[text.index("## `tienlen`") :].rstrip()
    assert len(list(out.glob("*/*/chunks.jsonl"))) == 6


def test_the_parity_of_thirteens_is_what_equal_players_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strength, "AGENTS", ("random", "trickster"))
    four = [found for found in variants_of(game_named("thirteens")) if found[1].num_players == 4][:1]
    monkeypatch.setattr(strength, "variants_of", lambda game: four)
    page = tmp_path / "strength.md"
    main(["--env", "thirteens", "--deals", "8", "--page", str(page), "--out", str(tmp_path / "out")])
    (row,) = [line for line in page.read_text(encoding="utf-8").splitlines() if "points |" in line]
    _, _, parity, _, against_itself, _ = (cell.strip() for cell in row.split("|"))
    assert against_itself.startswith(f"{float(parity.removesuffix(' points')):.1f} ±")
