"""The report of a run: all results as data, with JSON and CSV. Pictures and pages are made elsewhere.

`terminal`, `plot` and `page` draw a report; `Report` calls them for ``print``, ``to_png`` and ``to_html``.
"""

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

import numpy as np

from tienlen_agents.arena.chunk import BLOCK_DEALS
from tienlen_agents.arena.result import MatchResult, Score
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.extras import is_installed, require
from tienlen_agents.files import write_atomic
from tienlen_agents.versions import code_digest, versions
from tienlen_env.errors import renamed
from tienlen_env.games.common.game import AnyRules

if TYPE_CHECKING:
    from rich.console import Console

    from tienlen_agents.arena.curves import Curve
    from tienlen_agents.arena.latency import Latency
    from tienlen_agents.arena.league import League
    from tienlen_agents.arena.pilot import Pilot

SCHEMA: Final = 2


class Headline(NamedTuple):
    """A main figure of a run.

    Attributes:
        title: of the match-up, or the agent of a league.
        points: the estimate.
        num_deals: number of deals of the estimate.
    """

    title: str
    points: Estimate
    num_deals: int


@dataclass(frozen=True)
class Report:
    """All results of one run.

    Attributes:
        results: of the match-ups; those under the same rules are adjacent.
        command: that gives the same result; empty if the run did not come from a command.
        leagues: one per variant, if the run was a league.
        latencies: times of single decisions, if they were measured.
        curves: learning curves to be shown beside.
        pilot: if the number of deals was chosen for a precision.
        with_bootstrap: show and write bootstrap intervals beside the analytic ones.
    """

    results: tuple[MatchResult, ...]
    command: str = ""
    leagues: tuple[League, ...] = ()
    latencies: tuple[Latency, ...] = ()
    curves: tuple[Curve, ...] = ()
    pilot: Pilot | None = None
    with_bootstrap: bool = False

    __getattr__ = renamed(tables="results")

    @property
    def variants(self) -> tuple[AnyRules, ...]:
        """The variants of the results, without duplicates."""
        return tuple(dict.fromkeys(result.rules for result in self.results))

    def of(self, rules: AnyRules) -> tuple[MatchResult, ...]:
        """The results under some rules."""
        return tuple(result for result in self.results if result.rules == rules)

    @property
    def headlines(self) -> tuple[Headline, ...]:
        """The points of each match-up's first agent; of a league, of each agent over all its match-ups."""
        if self.leagues:
            return tuple(
                Headline(_with_rules(s.name, league.rules, self), s.points, league.num_deals)
                for league in self.leagues
                for s in league.standings
            )
        return tuple(
            Headline(_with_rules(r.title, r.rules, self), r.scores[0].points, r.num_deals)
            for r in self.results
        )

    @property
    def variance_saved(self) -> float | None:
        """Share of the variance of the first agents' points that duplication saved, mean over match-ups.

        Match-ups without variance, of equal deterministic agents, are left out.
        """
        ratios = [ratio for result in self.results if (ratio := result.scores[0].variance_ratio)]
        return 1 - sum(ratios) / len(ratios) if ratios else None

    def print(self, console: Console | None = None) -> None:
        """Print result tables in the terminal, or on a given `rich` console."""
        from tienlen_agents.arena.terminal import show

        show(self, console)

    def to_dict(self) -> dict[str, Any]:
        """All figures, and everything that is necessary to reproduce them, as plain JSON values.

        Only ``created``, ``timing`` and ``latencies`` differ between two runs of the same match. The key
        ``tables`` has the match-ups.
        """
        return {
            "schema": SCHEMA,
            "command": self.command,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": versions(),
            "code": code_digest(),
            "block_deals": BLOCK_DEALS,
            "variance_saved": self.variance_saved,
            "tables": [self._result_dict(result) for result in self.results],
            "leagues": [_league_dict(league) for league in self.leagues],
            "pilot": None if self.pilot is None else self.pilot.to_dict(),
            "latencies": [latency._asdict() for latency in self.latencies],
        }

    def _result_dict(self, result: MatchResult) -> dict[str, Any]:
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
        """One line per agent and match-up, with a header; the column ``table`` has the match-up."""
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
        for result in self.results:
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
        """The plot: points, first places and the distribution of places of every agent (see `plot`).

        Raises:
            MissingExtraError: matplotlib is not installed (``pip install "tienlen-env[arena]"``).
        """
        require("matplotlib", "arena", "the plot of a report")
        from tienlen_agents.arena.plot import plot

        return plot(self)

    def to_html(self) -> str:
        """The page: one self-contained HTML file (see `page`).

        Raises:
            MissingExtraError: jinja2 is not installed (``pip install "tienlen-env[arena]"``).
        """
        require("jinja2", "arena", "the page of a report")
        from tienlen_agents.arena.page import page

        return page(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``arena.json`` and ``.csv``, and ``.png`` and ``.html`` if their libraries are installed.

        Each file is replaced as a whole. The extra ``arena`` contains the libraries (see `missing_outputs`).

        Args:
            folder: is made if it does not exist.

        Returns:
            The paths written.
        """
        folder = Path(folder)
        missing = missing_outputs()
        contents = {
            "arena.json": (json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n").encode(),
            "arena.csv": self.to_csv().encode(),
        }
        if "arena.png" not in missing:
            contents["arena.png"] = self.to_png()
        if "arena.html" not in missing:
            contents["arena.html"] = self.to_html().encode()
        for name, content in contents.items():
            write_atomic(folder / name, content)
        return [folder / name for name in contents]


def missing_outputs() -> list[str]:
    """The files that `Report.write` leaves out, since their libraries are not installed."""
    libraries = {"arena.png": "matplotlib", "arena.html": "jinja2"}
    return [name for name, library in libraries.items() if not is_installed(library)]


def _with_rules(title: str, rules: AnyRules, report: Report) -> str:
    return title if len(report.variants) == 1 else f"{title} · {rules.name}"


def rules_dict(rules: AnyRules) -> dict[str, Any]:
    """A variant in JSON."""
    return {"name": rules.name, "digest": rules.digest(), "num_players": rules.num_players}


def estimate_dict(value: Estimate, parity: float | None = None) -> dict[str, Any]:
    """An estimate in JSON, with its verdict if a parity is given; infinite bounds become null."""
    bounds = [value.low, value.high] if math.isfinite(value.half_width) else [None, None]
    found: dict[str, Any] = {"mean": value.mean, "low": bounds[0], "high": bounds[1]}
    return found if parity is None else {**found, "verdict": value.verdict(parity)}


def decisions_per_second(score: Score) -> float:
    """Decisions per second in the match, with many games at once; 0 if no time was measured."""
    return score.decisions / score.seconds if score.seconds else 0.0


def place_colours(num_places: int) -> list[str]:
    """A colour for each place, from green for the first to red for the last; for the plot and the page."""
    best, worst = "#4fa97c", "#d98b7c"
    middle = ["#a5d3b7", "#c9dfc0", "#ecd2a8", "#e8c09c", "#e0a68a"]
    picked = np.linspace(0, len(middle) - 1, max(num_places - 2, 0)).round().astype(int)
    if num_places == 3:
        picked = np.array([2])
    if num_places == 4:
        picked = np.array([0, 2])
    return [best, *(middle[i] for i in picked), worst]


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


def heading(rules: AnyRules, results: Sequence[MatchResult]) -> str:
    """The heading of the results of a variant, one line."""
    games = sum(result.num_games for result in results)
    deals = sorted({result.num_deals for result in results})
    num_deals = f"{deals[0]:,}" if len(deals) == 1 else f"{deals[0]:,} to {deals[-1]:,}"
    return (
        f"Duplicate matches · {rules.name}, {rules.num_players} players · "
        f"{num_deals} deals, {games:,} games · seed {results[0].seed}"
    )


def interval_note(results: Sequence[MatchResult]) -> str:
    """The meaning of ± in the results."""
    if results[0].planned_deals is None:
        return "95 % intervals, clustered by deal"
    return "95 % intervals that are valid at every look, clustered by deal"
