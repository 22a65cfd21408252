"""How many plays of three others `heuristic` cannot explain, by who they are and how much they have played.

    python -m research.strangers heuristic reference champion:worlds=0 greedy_long

Rounds of `cardgames` between four of an agent. In each decision with a choice the seat to act looks at the
others as `champion:adapt=1` does. Each row has the number of positions, and the shares of those where at
least 2, 3 and 4 plays stay unexplained in the best of its worlds (`Adaptation`).
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

import tienlen_agents
from tienlen_agents.search.agent import HISTORY, SearchAgent
from tienlen_agents.search.champion import Adaptation
from tienlen_agents.search.context import SearchContext
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.engine.view import View
from tienlen_env.games.registry import get_rules
from tienlen_env.games.tienlen import state as R

BIN = 6  # plays of the others


def main() -> None:
    """Print the rows of all agents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    context, searcher = SearchContext(get_rules("cardgames")), SearchAgent()
    searcher.reset(options.seed)
    chain = searcher.options._replace(mcmc_effort=Adaptation().effort, large_swaps=Adaptation().large_swaps)
    for name in options.agents:
        agent, found = tienlen_agents.load(name), defaultdict(list)
        agent.reset(options.seed)
        batch = Batch("cardgames", options.rounds, history_length=HISTORY)
        batch.reset(options.seed)
        loop = RoundLoop(batch, [agent], [0] * batch.num_players)
        for waiting in loop:
            view = View(batch, waiting.games)
            for i in np.flatnonzero(view.num_legal > 1):
                (decision,) = searcher._decisions(view, np.array([i]))
                events = decision.history[decision.history != 0]
                num = int((events >> R.HISTORY_SEAT_SHIFT != view.seat[i] + 1).sum())
                context.resolve(decision)
                context.start(decision, chain, 0)
                unexplained = context.fewest_deviations(Adaptation().looks)
                if unexplained >= 0:
                    found[num // BIN].append(unexplained)
            loop.play(waiting.games, loop.answers(waiting))
        for which, values in sorted(found.items()):
            shares = " ".join(f"{(np.array(values) >= least).mean():.2f}" for least in (2, 3, 4))
            print(f"{name:20s} {BIN * which:3d}-{BIN * which + BIN - 1} plays: {len(values)}: {shares}")


if __name__ == "__main__":
    main()
