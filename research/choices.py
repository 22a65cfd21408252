"""How much agents give away at a table of players that the search takes for rule-based: a judge in minutes.

    python -m research.choices search champion champion:file=tienlen-general-v4

Four `heuristic` play; at some of the decisions each agent chooses. A long search, which knows who the others
are, estimates every legal action. After that action its own seat plays on by the model that learned to beat
three `heuristic`, where the game has one: as `heuristic` it would miss what an action is good for. The
*regret* of a choice is how much more the best action earns. It does not measure strength: it says how near an
agent comes to that long search, and where it does not. Points need a hundred times as many decisions to tell
two agents apart.

A line has the mean regret in points with a 95 % interval and the processor time of a decision as a multiple
of that of the first agent, which decides beside each other one; then both by the number of unseen cards.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import tienlen_agents
from research.hands import Decided, positions
from tienlen_agents.arena.play import warm_up
from tienlen_agents.arena.stats import estimate
from tienlen_agents.files import write_atomic
from tienlen_agents.search.agent import HISTORY, SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import Options
from tienlen_env import View
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.arrays import FloatArray
from tienlen_env.games.registry import get_rules

PLAYERS: Final = "heuristic"
WORLDS: Final = 600  # of the search that judges
RANGES: Final = ((2, 9), (10, 19), (20, 29), (30, 39))


class LongSearch(SearchAgent):
    """A long search among players that it knows."""

    def __init__(self) -> None:
        super().__init__(worlds=WORLDS, mcmc_effort=3.0)

    def options_in(self, context: SearchContext) -> Options:
        """See `SearchAgent.options_in`."""
        options = super().options_in(context)
        return options._replace(baseline_share=1.0, has_models=context.has_models)


class Judged(NamedTuple):
    """A decision with what each legal action earns, float64 (n,), and the number of unseen cards."""

    view: View
    values: FloatArray
    num_unseen: int


def judged(found: Sequence[Decided], seed: int) -> list[Judged]:
    """The decisions that no solver settles, with the estimates of the long search."""
    judge = LongSearch()
    judge.reset(seed + 1)  # it draws other deals than those that it judges
    decisions = []
    for position in found:
        view = View(position.batch)
        if not judge.is_solved(view)[0]:
            num_held = sum(int(hand).bit_count() for hand in position.hands) - int(view.hand[0]).bit_count()
            decisions.append(Judged(view, judge.estimate(view)[0].mean, num_held))
    return decisions


def regrets(decisions: Sequence[Judged], agent: Agent, first: Agent) -> FloatArray:
    """float64 (n, 3): regrets of an agent's choices, its seconds, and those of the first agent beside it."""
    found = []
    for view, values, _ in decisions:
        begin = time.process_time()
        first.act(view)
        between = time.process_time()
        action = agent.act(view)[0]
        end = time.process_time()
        index = np.flatnonzero(view.legal_actions.action == action)[0]
        found.append((values.max() - values[index], end - between, between - begin))
    return np.array(found)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each agent."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--rules", default="cardgames")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--out", default="", help="a JSON file of the lines")
    options = parser.parse_args(argv)
    agents = {name: tienlen_agents.load(name) for name in options.agents}
    warm_up([tienlen_agents.load(name) for name in options.agents], get_rules(options.rules))
    decisions = judged(positions(PLAYERS, options.rules, options.rounds, options.seed, HISTORY), options.seed)
    num_unseen = np.array([decision.num_unseen for decision in decisions])
    first = tienlen_agents.load(options.agents[0])
    rows: dict[str, dict[str, object]] = {}
    for name, agent in agents.items():
        for player in (first, agent):
            player.act(decisions[0].view)  # compiles
            player.reset(options.seed)
        found = regrets(decisions, agent, first)
        mean = estimate(found[:, 0], 1)
        row: dict[str, object] = {"regret": [mean.mean, mean.half_width]}
        parts = []
        for low, high in RANGES:
            part = found[(num_unseen >= low) & (num_unseen <= high)]
            if len(part):
                row[f"{low}-{high}"] = float(part[:, 0].mean())
                times = part[:, 1].sum() / part[:, 2].sum()
                parts.append(f"{low}-{high}: {part[:, 0].mean():.4f} ({times:.1f} ×)")
        rows[name] = row
        if options.out:
            write_atomic(Path(options.out), (json.dumps({"rows": rows}, indent=1) + "\n").encode())
        ratio = found[:, 1].sum() / found[:, 2].sum()
        print(
            f"{name}: {mean.mean:.4f} ± {mean.half_width:.4f} in {len(found)} decisions, {ratio:.1f} ×; "
            + ", ".join(parts),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
