"""The page of a report, one HTML file for narrow and wide screens, light and dark; the records beside it.

Positions are in percent of the width, so drawings scale with the page; numbers stay text.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from tienlen_agents.arena.labels import decisions_per_second, interval_note, ordinal, place_colours
from tienlen_agents.arena.result import MatchResult
from tienlen_agents.arena.stats import Estimate, Verdict
from tienlen_agents.files import write_atomic
from tienlen_agents.versions import code_digest, versions
from tienlen_env.games.common.game import AnyRules
from tienlen_env.rendering.view import printable

if TYPE_CHECKING:
    from tienlen_agents.arena.curves import Curve
    from tienlen_agents.arena.result import MatchResult
    from tienlen_agents.arena.run_results import League, RunResults


FOLDER: Final = "records"
_FILE: Final = re.compile(r"\d+-\d+-\d+\.txt")


class RecordFile(NamedTuple):
    """The record of a round as a file.

    Attributes:
        name: of the file.
        match_up: its title.
        rules: name of the variant.
        deal: of the match-up, from 1.
        seats: the names of the agents, by seat.
        text: the record.
    """

    name: str
    match_up: str
    rules: str
    deal: int
    seats: tuple[str, ...]
    text: str


def record_files(results: tuple[MatchResult, ...]) -> list[RecordFile]:
    """The records of a run, in the order of its match-ups: ``<match-up>-<deal>-<seating>.txt``, from 1."""
    files = []
    for number, result in enumerate(results, start=1):
        for index, text in enumerate(result.records):
            deal, seating = divmod(index, result.num_seatings)
            seats = tuple(result.names[agent] for agent in result.seats_of(deal)[seating])
            name = f"{number}-{deal + 1}-{seating + 1}.txt"
            files.append(RecordFile(name, result.title, result.rules.name, deal + 1, seats, text))
    return files


def write_records(folder: Path, files: list[RecordFile]) -> None:
    """Write records into ``<folder>/records``, and delete those of an earlier run there."""
    target = folder / FOLDER
    names = {file.name for file in files}
    for path in target.glob("*.txt"):
        if _FILE.fullmatch(path.name) and path.name not in names:
            path.unlink()
    for file in files:
        write_atomic(target / file.name, f"{file.text}\n".encode())


RECORD: Final = "{record}"  # in `RunResults.records_url`: the record itself comes here


class Bar(NamedTuple):
    """An interval on a scale, in percent of its width.

    Attributes:
        low: position of the lower end.
        mean: position of the mean.
        high: position of the upper end.
        parity: position of the parity line.
        text: ``"2.057 ± 0.009"``.
        verdict: against parity.
    """

    low: float
    mean: float
    high: float
    parity: float
    text: str
    verdict: Verdict


def bars(values: Sequence[Estimate], parities: Sequence[float], scale: float, digits: int) -> list[Bar]:
    """Place intervals on a common scale.

    Args:
        values: the estimates.
        parities: as many.
        scale: factor for the text, 100 for percent.
        digits: after the decimal point of the text.
    """
    low = min(*parities, *(value.low for value in values), values[0].low)
    high = max(*parities, *(value.high for value in values), values[0].high)
    room = 0.06 * (high - low) or 1.0
    low, span = low - room, high - low + 2 * room

    def at(value: float) -> float:
        return round(100 * (value - low) / span, 2)

    return [
        Bar(
            at(value.low),
            at(value.mean),
            at(value.high),
            at(parity),
            f"{scale * value.mean:.{digits}f} ± {scale * value.half_width:.{digits}f}",
            value.verdict(parity),
        )
        for value, parity in zip(values, parities, strict=True)
    ]


def page(report: RunResults) -> str:
    """Make the page.

    Args:
        report: its data.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    results = report.results
    saved = report.variance_saved
    return environment.get_template("page.html.j2").render(
        title=_title(report),
        command=report.command,
        created=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        seed=results[0].seed,
        num_games=sum(result.num_games for result in results),
        note=interval_note(results),
        saved="" if saved is None else f"{'saves' if saved >= 0 else 'costs'} {100 * abs(saved):.0f} %",
        variants=[_variant(report, rules) for rules in report.variants],
        pilot=report.pilot,
        latencies=report.latencies,
        charts=_charts(report.curves),
        failures=[str(failed) for failed in report.failures],
        is_league=bool(report.leagues or report.not_rated),
        has_ratings=bool(report.leagues),
        has_long_programs=any(
            name.startswith("process:") and "name=" not in name for result in results for name in result.names
        ),
        records=_records(report),
        num_records=sum(len(result.records) for result in results),
        forfeits=[
            (result.title, score.name, f.num_rounds, printable(f.reason), printable(f.example))
            for result in results
            for score in result.scores
            for f in score.forfeits
        ],
        versions=versions(),
        code=code_digest(),
    )


def _title(report: RunResults) -> str:
    if report.leagues:
        return f"League of {len(report.leagues[0].standings)}"
    results = report.results
    if len(results) == 1:
        return results[0].title
    first = results[0].names[0].removesuffix(" #1")
    others = list(dict.fromkeys(name.removesuffix(" #2") for r in results for name in r.names[1:]))
    if len(others) == 1:
        return f"{first} v. {others[0]}"
    return f"{first} v. {len(others)} agents"


def _records(report: RunResults) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The records of each match-up: its title; of each its address, deal and seats.

    If there is one record for each match-up, all are together, without a title.
    """
    base = report.records_url or f"{FOLDER}/"

    def address_of(file: RecordFile) -> str:
        if RECORD in base:
            return base.replace(RECORD, quote(file.text, safe=""))
        return base + file.name

    found: dict[str, list[tuple[str, str, str]]] = {}
    for file in record_files(report.results):
        title = file.match_up if len(report.variants) == 1 else f"{file.match_up} · {file.rules}"
        found.setdefault(title, []).append((address_of(file), f"deal {file.deal}", ", ".join(file.seats)))
    if all(len(files) == 1 for files in found.values()):
        return [("", [files[0] for files in found.values()])] if found else []
    return list(found.items())


def _variant(report: RunResults, rules: AnyRules) -> dict[str, Any]:
    results = report.of(rules)
    scores = [(result, score) for result in results for score in result.scores]
    parity = [result.parity_points for result, _ in scores]
    firsts = [result.parity_first for result, _ in scores]
    points = bars([score.points for _, score in scores], parity, 1, 3)
    paid = [score.units for _, score in scores if score.units is not None]
    units = bars(paid, [0.0] * len(paid), 1, 3) if paid else [None] * len(scores)
    first = bars([score.first for _, score in scores], firsts, 100, 1)
    rows = iter(zip(units, points, first, strict=True))
    league = next((league for league in report.leagues if league.rules == rules), None)
    deals = sorted({result.num_deals for result in results})
    return {
        "name": rules.name,
        "num_players": rules.num_players,
        "digest": rules.digest(),
        "deals": " to ".join(f"{number:,}" for number in dict.fromkeys((deals[0], deals[-1]))),
        "parity_points": f"{parity[0]:g}",
        "parity_first": f"{100 * firsts[0]:g}",
        "legend": [(ordinal(place), colour) for place, colour in enumerate(place_colours(rules.num_players))],
        "tables": [_result(result, rows) for result in results],
        "with_units": bool(paid),
        "figure": results[0].figure,
        "with_blunders": any(score.blunders is not None for _, score in scores),
        "league": None if league is None else _league(league, results),
    }


def _places(places: Sequence[Estimate]) -> list[tuple[float, str, str, str]]:
    """Width in percent, colour, text and tooltip of each place's part of a bar."""
    return [
        (
            round(100 * value.mean, 3),
            colour,
            f"{100 * value.mean:.0f}" if value.mean >= 0.08 else "",
            f"{ordinal(place)}: {100 * value.mean:.1f} ± {100 * value.half_width:.1f} %",
        )
        for place, (value, colour) in enumerate(zip(places, place_colours(len(places)), strict=True))
    ]


def _result(result: MatchResult, rows: Any) -> dict[str, Any]:
    lines = []
    for label, score in zip(result.labels, result.scores, strict=True):
        units, points, first = next(rows)
        rate = decisions_per_second(score)
        lines.append(
            {
                "label": label,
                "units": units,
                "points": points,
                "first": first,
                "places": _places(score.place_estimates),
                "worth": f"{1 / score.variance_ratio:.2f}" if score.variance_ratio else "–",
                "blunders": "–" if score.blunders is None else f"{score.blunders.mean:.1f}",
                "endings": score.endings,
                "micros": f"{1e6 / rate:,.2f}" if rate else "–",
            }
        )
    stopped = result.planned_deals is not None and result.num_deals < result.planned_deals
    note = f"clear after {result.num_deals:,} of {result.planned_deals:,} deals" if stopped else ""
    if result.has_identical_decisions:
        note = f"identical decisions: each of {result.num_deals:,} deals ended the same in all its seatings"
    return {"title": result.title, "note": note, "rows": lines}


def _league(league: League, results: Sequence[MatchResult]) -> dict[str, Any]:
    standings = [league.standings[index] for index in league.ranking]
    size = len(standings)
    ratings = bars([s.rating for s in standings], [25.0] * size, 1, 2)
    points = bars([s.points for s in standings], [results[0].parity_points] * size, 1, 3)
    paid = [s.units for s in standings if s.units is not None]
    units = bars(paid, [0.0] * len(paid), 1, 3) if paid else [None] * size
    first = bars([s.first for s in standings], [results[0].parity_first] * size, 100, 1)
    payoffs = [[league.payoffs[row][column] for column in league.ranking] for row in league.ranking]
    most = max((abs(v.mean) for row in payoffs for v in row if v is not None), default=0.0) or 1.0
    return {
        "rated_games": league.rated_games,
        "rows": [
            {"label": s.name, "rating": r, "units": u, "points": p, "first": f, "places": _places(s.places)}
            for s, r, u, p, f in zip(standings, ratings, units, points, first, strict=True)
        ],
        "failed": [str(failed) for failed in league.failed],
        "names": [s.name for s in standings],
        "payoffs": [
            [
                None
                if value is None
                else {
                    "text": f"{value.mean:+.2f}",
                    "error": f"± {value.half_width:.2f}",
                    "share": round(65 * abs(value.mean) / most),
                    "hue": "good" if value.mean > 0 else "bad",
                }
                for value in row
            ]
            for row in payoffs
        ],
        "cycles": [" > ".join((*cycle, cycle[0])) for cycle in league.cycles],
    }


def _charts(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """One chart for each run: lines in a box of 100 × 100."""
    charts = []
    for run in dict.fromkeys(curve.run for curve in curves):
        mine = [curve for curve in curves if curve.run == run]
        left = min(curve.iterations[0] for curve in mine)
        right = max(curve.iterations[-1] for curve in mine)
        low = min(min(curve.values) for curve in mine)
        high = max(max(curve.values) for curve in mine)
        width, height = right - left or 1.0, high - low or 1.0
        lines = []
        for number, curve in enumerate(mine):
            points = " ".join(
                f"{100 * (x - left) / width:.2f},{100 - 100 * (y - low) / height:.2f}"
                for x, y in zip(curve.iterations, curve.values, strict=True)
            )
            lines.append((curve.measure, points, number % 5, f"{curve.values[-1]:.2f}"))
        charts.append(
            {
                "run": run,
                "lines": lines,
                "x": (f"{left:g}", f"{right:g}"),
                "y": [f"{low + height * part / 4:.2f}" for part in range(4, -1, -1)],
            }
        )
    return charts
