"""Cost and gain of search.

    python -m research.search
    python -m research.search --agents "search search:ms=20 ismcts" --threads 2

Each agent has three lines. The first is the time of a decision: one game at a time on one core, in CPU time,
over some rounds against the base; forced decisions count only in the mean over all decisions. The second is a
duplicate match, alone against the base in all other seats. The third is the gain over the first agent of the
list on the same deals, paired by deal, for example of inference over the same search without it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tienlen_agents
from tienlen_agents.arena import match
from tienlen_agents.arena.result import MatchResult
from tienlen_agents.arena.stats import estimate
from tienlen_agents.files import write_atomic
from tienlen_agents.settings import COUNT_OR_NONE, Config, FreeText, parse_args, setting
from tienlen_env.engine.agent import Agent, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.games.registry import get_rules
from tienlen_train.config import AGENTS, ANY_SEED, DEALS_OR_NONE, PRESETS, SEATS, THREADS, command


@dataclass(frozen=True, kw_only=True)
class SearchBenchConfig(Config):
    """Settings of the benchmark.

    Attributes:
        agents: the agents to measure, separated by blanks.
        base: the agent in all other seats.
        rules: the variant.
        num_players: seats at the table.
        rounds: rounds whose decisions are timed; 0 for none.
        deals: of the matches; 0 for none.
        threads: decisions searched at the same time in the matches.
        seed: of deals and agents.
        out: a JSON file of the times; none if it is empty.
    """

    agents: str = setting("search:inference=0 search", AGENTS)
    base: str = setting("heuristic", FreeText("the name of an agent"))
    rules: str = setting("cardgames", PRESETS)
    num_players: int = setting(4, SEATS)
    rounds: int = setting(40, COUNT_OR_NONE)
    deals: int = setting(600, DEALS_OR_NONE)
    threads: int = setting(1, THREADS)
    seed: int = setting(1, ANY_SEED)
    out: str = setting("", FreeText("a file"))


def decision_times(agent: Agent, base: Agent, config: SearchBenchConfig) -> tuple[list[float], list[float]]:
    """Play rounds one by one, the agent in seat 0.

    Returns:
        ``(searched, other)``: milliseconds of CPU time of each of the agent's decisions with a choice, and of
        those that are forced.
    """
    times: dict[bool, list[float]] = {True: [], False: []}
    history_length = history_of([agent, base])
    batch = Batch(config.rules, 1, num_players=config.num_players, history_length=history_length)
    loop = RoundLoop(batch, [agent, base], np.arange(batch.num_players) != 0)
    for number in range(config.rounds + 1):
        batch.deal([number + 1_000_000 * config.seed])
        agent.reset(number)
        base.reset(number)
        for waiting in loop:
            begin = time.thread_time()
            action = loop.answers(waiting)
            if not waiting.who[0] and number:  # the first round compiles
                times[bool(batch.count_legal()[0] > 1)].append(1000 * (time.thread_time() - begin))
            loop.play(waiting.games, action)
    return times[True], times[False]


def gain(result: MatchResult, over: MatchResult) -> str:
    """The first agent's points per round in one match-up minus those in another, paired by deal, as text."""
    paired = result.deal_points[:, 0] - over.deal_points[:, 0]
    found = estimate(paired, result.num_seatings)
    return f"{found.mean:+.3f} ± {found.half_width:.3f}"


def result_text(result: MatchResult) -> str:
    """The deals of a match, and the points and first places of its first agent."""
    score = result.scores[0]
    return (
        f"{result.num_deals} deals × {result.num_seatings} seatings: {score.points.mean:.3f} ± "
        f"{score.points.half_width:.3f} points, {100 * score.first.mean:.1f} ± "
        f"{100 * score.first.half_width:.1f} % first"
    )


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    config = parse_args(SearchBenchConfig, __doc__, argv)
    rules = get_rules(config.rules, config.num_players)
    for name in (config.base, *tienlen_agents.split_list(config.agents)):
        tienlen_agents.load(name)  # an unknown name is an error here, not after the first measurement
    print(f"{rules.name}, {config.num_players} players, against {config.base}", flush=True)
    first: MatchResult | None = None
    times: dict[str, dict[str, float]] = {}
    for name in tienlen_agents.split_list(config.agents):
        print(name)
        base = tienlen_agents.load(config.base)
        if config.rounds:
            searched, forced = decision_times(tienlen_agents.load(name), base, config)
            high = "".join(f"{v:9.2f}" for v in np.percentile(searched, [50, 90, 99, 100]))
            every = searched + forced
            times[name] = {"mean": float(np.mean(every)), "mean_of_choices": float(np.mean(searched))}
            print(
                f"  CPU ms of {len(searched)} decisions with a choice: mean {np.mean(searched):.2f}; 50, 90, "
                f"99 %, max:{high}; mean of all {len(every)} decisions {np.mean(every):.2f}",
                flush=True,
            )
        if config.deals:
            threads = f"{',' if ':' in name else ':'}threads={config.threads}" if config.threads > 1 else ""
            result = match(
                tienlen_agents.load(name + threads),
                base,
                rules=rules,
                num_deals=config.deals,
                seed=config.seed,
            )
            print(f"  {result_text(result)}, {result.scores[0].decisions} decisions")
            if first is not None:
                print(f"  {gain(result, first)} points more than the first agent, paired by deal")
            first = first or result
    if config.out:
        write_atomic(Path(config.out), (json.dumps({"rows": times}, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
