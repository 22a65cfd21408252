"""Regret: what the choices of agents cost in sampled decisions, by the judgement of a long search.

    tienlen regret champion champion:worlds=0 heuristic --out runs/regret

The decisions come from self-play of one agent, one from each round, drawn from all decisions that have
several legal actions and no exact solution. A long search estimates the return of every legal action in the
same sampled worlds, with rollouts by an agent. Half of the worlds choose the best action. The regret of a
choice is the return of that action in the other half minus the return of the choice there: the highest of
many estimates is too high, so the worlds that choose it must not judge it. The regrets of all actions are
stored, so more agents are compared in seconds. See `tienlen_agents.search.estimates`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import tienlen_agents
from tienlen_agents.arena.executors import end_with_parent
from tienlen_agents.arena.play import play_deals
from tienlen_agents.arena.stats import Estimate, estimate
from tienlen_agents.command import complete_agents, program
from tienlen_agents.files import write_atomic
from tienlen_agents.search import SearchAgent
from tienlen_agents.settings import Range
from tienlen_env.engine.agent import Agent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.registry import PRESETS, get_rules
from tienlen_env.rendering.view import printable

MODULE: Final = "tienlen_agents.arena.regret"
BLOCK: Final = 16  # decisions that a process judges at a time
FILE: Final = "judged.json"


@dataclass(frozen=True)
class Judgement:
    """What determines the regrets.

    Attributes:
        rules: name of the preset.
        players: number of players; None for the number in the rules.
        decisions: number of decisions.
        player: name of the agent that plays the rounds.
        judge: name of the agent that plays the rollouts; empty for the search's own baseline.
        worlds: number of sampled worlds.
        seed: of the deals and all random draws.
    """

    rules: str = "cardgames"
    players: int | None = None
    decisions: int = 1000
    player: str = "champion:worlds=0"
    judge: str = "reference"
    worlds: int = 1000
    seed: int = 0


class Regret(NamedTuple):
    """The regrets of an agent.

    Attributes:
        name: of the agent.
        mean: the mean regret, in the unit of the reward.
        share: the share of decisions with an estimated regret above the threshold; the errors of the
            estimates raise it.
    """

    name: str
    mean: Estimate
    share: Estimate


@lru_cache(maxsize=1)
def search_of(judgement: Judgement) -> SearchAgent:
    """The search that judges."""
    search = SearchAgent(worlds=judgement.worlds, rollout=judgement.judge)
    search.reset(judgement.seed)
    return search


def sample_decisions(judgement: Judgement) -> Batch:
    """A batch of the sampled decisions, one a game, each for the seat to act."""
    search = search_of(judgement)
    player = tienlen_agents.load(judgement.player)
    rng = np.random.default_rng(judgement.seed)
    num_seen = np.zeros(judgement.decisions, np.int64)
    kept: list[Batch] = []

    def keep(_: int, view: View, __: IntArray) -> None:
        batch, rows = view.source  # the batch may have the waiting games alone
        if not kept:  # in the first step every game waits
            kept.append(batch.copy())
        found = np.flatnonzero(view.num_legal > 1)
        found = found[~search.is_solved(view.select(found))] if found.size else found
        games = view.games[found]
        num_seen[games] += 1
        # Each of the k decisions of a round so far is the kept one with probability 1 / k.
        is_drawn = rng.random(len(games)) * num_seen[games] < 1
        kept[0].kernel_arrays.rows[games[is_drawn]] = batch.kernel_arrays.rows[rows[found[is_drawn]]]

    agents: list[Agent] = [player, search]  # the search has no seat, but its history is stored
    keys = rng.integers(2**63, size=judgement.decisions)
    seats = np.zeros(get_rules(judgement.rules, judgement.players).num_players, np.int64)
    player.reset(judgement.seed)
    play_deals(agents, seats, keys, judgement.rules, num_players=judgement.players, on_decisions=keep)
    return kept[0].select(np.flatnonzero(num_seen))


def _judge(judgement: Judgement, decisions: Batch) -> list[list[float]]:
    """In a worker: the regrets of all legal actions of some decisions."""
    return [found.loss.tolist() for found in search_of(judgement).estimate(View(decisions))]


def judge(judgement: Judgement, decisions: Batch, *, workers: int = 1) -> Iterator[list[FloatArray]]:
    """The regrets of all legal actions of each decision, some decisions at a time.

    Args:
        judgement: the judge.
        decisions: those of `sample_decisions` that are left to judge.
        workers: number of processes.
    """
    blocks = [
        decisions.select(np.arange(first, min(first + BLOCK, decisions.num_games)))
        for first in range(0, decisions.num_games, BLOCK)
    ]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent) as pool:
        for losses in pool.map(_judge, [judgement] * len(blocks), blocks):
            yield [np.array(some) for some in losses]


def regret(agent: Agent, decisions: Batch, losses: Sequence[FloatArray], threshold: float) -> Regret:
    """The regrets of an agent's choices.

    Args:
        agent: it is reset.
        decisions: of `sample_decisions`.
        losses: of `judge`.
        threshold: for the share, in the unit of the reward.
    """
    agent.reset(0)
    view = View(decisions)
    chosen = agent.act(view)
    legal = view.legal_actions
    found = np.empty(len(losses))
    for game, loss in enumerate(losses):
        actions = legal.action[legal.start[game] : legal.start[game] + len(loss)]
        found[game] = loss[actions == chosen[game]].item()
    return Regret(agent.name, estimate(found, 1), estimate((found > threshold).astype(np.int64), 1, event=1))


def judged(judgement: Judgement, out: Path | None, workers: int = 1) -> tuple[Batch, list[FloatArray]]:
    """The decisions and their regrets; what is missing in the folder is computed and written there.

    Args:
        judgement: the judge.
        out: the folder; None writes nothing.
        workers: number of processes.

    Raises:
        ValueError: the file in the folder is damaged, or of another judgement.
        OSError: it cannot be read or written.
    """
    decisions = sample_decisions(judgement)
    rows = hashlib.sha256(decisions.kernel_arrays.rows.tobytes()).hexdigest()
    header = {**asdict(judgement), "sha256": rows}
    path = None if out is None else out / FILE
    losses = [] if path is None else _read(path, header, View(decisions).num_legal)
    left = decisions.select(np.arange(len(losses), decisions.num_games))
    blocks = judge(judgement, left, workers=workers) if left.num_games else iter(())
    num_blocks = -(-left.num_games // BLOCK)
    for block in track(blocks, "judging", num_blocks, console=Console(stderr=True), transient=True):
        losses += block
        if path is not None:
            content = {**header, "losses": [found.tolist() for found in losses]}
            write_atomic(path, json.dumps(content).encode())
    return decisions, losses


def _read(path: Path, header: dict[str, Any], num_legal: IntArray) -> list[FloatArray]:
    """The regrets in a file; none if it does not exist."""
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_bytes())
        losses = [np.array(found, np.float64) for found in content.pop("losses")]
        is_valid = all(
            found.shape == (num,) and np.isfinite(found).all()
            for found, num in zip(losses, num_legal, strict=False)
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(f"{path}: not a file of judged decisions") from None
    for name, value in header.items():
        if content.get(name) != value:
            raise ValueError(
                f"{path}: judged with {name}={content.get(name)!r}, not {value!r}; use another folder"
            )
    if not is_valid or len(losses) > len(num_legal):
        raise ValueError(f"{path}: damaged, delete it")
    return losses


def _parser() -> argparse.ArgumentParser:
    default = Judgement()
    parser = argparse.ArgumentParser(prog=program(MODULE), description=__doc__.partition("\n")[0])
    agents = parser.add_argument("agents", nargs="+", metavar="agent", help="the agents to measure")
    complete_agents(agents)
    many, natural = Range(2).reader(int), Range(0).reader(int)
    parser.add_argument(
        "--rules", default=default.rules, choices=[*PRESETS], metavar="NAME", help="the variant (%(default)s)"
    )
    parser.add_argument("--players", type=many, metavar="N", help="number of players (as in the rules)")
    parser.add_argument(
        "--decisions", type=many, default=default.decisions, metavar="N", help="how many (%(default)s)"
    )
    parser.add_argument(
        "--player", default=default.player, metavar="AGENT", help="plays the rounds (%(default)s)"
    )
    parser.add_argument(
        "--judge",
        default=default.judge,
        metavar="AGENT",
        help="plays the rollouts of the search that judges (%(default)s)",
    )
    parser.add_argument(
        "--worlds",
        type=Range(1, 100_000).reader(int),
        default=default.worlds,
        metavar="N",
        help="sampled worlds of each decision (%(default)s)",
    )
    parser.add_argument("--seed", type=natural, default=default.seed, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--threshold",
        type=Range(0).reader(float),
        default=0.3,
        metavar="POINTS",
        help="show the share of decisions with a regret above it (%(default)s)",
    )
    parser.add_argument(
        "--workers", type=Range(1, 1024).reader(int), default=1, metavar="N", help="processes (%(default)s)"
    )
    parser.add_argument(
        "--out", metavar="DIR", help=f"keep the regrets there, in {FILE}; the same command resumes"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Judge decisions and print the regrets of some agents.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        agents = [tienlen_agents.load(name) for name in options.agents]
        settings = {name: getattr(options, name) for name in asdict(Judgement())}
        out = None if options.out is None else Path(options.out)
        decisions, losses = judged(Judgement(**settings), out, options.workers)
        found = [regret(agent, decisions, losses, options.threshold) for agent in agents]
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {printable(str(error))}\n")
    table = Table(title=f"{len(losses)} decisions, {options.worlds} worlds, rollouts by {options.judge}")
    table.add_column("agent")
    table.add_column("mean regret", justify="right")
    table.add_column(f"above {options.threshold:g}", justify="right")
    for one in found:
        mean, share = one.mean, one.share
        table.add_row(
            one.name,
            f"{mean.mean:.4f} ± {mean.half_width:.4f}",
            f"{share.mean:.2%} ± {share.half_width:.2%}",
        )
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
