"""Cost and gain of perfect play in endgames.

    python -m tienlen_train.benchmarks.endgame
    python -m tienlen_train.benchmarks.endgame --base heuristic --rules foicica

There are two tables. The first is about endgames from self-play of agents: the time of a decision (one at a
time, as in `EndgameAgent`: the base agent's action is tried first, and one win is enough), the time to find
all winning actions, the number of positions searched, the share of decisions beyond the limit, and the
share of won endgames that the agent gives away. Only decisions with a choice count. Below it is how often
the agent, at any time of the round, could play its whole hand and did not. The second table has duplicate
matches of ``endgame:<base>`` against three ``<base>``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import tienlen_agents
from tienlen_agents.arena import match
from tienlen_agents.endgame import MAX_NODES, Solver, open_endings
from tienlen_agents.ranges import FreeText
from tienlen_env import Rules
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_train.command import command
from tienlen_train.config import AGENTS, ANY_SEED, COUNT, DEALS_OR_NONE, PRESETS, Config, parse_args, setting

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class EndgameBenchConfig(Config):
    """Settings of the benchmark.

    Attributes:
        rules: the variant.
        base: the agent that gets perfect endgames in the matches.
        players: agents whose endgames are solved, separated by commas.
        rounds: rounds of each of them against itself.
        deals: of the match; 0 for none.
        nodes: maximum number of positions searched for a decision.
        seed: of deals and agents.
    """

    rules: str = setting("cardgames", PRESETS)
    base: str = setting("greedy_long", FreeText("the name of an agent"))
    players: str = setting("greedy_long,random,endgame:greedy_long", AGENTS)
    rounds: int = setting(4000, COUNT)
    deals: int = setting(10000, DEALS_OR_NONE)
    nodes: int = setting(MAX_NODES, COUNT)
    seed: int = setting(0, ANY_SEED)


class Endings(NamedTuple):
    """What `endings` finds.

    Attributes:
        rows: int64 (m, ROW), the endgame positions with a choice, with both hands.
        chosen: int64 (m,), the actions that the agent took there.
        num_go_outs: decisions with a choice in which one action plays the whole hand, at any time of a round.
        num_missed: number of these decisions in which the agent took another action.
    """

    rows: IntArray
    chosen: IntArray
    num_go_outs: int
    num_missed: int


def endings(name: str, rules: str, num_rounds: int, seed: int) -> Endings:
    """Play an agent against itself."""
    batch, agent = Batch(rules, num_rounds), tienlen_agents.load(name)
    batch.reset(seed)
    agent.reset(seed)
    parts: list[tuple[IntArray, IntArray]] = []
    num_go_outs = num_missed = 0
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        chosen = agent.act(view)
        found, rows = open_endings(view)
        has_choice = view.num_legal[found] > 1
        parts.append((rows[has_choice], chosen[found[has_choice]]))
        legal, owner = view.legal_actions, np.repeat(np.arange(len(games)), view.num_legal)
        can_go_out = np.zeros(len(games), np.bool_)
        can_go_out[owner[legal.cards == view.hand[owner]]] = True
        can_go_out &= view.num_legal > 1
        num_go_outs += int(can_go_out.sum())
        num_missed += int((can_go_out & (view.cards_of(chosen) != view.hand)).sum())
        actions = np.full(num_rounds, NO_ACTION)
        actions[games] = chosen
        batch.step(actions)
    all_rows, all_chosen = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Endings(all_rows, all_chosen, num_go_outs, num_missed)


def percentiles(values: Sequence[float], form: str) -> str:
    """The median, three high percentiles and the maximum as text."""
    return "".join(f"{v:{form}}" for v in np.percentile(values, [50, 90, 99, 99.9, 100]))


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    config = parse_args(EndgameBenchConfig, __doc__ or "", argv)
    rules = Batch(config.rules).rules
    if not isinstance(rules, Rules):
        raise SystemExit(f"error: rules={config.rules!r}: this game has no endgame solver")
    for name in (config.base, *config.players.split(",")):
        tienlen_agents.load(name)  # an unknown name is an error here, not after the first measurement
    solver = Solver(rules)
    head = "".join(f"{name:>9}" for name in ("50 %", "90 %", "99 %", "99.9 %", "max"))
    print(f"{config.rules}: endings from {config.rounds} rounds of an agent against itself\n{'':34}{head}")
    for name in config.players.split(","):
        rows, chosen, num_go_outs, num_missed = endings(name, config.rules, config.rounds, config.seed)
        solver.solve(rows[:1])  # compiles
        times: dict[bool, list[float]] = {True: [], False: []}
        nodes: list[int] = []
        unsolved, won, blunders = 0, 0, 0
        for row, action in zip(np.split(rows, len(rows)), np.split(chosen, len(rows)), strict=True):
            for find_all in (False, True):
                begin = time.perf_counter()
                found = solver.solve(row, wanted=None if find_all else action, max_nodes=config.nodes)
                times[find_all].append(1000 * (time.perf_counter() - begin))
                if not find_all:
                    nodes.append(int(found.num_nodes[0]))
                    unsolved += found.value[0] == 0
            won += found.value[0] == 1
            blunders += found.value[0] == 1 and not found.best_mask[0, action[0]]
        print(f"{name:<24}ms       {percentiles(times[False], '9.3f')}")
        print(f"{'':<24}ms, all  {percentiles(times[True], '9.3f')}")
        print(f"{'':<24}positions{percentiles(nodes, '9.0f')}")
        print(
            f"  {len(rows):,} decisions, {unsolved} unsolved; {won / len(rows):.1%} won, and the agent gave "
            f"{blunders / max(won, 1):.2%} of these away\n"
            f"  it did not go out in {num_missed} of {num_go_outs:,} decisions in which it could"
        )
    if config.deals:
        base = tienlen_agents.load(config.base)
        better = tienlen_agents.load(f"endgame:{config.base}")
        result = match(better, base, rules=config.rules, num_deals=config.deals, seed=config.seed)
        score = result.scores[0]
        places = ", ".join(f"{rate:.2%}" for rate in score.places)
        print(
            f"\n{result.title}: {score.points.mean:.4f} ± {score.points.half_width:.4f} points "
            f"({result.num_deals} deals × {result.num_seatings} seatings), places {places}; "
            f"{1e6 * score.seconds / score.decisions:.2f} µs a decision, the base's own included"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
