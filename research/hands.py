"""How well the worlds of a search tell who holds what: P(true owner), and the share of the true deal.

    python -m research.hands heuristic "search" "search:worlds=208,mcmc_effort=3"
    python -m research.hands reference "champion" "search:inference=0,prior=champion:worlds=0"

Four players of one kind play; at some of their decisions each agent draws the worlds that it would search in.
Lines are for the number of unseen cards; a squared error of marginals that are all equal is .667 with three
opponents. An agent without a search of its own cannot be measured.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tienlen_agents
from tienlen_agents.files import write_atomic
from tienlen_agents.search.agent import SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import Decision
from tienlen_env import Batch, View
from tienlen_env.engine.agent import history_of
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.cards import masks_to_bits

RANGES = ((2, 9), (10, 19), (20, 29), (30, 39), (2, 39))
EVERY = 6  # of the decisions of a round one in so many is measured


class Decided(NamedTuple):
    """A decision: the game alone in a batch, and int64 (P,), all hands."""

    batch: Batch
    hands: IntArray


class Knowledge(NamedTuple):
    """What an agent knows in a position; the number of unseen cards, and four means over them."""

    num_unseen: int
    owner: float
    deal: float
    squared_error: float
    seconds: float


def positions(players: str, rules: str, rounds: int, seed: int, history: int) -> list[Decided]:
    """Decisions of a choice, each round another part of them."""
    agent = tienlen_agents.load(players)
    agent.reset(seed)
    batch = Batch(rules, rounds, history_length=max(history, history_of([agent])))
    batch.reset(seed)
    found = []
    loop = RoundLoop(batch, [agent], [0] * batch.num_players)
    for step, waiting in enumerate(loop):
        num_legal = View(batch, waiting.games).num_legal
        for game in waiting.games[(num_legal > 1) & ((waiting.games + step) % EVERY == 0)]:
            found.append(Decided(batch.select([game]), batch.state.hands[game].copy()))
        loop.play(waiting.games, loop.answers(waiting))
    return found


def measure(agent: SearchAgent, position: Decided) -> Knowledge | None:
    """What the worlds of an agent say; None where it needs none."""
    view = View(position.batch)
    context, *_ = agent._contexts_for(view, 1)
    decisions = agent._decisions(view, np.array([0]))
    start = time.process_time()
    if agent._prior is not None:
        chosen = view.legal_actions.action[:1].copy()
        _, decisions = agent._ask_prior(agent._prior, context, view, chosen, np.array([0]), decisions)
    if not decisions or not (worlds := draw(agent, decisions[0], context)).size:
        return None
    seconds = time.process_time() - start
    others = [seat for seat in range(len(position.hands)) if seat != position.batch.turn[0]]
    truth = masks_to_bits(position.hands[others]).astype(bool)  # (opponents, 52)
    share = masks_to_bits(worlds[:, others].T).mean(axis=1)
    unseen = truth.any(axis=0)
    is_true = (worlds[:, others] == position.hands[others]).all(axis=1)
    return Knowledge(
        int(unseen.sum()),
        float(share[truth].mean()),
        float(is_true.mean()),
        float(((share - truth)[:, unseen] ** 2).sum(axis=0).mean()),
        seconds,
    )


def draw(agent: SearchAgent, decision: Decision, context: SearchContext) -> IntArray:
    """int64 (n, W): the worlds that compare the last two candidates."""
    options = agent.options_in(context)
    scale = context.start(decision, options, max(decision.default, 0))
    return context.draw(math.ceil(options.worlds * scale))


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each agent and range."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("players", help="who plays")
    parser.add_argument("agents", nargs="+", help="agents that search")
    parser.add_argument("--rules", default="cardgames")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", default="", help="a JSON file of P(true owner) by agent and range")
    options = parser.parse_args(argv)
    agents: list[SearchAgent] = []
    for name in options.agents:
        agent = tienlen_agents.load(name)
        if not isinstance(agent, SearchAgent):
            parser.error(f"{name}: expected an agent that searches in worlds")
        agents.append(agent)
    measured = positions(options.players, options.rules, options.rounds, options.seed, history_of(agents))
    owners: dict[str, dict[str, float]] = {}
    for name, agent in zip(options.agents, agents, strict=True):
        owners[name] = {}
        agent.reset(options.seed)
        rows = np.array([row for position in measured if (row := measure(agent, position)) is not None])
        print(f"{name}: {1000 * rows[:, 4].mean():.2f} ms")
        for low, high in RANGES:
            part = rows[(rows[:, 0] >= low) & (rows[:, 0] <= high)]
            if not len(part):
                continue
            owner, deal, squared = part[:, 1:4].mean(axis=0)
            owners[name][f"{low}-{high}"] = round(float(owner), 4)
            print(
                f"  {low}-{high} unseen cards, {len(part)} positions: owner {owner:.3f}, deal {deal:.3f},"
                f" squared error {squared:.4f}",
                flush=True,
            )
    if options.out:
        write_atomic(Path(options.out), (json.dumps({"rows": owners}, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
