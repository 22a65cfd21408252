"""What an arena run leaves: figures, for the terminal, as JSON, CSV, a plot and a page."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tienlen_agents.arena.chunk import BLOCK_DEALS
from tienlen_agents.arena.result import Score, TableResult
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.files import write_atomic
from tienlen_agents.versions import code_digest, versions
from tienlen_env.games.common.game import AnyRules

if TYPE_CHECKING:
    from rich.console import Console

    from tienlen_agents.arena.curves import Curve
    from tienlen_agents.arena.latency import Latency
    from tienlen_agents.arena.league import League
    from tienlen_agents.arena.pilot import Pilot

SCHEMA: Final = 2


class Headline(NamedTuple):
    """A figure that a run is made for, and what its precision rests on.

    Attributes:
        title: of the table, or the agent of a league.
        points: the estimate.
        num_deals: that it is from.
    """

    title: str
    points: Estimate
    num_deals: int


@dataclass(frozen=True)
class Report:
    """The tables of one run, ready to be shown and written.

    Attributes:
        tables: results, those under the same rules side by side.
        command: what to type for the same result; empty if it did not come from a command.
        leagues: one a variant, where the run was one.
        latencies: times of single decisions, where they were taken.
        curves: of training, to be shown beside.
        pilot: where the number of deals was chosen for a precision.
        with_bootstrap: show and write bootstrap intervals beside the analytic ones.
    """

    tables: tuple[TableResult, ...]
    command: str = ""
    leagues: tuple[League, ...] = ()
    latencies: tuple[Latency, ...] = ()
    curves: tuple[Curve, ...] = ()
    pilot: Pilot | None = None
    with_bootstrap: bool = False

    @property
    def variants(self) -> tuple[AnyRules, ...]:
        """The rules that were played, each once."""
        return tuple(dict.fromkeys(result.rules for result in self.tables))

    def of(self, rules: AnyRules) -> tuple[TableResult, ...]:
        """The tables under some rules."""
        return tuple(result for result in self.tables if result.rules == rules)

    @property
    def headlines(self) -> tuple[Headline, ...]:
        """The points of each table's first agent; of a league those of each agent over all its tables."""
        if self.leagues:
            return tuple(
                Headline(_with_rules(s.name, league.rules, self), s.points, league.num_deals)
                for league in self.leagues
                for s in league.standings
            )
        return tuple(
            Headline(_with_rules(r.title, r.rules, self), r.scores[0].points, r.num_deals)
            for r in self.tables
        )

    @property
    def variance_saved(self) -> float | None:
        """Share of the variance of the first agents' points that duplication saved, the mean of all tables.

        Tables without variance, of equal agents that draw nothing, are left out.
        """
        ratios = [ratio for result in self.tables if (ratio := result.scores[0].variance_ratio)]
        return 1 - sum(ratios) / len(ratios) if ratios else None

    def print(self, console: Console | None = None) -> None:
        """Show the results in the terminal, or on a given `rich` console."""
        from tienlen_agents.arena.terminal import show

        show(self, console)

    def to_dict(self) -> dict[str, Any]:
        """All figures with what is needed to get them again, as plain JSON values.

        What another run of the same match finds otherwise is under ``created``, ``timing``, ``latencies``.
        """
        return {
            "schema": SCHEMA,
            "command": self.command,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": versions(),
            "code": code_digest(),
            "block_deals": BLOCK_DEALS,
            "variance_saved": self.variance_saved,
            "tables": [self._table_dict(result) for result in self.tables],
            "leagues": [_league_dict(league) for league in self.leagues],
            "pilot": None if self.pilot is None else self.pilot.to_dict(),
            "latencies": [latency._asdict() for latency in self.latencies],
        }

    def _table_dict(self, result: TableResult) -> dict[str, Any]:
        rows = []
        for index, score in enumerate(result.scores):
            row = {
                "name": score.name,
                "num_seats": score.num_seats,
                "points": estimate_dict(score.points, result.parity_points),
                "first": estimate_dict(score.first, result.parity_first),
                "places": list(score.places),
                "place_intervals": [[value.low, value.high] for value in score.place_estimates],
                "variance_ratio": score.variance_ratio,
                "decisions": score.decisions,
                "blunders_per_100": None if score.blunders is None else estimate_dict(score.blunders),
                "endings_judged": score.endings,
                "forfeits": [forfeits._asdict() for forfeits in score.forfeits],
                "timing": {"seconds": score.seconds, "decisions_per_second": decisions_per_second(score)},
            }
            if self.with_bootstrap:
                row["points_bootstrap"] = list(result.bootstrap(index))
            rows.append(row)
        return {
            "title": result.title,
            "rules": rules_dict(result.rules),
            "seed": result.seed,
            "num_deals": result.num_deals,
            "planned_deals": result.planned_deals,
            "num_seatings": result.num_seatings,
            "num_games": result.num_games,
            "parity": {"points": result.parity_points, "first": result.parity_first},
            "agents": rows,
            "timing": {"seconds": result.seconds},
        }

    def to_csv(self) -> str:
        """One line an agent and table, with a header."""
        num_places = max(rules.num_players for rules in self.variants)
        places = [f"place_{place + 1}{end}" for place in range(num_places) for end in ("", "_low", "_high")]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            (
                "table,agent,num_seats,points,points_low,points_high,points_verdict,"
                f"first,first_low,first_high,first_verdict,{','.join(places)},variance_ratio,decisions,seconds,"
                "forfeits,blunders_per_100,endings_judged,num_deals,num_games,"
                "rules,rules_digest,num_players,seed"
            ).split(",")
        )
        for result in self.tables:
            for score in result.scores:
                row: list[object] = [result.title, score.name, score.num_seats]
                for value, parity in (
                    (score.points, result.parity_points),
                    (score.first, result.parity_first),
                ):
                    row += [value.mean, value.low, value.high, value.verdict(parity)]
                for place in score.place_estimates:
                    row += [place.mean, place.low, place.high]
                row += [""] * (3 * (num_places - len(score.places)))
                row += [score.variance_ratio, score.decisions, score.seconds]
                row += [sum(forfeits.num_rounds for forfeits in score.forfeits)]
                row += [None if score.blunders is None else score.blunders.mean, score.endings]
                row += [result.num_deals, result.num_games, result.rules.name, result.rules.digest()]
                writer.writerow([*row, result.rules.num_players, result.seed])
        return out.getvalue()

    def to_png(self) -> bytes:
        """The plot: points, first places and the distribution of places of every agent (see `plot`)."""
        from tienlen_agents.arena.plot import plot

        return plot(self)

    def to_html(self) -> str:
        """The page: one file that needs nothing else (see `page`)."""
        from tienlen_agents.arena.page import page

        return page(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``arena.json``, ``.csv``, ``.png`` and ``.html``; each is there whole or not at all.

        Args:
            folder: is made if it is not there.

        Returns:
            The paths written.
        """
        folder = Path(folder)
        contents = {
            "arena.json": (json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n").encode(),
            "arena.csv": self.to_csv().encode(),
            "arena.png": self.to_png(),
            "arena.html": self.to_html().encode(),
        }
        for name, content in contents.items():
            write_atomic(folder / name, content)
        return [folder / name for name in contents]


def _with_rules(title: str, rules: AnyRules, report: Report) -> str:
    return title if len(report.variants) == 1 else f"{title} · {rules.name}"


def rules_dict(rules: AnyRules) -> dict[str, Any]:
    """What names a variant in JSON."""
    return {"name": rules.name, "digest": rules.digest(), "num_players": rules.num_players}


def estimate_dict(value: Estimate, parity: float | None = None) -> dict[str, Any]:
    """An estimate in JSON, with its verdict where there is a parity; no bounds where there are none."""
    bounds = [value.low, value.high] if math.isfinite(value.half_width) else [None, None]
    found: dict[str, Any] = {"mean": value.mean, "low": bounds[0], "high": bounds[1]}
    return found if parity is None else {**found, "verdict": value.verdict(parity)}


def decisions_per_second(score: Score) -> float:
    """In the match, many games at once; 0 where no time was taken."""
    return score.decisions / score.seconds if score.seconds else 0.0


def _league_dict(league: League) -> dict[str, Any]:
    return {
        "rules": rules_dict(league.rules),
        "num_deals": league.num_deals,
        "rated_games": league.rated_games,
        "ranking": [league.standings[index].name for index in league.ranking],
        "standings": [
            {
                "name": standing.name,
                "points": estimate_dict(standing.points),
                "first": estimate_dict(standing.first),
                "places": [value.mean for value in standing.places],
                "place_intervals": [[value.low, value.high] for value in standing.places],
                "rating": estimate_dict(standing.rating),
            }
            for standing in league.standings
        ],
        "payoffs": [
            [None if value is None else estimate_dict(value, 0.0) for value in row] for row in league.payoffs
        ],
        "cycles": [list(cycle) for cycle in league.cycles],
    }


def heading(rules: AnyRules, results: Sequence[TableResult]) -> str:
    """One line over the tables of a variant."""
    games = sum(result.num_games for result in results)
    deals = sorted({result.num_deals for result in results})
    told = f"{deals[0]:,}" if len(deals) == 1 else f"{deals[0]:,} to {deals[-1]:,}"
    return (
        f"Duplicate matches · {rules.name}, {rules.num_players} players · "
        f"{told} deals, {games:,} games · seed {results[0].seed}"
    )


def interval_note(results: Sequence[TableResult]) -> str:
    """What ± means."""
    if results[0].planned_deals is None:
        return "95 % intervals, clustered by deal"
    return "95 % intervals that hold at every look, clustered by deal"
