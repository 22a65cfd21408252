"""The results of a whole run, match-ups together with what was computed or measured beside them. Data only.

`report.Report` adds the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tienlen_agents.arena.curves import Curve
from tienlen_agents.arena.forfeits import MAX_FORFEITS, FailedAgent, failed_agents
from tienlen_agents.arena.latency import Latency
from tienlen_agents.arena.result import MatchResult
from tienlen_agents.arena.stats import Estimate
from tienlen_env.games.common.game import AnyRules


class Standing(NamedTuple):
    """An agent of a league.

    Attributes:
        name: unique in the league.
        points: per game, over all its match-ups.
        first: rate of first places.
        places: rate of each place, first to last.
        rating: Plackett–Luce strength on openskill's scale, the league's mean being 25.
        units: payments per game; None under rules without them.
    """

    name: str
    points: Estimate
    first: Estimate
    places: tuple[Estimate, ...]
    rating: Estimate
    units: Estimate | None = None

    @property
    def main(self) -> Estimate:
        """The figure that decides who is better: `units` under rules with payments, else `points`."""
        return self.points if self.units is None else self.units


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
        failed: agents that are not rated, because they forfeited too many rounds. Their match-ups are left
            out.
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

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "precision": self.precision,
            **({} if self.unit == "points" else {"unit": self.unit}),
            "num_deals": self.num_deals,
            "seed": self.seed,
            "deals_needed": self.deals_needed,
            "needs": [need._asdict() for need in self.needs],
        }


class Headline(NamedTuple):
    """A main figure of a run.

    Attributes:
        title: of the match-up, or the agent of a league.
        value: the estimate, in points; in units under rules with payments.
        num_deals: number of deals of the estimate.
    """

    title: str
    value: Estimate
    num_deals: int


@dataclass(frozen=True)
class RunResults:
    """All results of one run.

    Attributes:
        results: of the match-ups; those under the same rules are adjacent.
        command: that gives the same result; empty if the run did not come from a command.
        leagues: one per variant, if the run was a league.
        latencies: times of single decisions, if they were measured.
        curves: learning curves to be shown beside.
        pilot: if the number of deals was chosen for a precision.
        with_bootstrap: show and write bootstrap intervals beside the analytic ones.
        max_forfeits: largest share of forfeited rounds, see `failures`.
        records_url: the start of the page's links to records; empty: the files beside it. If
            it has the word ``{record}``, the record itself is put there.
        not_rated: agents that failed in leagues without ratings, because fewer than two agents did not fail.
    """

    results: tuple[MatchResult, ...]
    command: str = ""
    leagues: tuple[League, ...] = ()
    latencies: tuple[Latency, ...] = ()
    curves: tuple[Curve, ...] = ()
    pilot: SampleSizeEstimate | None = None
    with_bootstrap: bool = False
    max_forfeits: float = MAX_FORFEITS
    not_rated: tuple[FailedAgent, ...] = ()
    records_url: str = ""

    @property
    def variants(self) -> tuple[AnyRules, ...]:
        """The variants of the results, without duplicates."""
        return tuple(dict.fromkeys(result.rules for result in self.results))

    def of(self, rules: AnyRules) -> tuple[MatchResult, ...]:
        """The results under some rules."""
        return tuple(result for result in self.results if result.rules == rules)

    @property
    def headlines(self) -> tuple[Headline, ...]:
        """The main figure of each match-up's first agent; of a league, of each agent over its match-ups."""
        if self.leagues:
            return tuple(
                Headline(_with_rules(s.name, league.rules, self), s.main, league.num_deals)
                for league in self.leagues
                for s in league.standings
            )
        return tuple(
            Headline(_with_rules(r.title, r.rules, self), r.scores[0].main, r.num_deals) for r in self.results
        )

    @property
    def failures(self) -> tuple[FailedAgent, ...]:
        """The agents that forfeited more than `max_forfeits` of their rounds in a match-up or league."""
        if self.leagues or self.not_rated:
            return (*self.not_rated, *(failed for league in self.leagues for failed in league.failed))
        found: list[FailedAgent] = []
        for result in self.results:
            agents = [(name, [(result, index)]) for index, name in enumerate(result.names)]
            where = _with_rules(repr(result.title), result.rules, self)
            found += failed_agents(agents, where, self.max_forfeits)
        return tuple(found)

    @property
    def variance_saved(self) -> float | None:
        """Share of the variance of the first agents' main figures that duplication saved.

        The mean over match-ups. Those without variance, of equal deterministic agents, are left out.
        """
        ratios = [ratio for result in self.results if (ratio := result.scores[0].variance_ratio)]
        return 1 - sum(ratios) / len(ratios) if ratios else None


def _with_rules(title: str, rules: AnyRules, run: RunResults) -> str:
    return title if len(run.variants) == 1 else f"{title} · {rules.name}"
