"""No engine is built of a game with a planted fault."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.extensions.check.test_check_game import FAULTS
from tienlen_env.errors import GameFaultError
from tienlen_env.games import registry
from tienlen_table.engine import build


@pytest.mark.parametrize("name", FAULTS)
def test_no_browser_gets_a_game_with_a_planted_fault(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make, message = FAULTS[name]
    others = {name: game for name, game in registry._games.items() if name != "high_card"}
    monkeypatch.setattr(registry, "_games", dict(others))
    monkeypatch.setattr(sys.modules[__name__], "WRONG", make(), raising=False)
    with pytest.raises(GameFaultError, match=message):
        build(f"{__name__}:WRONG", tmp_path / "web")
    assert registry._games == others
    assert not list(tmp_path.rglob("*.wasm"))
