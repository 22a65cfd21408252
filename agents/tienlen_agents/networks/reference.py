"""The reference policies: ``tienlen_agents.load("reference")``.

A reference policy never saw a rule-based player: pure self-play from uniform play, with a committed command.
Strength against three of them is measured beside strength against three `heuristic`, so that a policy tuned
to beat one is found out. They and what is trained from them are never opponents in the training of a shipped
policy, nor its initial weights, nor used to select it.

The files are in ``agents/tienlen_agents/networks/weights/reference``: ``cardgames-<seed>.safetensors``, each
with its card. The first has the seed 1234; the seed of the second was chosen after the champion's training.
"""

from __future__ import annotations

from typing import Final

from tienlen_agents.networks.champion import WEIGHTS
from tienlen_agents.networks.network import NetworkAgent

FOLDER: Final = WEIGHTS / "reference"
SEED: Final = 1234


def seeds() -> list[int]:
    """The seeds of the shipped reference policies."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in FOLDER.glob("cardgames-*.safetensors"))


def load_reference(*, seed: int = SEED, sample: bool = False) -> NetworkAgent:
    """Make the agent ``reference``: a policy of self-play alone, for `cardgames` with four players.

    Args:
        seed: of its training.
        sample: draw from the policy instead of taking the most probable action.

    Raises:
        ValueError: there is none with this seed.
    """
    if seed not in seeds():
        known = ", ".join(map(str, seeds()))
        raise ValueError(f"reference: seed={seed}, expected one of {known}")
    agent = NetworkAgent.load(FOLDER / f"cardgames-{seed}.safetensors", sample=sample)
    agent.name = "reference" if seed == SEED else f"reference:seed={seed}"
    return agent
