"""The page of a report, one HTML file for narrow and wide screens, light and dark; the records beside it.

Positions are in percent of the width, so drawings scale with the page; numbers stay text.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tienlen_agents.arena.result import Figures, League, MatchResult, RunResults, ordinal
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.command import code_digest, versions
from tienlen_agents.files import remove_temporaries, write_atomic
from tienlen_env.games.common.game import AnyRules
from tienlen_env.texts import printable

FOLDER: Final = "records"
_FILE: Final = re.compile(r"\d+-\d+-\d+\.txt")


def record_files(results: tuple[MatchResult, ...]) -> list[dict[str, Any]]:
    """The records of a run as files, in the order of its match-ups: a name, what is played, and the text.

    The names are ``records/<match-up>-<deal>-<seating>.txt``, from 1; seats are the names of the agents.
    """
    files: list[dict[str, Any]] = []
    for number, result in enumerate(results, start=1):
        for index, text in enumerate(result.records):
            deal, seating = divmod(index, result.num_seatings)
            files.append(
                {
                    "name": f"{FOLDER}/{number}-{deal + 1}-{seating + 1}.txt",
                    "match_up": result.title,
                    "rules": result.rules.name,
                    "deal": deal + 1,
                    "seats": [result.names[agent] for agent in result.seats_of(deal)[seating]],
                    "text": text,
                }
            )
    return files


def write_records(folder: Path, files: list[dict[str, Any]]) -> None:
    """Write records into ``<folder>/records``, and delete those of an earlier run there."""
    names = {file["name"] for file in files}
    remove_temporaries(folder / FOLDER)
    for path in (folder / FOLDER).glob("*.txt"):
        if _FILE.fullmatch(path.name) and f"{FOLDER}/{path.name}" not in names:
            path.unlink()
    for file in files:
        write_atomic(folder / file["name"], f"{file['text']}\n".encode())


RECORD: Final = "{record}"  # in `RunResults.records_url`: the record itself comes here


def bars(
    values: Sequence[Estimate], parities: Sequence[float], scale: float, digits: int
) -> list[dict[str, Any]]:
    """Place intervals on a common scale; positions are in percent of its width.

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
        {
            "low": at(value.low),
            "mean": at(value.mean),
            "high": at(value.high),
            "parity": at(parity),
            "text": f"{scale * value.mean:.{digits}f} ± {scale * value.half_width:.{digits}f}",
            "verdict": value.verdict(parity),
        }
        for value, parity in zip(values, parities, strict=True)
    ]


def place_colours(num_places: int) -> list[str]:
    """A colour for each place, from green for the first to red for the last."""
    best, worst = "#4fa97c", "#d98b7c"
    middle = ["#a5d3b7", "#c9dfc0", "#ecd2a8", "#e8c09c", "#e0a68a"]
    between = num_places - 2
    picked = {1: [2], 2: [0, 2]}.get(between) or [round(4 * i / (between - 1)) for i in range(between)]
    return [best, *(middle[index] for index in picked), worst]


def page(report: RunResults) -> str:
    """Make the page.

    Args:
        report: its data.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_plain,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    results = report.results
    return environment.get_template("page.html.j2").render(
        title=_title(report),
        command=report.command,
        created=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        seed=results[0].seed,
        num_games=sum(result.num_games for result in results),
        note=report.interval_note,
        saved=report.duplication_note,
        variants=[_variant(report, rules) for rules in report.variants],
        pilot=report.pilot,
        latencies=report.latencies,
        failures=[str(failed) for failed in report.failures],
        is_league=report.is_league,
        has_ratings=bool(report.leagues),
        has_long_programs=bool(report.long_programs),
        records=_records(report),
        num_records=sum(len(result.records) for result in results),
        forfeits=[(where, name, f.num_seats, f.reason, f.example) for where, name, f in report.forfeits],
        versions=versions(),
        code=code_digest(),
    )


def _plain(value: object) -> object:
    """A text on one line; what a macro has made stays HTML."""
    return printable(value) if type(value) is str else value


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
    base, found = report.records_url, dict[str, list[tuple[str, str, str]]]()
    for file in record_files(report.results):
        address = base + file["name"].removeprefix(f"{FOLDER}/" if base else "")
        if RECORD in base:
            address = base.replace(RECORD, quote(file["text"], safe=""))
        title = report.title_of(file["match_up"], file["rules"])
        found.setdefault(title, []).append((address, f"deal {file['deal']}", ", ".join(file["seats"])))
    if all(len(files) == 1 for files in found.values()):
        return [("", [files[0] for files in found.values()])] if found else []
    return list(found.items())


def _variant(report: RunResults, rules: AnyRules) -> dict[str, Any]:
    results, league = report.of(rules), report.league_of(rules)
    rows = _rows([(s, label, r) for r in results for s, label in zip(r.scores, r.labels, strict=True)])
    scores = [score for result in results for score in result.scores]
    for row, score in zip(rows, scores, strict=True):
        rate = score.decisions_per_second
        row["worth"] = f"{1 / score.variance_ratio:.2f}" if score.variance_ratio else "–"
        row["blunders"] = "–" if score.blunders is None else f"{score.blunders.mean:.1f}"
        row["endings"] = score.endings
        row["micros"] = f"{1e6 / rate:,.2f}" if rate else "–"
    deals = sorted({result.num_deals for result in results})
    left = iter(rows)
    return {
        "name": rules.name,
        "num_players": rules.num_players,
        "digest": rules.digest(),
        "deals": " to ".join(f"{number:,}" for number in dict.fromkeys((deals[0], deals[-1]))),
        "parity_points": f"{results[0].parity_points:g}",
        "parity_first": f"{100 * results[0].parity_first:g}",
        "legend": [(ordinal(place), colour) for place, colour in enumerate(place_colours(rules.num_players))],
        "tables": [
            {"title": r.title, "note": "; ".join(r.notes), "rows": [next(left) for _ in r.names]}
            for r in results
        ],
        "with_units": results[0].units is not None,
        "figure": results[0].figure,
        "with_blunders": any(score.blunders is not None for score in scores),
        "league": None if league is None else _league(league, results[0]),
    }


def _rows(found: Sequence[tuple[Figures, str, MatchResult]]) -> list[dict[str, Any]]:
    """A row for some figures, a label, and a match-up with their parity: all on the same scales."""
    points = bars([f.points for f, _, _ in found], [r.parity_points for _, _, r in found], 1, 3)
    firsts = bars([f.first for f, _, _ in found], [r.parity_first for _, _, r in found], 100, 1)
    paid = [f.units for f, _, _ in found if f.units is not None]
    units = bars(paid, [0.0] * len(paid), 1, 3) if paid else [None] * len(found)
    return [
        {"label": label, "units": u, "points": p, "first": f, "places": _places(figures.places)}
        for (figures, label, _), u, p, f in zip(found, units, points, firsts, strict=True)
    ]


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


def _league(league: League, result: MatchResult) -> dict[str, Any]:
    """The league, with the parity of a match-up."""
    standings = [league.standings[index] for index in league.ranking]
    rows = _rows([(standing, standing.name, result) for standing in standings])
    for row, bar in zip(rows, bars([s.rating for s in standings], [25.0] * len(rows), 1, 2), strict=True):
        row["rating"] = bar
    payoffs = [[league.payoffs[row][column] for column in league.ranking] for row in league.ranking]
    most = max((abs(v.mean) for row in payoffs for v in row if v is not None), default=0.0) or 1.0
    return {
        "rated_games": league.rated_games,
        "rows": rows,
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
