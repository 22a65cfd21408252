"""How likely a search takes three others for `heuristic`, by who they are and how much they have played.

    python -m research.strangers heuristic reference champion:worlds=0 greedy_long

Rounds of `cardgames` between four of an agent. In each decision with a choice the seat to act looks at the
others by the champion's chain, also where the champion lists the deals. Each row has the number of positions,
the mean probability that an opponent is the rule-based agent, and the share of the positions where the chain
takes all opponents for that agent, and asks it alone.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

import tienlen_agents
from tienlen_agents.search.agent import HISTORY
from tienlen_agents.search.champion import SearchedNetwork, load_champion
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.tienlen import KINDS
from tienlen_agents.search.tienlen_determinizations import SHARE
from tienlen_agents.search.tienlen_players import BASELINE, kind_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.engine.view import View
from tienlen_env.games.registry import get_rules
from tienlen_env.games.tienlen import state as R

BIN = 6  # plays of the others
LOOKS = 32  # worlds


def main() -> None:
    """Print the rows of all agents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    context, searcher = SearchContext(get_rules("cardgames")), load_champion()
    assert isinstance(searcher, SearchedNetwork)
    searcher.reset(options.seed)
    for name in options.agents:
        agent, found = tienlen_agents.load(name), defaultdict(list)
        agent.reset(options.seed)
        batch = Batch("cardgames", options.rounds, history_length=HISTORY)
        batch.reset(options.seed)
        loop = RoundLoop(batch, [agent], [0] * batch.num_players)
        for waiting in loop:
            view = View(batch, waiting.games)
            for i in np.flatnonzero(view.num_legal > 1):
                games = np.array([i])
                decisions = searcher._decisions(view, games)
                _, decisions = searcher._ask_prior(
                    searcher.networks, context, view, np.zeros(len(view), np.int64), games, decisions
                )
                if not decisions:  # solved
                    continue
                (decision,) = decisions
                events = decision.history[decision.history != 0]
                num = int((events >> R.HISTORY_SEAT_SHIFT != view.seat[i] + 1).sum())
                if context.start(decision, searcher.options_in(context), 0) == 0:
                    continue
                kinds = context.draw(LOOKS)[:, KINDS]
                others = [seat for seat in range(4) if seat != view.seat[i]]
                live = [seat for seat in others if decision.row[R.LIVE] >> seat & 1]
                shares = [np.mean([kind_of(int(one), seat) == BASELINE for one in kinds]) for seat in live]
                found[num // BIN].append((np.mean(shares), context.memory.replay.prior[SHARE] >= 1))
            loop.play(waiting.games, loop.answers(waiting))
        for which, values in sorted(found.items()):
            share, known = np.mean(values, axis=0)
            plays = f"{BIN * which}-{BIN * which + BIN - 1}"
            print(f"{name:20s} {plays:>7s} plays: {len(values)}: {share:.2f} {known:.2f}")


if __name__ == "__main__":
    main()
