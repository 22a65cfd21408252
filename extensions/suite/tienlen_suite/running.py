"""`run` makes a packet; `replay` plays a drawn sample of one again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.random import SeedSequence

import tienlen_agents
from tienlen_agents.arena.chunk import play_chunk
from tienlen_agents.arena.play import warm_up
from tienlen_agents.arena.result import MAX_FORFEITS, MatchResult, failed_agents
from tienlen_agents.arena.run import CHUNKS_FILE, Progress, play_match_ups
from tienlen_agents.arena.store import ArenaRunError, file_digests, stored_seed_key
from tienlen_agents.command import code_digest, versions
from tienlen_agents.executors import Executor
from tienlen_agents.external.seeds import seed_key_of, set_seed_key
from tienlen_agents.settings import COUNT_OR_NONE, Choice, ExistingFile, FreeText, setting, settings_of
from tienlen_env.engine.agent import Agent, check_plays, choose
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_exact.policies import policy_of
from tienlen_exact.small_tienlen import PolicyError
from tienlen_suite import figures
from tienlen_suite.budget import budget_class, units
from tienlen_suite.checking import (
    SUITES,
    exact_figures,
    held_out_digest,
    judged_decisions,
    panel_agents,
    read_secret,
    regret_figures,
    seed_for,
    tree_of,
)
from tienlen_suite.packet import (
    PACKET,
    SCHEMA,
    Declaration,
    Packet,
    PacketError,
    check_declaration,
    checksums,
    read_packet,
    read_values,
)
from tienlen_suite.table import AGENT, Suite, SuiteTable, Track

REPEATS: Final = 4  # how often an agent that draws its actions is asked in the small games
WORK: Final = "work"  # folder of a run that has not ended
TOLERANCE: Final = 1.25  # a class of budget is refused by a replay only above this multiple


@dataclass(frozen=True, kw_only=True)
class Entry(Declaration):
    """What an agent is entered for, and what is said of it.

    Attributes:
        suite: the suite.
        track: of the suite, see list.
        quick: few deals against the fast panel: a packet without a rank.
        budget: class of budget, 0 for no limit; left out: the smallest that holds the measured time.
        secret: the file of a secret seed, for held-out deals.
    """

    suite: str = setting("v1", Choice(lambda: SUITES))
    track: str = setting("A", FreeText("a track"))
    quick: bool = False
    budget: float | None = setting(None, COUNT_OR_NONE)
    secret: str | None = setting(None, ExistingFile())


def run(
    agent: str,
    entry: Entry,
    folder: Path,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Packet:
    """Play a track and write its packet; the same call goes on after a stop.

    Args:
        agent: what `tienlen_agents.load` makes it of.
        entry: see `Entry`.
        folder: of the packet; it may hold what an earlier call has played.
        workers: number of processes.
        executor: plays instead of `workers`.
        progress: of the rounds.

    Raises:
        ValueError: an agent that cannot play the track or forfeits too many seats of rounds, an understated
            class of budget, an option.
        ArenaRunError: the folder holds another run, or the packet of one.
        PacketError: it holds a packet that is damaged.
        MissingExtraError: the track's ratings need a package that is not installed.
        OSError: it cannot be written.
    """
    begin, created = time.perf_counter(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    suite, secret = SUITES[entry.suite], read_secret(entry.secret)
    track = suite.track(entry.track, quick=entry.quick)
    figures.require_ratings(track, quick=entry.quick)
    task = {"suite": suite.name, "track": track.name, "quick": entry.quick, "agent": agent}
    task["held_out"] = held_out_digest(secret)
    if (folder / PACKET).exists() and not task.items() <= read_values(folder).items():
        raise ArenaRunError(f"{folder} holds the packet of another run: it is kept, start elsewhere (--out)")
    declared = {name: str(getattr(entry, name)) for name in settings_of(Declaration)}
    declared["name"] = entry.name or agent
    check_declaration({"declaration": declared, "agent": agent})
    loaded = tienlen_agents.load(agent)
    key = seed_key_of([loaded], stored=stored_seed_key(folder / WORK / CHUNKS_FILE))
    set_seed_key([loaded], key)
    names = playable(track, loaded)
    if entry.budget not in (None, *suite.budgets):
        raise ValueError(f"budget={entry.budget}: expected one of {list(suite.budgets)}")
    measured = units(loaded, track.contents[names[0]].variant)
    budget = budget_class(measured, suite.budgets) if entry.budget is None else entry.budget
    if budget and measured > budget:
        raise ValueError(f"budget {budget:g}: the agent takes {measured:.3g} units a decision")
    results: dict[str, MatchResult] = {}
    contents = _alone(track, loaded)
    if track.kind == "nash_conv":
        found = exact_figures(track, contents)
    else:
        played = _play(
            suite,
            replace(track, tables=tuple(track.contents[name] for name in names)),
            agent,
            seed=seed_for(track, secret),
            seed_key=key,
            out=folder / WORK,
            workers=workers,
            executor=executor,
            progress=progress,
        )
        results = dict(zip(names, played, strict=True))
        parts = [(result, 0) for result in played]
        if failed := failed_agents([(agent, parts)], f"track {track.name}", MAX_FORFEITS):
            raise ValueError(str(failed[0]))
        found = figures.figures_of_rounds(
            track, [results.get(name) for name in track.contents], quick=entry.quick
        )
        if track.regrets:
            found |= regret_figures(track, contents["choices/01"])
    contents |= {name: _lines(result.records) for name, result in results.items()}
    values = {
        "schema": SCHEMA,
        "track_digest": suite.digest(track.name),
        **task,
        "agent_files": file_digests([agent]),
        **({"seed_key": key} if key else {}),
        "declaration": declared,
        "budget": budget,
        "versions": versions(),
        "code": code_digest(),
        "contents": checksums(contents),
        "figures": found,
    }
    forfeits = [f for result in results.values() for f in result.played.forfeits[0]]
    made = {
        "created": created,
        "units": measured,
        "seconds": round(time.perf_counter() - begin, 1),
        "decisions": sum(int(result.played.decisions[0]) for result in results.values()),
        "forfeits": [[one.reason[:2000], one.num_seats] for one in forfeits],
    }
    packet = Packet(values, contents, made)
    packet.write(folder)
    shutil.rmtree(folder / WORK, ignore_errors=True)
    return packet


def playable(track: Track, agent: Agent) -> list[str]:
    """The contents whose tables an agent plays: all, or in a normalised score some.

    Raises:
        ValueError: the agent cannot enter the track.
    """
    found, refusal = [], ""
    for name, table in track.contents.items():
        try:
            check_plays([agent], Batch(table.variant, 1))
            found.append(name)
        except ValueError as error:
            refusal = str(error)
    if not found or (refusal and track.kind != "normalised"):
        raise ValueError(f"track {track.name}: {refusal}. {track.cannot}".rstrip())
    return found


def _play(suite: Suite, track: Track, agent: str, **options: Any) -> list[MatchResult]:
    """The results of the tables, with all records."""
    panel = track.members
    match_ups = [
        table.match_up._replace(seated=(0, *(1 + panel.index(name) for name in table.opponents)))
        for table in track.tables
    ]
    most = max(table.players for table in track.tables) * track.num_deals
    return play_match_ups(
        match_ups,
        [agent, *(suite.panel[name].agent for name in panel)],
        [tienlen_agents.load(agent), *panel_agents(suite, panel)],
        num_deals=track.num_deals,
        deals_per_job=track.deals_per_job,
        blunder_deals=track.num_deals if track.kind == "endings" else 0,
        records=most * len(track.tables) * 6,  # more than there are in any seating
        **options,
    )


def _alone(track: Track, agent: Agent) -> dict[str, bytes]:
    """The contents without rounds: an agent's policies in small games, its choices in judged decisions."""
    if track.kind == "nash_conv":
        return {name: _policy(table, agent) for name, table in track.contents.items()}
    if not track.regrets:
        return {}
    agent.reset(0)
    chosen = choose(agent, View(judged_decisions(track.regrets)[0]))
    return {"choices/01": _lines(chosen.tolist())}


def _policy(table: SuiteTable, agent: Agent) -> bytes:
    tree = tree_of(table)
    try:
        policy = policy_of(tree, agent)
    except PolicyError:  # it draws its actions
        policy = policy_of(tree, agent, repeats=REPEATS)
    return policy.astype("<f8").tobytes()


def _lines(values: Iterable[object]) -> bytes:
    return "".join(f"{value}\n" for value in values).encode()


# ---------------------------------------------------------------- replay


def replay(
    folder: Path,
    seed: int,
    *,
    agent: str = "",
    jobs: int = 4,
    secret: bytes | None = None,
    on_job: Callable[[str], None] = lambda title: None,
) -> int:
    """Play a sample of a packet's jobs again, decision by decision, and measure the budget again.

    Args:
        folder: of the packet, which `check` has accepted.
        seed: draws the jobs; it should not have been known when the packet was made.
        agent: what the agent is loaded from here, if its files have another path; empty: as in the packet.
        jobs: how many, of all tables.
        secret: of held-out deals.
        on_job: called with each job before it is played.

    Returns:
        The number of rounds that were the same.

    Raises:
        PacketError: the agent plays otherwise, or is slower than the packet says.
        ValueError: the agent cannot be loaded.
    """
    packet = read_packet(folder)
    values = packet.values
    suite = SUITES[values["suite"]]
    track = suite.track(values["track"], quick=values["quick"])
    text, key = agent or values["agent"], values.get("seed_key", "")
    loaded = tienlen_agents.load(text)
    set_seed_key([loaded], key)
    if sorted(file_digests([text]).values()) != sorted(values["agent_files"].values()):
        raise PacketError("agent_files: other files than those that made the packet")
    found = units(loaded, track.contents[playable(track, loaded)[0]].variant)
    if values["budget"] and found > TOLERANCE * values["budget"]:
        raise PacketError(f"budget understated: {found:.3g} units a decision, not {values['budget']:g}")
    for name, content in _alone(track, loaded).items():
        if content != packet.contents[name]:
            raise PacketError(f"{name}: the agent has another policy")
    every = [
        (name, job)
        for name, table in track.contents.items()
        if name in packet.contents
        for job in track.jobs(table, seed_for(track, secret))
    ]
    order = np.argsort(SeedSequence(seed).generate_state(len(every), np.uint64), kind="stable")
    rounds = 0
    for name, job in [every[index] for index in sorted(order[:jobs].tolist())]:
        table = track.contents[name]
        on_job(f"{table.title}, deals {job.first_deal + 1} to {job.first_deal + job.num_deals}")
        agents = [loaded, *panel_agents(suite, table.opponents)]
        warm_up(agents, job.rules)
        again = play_chunk(agents, replace(job, seed_key=key)).records
        first = job.first_deal * (len(again) // job.num_deals)
        lines = packet.contents[name].decode("ascii", "replace").split("\n")[first:]
        for number, (said, played) in enumerate(zip(lines, again, strict=False), start=first + 1):
            if said != played:
                raise PacketError(
                    f"{name}, line {number}: played again, the round is another one. An {AGENT} that is not "
                    f"a function of its seed stays on the level 'community'. Here: {said!r:.120}; "
                    f"again: {played!r:.120}"
                )
        rounds += len(again)
    return rounds
