"""Results: of a match-up, of a league, and of a whole run. Data only; `report.Report` adds the outputs.

An agent has failed if it is a program that forfeited too many of its seats of rounds. A fixed rule plays
forfeited seats, and it plays badly. If a tenth of its seats are forfeited, an average agent loses about 0.15
of its 1.5 points: more than the interval of an ordinary match. So above `MAX_FORFEITS` the figures of a
match-up show the failures rather than the play of its agents, also for the opponents. Commands then end with
exit code 1, and a league does not rate the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tienlen_agents.arena.chunk import Chunk
from tienlen_agents.arena.lineup import Permutations, blocks, title_of
from tienlen_agents.arena.play import Forfeits, Latency, by_reason
from tienlen_agents.arena.stats import Estimate, bootstrap_interval, estimate, ratio_estimate, variance_ratio
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.texts import printable

MAX_FORFEITS: Final = 0.1
# Shares of places are counted in integers, so that sums stay exact; 2 to 7 seats divide this number.
PLACE_SHARE_DENOMINATOR: Final = 420


# ---------------------------------------------------------------- of a match-up


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What an agent got: means over its seats in all its games.

    Attributes:
        name: of the agent, unique in the match-up or league.
        points: per game.
        places: rate of each place, first to last; if k seats share k places, each has 1/k of each.
        units: what it got in payments per game, less what it paid; None under rules without payments.
    """

    name: str
    points: Estimate
    places: tuple[Estimate, ...]
    units: Estimate | None = None

    @property
    def first(self) -> Estimate:
        """Rate of first places; if k seats share it, each counts 1/k."""
        return self.places[0]

    @property
    def main(self) -> Estimate:
        """The figure that decides who is better: `units` under rules with payments, else `points`."""
        return self.points if self.units is None else self.units


@dataclass(frozen=True, kw_only=True)
class Score(Figures):
    """The result of one agent in a match-up.

    Attributes:
        num_seats: seats of the agent in each game.
        variance_ratio: of the main figure, see `stats.variance_ratio`.
        decisions: number of decisions.
        seconds: time for them.
        forfeits: forfeited seats of rounds, by reason.
        blunders: per 100 counted decisions in solved endgames; None if no decision counted.
        endings: number of counted decisions.
    """

    num_seats: int
    variance_ratio: float | None
    decisions: int
    seconds: float
    forfeits: tuple[Forfeits, ...]
    blunders: Estimate | None
    endings: int

    @property
    def decisions_per_second(self) -> float:
        """In the match, with many games at once; 0 if no time was measured."""
        return self.decisions / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, eq=False)
class MatchResult:
    """The result of a duplicate match (D deals, R games of each, P slots, E agents).

    Attributes:
        names: E names, unique in the match-up.
        lineup: the agent of each slot, ascending.
        rules: the variant, with its number of players.
        seed: of deals and agents.
        planned_deals: None for a fixed number of deals; else the maximum of a match that could stop earlier,
            with intervals that are valid at every number of deals (see `stats.anytime_factor`).
        played: all games.
        seconds: from the first game to the last, including games of other match-ups between them; None if
            some games are of an earlier run, which a file has kept.
        permutations: the seatings of each deal, see `lineup.blocks`.
        seed_key: of the seeds of agents in other processes (`tienlen_agents.external.seeds`), if there were
            any.
    """

    names: tuple[str, ...]
    lineup: tuple[int, ...]
    rules: AnyRules
    seed: int
    planned_deals: int | None
    played: Chunk
    seconds: float | None
    permutations: Permutations = "rotations"
    seed_key: str = ""

    @property
    def title(self) -> str:
        """``"greedy v. 3 × random"``."""
        return title_of(self.names, self.lineup)

    @property
    def points(self) -> npt.NDArray[np.int32]:
        """int32 (D, R, P), of each slot in each game."""
        return self.played.points

    @property
    def game_places(self) -> npt.NDArray[np.int8]:
        """int8 (D, R, P), 0 is first."""
        return self.played.places

    @property
    def units(self) -> npt.NDArray[np.int32] | None:
        """int32 (D, R, P), what each slot got in payments, less what it paid; None without payments."""
        return self.played.units

    @property
    def records(self) -> tuple[str, ...]:
        """Of the first games, one line each, deal by deal; all seatings of a deal are adjacent."""
        return self.played.records

    @property
    def num_deals(self) -> int:
        """D."""
        return len(self.points)

    @property
    def num_seatings(self) -> int:
        """Games of each deal."""
        return int(self.points.shape[1])

    @property
    def num_games(self) -> int:
        """Rounds played."""
        return self.num_deals * self.num_seatings

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """E scores."""
        main = self.points if self.units is None else self.units
        game_main, deal_main = self._by_agent(main), self.deal_main  # (D, R, E), (D, E)
        found = []
        for index, name in enumerate(self.names):
            counted = self.played.blunders[:, index]
            endings = int(counted[:, 1].sum())
            found.append(
                Score(
                    **vars(figures_of(name, [(self, index)])),
                    num_seats=self.lineup.count(index),
                    variance_ratio=variance_ratio(deal_main[:, index], game_main[..., index].ravel()),
                    decisions=int(self.played.decisions[index]),
                    seconds=float(self.played.seconds[index]),
                    forfeits=self.played.forfeits[index],
                    blunders=ratio_estimate(100 * counted[:, 0], counted[:, 1], 100) if endings else None,
                    endings=endings,
                )
            )
        return tuple(found)

    @property
    def deal_points(self) -> IntArray:
        """int64 (D, E): points of each deal, summed over its games and the agent's seats."""
        totals: IntArray = self._by_agent(self.points).sum(axis=1)
        return totals

    @property
    def deal_main(self) -> IntArray:
        """int64 (D, E): the main figure (`Figures.main`) of each deal, as for `deal_points`."""
        totals: IntArray = self._by_agent(self.points if self.units is None else self.units).sum(axis=1)
        return totals

    @cached_property
    def deal_places(self) -> IntArray:
        """int64 (D, E, P): the agents' shares of each place in each deal, summed over games and seats.

        Multiples of 1 / `PLACE_SHARE_DENOMINATOR`.
        """
        shares: IntArray = self._by_agent(place_shares(self.game_places), axis=2).sum(axis=1)
        return shares

    def seats_of(self, deal: int) -> IntArray:
        """int64 (R, P): the agent in each seat, an index into `names`, in each game of a deal."""
        slots = blocks(self.lineup, self.permutations)
        seats: IntArray = np.asarray(self.lineup)[slots[deal % len(slots)]]
        return seats

    @property
    def has_identical_decisions(self) -> bool:
        """Whether each deal ended the same for every seat in all its seatings.

        Then it made no difference which agent sat where: the agents took the same decisions, or decisions
        with the same results. (One deal can end like this by chance; many cannot.)
        """
        slots = blocks(self.lineup, self.permutations)  # (N, R, P): the slot in each seat
        which = slots[np.arange(self.num_deals) % len(slots)]
        for values in (self.points, self.game_places, *(() if self.units is None else (self.units,))):
            by_seat = np.take_along_axis(values, which, axis=2)
            if (by_seat != by_seat[:, :1]).any():
                return False
        return True

    @property
    def notes(self) -> list[str]:
        """What is special about the match-up."""
        notes = []
        if self.planned_deals is not None and self.num_deals < self.planned_deals:
            notes.append(f"clear after {self.num_deals:,} of {self.planned_deals:,} deals")
        if self.has_identical_decisions:
            notes.append(
                f"identical decisions: each of {self.num_deals:,} deals ended the same in all its seatings, "
                "so the intervals have no width"
            )
        return notes

    @property
    def parity_points(self) -> float:
        """Points per game of each of P equal players: the mean over all seats."""
        return int(self.points.sum(dtype=np.int64)) / self.points.size

    @property
    def figure(self) -> str:
        """The name of the main figure (`Figures.main`): ``"points"``, or ``"units"`` of payments."""
        return "points" if self.units is None else "units"

    @property
    def parity(self) -> float:
        """The main figure (`Figures.main`) of each of P equal players: payments sum to zero."""
        return self.parity_points if self.units is None else 0.0

    @property
    def parity_first(self) -> float:
        """Rate of first places of each of P equal players."""
        return 1 / self.rules.num_players

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the agents' rows: ``("greedy", "v. 3 × random")``."""
        seats = (f"{s.num_seats} × {s.name}" if s.num_seats > 1 else s.name for s in self.scores)
        return tuple(f"v. {text}" if index else text for index, text in enumerate(seats))

    def bootstrap(self, index: int) -> tuple[float, float]:
        """The bootstrap interval of an agent's main figure (see `stats.bootstrap_interval`)."""
        per_deal = self.num_seatings * self.lineup.count(index)
        return bootstrap_interval(self.deal_main[:, index], per_deal)

    def _by_agent(self, slots: npt.NDArray[np.int32 | np.int64], axis: int = -1) -> IntArray:
        """Sums over the slots of each agent, along an axis: P to E."""
        starts = [self.lineup.index(agent) for agent in range(len(self.names))]
        sums: IntArray = np.add.reduceat(slots, starts, axis=axis, dtype=np.int64)
        return sums


def place_shares(places: npt.NDArray[np.int8]) -> IntArray:
    """The share of each slot in each place, in multiples of 1 / `PLACE_SHARE_DENOMINATOR`.

    Args:
        places: int (D, R, P), 0 is first; k slots that share places p .. p + k - 1 all have p.

    Returns:
        int64 (D, R, P, place), 1/k in k places for a slot that shares them; the shares of a slot sum to 1.
    """
    shared = (places[..., :, None] == places[..., None, :]).sum(axis=-1)[..., None]
    behind = np.arange(places.shape[-1]) - places[..., None]
    shares: IntArray = np.where((behind >= 0) & (behind < shared), PLACE_SHARE_DENOMINATOR // shared, 0)
    return shares


# The match-ups of an agent, each with the agent's index there.
Part: TypeAlias = tuple[MatchResult, int]


def figures_of(name: str, parts: Sequence[Part]) -> Figures:
    """The figures of an agent over all its match-ups, which are on the same deals."""
    first = parts[0][0]
    planned, num_players = first.planned_deals, first.rules.num_players
    per_deal = sum(result.num_seatings * result.lineup.count(index) for result, index in parts)
    points = sum(result.deal_points[:, index] for result, index in parts)
    main = sum(result.deal_main[:, index] for result, index in parts)
    shares = sum(result.deal_places[:, index] for result, index in parts)
    # Equal agents share all places in every deal: then no other place is a rare event that was not seen.
    whole = per_deal * PLACE_SHARE_DENOMINATOR
    event = 0 if np.all(shares * num_players == whole) else PLACE_SHARE_DENOMINATOR
    return Figures(
        name=name,
        points=estimate(np.asarray(points), per_deal, planned=planned),
        places=tuple(estimate(some, whole, planned=planned, event=event) for some in np.asarray(shares).T),
        units=None if first.units is None else estimate(np.asarray(main), per_deal, planned=planned),
    )


# ---------------------------------------------------------------- of programs that failed


class FailedAgent(NamedTuple):
    """An agent that forfeited more seats of rounds than allowed.

    Attributes:
        name: of the agent.
        where: title of the match-up, or the league.
        share: forfeited seats of rounds, as a share of its seats in all games.
        limit: the share that was allowed.
        forfeits: by reason.
    """

    name: str
    where: str
    share: float
    limit: float
    forfeits: tuple[Forfeits, ...]

    def __str__(self) -> str:
        most = max(self.forfeits, key=lambda forfeits: forfeits.num_seats)
        share = f"{100 * self.share:.1f}".removesuffix(".0")
        example = printable(most.example)
        if len(example) > 400:  # the cause is at the end of a traceback
            example = f"{example[:120]} … {example[-280:]}"
        return (
            f"{self.name} forfeited {share} % of its seats of rounds in {self.where}, more than "
            f"{100 * self.limit:g} %: {printable(most.reason)} ({example})"
        )


def failed_agents(
    agents: Sequence[tuple[str, Sequence[Part]]], where: str, limit: float
) -> tuple[FailedAgent, ...]:
    """The agents that forfeited too many of their seats of rounds.

    Args:
        agents: the name of each agent, and its match-ups.
        where: title of the match-up, or the league.
        limit: largest share of forfeited seats, 0 to 1.
    """
    found = []
    for name, parts in agents:
        forfeits = by_reason(f for result, index in parts for f in result.played.forfeits[index])
        num_seats = sum(result.num_games * result.lineup.count(index) for result, index in parts)
        share = sum(one.num_seats for one in forfeits) / num_seats
        if share > limit:
            found.append(FailedAgent(name, where, share, limit, forfeits))
    return tuple(found)


# ---------------------------------------------------------------- of a run


@dataclass(frozen=True, kw_only=True)
class Standing(Figures):
    """An agent of a league, over all its match-ups.

    Attributes:
        rating: Plackett–Luce strength on openskill's scale, the league's mean being 25.
    """

    rating: Estimate


@dataclass(frozen=True, eq=False)
class League:
    """A league under one variant (E agents).

    Attributes:
        rules: the variant.
        standings: E, in the order of the agents.
        payoffs: E rows of E: the difference of points, or of units under rules with payments, per seat
            between the row's agent and the column's, the mean over the match-ups of only these two; None on
            the diagonal.
        cycles: each a tuple of names; each agent is proven above the next, and the last above the first.
        num_deals: of each match-up.
        rated_games: number of games that the ratings use.
        failed: agents that are not rated, because they forfeited too many seats of rounds. Their match-ups
            are left out.
    """

    rules: AnyRules
    standings: tuple[Standing, ...]
    payoffs: tuple[tuple[Estimate | None, ...], ...]
    cycles: tuple[tuple[str, ...], ...]
    num_deals: int
    rated_games: int
    failed: tuple[FailedAgent, ...] = ()

    @property
    def ranking(self) -> tuple[int, ...]:
        """Indices of the standings, sorted by their main figure, the highest first."""
        return tuple(sorted(range(len(self.standings)), key=lambda i: -self.standings[i].main.mean))


class Need(NamedTuple):
    """The number of deals that one figure needs.

    Attributes:
        title: of the figure.
        half_width: of its interval after the pilot.
        num_deals: that the precision needs.
    """

    title: str
    half_width: float
    num_deals: int


class SampleSizeEstimate(NamedTuple):
    """The result of a pilot.

    Attributes:
        precision: the wanted half width, in points; in units under rules with payments.
        num_deals: of the pilot.
        seed: of the pilot. Its deals are not those of the match, so the length of the match does not depend
            on its own data.
        needs: one per figure.
        unit: of the precision: ``"points"``, or ``"units"`` of payments.
    """

    precision: float
    num_deals: int
    seed: int
    needs: tuple[Need, ...]
    unit: str = "points"

    @property
    def deals_needed(self) -> int:
        """The maximum over all figures."""
        return max(need.num_deals for need in self.needs)


@dataclass(frozen=True)
class RunResults:
    """All results of one run.

    Attributes:
        results: of the match-ups; those under the same rules are adjacent.
        command: that gives the same result; empty if the run did not come from a command.
        leagues: one per variant, if the run was a league.
        latencies: times of single decisions, if they were measured.
        pilot: if the number of deals was chosen for a precision.
        with_bootstrap: show and write bootstrap intervals beside the analytic ones.
        max_forfeits: largest share of forfeited seats of rounds, see `failures`.
        records_url: the start of the page's links to records; empty: the files beside it. If
            it has the word ``{record}``, the record itself is put there.
        not_rated: agents that failed in leagues without ratings, because fewer than two agents did not fail.
    """

    results: tuple[MatchResult, ...]
    command: str = ""
    leagues: tuple[League, ...] = ()
    latencies: tuple[Latency, ...] = ()
    pilot: SampleSizeEstimate | None = None
    with_bootstrap: bool = False
    max_forfeits: float = MAX_FORFEITS
    not_rated: tuple[FailedAgent, ...] = ()
    records_url: str = ""

    @property
    def seed_key(self) -> str:
        """See `MatchResult.seed_key`; that of all results."""
        return self.results[0].seed_key if self.results else ""

    @property
    def variants(self) -> tuple[AnyRules, ...]:
        """The variants of the results, without duplicates."""
        return tuple(dict.fromkeys(result.rules for result in self.results))

    def of(self, rules: AnyRules) -> tuple[MatchResult, ...]:
        """The results under some rules."""
        return tuple(result for result in self.results if result.rules == rules)

    def title_of(self, title: str, rules: str) -> str:
        """A title, with the variant's name where the run has several."""
        return title if len(self.variants) == 1 else f"{title} · {rules}"

    def league_of(self, rules: AnyRules) -> League | None:
        """The league under some rules, if there is one."""
        return next((league for league in self.leagues if league.rules == rules), None)

    @property
    def is_league(self) -> bool:
        """Whether the run was a league, with ratings or without."""
        return bool(self.leagues or self.not_rated)

    def heading(self, rules: AnyRules) -> str:
        """The heading of the results of a variant, one line."""
        league, results = self.league_of(rules), self.of(rules)
        what = "Duplicate matches" if league is None else f"League of {len(league.standings)}"
        games = sum(result.num_games for result in results)
        deals = sorted({result.num_deals for result in results})
        num_deals = " to ".join(f"{number:,}" for number in dict.fromkeys((deals[0], deals[-1])))
        return (
            f"{what} · {rules.name}, {rules.num_players} players · "
            f"{num_deals} deals, {games:,} games · seed {results[0].seed}"
        )

    @property
    def interval_note(self) -> str:
        """The meaning of ± in the results."""
        looks = "" if self.results[0].planned_deals is None else " that are valid at every look"
        return f"95 % intervals{looks}, clustered by deal"

    @property
    def headlines(self) -> list[tuple[str, Estimate, int]]:
        """The main figure of each match-up's first agent; of a league, of each agent over its match-ups.

        Each with the title of the match-up or the agent's name before it, and its number of deals after it.
        """
        if self.leagues:
            return [
                (self.title_of(standing.name, league.rules.name), standing.main, league.num_deals)
                for league in self.leagues
                for standing in league.standings
            ]
        return [(self.title_of(r.title, r.rules.name), r.scores[0].main, r.num_deals) for r in self.results]

    @property
    def forfeits(self) -> list[tuple[str, str, Forfeits]]:
        """Where an agent forfeited seats of rounds, its name, and the forfeits of one reason.

        In a league, those in all its match-ups together.
        """
        found: dict[tuple[str, str], list[Forfeits]] = {}
        for result in self.results:
            where = f"the league of {result.rules.name}" if self.is_league else repr(result.title)
            for score in result.scores:
                found.setdefault((where, score.name), []).extend(score.forfeits)
        return [(*key, forfeits) for key, several in found.items() for forfeits in by_reason(several)]

    @property
    def failures(self) -> tuple[FailedAgent, ...]:
        """The agents that forfeited more than `max_forfeits` of their seats in a match-up or league."""
        if self.is_league:
            return (*self.not_rated, *(failed for league in self.leagues for failed in league.failed))
        found: list[FailedAgent] = []
        for result in self.results:
            agents = [(name, [(result, index)]) for index, name in enumerate(result.names)]
            where = self.title_of(repr(result.title), result.rules.name)
            found += failed_agents(agents, where, self.max_forfeits)
        return tuple(found)

    @property
    def long_programs(self) -> list[str]:
        """The programs whose names are their commands."""
        names = (name for result in self.results for name in result.names)
        return [name for name in names if name.startswith("process:") and "name=" not in name]

    @property
    def variance_saved(self) -> float | None:
        """Share of the variance of the first agents' main figures that duplication saved.

        The mean over match-ups. Those without variance, of equal deterministic agents, are left out.
        """
        ratios = [ratio for result in self.results if (ratio := result.scores[0].variance_ratio)]
        return 1 - sum(ratios) / len(ratios) if ratios else None

    @property
    def duplication_note(self) -> str:
        """A sentence on `variance_saved`; empty if there is none."""
        saved = self.variance_saved
        if saved is None:
            return ""
        change = f"{'saves' if saved >= 0 else 'costs'} {100 * abs(saved):.0f} %"
        return f"Duplication {change} of the variance that as many games of independent deals would have."


def ordinal(place: int) -> str:
    """``"1st"`` for 0, ``"2nd"`` for 1, ...; for at most 20 places."""
    return f"{place + 1}{('st', 'nd', 'rd', 'th')[min(place, 3)]}"
