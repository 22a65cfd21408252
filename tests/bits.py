"""Digests of what an executor computes: two machines, or two levels of one, agree if their lines are equal.

    python -m tests.bits --backend native --decisions 1000000
    python -m tests.bits --backend python --decisions 10000 --agents

A line for each preset: states, masks, observations and rewards of random play; with ``--agents`` a line for
each agent without search, of its choices in games against itself, and of a network's log-probabilities.
"""

from __future__ import annotations

import argparse
import hashlib

import numpy as np

import tienlen_agents
from tienlen_env import Batch
from tienlen_env.engine.agent import View, history_of
from tienlen_env.engine.backends import native
from tienlen_env.games.registry import PRESETS

AGENTS = {
    "cardgames": ("greedy", "greedy_long", "heuristic", "reference", "champion:worlds=0"),
    "thirteens": ("trickster", "champion:worlds=0"),
}


def digest_of_play(name: str, decisions: int, backend: str, num_games: int = 500) -> str:
    """Of random play of a preset, about so many decisions."""
    batch = Batch(PRESETS[name], num_games, auto_reset=True, backend=backend)  # type: ignore[arg-type]
    batch.reset(1)
    rng, digest = np.random.default_rng(1), hashlib.sha256()
    mask = np.zeros((num_games, batch.num_actions), np.int8)
    observation = np.zeros((num_games, batch.observation_size), np.uint8)
    for _ in range(-(-decisions // num_games)):
        rewards, dones = batch.step(batch.sample(rng), mask=mask, observation=observation)[:2]
        for array in (batch._rows, mask, observation, rewards, dones):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


def digest_of_choices(agent_name: str, name: str, decisions: int, num_games: int = 500) -> str:
    """Of an agent's choices, in games that it plays against itself."""
    agent = tienlen_agents.load(agent_name)
    batch = Batch(PRESETS[name], num_games, auto_reset=True, history_length=history_of([agent]))
    batch.reset(1)
    agent.reset(1)
    digest = hashlib.sha256()
    for _ in range(-(-decisions // num_games)):
        view = View(batch)
        if hasattr(agent, "log_probabilities"):
            digest.update(agent.log_probabilities(view).tobytes())
        ids = agent.act(view)
        digest.update(ids.tobytes())
        batch.step(ids)
    return digest.hexdigest()[:32]


def main() -> None:
    """Print the digests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="native", choices=["native", "numba", "python"])
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--presets", nargs="+", default=list(PRESETS))
    parser.add_argument("--agents", action="store_true")
    options = parser.parse_args()
    library = native.library()
    print(f"# {options.backend}, machine code: {library.level if library else 'none'}")
    for name in options.presets:
        print(f"{name} {digest_of_play(name, options.decisions, options.backend)}", flush=True)
    if options.agents:
        for preset, names in AGENTS.items():
            for name in names:
                print(f"{name} {preset} {digest_of_choices(name, preset, options.decisions)}", flush=True)


if __name__ == "__main__":
    main()
