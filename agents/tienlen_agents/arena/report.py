"""The report of a run: its results with JSON and CSV, and with the terminal, plot and page that draw them.

The results are data (`run_results`). `terminal`, `plot` and `page` import only data; `Report` calls them.
"""

from __future__ import annotations

import csv
import io
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tienlen_agents.arena.chunk import BLOCK_DEALS
from tienlen_agents.arena.forfeits import FailedAgent
from tienlen_agents.arena.labels import decisions_per_second
from tienlen_agents.arena.page import FOLDER, RecordFile, page, record_files, write_records
from tienlen_agents.arena.result import MatchResult
from tienlen_agents.arena.run_results import League, RunResults
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.arena.terminal import show
from tienlen_agents.extras import is_installed, require
from tienlen_agents.files import write_atomic
from tienlen_agents.versions import code_digest, versions
from tienlen_env.games.common.game import AnyRules
from tienlen_env.rendering.view import printable

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA: Final = 2


@dataclass(frozen=True)
class Report(RunResults):
    """All results of one run, to print and to write; `RunResults` has the attributes."""

    def print(self, console: Console | None = None) -> None:
        """Print result tables in the terminal, or on a given `rich` console."""
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
            "max_forfeits": self.max_forfeits,
            "records": [_record_dict(file) for file in record_files(self.results)],
            "failures": [_failure_dict(failed) for failed in self.failures],
        }

    def _result_dict(self, result: MatchResult) -> dict[str, Any]:
        rows = []
        for index, score in enumerate(result.scores):
            row = {
                "name": score.name,
                "num_seats": score.num_seats,
                "points": estimate_dict(score.points, result.parity_points),
                **({} if score.units is None else {"units": estimate_dict(score.units, 0.0)}),
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
                figure = "points" if score.units is None else "units"
                row[f"{figure}_bootstrap"] = list(result.bootstrap(index))
            rows.append(row)
        return {
            "title": result.title,
            "rules": rules_dict(result.rules),
            "seed": result.seed,
            "num_deals": result.num_deals,
            "planned_deals": result.planned_deals,
            "num_seatings": result.num_seatings,
            "num_games": result.num_games,
            "identical_decisions": result.has_identical_decisions,
            "parity": {
                "points": result.parity_points,
                **({} if result.units is None else {"units": result.parity}),
                "first": result.parity_first,
            },
            "agents": rows,
            "timing": {"seconds": result.seconds},
        }

    def to_csv(self) -> str:
        """One line per agent and match-up, with a header; the column ``table`` has the match-up.

        The columns ``units...`` exist only where some rules have payments.
        """
        num_places = max(rules.num_players for rules in self.variants)
        places = [f"place_{place + 1}{end}" for place in range(num_places) for end in ("", "_low", "_high")]
        with_units = any(result.units is not None for result in self.results)
        units = "units,units_low,units_high,units_verdict," if with_units else ""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            (
                f"table,agent,num_seats,points,points_low,points_high,points_verdict,{units}"
                f"first,first_low,first_high,first_verdict,{','.join(places)},variance_ratio,decisions,seconds,"
                "forfeits,blunders_per_100,endings_judged,num_deals,num_games,"
                "rules,rules_digest,num_players,seed"
            ).split(",")
        )
        for result in self.results:
            for score in result.scores:
                row: list[object] = [csv_text(result.title), csv_text(score.name), score.num_seats]
                row += _csv_cells(score.points, result.parity_points)
                row += _csv_cells(score.units, 0.0) if with_units else []
                row += _csv_cells(score.first, result.parity_first)
                for place in score.place_estimates:
                    row += [place.mean, place.low, place.high]
                row += [""] * (3 * (num_places - len(score.places)))
                row += [score.variance_ratio, score.decisions, score.seconds]
                row += [sum(forfeits.num_rounds for forfeits in score.forfeits)]
                row += [None if score.blunders is None else score.blunders.mean, score.endings]
                row += [
                    result.num_deals,
                    result.num_games,
                    csv_text(result.rules.name),
                    result.rules.digest(),
                ]
                writer.writerow([*row, result.rules.num_players, result.seed])
        return out.getvalue()

    def to_png(self) -> bytes:
        """The plot: points, first places and the distribution of places of every agent (see `plot`).

        Raises:
            MissingExtraError: matplotlib is not installed (the extra ``arena``).
        """
        require("matplotlib", "arena", "the plot of a report")
        from tienlen_agents.arena.plot import plot

        return plot(self)

    def to_html(self) -> str:
        """The page: one self-contained HTML file (see `page`).

        Raises:
            MissingExtraError: jinja2 is not installed (the extra ``arena``).
        """
        require("jinja2", "arena", "the page of a report")
        return page(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``arena.json`` and ``.csv``, and ``.png`` and ``.html`` if their libraries are installed.

        The records of rounds, if there are any, are text files in the folder ``records`` there.

        Each file is replaced as a whole. The extra ``arena`` contains the libraries (see `missing_outputs`).

        Args:
            folder: is made if it does not exist.

        Returns:
            The paths written.
        """
        folder = Path(folder)
        missing = missing_outputs()
        contents = {
            "arena.json": _encoded(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"),
            "arena.csv": _encoded(self.to_csv()),
        }
        if "arena.png" not in missing:
            contents["arena.png"] = self.to_png()
        if "arena.html" not in missing:
            contents["arena.html"] = _encoded(self.to_html())
        for name, content in contents.items():
            write_atomic(folder / name, content)
        write_records(folder, record_files(self.results))
        return [folder / name for name in contents]


def _encoded(text: str) -> bytes:
    """UTF-8; lone surrogates, as in names of files that are not UTF-8, become the escapes of JSON."""
    return text.encode(errors="backslashreplace")


def csv_text(text: str) -> str:
    """A text for a cell of a CSV file; a spreadsheet would take one that begins with ``=`` as a formula."""
    text = printable(text)
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def missing_outputs() -> list[str]:
    """The files that `Report.write` leaves out, since their libraries are not installed."""
    libraries = {"arena.png": "matplotlib", "arena.html": "jinja2"}
    return [name for name, library in libraries.items() if not is_installed(library)]


def rules_dict(rules: AnyRules) -> dict[str, Any]:
    """A variant in JSON."""
    return {"name": rules.name, "digest": rules.digest(), "num_players": rules.num_players}


def estimate_dict(value: Estimate, parity: float | None = None) -> dict[str, Any]:
    """An estimate in JSON, with its verdict if a parity is given; infinite bounds become null."""
    bounds = [value.low, value.high] if math.isfinite(value.half_width) else [None, None]
    found: dict[str, Any] = {"mean": value.mean, "low": bounds[0], "high": bounds[1]}
    return found if parity is None else {**found, "verdict": value.verdict(parity)}


def _csv_cells(value: Estimate | None, parity: float) -> list[object]:
    """Four cells: mean, bounds and verdict; empty for None."""
    return [""] * 4 if value is None else [value.mean, value.low, value.high, value.verdict(parity)]


def _failure_dict(failed: FailedAgent) -> dict[str, Any]:
    return {"name": failed.name, "where": failed.where, "share": failed.share, "text": str(failed)}


def _record_dict(file: RecordFile) -> dict[str, Any]:
    where = file._asdict()
    del where["text"]
    return where | {"name": f"{FOLDER}/{file.name}"}


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
                **({} if standing.units is None else {"units": estimate_dict(standing.units)}),
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
        "not_rated": [failed.name for failed in league.failed],
    }
