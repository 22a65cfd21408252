"""`check`: computes everything in a packet again from its records. Nothing in it is believed.

- every record is a legal round by the suite's rules, with the suite's deals, in the suite's order;
- every decision of a quick member of the panel is its own, and of a slow one in a sample that the records
  themselves draw: whoever changes a move draws another sample;
- every figure follows from the records; the class of budget follows from the measured time.

It cannot see whether the agent's own moves are the agent's: `replay` plays them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.random import SeedSequence

import tienlen_agents
from tienlen_agents.arena.chunk import BlunderCounter, Chunk, Games, Job, chunk_of, games_of, seed_of
from tienlen_agents.arena.play import Played, batch_for
from tienlen_agents.arena.regret import Judgement, judged, regret
from tienlen_agents.arena.result import MatchResult
from tienlen_agents.endgame import can_solve
from tienlen_agents.exact.policies import measure
from tienlen_agents.exact.small_tienlen import PolicyError, small_game
from tienlen_agents.exact.tree import Tree, build
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_agents.records import plays_of, read_round
from tienlen_agents.suite import figures, v1
from tienlen_agents.suite.packet import PacketError, checksums, read_packet
from tienlen_agents.suite.table import AGENT, Suite, Table, Track
from tienlen_env.engine.agent import Agent, CardAgent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.rendering.view import printable

SUITES: Final[dict[str, Suite]] = {v1.SUITE.name: v1.SUITE}
THRESHOLD: Final = 0.3  # of the share of regrets
JUDGED: Final = Path(__file__).parent
JUDGEMENT: Final = Judgement(
    decisions=1000, worlds=200, player="champion:file=tienlen-general-v4,worlds=0", seed=43
)


class Checked(NamedTuple):
    """What a check did.

    Attributes:
        figures: of the packet, computed again.
        rounds: number of rounds that were read.
        decisions: decisions of the panel that were computed again.
    """

    figures: dict[str, Any]
    rounds: int
    decisions: int


def seed_for(track: Track, secret: bytes | None) -> int:
    """The seed of a track's deals: the published one, or that of a secret."""
    if secret is None:
        return track.seed
    return int.from_bytes(hashlib.sha256(secret + track.name.encode()).digest()[:7], "big")


def held_out_digest(secret: bytes | None) -> str:
    """What a packet says of a secret: its SHA-256; empty for the published deals."""
    return "" if secret is None else hashlib.sha256(secret).hexdigest()


def panel_agents(suite: Suite, names: Sequence[str]) -> list[Agent]:
    """Members of the panel.

    Raises:
        ValueError: a file of weights is not the one of the suite.
    """
    for name in names:
        for file, wanted in suite.panel[name].weights:
            if hashlib.sha256((WEIGHTS / file).read_bytes()).hexdigest() != wanted:
                raise ValueError(f"{file}: not the weights of suite {suite.name}")
    return [tienlen_agents.load(suite.panel[name].agent) for name in names]


def content_names(track: Track) -> list[str]:
    """The names of a packet's contents."""
    kind = "policies" if track.kind == "nash_conv" else "records"
    names = [f"{kind}/{index + 1:02}" for index in range(len(track.tables))]
    return [*names, "choices/01"] if track.regrets else names


def check(
    folder: Path,
    *,
    secret: bytes | None = None,
    suites: dict[str, Suite] = SUITES,
    on_table: Callable[[str], None] = lambda title: None,
) -> Checked:
    """Check a packet.

    Args:
        folder: of the packet.
        secret: of held-out deals.
        suites: the known ones.
        on_table: called with the title of each table before it is checked.

    Raises:
        PacketError: what is wrong, and where.
        MissingExtraError: the track's ratings need a package that is not installed.
        OSError: it cannot be read.
    """
    packet = read_packet(folder)
    values = packet.values
    suite = suites.get(values["suite"])
    if suite is None:
        raise PacketError(f"suite {values['suite']!r}: expected one of {', '.join(suites)}")
    if values["track"] not in suite.tracks:
        raise PacketError(f"track {values['track']!r}: suite {suite.name} has {', '.join(suite.tracks)}")
    if values["track_digest"] != suite.digest(values["track"]):
        raise PacketError(f"track_digest: not that of suite {suite.name}: another table, or other rules")
    track = suite.track(values["track"], quick=values["quick"])
    figures.require_ratings(track, quick=values["quick"])
    if values["held_out"] != held_out_digest(secret):
        what = "held-out deals: expected their secret" if values["held_out"] else "expected held-out deals"
        raise PacketError(f"held_out: {what}" if secret is None else "held_out: not the deals of this secret")
    names, expected = set(values["contents"]), content_names(track)
    # An agent need not play every game of a normalised score.
    if not names or not names <= set(expected) or (len(names) < len(expected) and track.kind != "normalised"):
        raise PacketError(f"contents: expected {', '.join(expected)}")
    if missing := [name for name in ("python", "machine", "numpy") if name not in values["versions"]]:
        raise PacketError(f"versions: {missing[0]} is missing")
    if missing := [name for name in DECLARED if name not in values["declaration"]]:
        raise PacketError(f"declaration: {missing[0]} is missing")
    if values["budget"] not in suite.budgets:
        raise PacketError(f"budget {values['budget']}: expected one of {list(suite.budgets)}")
    if values["budget"] and packet.run["units"] > values["budget"]:
        raise PacketError(
            f"budget understated: {packet.run['units']:.3g} units a decision were measured, "
            f"more than the class of {values['budget']:g}"
        )
    reader = _Reader(suite, track, seed_for(track, secret), packet.contents)
    if track.kind == "nash_conv":
        found = figures.nash_conv_figures(track, [measure(*reader.policy(i, on_table)) for i in reader.all])
    else:
        results = [reader.result(index, on_table) for index in reader.all]
        found = figures.figures_of_rounds(track, results, quick=values["quick"])
        if "choices/01" in packet.contents:
            on_table("judged decisions")
            found |= regret_of(track, _Choices(packet.contents["choices/01"]))
        if packet.run["decisions"] != reader.own_decisions:
            raise PacketError(
                f"run.json: decisions: it says {packet.run['decisions']}, the records have "
                f"{reader.own_decisions}"
            )
    if difference := figures.first_difference(values["figures"], found):
        raise PacketError(difference)
    return Checked(found, reader.rounds, reader.recomputed)


DECLARED: Final = ("name", "authors", "licence", "kind", "training", "hardware", "attempts")


@lru_cache(maxsize=4)
def tree_of(table: Table) -> Tree:
    """The tree of a small game."""
    return build(small_game(table.rules, table.players))


@dataclass
class _Reader:
    """Reads the contents of a packet, table by table."""

    suite: Suite
    track: Track
    seed: int
    contents: dict[str, bytes]
    rounds: int = 0
    recomputed: int = 0
    own_decisions: int = 0
    draw: int = field(init=False)

    def __post_init__(self) -> None:
        """The records draw the sample."""
        text = "".join(checksums(self.contents).values())
        self.draw = int(hashlib.sha256(text.encode()).hexdigest(), 16)

    @property
    def all(self) -> range:
        """The indices of the tables."""
        return range(len(self.track.tables))

    def policy(self, index: int, on_table: Callable[[str], None]) -> tuple[Tree, FloatArray]:
        """A small game and the policy of the agent there."""
        table, name = self.track.tables[index], f"policies/{index + 1:02}"
        on_table(table.title)
        tree, content = tree_of(table), self.contents[name]
        if len(content) != 8 * tree.num_edges:
            raise PacketError(f"{name}: expected {tree.num_edges} probabilities")
        try:
            measure(tree, found := np.frombuffer(content, "<f8").astype(np.float64))
        except PolicyError as error:
            raise PacketError(f"{name}: {error}") from None
        return tree, found

    def result(self, index: int, on_table: Callable[[str], None]) -> MatchResult | None:
        """The result of a table, from its records; None if the agent does not play it."""
        table, name = self.track.tables[index], f"records/{index + 1:02}"
        if name not in self.contents:
            return None
        on_table(table.title)
        match_up = table.match_up
        text = self.contents[name].decode("ascii", "replace")
        lines, jobs = text.split("\n"), list(self.track.jobs(table, self.seed))
        expected = sum(job.num_records for job in jobs)
        if lines.pop() or len(lines) != expected:
            raise PacketError(f"{name}: expected {expected} records, one a line")
        agents = panel_agents(self.suite, table.opponents)
        is_slow = [False, *(self.suite.panel[opponent].is_slow for opponent in table.opponents)]
        chunks, at = [], 0
        for job in jobs:
            words = SeedSequence(self.draw, spawn_key=(index, job.first_deal))
            sample = Sample(is_slow, self.suite.sample, words)
            own = JobRecords(f"{name} ({table.title})", job, lines[at : at + job.num_records], at)
            chunk, count = follow(own, [None, *agents], sample)
            chunks.append(chunk)
            at += job.num_records
            self.recomputed += count
        self.rounds += expected
        joined = Chunk.joined(chunks, 0)
        self.own_decisions += int(joined.decisions[0])
        return MatchResult(match_up.names, match_up.lineup, match_up.rules, self.seed, None, joined, 0.0)


class JobRecords(NamedTuple):
    """The records of a job.

    Attributes:
        where: for errors.
        job: what was played.
        lines: its records.
        first: number of records of the table before them.
    """

    where: str
    job: Job
    lines: list[str]
    first: int

    def place(self, game: int) -> str:
        """The place of a game in the packet."""
        return f"{self.where}, line {self.first + game + 1}"


class Sample(NamedTuple):
    """The decisions of slow agents that are computed again.

    Attributes:
        is_slow: E times whether an agent is slow.
        share: of their decisions.
        words: draws them.
    """

    is_slow: Sequence[bool]
    share: float
    words: SeedSequence


def read_plays(records: JobRecords, games: Games) -> tuple[IntArray, IntArray]:
    """The actions and the cards of some records, int64 (T, B); an action below 0: the round is over.

    Raises:
        PacketError: a record is not a complete, legal round of its deal, written as records are.
    """
    rounds = []
    for game, (line, key) in enumerate(zip(records.lines, games.keys.tolist(), strict=True)):
        try:
            played = read_round(line, records.job.rules)
        except (TienLenError, ValueError) as error:
            raise PacketError(f"{records.place(game)}: not a legal round: {printable(str(error))}") from None
        if (played.key, played.round_index, played.leader) != (key, 0, None):
            raise PacketError(f"{records.place(game)}: not the suite's deal: another seed or order of deals")
        if played.record() != line:
            raise PacketError(f"{records.place(game)}: expected the record {played.record()!r}")
        rounds.append(played)
    return plays_of(rounds)


def follow(records: JobRecords, agents: Sequence[Agent | None], sample: Sample) -> tuple[Chunk, int]:
    """Play the records of a job, and ask the panel for its decisions.

    Args:
        records: of the job.
        agents: E; None for an agent whose decisions are taken as they are.
        sample: of the decisions of slow agents.

    Returns:
        The chunk that the arena would have made, without times; and the number of decisions that were
        computed again.

    Raises:
        PacketError: a record that is not of this job, or a decision that is not the agent's.
    """
    job = records.job
    games = games_of(job)
    actions, cards = read_plays(records, games)
    present = [agent for agent in agents if agent is not None]
    for index, agent in enumerate(agents):
        if agent is not None:
            agent.reset(seed_of(job, index))
    batch = batch_for(present, job.rules, len(games.keys), job.history)
    batch.deal(games.keys)
    words = sample.words.generate_state(actions.size).reshape(actions.shape) < sample.share * 2**32
    counter = None
    if job.blunder_deals and can_solve(job.rules):
        counter = BlunderCounter(job.rules, job.num_deals, games.num_per_deal, len(agents))
    decisions, recomputed = np.zeros(len(agents), np.int64), 0
    for step, (chosen, exact) in enumerate(zip(actions, cards, strict=True)):
        running = np.flatnonzero(batch.state.turn >= 0)
        to_move = games.seats[running, batch.state.turn[running]]
        for index, agent in enumerate(agents):
            mine = running[to_move == index]
            decisions[index] += len(mine)
            if index == 0 and counter is not None and mine.size:
                counter(index, View(batch, mine), chosen[mine])
            if agent is not None and sample.is_slow[index]:
                mine = mine[words[step, mine]]
            if agent is not None and mine.size:
                recomputed += len(mine)
                _compare(records, step, agent, View(batch, mine), (chosen[mine], exact[mine]))
        batch.step(chosen, exact)
    units = batch.balances() if batch.has_payments else None
    played = Played(
        batch.state.places.copy(),
        batch.scores(),
        units,
        decisions,
        np.zeros(len(agents)),
        ((),) * len(agents),
    )
    blunders = np.zeros((0, len(agents), 2), np.int64) if counter is None else counter.counts
    return chunk_of(job, games, played, blunders), recomputed


def _compare(
    records: JobRecords, step: int, agent: Agent, view: View, said: tuple[IntArray, IntArray]
) -> None:
    """Compare an agent's decisions with those of the records."""
    if isinstance(agent, CardAgent):
        actions, cards = (np.asarray(found) for found in agent.act_cards(view))
    else:
        actions = np.asarray(agent.act(view))
        cards = view.cards_of(actions)
    wrong = np.flatnonzero((actions != said[0]) | (cards != said[1]))
    if wrong.size:
        at = int(wrong[0])
        batch, _ = view.source
        texts = [batch.action_to_text(int(found[at])) for found in (said[0], actions)]
        raise PacketError(
            f"{records.place(int(view.games[at]))}, play {step + 1}: the panel's moves were changed: "
            f"{agent.name} plays {texts[1]} there, not {texts[0]}"
        )


# ---------------------------------------------------------------- judged decisions


class _Choices:
    """An agent that answers with the choices of a packet."""

    name = AGENT

    def __init__(self, content: bytes) -> None:
        self._lines = content.decode("ascii", "replace").split("\n")

    def reset(self, seed: int) -> None:
        """Nothing to reset."""

    def act(self, view: View) -> IntArray:
        """The choices, if they are legal."""
        legal = view.legal_actions
        lines = self._lines[:-1]
        if self._lines[-1] or len(lines) != len(view) or not all(map(str.isdecimal, lines)):
            raise PacketError(f"choices/01: expected {len(view)} actions, one a line")
        chosen = np.array([int(line[:9]) for line in lines], np.int64)
        is_legal = np.zeros(len(view), bool)
        np.logical_or.at(is_legal, legal.game, legal.action == chosen[legal.game])
        if not is_legal.all():
            raise PacketError(f"choices/01, line {int(np.flatnonzero(~is_legal)[0]) + 1}: not a legal action")
        return chosen


@lru_cache(maxsize=1)
def judged_decisions(checksum: str) -> tuple[Batch, list[FloatArray]]:
    """The decisions and the regrets of all their actions, from the suite's file.

    Args:
        checksum: SHA-256 of the file.

    Raises:
        ValueError: another file.
    """
    if hashlib.sha256((JUDGED / "judged.json").read_bytes()).hexdigest() != checksum:
        raise ValueError(f"{JUDGED / 'judged.json'}: not the judged decisions of the suite")
    return judged(JUDGEMENT, JUDGED)


def regret_of(track: Track, agent: Agent) -> dict[str, Any]:
    """The regret of an agent's choices in the judged decisions."""
    return figures.regret_figures(regret(agent, *judged_decisions(track.regrets), THRESHOLD))
