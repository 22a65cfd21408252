"""Several agents alone against the same opponents, on the same deals: points, paired differences, time.

    python -m research.paired_match --deals 400 --opponent heuristic champion search

Every agent plays each deal from each seat; the other seats are `--opponent`. All agents share deals and
seats, so differences are paired by deal. Time is processor time of the process for each decision of the
agent, forced ones included. Results are written to `--out` after each piece of deals (JSON lines), and a
later call with more deals or agents goes on there. A module may register agents of its own, as
`research.variants` does.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tienlen_agents
from tienlen_agents.arena.play import warm_up
from tienlen_agents.files import write_atomic
from tienlen_env.engine.agent import Agent, View, choose, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules, main_reward

PIECE = 25  # deals


class AgentRounds(NamedTuple):
    """Rounds of an agent.

    Attributes:
        points: float64 (deals, P), in each seat; units under rules with payments.
        decisions: number of its decisions.
        seconds: of processor time for them.
    """

    points: FloatArray
    decisions: int
    seconds: float


def play(agent: Agent, opponent: Agent, rules: AnyRules, keys: IntArray) -> AgentRounds:
    """Play deals (by their keys) with an agent in each seat in turn."""
    P = rules.num_players
    length = max(history_of([agent, opponent]), 1)
    batch = Batch(rules, len(keys) * P, history_length=length, reward=main_reward(rules))
    batch.deal(np.repeat(keys, P))
    mine = np.tile(np.arange(P), len(keys))
    spent, num = 0.0, 0
    actions = np.empty(batch.num_games, np.int64)
    loop = RoundLoop(batch, [agent, opponent], np.arange(P) != mine[:, None])
    for waiting in loop:
        for index, which in loop.by_agent(waiting):
            view, begin = View(batch, which), time.process_time()
            actions[which] = choose((agent, opponent)[index], view)
            if index == 0:
                spent += time.process_time() - begin
                num += len(which)
        loop.play(waiting.games, actions[waiting.games])
    units = batch.balances if batch.has_payments else batch.scores
    points = units[np.arange(batch.num_games), mine].reshape(-1, P).astype(np.float64)
    return AgentRounds(points, num, spent)


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """The pieces in a file; what a killed run left of a line is cut off."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        write_atomic(path, whole)
    return [json.loads(line) for line in whole.splitlines()]


def interval(values: FloatArray) -> tuple[float, float]:
    """A mean and the half width of its 95 % interval, by deal."""
    return float(values.mean()), 1.96 * float(values.std(ddof=1)) / math.sqrt(len(values))


def main() -> None:
    """Play what is missing, and print a row for each agent."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--opponent", default="heuristic")
    parser.add_argument("--rules", default="cardgames")
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--deals", type=int, default=400)
    parser.add_argument("--seed", type=int, default=56_000_001)
    parser.add_argument("--module", default="", help="a module to import first, which registers agents")
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    if options.deals < PIECE or options.deals % PIECE:
        parser.error(f"--deals {options.deals}: expected a multiple of {PIECE}, the deals of a piece")
    if options.module:
        import_module(options.module)
    rules = get_rules(options.rules, options.players)
    keys = np.random.default_rng(options.seed).integers(2**62, size=options.deals)
    out = Path(options.out) if options.out else None
    known: dict[tuple[str, int], AgentRounds] = {}
    if out and out.exists():
        for r in whole_lines(out):
            if (r["opponent"], r["rules"], r["players"], r["seed"]) == (
                options.opponent, options.rules, options.players, options.seed,
            ):  # fmt: skip
                known[r["agent"], r["piece"]] = AgentRounds(
                    np.array(r["points"]), r["decisions"], r["seconds"]
                )
    loaded = {name: tienlen_agents.load(name) for name in options.agents}
    opponent = tienlen_agents.load(options.opponent)
    warm_up([*loaded.values(), opponent], rules)
    for piece in range(options.deals // PIECE):
        for name, agent in loaded.items():
            if (name, piece) in known:
                continue
            agent.reset(piece)
            opponent.reset(piece + 1_000_000)
            found = play(agent, opponent, rules, keys[piece * PIECE : (piece + 1) * PIECE])
            known[name, piece] = found
            if out:
                r = {
                    "agent": name, "opponent": options.opponent, "rules": options.rules, "seed": options.seed,
                    "players": options.players, "piece": piece, "points": found.points.tolist(),
                    "decisions": found.decisions, "seconds": found.seconds,
                }  # fmt: skip
                with out.open("a") as file:
                    file.write(json.dumps(r) + "\n")
    first: FloatArray | None = None
    for name in options.agents:
        parts = [known[name, piece] for piece in range(options.deals // PIECE)]
        points = np.concatenate([part.points for part in parts]).mean(axis=1)
        ms = 1000 * sum(part.seconds for part in parts) / sum(part.decisions for part in parts)
        first = points if first is None else first
        (mean, half), (more, of_more) = interval(points), interval(points - first)
        print(f"{name:60s} {mean:.3f} ± {half:.3f}   {more:+.3f} ± {of_more:.3f}   {ms:.2f} ms", flush=True)


if __name__ == "__main__":
    main()
