"""The share of won endings that agents give away: two players are left, and all cards are known.

    python -m research.endings champion:worlds=0 champion:file=tienlen-general-v4,worlds=0

An agent plays rounds against itself. Each decision with a choice where a win is proven counts
(`tienlen_agents.endgame`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import tienlen_agents
from tienlen_agents.arena.stats import ratio_estimate
from tienlen_agents.endgame import can_solve, keep_wins
from tienlen_agents.files import write_atomic
from tienlen_env import Batch, View
from tienlen_env.engine.agent import Agent, history_of
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.registry import get_rules


def count(agent: Agent, rules: str, rounds: int, seed: int) -> tuple[IntArray, IntArray]:
    """int64 (rounds,) twice: the won endings of each round, and those that the agent gave away."""
    agent.reset(seed)
    batch = Batch(rules, rounds, history_length=history_of([agent]))
    batch.reset(seed)
    won, lost = np.zeros((2, rounds), np.int64)
    loop = RoundLoop(batch, [agent], [0] * batch.num_players)
    for waiting in loop:
        answers = loop.answers(waiting)
        winning = answers.copy()
        endings, _ = keep_wins(View(batch, waiting.games), winning)
        won[waiting.games[endings]] += 1
        lost[waiting.games[endings]] += winning[endings] != answers[endings]
        loop.play(waiting.games, answers)
    return won, lost


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each agent."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--rules", default="cardgames")
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--out", default="", help="a JSON file of the lines")
    options = parser.parse_args(argv)
    if not can_solve(get_rules(options.rules)):
        parser.error(f"--rules {options.rules}: endings are solved in Tiến lên without payments")
    rows: dict[str, dict[str, object]] = {}
    for name in options.agents:
        won, lost = count(tienlen_agents.load(name), options.rules, options.rounds, options.seed)
        if len(won) < 2 or not won.any():
            parser.error(f"{name}: too few won endings for an interval; play more rounds (--rounds)")
        share = ratio_estimate(lost, won, event=1)
        rows[name] = {"won": int(won.sum()), "given_away": [share.mean, share.half_width]}
        print(f"{name}: {share.mean:.2%} ± {share.half_width:.2%} of {won.sum():,} won endings", flush=True)
        if options.out:
            write_atomic(Path(options.out), (json.dumps({"rows": rows}, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
