"""The policy of stable-baselines3 that the champion meets as a stranger."""

from __future__ import annotations

from pathlib import Path

import pytest

import tienlen_agents
from research import sb3_player
from tienlen_agents import arena


def test_the_file_is_an_agent(tmp_path: Path) -> None:
    out = tmp_path / "sb3.zip"
    sb3_player.main(["--out", str(out), "--decisions", "1"])
    agent = tienlen_agents.load(f"policy:{out},trust=1")
    assert arena.match(agent, tienlen_agents.load("random"), num_deals=2, seed=1).scores


@pytest.mark.parametrize(
    "options", ["sb3.txt", "nosuch/sb3.zip", "sb3.zip --decisions 0", "sb3.zip --seed -1"]
)
def test_wrong_options_are_refused_before_any_work(
    options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        sb3_player.main(["--out", *options.split()])
    assert list(tmp_path.iterdir()) == []
