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

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from rich.table import Table

import tienlen_agents
from tienlen_agents.arena.play import play_deals
from tienlen_agents.arena.stats import Estimate, estimate
from tienlen_agents.command import complete_agents, program, shows_any_text, with_bar
from tienlen_agents.console import PlainConsole
from tienlen_agents.executors import WorkerPool
from tienlen_agents.files import read_json, refusing, write_atomic
from tienlen_agents.search import SearchAgent
from tienlen_agents.settings import (
    COUNT_OR_NONE,
    Choice,
    Config,
    FreeText,
    Parser,
    Range,
    add_options,
    make_config,
    setting,
    settings_of,
)
from tienlen_env.engine.agent import Agent, AgentCode, View, choose
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.registry import PRESETS, get_rules

MODULE: Final = "tienlen_suite.regret"
BLOCK: Final = 16  # decisions that a process judges at a time
FILE: Final = "judged.json"


@dataclass(frozen=True, kw_only=True)
class Judgement(Config):
    """What determines the regrets.

    Attributes:
        rules: the variant.
        players: number of players, if not that of the rules.
        decisions: how many.
        player: name of the agent that plays the rounds.
        judge: name of the agent that plays the rollouts of the search that judges; empty for the search's own
            baseline.
        worlds: sampled worlds of each decision.
        seed: of the deals and all random draws.
    """

    rules: str = setting("cardgames", Choice(lambda: PRESETS))
    players: int | None = setting(None, Range(2))
    decisions: int = setting(1000, Range(2))
    player: str = setting("champion:worlds=0", FreeText("an agent"))
    judge: str = setting("reference", FreeText("an agent"))
    worlds: int = setting(1000, Range(1, 100_000))
    seed: int = setting(0, COUNT_OR_NONE)


@dataclass(frozen=True, kw_only=True)
class RegretCommandLine(Judgement):
    """The options of the command.

    Attributes:
        threshold: show the share of decisions with a regret above it.
        workers: number of processes.
        out: keep the regrets in this folder, in judged.json; the same command resumes.
    """

    threshold: float = setting(0.3, Range(0))
    workers: int = setting(1, Range(1, 1024))
    out: str | None = setting(None, FreeText("a folder"))


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


def regret(agent: Agent, decisions: Batch, losses: Sequence[FloatArray], threshold: float) -> Regret:
    """The regrets of an agent's choices.

    Args:
        agent: it is reset.
        decisions: of `sample_decisions`.
        losses: of `judged`.
        threshold: for the share, in the unit of the reward.
    """
    with AgentCode(agent.name):
        agent.reset(0)
    chosen = choose(agent, View(decisions))
    return regret_of_choices(agent.name, chosen, decisions, losses, threshold)


def regret_of_choices(
    name: str, chosen: IntArray, decisions: Batch, losses: Sequence[FloatArray], threshold: float
) -> Regret:
    """The regrets of actions, int64 (n,), legal ones; the rest as for `regret`."""
    legal = View(decisions).legal_actions
    found = np.empty(len(losses))
    for game, loss in enumerate(losses):
        actions = legal.action[legal.start[game] : legal.start[game] + len(loss)]
        found[game] = loss[actions == chosen[game]].item()
    return Regret(name, estimate(found, 1), estimate((found > threshold).astype(np.int64), 1, event=1))


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
    rows = decisions.kernel_arrays.rows.copy()
    # The word behind the mask was 0 when suite v1 was judged; now it may hold how the round began.
    rows[:, decisions.game.columns.legal + decisions.packed_mask_size] = 0
    header = {**asdict(judgement), "sha256": hashlib.sha256(rows.tobytes()).hexdigest()}
    path = None if out is None else out / FILE
    losses = [] if path is None else _read(path, header, View(decisions).num_legal)
    left = np.arange(len(losses), decisions.num_games)
    blocks = [decisions.select(left[first : first + BLOCK]) for first in range(0, len(left), BLOCK)]
    with WorkerPool(workers) as pool:
        found = pool.map(_judge, [judgement] * len(blocks), blocks)
        for block in with_bar(found, "judging", len(blocks)):
            losses += [np.array(some) for some in block]
            if path is not None:
                content = {**header, "losses": [one.tolist() for one in losses]}
                write_atomic(path, json.dumps(content).encode())
    return decisions, losses


def _read(path: Path, header: dict[str, Any], num_legal: IntArray) -> list[FloatArray]:
    """The regrets in a file; none if it does not exist."""
    if not path.exists():
        return []
    data = path.read_bytes()
    with refusing(f"{path}: not a file of judged decisions"):
        content = read_json(data)
        losses = [np.array(found, np.float64) for found in content.pop("losses")]
        is_valid = all(
            found.shape == (num,) and np.isfinite(found).all()
            for found, num in zip(losses, num_legal, strict=False)
        )
    for name, value in header.items():
        if content.get(name) != value:
            raise ValueError(
                f"{path}: judged with {name}={content.get(name)!r}, not {value!r}; use another folder"
            )
    if not is_valid or len(losses) > len(num_legal):
        raise ValueError(f"{path}: damaged, delete it")
    return losses


@shows_any_text
def main(argv: Sequence[str] | None = None) -> int:
    """Judge decisions and print the regrets of some agents.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = Parser(prog=program(MODULE), description=(__doc__ or "").partition("\n")[0])
    agents_option = parser.add_argument("agents", nargs="+", metavar="agent", help="the agents to measure")
    complete_agents(agents_option)
    add_options(parser, RegretCommandLine)
    given = vars(parser.parse_args(argv))
    names = given.pop("agents")
    options = make_config(parser, RegretCommandLine, given)
    try:
        agents = [tienlen_agents.load(name) for name in names]
        judgement = Judgement(**{name: getattr(options, name) for name in settings_of(Judgement)})
        out = None if options.out is None else Path(options.out)
        decisions, losses = judged(judgement, out, options.workers)
        found = [regret(agent, decisions, losses, options.threshold) for agent in agents]
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
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
    PlainConsole().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
