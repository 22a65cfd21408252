"""`run` makes a packet; `replay` plays a drawn sample of one again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.random import SeedSequence

import tienlen_agents
from tienlen_agents.arena.chunk import Job, play_chunk
from tienlen_agents.arena.executors import Executor
from tienlen_agents.arena.play import warm_up
from tienlen_agents.arena.result import MAX_FORFEITS, MatchResult, failed_agents
from tienlen_agents.arena.run import MatchUp, Progress, play_match_ups
from tienlen_agents.arena.store import file_digests
from tienlen_agents.command import code_digest, versions
from tienlen_agents.exact.policies import measure, policy_of
from tienlen_agents.exact.small_tienlen import PolicyError
from tienlen_agents.exact.tree import Tree
from tienlen_agents.settings import COUNT, Config, FreeText, setting
from tienlen_agents.suite import figures
from tienlen_agents.suite.budget import budget_class, units
from tienlen_agents.suite.checking import (
    SUITES,
    held_out_digest,
    judged_decisions,
    panel_agents,
    regret_of,
    seed_for,
    tree_of,
)
from tienlen_agents.suite.packet import SCHEMA, Packet, PacketError, checksums, read_packet
from tienlen_agents.suite.table import AGENT, Suite, Track
from tienlen_env.engine.agent import Agent, check_plays
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import FloatArray, IntArray

REPEATS: Final = 4  # how often an agent that draws its actions is asked in the small games
WORK: Final = "work"  # folder of a run that has not ended
TOLERANCE: Final = 1.25  # a class of budget is refused by a replay only above this multiple


@dataclass(frozen=True, kw_only=True)
class Declaration(Config):
    """What whoever enters an agent says of it; a check cannot verify it.

    Attributes:
        name: of the agent on the leaderboard; empty: as it is loaded.
        authors: of the agent.
        licence: of the agent.
        kind: of agent.
        training: how it was trained, a sentence.
        hardware: that it was trained on.
        attempts: packets of this track that were made of versions of the agent, this one included.
    """

    name: str = setting("", FreeText())
    authors: str = setting("not stated", FreeText())
    licence: str = setting("not stated", FreeText())
    kind: Literal["rules", "search", "network", "network and search", "program", "other"] = "other"
    training: str = setting("none", FreeText())
    hardware: str = setting("none", FreeText())
    attempts: int = setting(1, COUNT)


@dataclass(frozen=True)
class Entry:
    """What is entered.

    Attributes:
        agent: what `tienlen_agents.load` makes it of.
        track: the track's name.
        suite: the suite.
        quick: the short form, without rank.
        declaration: see `Declaration`.
        secret: of held-out deals.
        budget: class of budget; None: the smallest one that holds the measured time.
    """

    agent: str
    track: str
    suite: Suite = SUITES["v1"]
    quick: bool = False
    declaration: Declaration = Declaration()
    secret: bytes | None = None
    budget: float | None = None


def run(
    entry: Entry,
    folder: Path,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Packet:
    """Play a track and write its packet; the same call goes on after a stop.

    Args:
        entry: what is entered.
        folder: of the packet; it may hold what an earlier call has played.
        workers: number of processes.
        executor: plays instead of `workers`.
        progress: of the rounds.

    Raises:
        ValueError: an agent that cannot play the track or forfeits too many rounds, an understated class of
            budget, an option.
        ArenaRunError: the folder holds another run.
        MissingExtraError: the track's ratings need a package that is not installed.
        OSError: it cannot be written.
    """
    suite, track = entry.suite, entry.suite.track(entry.track, quick=entry.quick)
    figures.require_ratings(track, quick=entry.quick)
    agent = tienlen_agents.load(entry.agent)
    tables = playable(track, agent)
    if entry.budget not in (None, *suite.budgets):
        raise ValueError(f"budget={entry.budget}: expected one of {list(suite.budgets)}")
    begin = time.perf_counter()
    made: dict[str, Any] = {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "forfeits": [],
        "decisions": 0,
    }
    made["units"] = units(agent, track.tables[tables[0]].variant)
    budget = budget_class(made["units"], suite.budgets) if entry.budget is None else entry.budget
    if budget and made["units"] > budget:
        raise ValueError(f"budget {budget:g}: the agent takes {made['units']:.3g} units a decision")
    if track.kind == "nash_conv":
        contents, found = _play_exact(track, agent)
    else:
        short = replace(track, tables=tuple(track.tables[index] for index in tables))
        results = dict(
            zip(tables, _play(entry, short, folder / WORK, workers, executor, progress), strict=True)
        )
        parts = [(result, 0) for result in results.values()]
        if failed := failed_agents([(entry.agent, parts)], f"track {track.name}", MAX_FORFEITS):
            raise ValueError(str(failed[0]))
        contents = {
            f"records/{index + 1:02}": "".join(f"{line}\n" for line in result.records).encode()
            for index, result in results.items()
        }
        every = [results.get(index) for index in range(len(track.tables))]
        found = figures.figures_of_rounds(track, every, quick=entry.quick)
        made["decisions"] = sum(int(result.played.decisions[0]) for result in results.values())
        made["forfeits"] = [
            [f.reason[:2000], f.num_rounds] for result in results.values() for f in result.played.forfeits[0]
        ]
        if track.regrets:
            contents["choices/01"] = _choices(track, agent)
            found |= regret_of(track, agent)
    made["seconds"] = round(time.perf_counter() - begin, 1)
    declared = asdict(entry.declaration)
    values = {
        "schema": SCHEMA,
        "suite": suite.name,
        "track_digest": suite.digest(track.name),
        "track": track.name,
        "quick": entry.quick,
        "held_out": held_out_digest(entry.secret),
        "agent": entry.agent,
        "agent_files": file_digests([entry.agent]),
        "declaration": {**{k: str(v) for k, v in declared.items()}, "name": declared["name"] or entry.agent},
        "budget": budget,
        "versions": versions(),
        "code": code_digest(),
        "contents": checksums(contents),
        "figures": found,
    }
    packet = Packet(values, contents, made)
    packet.write(folder)
    shutil.rmtree(folder / WORK, ignore_errors=True)
    return packet


def playable(track: Track, agent: Agent) -> list[int]:
    """The indices of the tables that an agent plays: all, or in a normalised score some.

    Raises:
        ValueError: the agent cannot enter the track.
    """
    found, refusal = [], ""
    for index, table in enumerate(track.tables):
        try:
            check_plays([agent], Batch(table.variant, 1))
            found.append(index)
        except ValueError as error:
            refusal = str(error)
    if not found or (refusal and track.kind != "normalised"):
        raise ValueError(f"track {track.name}: {refusal}. {track.cannot}".rstrip())
    return found


def _play(
    entry: Entry,
    track: Track,
    work: Path,
    workers: int,
    executor: Executor | None,
    progress: Progress | None,
) -> list[MatchResult]:
    """The results of the tables, with all records."""
    panel = list(dict.fromkeys(name for table in track.tables for name in table.opponents))
    entrants = [entry.agent, *(entry.suite.panel[name].agent for name in panel)]
    loaded = [tienlen_agents.load(entry.agent), *panel_agents(entry.suite, panel)]
    match_ups: list[MatchUp] = []
    for table in track.tables:
        seated = (0, *(1 + panel.index(name) for name in table.opponents))
        match_ups.append(table.match_up._replace(seated=seated))
    most = max(table.players for table in track.tables) * track.num_deals
    return play_match_ups(
        match_ups,
        entrants,
        loaded,
        num_deals=track.num_deals,
        seed=seed_for(track, entry.secret),
        deals_per_job=track.deals_per_job,
        blunder_deals=track.num_deals if track.kind == "endings" else 0,
        records=most * len(track.tables) * 6,  # more than there are in any seating
        workers=workers,
        executor=executor,
        out=work,
        progress=progress,
    )


def _policy(tree: Tree, agent: Agent) -> FloatArray:
    """The agent's policy in a small game; one that draws is asked several times."""
    try:
        return policy_of(tree, agent)
    except PolicyError:
        return policy_of(tree, agent, repeats=REPEATS)


def _play_exact(track: Track, agent: Agent) -> tuple[dict[str, bytes], dict[str, Any]]:
    contents, measured = {}, []
    for index, table in enumerate(track.tables):
        tree = tree_of(table)
        policy = _policy(tree, agent)
        contents[f"policies/{index + 1:02}"] = policy.astype("<f8").tobytes()
        measured.append(measure(tree, policy))
    return contents, figures.nash_conv_figures(track, measured)


def _choices(track: Track, agent: Agent) -> bytes:
    decisions, _ = judged_decisions(track.regrets)
    agent.reset(0)
    chosen: IntArray = np.asarray(agent.act(View(decisions)))
    return "".join(f"{action}\n" for action in chosen.tolist()).encode()


# ---------------------------------------------------------------- replay


def replay(
    folder: Path,
    seed: int,
    *,
    agent: str = "",
    jobs: int = 4,
    secret: bytes | None = None,
    suites: dict[str, Suite] = SUITES,
    on_job: Callable[[str], None] = lambda title: None,
) -> int:
    """Play a sample of a packet's jobs again, decision by decision, and measure the budget again.

    Args:
        folder: of the packet, which `check` has accepted.
        seed: draws the jobs; it should not have been known when the packet was made.
        agent: what the agent is loaded from here, if its files have another path; empty: as in the packet.
        jobs: how many, of all tables.
        secret: of held-out deals.
        suites: the known ones.
        on_job: called with each job before it is played.

    Returns:
        The number of rounds that were the same.

    Raises:
        PacketError: the agent plays otherwise, or is slower than the packet says.
        ValueError: the agent cannot be loaded.
    """
    packet = read_packet(folder)
    values = packet.values
    suite = suites[values["suite"]]
    track = suite.track(values["track"], quick=values["quick"])
    text = agent or values["agent"]
    loaded = tienlen_agents.load(text)
    if sorted(file_digests([text]).values()) != sorted(values["agent_files"].values()):
        raise PacketError("agent_files: other files than those that made the packet")
    found = units(loaded, track.tables[playable(track, loaded)[0]].variant)
    if values["budget"] and found > TOLERANCE * values["budget"]:
        raise PacketError(f"budget understated: {found:.3g} units a decision, not {values['budget']:g}")
    if track.kind == "nash_conv":
        for index, table in enumerate(track.tables):
            on_job(table.title)
            content = _policy(tree_of(table), loaded).astype("<f8").tobytes()
            if content != packet.contents[f"policies/{index + 1:02}"]:
                raise PacketError(f"policies/{index + 1:02}: the agent has another policy")
        return 0
    if "choices/01" in packet.contents:
        on_job("judged decisions")
        if _choices(track, loaded) != packet.contents["choices/01"]:
            raise PacketError("choices/01: the agent chooses otherwise")
    deals = seed_for(track, secret)
    every = [
        (index, job)
        for index, table in enumerate(track.tables)
        if f"records/{index + 1:02}" in packet.contents
        for job in track.jobs(table, deals)
    ]
    order = np.argsort(SeedSequence(seed).generate_state(len(every), np.uint64), kind="stable")
    drawn = [every[index] for index in sorted(order[:jobs].tolist())]
    return sum(_play_again(packet, suite, track, loaded, one, on_job) for one in drawn)


def _play_again(
    packet: Packet,
    suite: Suite,
    track: Track,
    agent: Agent,
    drawn: tuple[int, Job],
    on_job: Callable[[str], None],
) -> int:
    """Play a job and compare its records; the number of rounds."""
    index, job = drawn
    table, name = track.tables[index], f"records/{index + 1:02}"
    on_job(f"{table.title}, deals {job.first_deal + 1} to {job.first_deal + job.num_deals}")
    agents = [agent, *panel_agents(suite, table.opponents)]
    warm_up(agents, job.rules)
    again = play_chunk(agents, job).records
    first = job.first_deal * (len(again) // job.num_deals)
    lines = packet.contents[name].decode("ascii", "replace").split("\n")
    for number, (said, found) in enumerate(zip(islice(lines, first, None), again, strict=False)):
        if said != found:
            raise PacketError(
                f"{name}, line {first + number + 1}: played again, the round is another one. An {AGENT} that "
                f"is not a function of its seed stays on the level 'community'. Here: {said!r:.120}; "
                f"again: {found!r:.120}"
            )
    return len(again)
