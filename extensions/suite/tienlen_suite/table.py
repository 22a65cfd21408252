"""A suite as data: tracks, panel, classes of budget. `v1` is the first one.

A track never changes: `Suite.digest` covers every value here, the digests of the rules and those of the
panel's files. A new version is a new table. A new track may join: the others keep their digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

from tienlen_agents.arena.chunk import Job
from tienlen_agents.arena.lineup import blocks
from tienlen_agents.arena.match import make_match_up
from tienlen_agents.arena.run import MatchUp
from tienlen_env.errors import expected_one_of
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules

AGENT: Final = "agent"  # the submitted agent, in the names of a table
TableKind = Literal["points", "normalised", "nash_conv", "endings"]


@dataclass(frozen=True)
class PanelMember:
    """An agent of the panel.

    Attributes:
        agent: what `tienlen_agents.load` makes it of.
        weights: SHA-256 of its file of weights, by the file's name; empty if it has none.
        is_slow: a sample of its decisions is computed again by a check, not all of them.
    """

    agent: str
    weights: tuple[tuple[str, str], ...] = ()
    is_slow: bool = False


@dataclass(frozen=True)
class SuiteTable:
    """Who plays with the agent, under which rules.

    Attributes:
        rules: a preset's name.
        players: P.
        opponents: names of the panel: one for all other seats, or one for each of them.
        zero: the result that counts as 0 in a normalised score: that of `random` there.
        one: the result that counts as 1: that of the opponents among themselves.
    """

    rules: str
    players: int
    opponents: tuple[str, ...] = ()
    zero: float = 0.0
    one: float = 1.0

    @property
    def variant(self) -> AnyRules:
        """The rules, with their number of players."""
        return get_rules(self.rules, self.players)

    @property
    def match_up(self) -> MatchUp:
        """The match-up; the agent has index 0, the opponents follow in their order."""
        slots = [0, *(1 + seat % len(self.opponents) for seat in range(self.players - 1))]
        names = (AGENT, *self.opponents)
        return make_match_up(range(len(names)), names, slots, self.variant)

    @property
    def title(self) -> str:
        """``"cardgames, 4 players: agent v. 3 × greedy"``."""
        others = self.opponents
        against = f"{self.players - 1} × {others[0]}" if len(others) == 1 else ", ".join(others)
        against = against.removeprefix("1 × ")
        return f"{self.rules}, {self.players} players" + (f": {AGENT} v. {against}" if others else "")


@dataclass(frozen=True)
class Track:
    """A part of a suite that an agent enters.

    Attributes:
        name: a letter.
        title: what it is, a few words.
        kind: what is measured: points, a score of several games, NashConv, or play in endings.
        tables: all have the same deals.
        num_deals: D, of each table.
        deals_per_job: deals that are played at a time, after which all agents are reset.
        seed: of deals and agents.
        quick: number of deals of ``--quick``, where tables with slow opponents are left out.
        regrets: SHA-256 of the judged decisions; empty: the track has none.
        cannot: agents that cannot enter, and why.
    """

    name: str
    title: str
    kind: TableKind
    tables: tuple[SuiteTable, ...]
    num_deals: int = 0
    deals_per_job: int = 64
    seed: int = 0
    quick: int = 64
    regrets: str = ""
    cannot: str = ""

    @property
    def contents(self) -> dict[str, SuiteTable]:
        """The table of each content of a packet, by the content's name; judged choices have none."""
        kind = "policies" if self.kind == "nash_conv" else "records"
        return {f"{kind}/{number:02}": table for number, table in enumerate(self.tables, start=1)}

    @property
    def members(self) -> list[str]:
        """The members of the panel that play, each once."""
        return list(dict.fromkeys(name for table in self.tables for name in table.opponents))

    def jobs(self, table: SuiteTable, seed: int) -> Iterator[Job]:
        """What is played at a table, in the order of its records."""
        for first in range(0, self.num_deals, self.deals_per_job):
            match_up, number = table.match_up, min(self.deals_per_job, self.num_deals - first)
            yield Job(
                match_up.lineup,
                match_up.rules,
                seed,
                first,
                number,
                blunder_deals=self.num_deals if self.kind == "endings" else 0,
                deals_per_job=self.deals_per_job,
                num_records=number * blocks(match_up.lineup).shape[1],
            )


@dataclass(frozen=True)
class Suite:
    """A suite.

    Attributes:
        name: ``"v1"``.
        tracks: by name.
        panel: by name.
        budgets: upper ends of the classes of budget, in units of a decision (`budget`), 0 for no limit.
        sample: share of the decisions of slow agents that a check computes again.
    """

    name: str
    tracks: dict[str, Track]
    panel: dict[str, PanelMember]
    budgets: tuple[float, ...]
    sample: float

    def digest(self, name: str) -> str:
        """SHA-256 of a track's values but texts for people, of its rules, its panel and the budgets."""
        track = asdict(self.tracks[name])
        del track["title"], track["cannot"]
        panel = {member: asdict(self.panel[member]) for member in self.tracks[name].members}
        rules = {table.title: table.variant.digest() for table in self.tracks[name].tables}
        values = (self.name, track, panel, self.budgets, self.sample, rules)
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def track(self, name: str, *, quick: bool = False) -> Track:
        """A track, or its short form.

        Raises:
            ValueError: there is none of that name.
        """
        if name not in self.tracks:
            raise ValueError(f"track {name!r}: {expected_one_of(name, self.tracks)}")
        track = self.tracks[name]
        if not quick:
            return track
        fast = tuple(t for t in track.tables if not any(self.panel[o].is_slow for o in t.opponents))
        return replace(track, tables=fast, num_deals=min(track.quick, track.num_deals))
