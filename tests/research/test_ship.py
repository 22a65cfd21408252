"""Policies that are shipped: the mean of several runs, with a card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tienlen_agents
from research import ship
from tienlen_agents import arena
from tienlen_agents.networks import shipped as files
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import NetworkConfig
from tienlen_env.games.registry import get_rules
from tienlen_train.network import ActionNetwork


def test_of_several_runs_the_mean_is_shipped(tmp_path: Path) -> None:
    config = NetworkConfig.of(get_rules("cardgames"), state_width=16, action_width=16)
    paths = [str(tmp_path / f"{k}.safetensors") for k in range(4)]
    made = [NetworkAgent(ActionNetwork(config).to_network()) for _ in range(3)]
    for path, agent in zip(paths, made, strict=False):
        agent.save(path)
    mean = ship.mean_policy(paths[:3]).network.tensors
    for key, weights in mean.items():
        each = [agent.network.tensors[key] for agent in made]
        np.testing.assert_allclose(weights, np.mean(each, axis=0), atol=1e-6)
    other = NetworkConfig.of(get_rules("cardgames"), state_width=16, action_width=8)
    NetworkAgent(ActionNetwork(other).to_network()).save(paths[3])
    with pytest.raises(ValueError, match="differ in their weights alone"):
        ship.mean_policy(paths)
    with pytest.raises(ValueError, match="expected a file"):
        ship.mean_policy([])


def test_policies_of_both_games_are_shipped_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "WEIGHTS", tmp_path / "weights")

    def ship_one(preset: str, num_players: int) -> str:
        config = NetworkConfig.of(
            get_rules(preset, num_players), prior="heuristic", state_width=16, action_width=16
        )
        NetworkAgent(ActionNetwork(config).to_network()).save(tmp_path / "policy.safetensors")
        flags = ["--size", "tiny", "--deals", "2", "--how", "a command"]
        ship.main(["--policy", str(tmp_path / "policy.safetensors"), *flags])
        card = (tmp_path / "weights" / f"{preset}-tiny-v1.md").read_text(encoding="utf-8")
        assert card.split()[-9:] == capsys.readouterr().out.split()[-9:]  # the terminal breaks lines anew
        assert max(map(len, card.splitlines())) <= 110
        return card

    def play_one(preset: str, num_players: int) -> None:
        score = arena.match("champion", "random", rules=preset, num_players=num_players, num_deals=2)
        assert score.num_games == 2 * num_players

    card = ship_one("thirteens_manual", 5)
    assert "# thirteens_manual-tiny-v1" in card
    assert "| alone against 4 | parity | points a deal | first places | network" in card
    assert [name for name in tienlen_agents.names() if f"\n| `{name}` |" in card] == ["random", "trickster"]
    play_one("thirteens_manual", 5)
    with pytest.raises(ValueError, match="no policy for the cardgames rules with 3 players"):
        play_one("cardgames", 3)

    card = ship_one("cardgames", 3)
    assert "| alone against 2 | parity | points a round | first places | network" in card
    assert "suits" in card
    assert card.count("| 1.000 |") == 4  # parity of three players
    for preset, num_players in (("cardgames", 3), ("thirteens_manual", 5)):
        play_one(preset, num_players)
    with pytest.raises(ValueError, match="there are: cardgames, thirteens_manual"):
        play_one("thirteens", 4)
