"""The reference policies: of self-play alone, and never part of a training."""

from __future__ import annotations

import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.shipped import REFERENCES, SEED, reference_seeds


@pytest.mark.parametrize("seed", reference_seeds())
def test_it_is_what_its_card_says(seed: int) -> None:
    path = REFERENCES / f"cardgames-{seed}.safetensors"
    assert path.stat().st_size < 1_500_000
    agent = tienlen_agents.load(f"reference:seed={seed}")
    assert isinstance(agent, NetworkAgent)
    assert agent.network.config.prior == "none"
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    assert f"`{agent.digest}`" in card
    for option in ("--prior none", "--baseline-share 0", "--decisions 6000000", f"--seed {seed}"):
        assert option in agent.card["how"]
        assert option in card.replace("\n", " ")


def test_names() -> None:
    assert SEED in reference_seeds()
    assert tienlen_agents.load("reference").name == "reference"
    with pytest.raises(ValueError, match=r"reference: seed=1, expected one of .*1234"):
        tienlen_agents.load("reference:seed=1")


def test_it_beats_the_rule_based_player() -> None:
    result = arena.match(
        tienlen_agents.load("reference"), tienlen_agents.load("heuristic"), num_deals=300, seed=9
    )
    main = result.scores[0].main
    assert main.mean - main.half_width > result.parity
