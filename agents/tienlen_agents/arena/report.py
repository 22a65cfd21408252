"""The report of a run: its results with JSON and CSV, and with the terminal and page that draw them.

The results are data (`result`). `terminal` and `page` import only data; `Report` calls them.
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
from tienlen_agents.arena.page import page, record_files, write_records
from tienlen_agents.arena.result import Figures, League, MatchResult, RunResults, Score
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.arena.terminal import show
from tienlen_agents.command import code_digest, versions
from tienlen_agents.files import write_atomic
from tienlen_env.extras import is_installed, require
from tienlen_env.games.common.game import AnyRules
from tienlen_env.texts import spreadsheet

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA: Final = 3


@dataclass(frozen=True)
class Report(RunResults):
    """All results of one run, to print and to write; `RunResults` has the attributes."""

    def print(self, console: Console | None = None) -> None:
        """Print result tables in the terminal, or on a given `rich` console."""
        show(self, console)

    def to_dict(self) -> dict[str, Any]:
        """All figures, and everything that is necessary to reproduce them, as plain JSON values.

        Only ``created``, ``timing`` and ``latencies`` differ between two runs of the same match. The key
        ``tables`` has the match-ups; ``seed_key`` is there if an agent ran in another process.
        """
        return {
            "schema": SCHEMA,
            "command": self.command,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": versions(),
            "code": code_digest(),
            "block_deals": BLOCK_DEALS,
            **({"seed_key": self.seed_key} if self.seed_key else {}),
            "variance_saved": self.variance_saved,
            "tables": [self._result_dict(result) for result in self.results],
            "leagues": [_league_dict(league) for league in self.leagues],
            "pilot": None
            if self.pilot is None
            else {
                **self.pilot._asdict(),
                "deals_needed": self.pilot.deals_needed,
                "needs": [need._asdict() for need in self.pilot.needs],
            },
            "latencies": [latency._asdict() for latency in self.latencies],
            "max_forfeits": self.max_forfeits,
            "records": [
                {key: value for key, value in file.items() if key != "text"}
                for file in record_files(self.results)
            ],
            "failures": [
                {"name": failed.name, "where": failed.where, "share": failed.share, "text": str(failed)}
                for failed in self.failures
            ],
        }

    def _result_dict(self, result: MatchResult) -> dict[str, Any]:
        rows = []
        for index, score in enumerate(result.scores):
            row = {
                **_figures_dict(score, result),
                "num_seats": score.num_seats,
                "variance_ratio": score.variance_ratio,
                "decisions": score.decisions,
                "blunders_per_100": None if score.blunders is None else estimate_dict(score.blunders),
                "endings_judged": score.endings,
                "forfeits": [forfeits._asdict() for forfeits in score.forfeits],
                "timing": {"seconds": score.seconds, "decisions_per_second": score.decisions_per_second},
            }
            if self.with_bootstrap:
                row[f"{result.figure}_bootstrap"] = list(result.bootstrap(index))
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
        with_units = any(result.units is not None for result in self.results)
        rows = [
            _csv_row(result, score, num_places, with_units=with_units)
            for result in self.results
            for score in result.scores
        ]
        out = io.StringIO()
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def to_pandas(self) -> Any:
        """The table of `to_csv` as a ``pandas.DataFrame``; what is empty there is NaN.

        Raises:
            MissingExtraError: pandas is not installed (the extra ``data``).
        """
        require("pandas", "data", "a report as a DataFrame")
        import pandas

        return pandas.read_csv(io.StringIO(self.to_csv()))

    def to_html(self) -> str:
        """The page: one self-contained HTML file (see `page`).

        Raises:
            MissingExtraError: jinja2 is not installed (the extra ``arena``).
        """
        require("jinja2", "arena", "the page of a report")
        return page(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``arena.json``, ``arena.csv``, and with the extra ``arena`` the page ``arena.html``.

        The records of rounds, if there are any, are text files in the folder ``records`` there.

        Each file is replaced as a whole.

        Args:
            folder: is made if it does not exist.

        Returns:
            The paths written.
        """
        folder = Path(folder)
        contents = {
            "arena.json": json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n",
            "arena.csv": self.to_csv(),
        }
        if is_installed("jinja2"):
            contents["arena.html"] = self.to_html()
        for name, content in contents.items():
            # Lone surrogates, as in names of files that are not UTF-8, become the escapes of JSON.
            write_atomic(folder / name, content.encode(errors="backslashreplace"))
        write_records(folder, record_files(self.results))
        return [folder / name for name in contents]


def rules_dict(rules: AnyRules) -> dict[str, Any]:
    """A variant in JSON."""
    return {"name": rules.name, "digest": rules.digest(), "num_players": rules.num_players}


def estimate_dict(value: Estimate, parity: float | None = None) -> dict[str, Any]:
    """An estimate in JSON, with its verdict if a parity is given; infinite bounds become null."""
    bounds = [value.low, value.high] if math.isfinite(value.half_width) else [None, None]
    found: dict[str, Any] = {"mean": value.mean, "low": bounds[0], "high": bounds[1]}
    return found if parity is None else {**found, "verdict": value.verdict(parity)}


def _csv_row(result: MatchResult, score: Score, num_places: int, *, with_units: bool) -> dict[str, object]:
    """The cells of an agent, by column."""

    def cells(name: str, value: Estimate | None, parity: float = 0.0) -> dict[str, object]:
        found = [""] * 4 if value is None else [value.mean, value.low, value.high, value.verdict(parity)]
        return dict(zip((name, f"{name}_low", f"{name}_high", f"{name}_verdict"), found, strict=True))

    places: dict[str, object] = {}
    for place in range(num_places):
        places |= cells(f"place_{place + 1}", score.places[place] if place < len(score.places) else None)
        del places[f"place_{place + 1}_verdict"]
    return {
        "table": spreadsheet(result.title),
        "agent": spreadsheet(score.name),
        "num_seats": score.num_seats,
        **cells("points", score.points, result.parity_points),
        **(cells("units", score.units, 0.0) if with_units else {}),
        **cells("first", score.first, result.parity_first),
        **places,
        "variance_ratio": score.variance_ratio,
        "decisions": score.decisions,
        "seconds": score.seconds,
        "forfeited_seats": sum(forfeits.num_seats for forfeits in score.forfeits),
        "blunders_per_100": None if score.blunders is None else score.blunders.mean,
        "endings_judged": score.endings,
        "num_deals": result.num_deals,
        "num_games": result.num_games,
        "rules": spreadsheet(result.rules.name),
        "rules_digest": result.rules.digest(),
        "num_players": result.rules.num_players,
        "seed": result.seed,
    }


def _figures_dict(found: Figures, result: MatchResult | None = None) -> dict[str, Any]:
    """An agent's figures in JSON, with verdicts if they are of one match-up."""
    parities = (None,) * 3 if result is None else (result.parity_points, 0.0, result.parity_first)
    return {
        "name": found.name,
        "points": estimate_dict(found.points, parities[0]),
        **({} if found.units is None else {"units": estimate_dict(found.units, parities[1])}),
        "first": estimate_dict(found.first, parities[2]),
        "places": [value.mean for value in found.places],
        "place_intervals": [[value.low, value.high] for value in found.places],
    }


def _league_dict(league: League) -> dict[str, Any]:
    return {
        "rules": rules_dict(league.rules),
        "num_deals": league.num_deals,
        "rated_games": league.rated_games,
        "ranking": [league.standings[index].name for index in league.ranking],
        "standings": [
            {**_figures_dict(standing), "rating": estimate_dict(standing.rating)}
            for standing in league.standings
        ],
        "payoffs": [
            [None if value is None else estimate_dict(value, 0.0) for value in row] for row in league.payoffs
        ],
        "cycles": [list(cycle) for cycle in league.cycles],
        "not_rated": [failed.name for failed in league.failed],
    }
