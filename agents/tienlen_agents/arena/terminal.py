"""Result tables and a progress bar in the terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tienlen_agents.arena.result import (
    Figures,
    League,
    MatchResult,
    RunResults,
    SampleSizeEstimate,
    ordinal,
)
from tienlen_agents.arena.stats import Estimate, Verdict
from tienlen_env.rendering.view import plural
from tienlen_env.texts import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from tienlen_env.games.common.game import AnyRules

STYLE: Final[dict[Verdict, str]] = {"above": "bold green", "at": "yellow", "below": "red"}

UNITS_NOTE: Final = " · units: payments a round"
LONG_NAME: Final = 24  # characters

_MARK: Final[dict[Verdict, str]] = {"above": "▲", "at": "=", "below": "▼"}


def show(report: RunResults, console: Console | None = None) -> None:
    """Print a report.

    Args:
        report: what to print.
        console: a `rich` console; None: the terminal.
    """
    if console is None:
        from tienlen_agents.console import PlainConsole  # imports rich

        console = PlainConsole()

    def line(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False)

    parts: list[RenderableType] = []
    # The results of a league's match-ups are in the files only; its standings are printed.
    for rules in () if report.leagues else report.variants:
        parts += _scores(rules, report)
    for league in report.leagues:
        parts += _league(league, report)
    if len(report.variants) > 1 and not report.leagues:
        parts.append(_by_rules(report))
    if report.latencies:
        parts.append(_latencies(report))
    for part in parts:
        console.print(part)
    if note := report.duplication_note:
        line(note, "dim")
    if report.with_bootstrap:
        figures = " or ".join(dict.fromkeys(result.figure for result in report.results))
        console.print(f"Intervals of the {figures}, analytic and by bootstrap over deals:", style="bold")
        for result in report.results:
            for index, score in enumerate(result.scores):
                low, high = result.bootstrap(index)
                interval = f"{score.main.low:.4f} .. {score.main.high:.4f}"
                line(f"  {result.title}, {score.name}: {interval}, bootstrap {low:.4f} .. {high:.4f}")
    for result in report.results:
        for note in result.notes:
            line(f"{result.title!r}: {note}.", "yellow")
    for where, name, forfeits in report.forfeits:
        line(
            f"forfeited in {where}: {plural(forfeits.num_seats, 'seat')} of rounds by {name}: "
            f"{printable(forfeits.reason)}; the first: {printable(forfeits.example)}",
            "red",
        )
    if any(len(name) > LONG_NAME for name in report.long_programs):
        line("A program's name in these tables can be shorter: 'process:<command>,name=NAME'.", "dim")
    for failed in report.failures:
        line(f"failed: {failed}", "bold red")
    if report.not_rated:
        line("No ratings: fewer than two agents did not fail.", "bold red")


def show_pilot(pilot: SampleSizeEstimate) -> None:
    """Print the number of deals that a precision needs, before they are played."""
    from tienlen_agents.console import PlainConsole

    grid = _grid("figure", "pilot", "deals")
    grid.title = (
        f"Deals for ± {pilot.precision:g} {pilot.unit}, from a pilot of {pilot.num_deals} other deals"
    )
    for need in pilot.needs:
        grid.add_row(need.title, f"± {need.half_width:.3f}", f"{need.num_deals:,}")
    PlainConsole().print(grid)


def _grid(first: str, *numbers: str, min_width: int = 12) -> Table:
    """A table whose first column is text, and whose others are numbers."""
    from rich import box
    from rich.table import Table

    grid = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        header_style="bold",
        title_style="bold",
        title_justify="left",
    )
    grid.add_column(first, overflow="fold", min_width=min_width)
    for name in numbers:
        grid.add_column(name, justify="right", no_wrap=True)
    return grid


def _figure_columns(with_units: bool, num_players: int) -> list[str]:
    """The titles of the columns of `_figures`."""
    places = " ".join(ordinal(place) for place in range(1, num_players))
    return [*(["units"] if with_units else []), "points", "first %", places]


def _figures(found: Figures, result: MatchResult) -> list[Text | str]:
    """The figures of an agent, beside the parity of a match-up."""
    places = " ".join(f"{100 * place.mean:3.0f}" for place in found.places[1:])
    return [
        *([] if found.units is None else [_cell(found.units, 0.0, digits=2)]),
        _cell(found.points, result.parity_points, digits=_digits(result)),
        _cell(found.first, result.parity_first, 100, 1),
        places,
    ]


def _digits(result: MatchResult) -> int:
    """Of points: what fits 80 columns."""
    return 3 if result.units is None else 2


def _text(text: str, style: str = "") -> Text:
    """A text that is shown as it is, without marks for colours in it."""
    from rich.text import Text

    return Text(text, style)


def _cell(value: Estimate, parity: float, scale: float = 1, digits: int = 3) -> Text:
    text = f"{scale * value.mean:.{digits}f} ± {scale * value.half_width:.{digits}f}"
    return _text(text, STYLE[value.verdict(parity)])


def _gain(value: Estimate, with_error: bool) -> Text:
    text = f"{value.mean:+.2f}" + (f" ± {value.half_width:.2f}" if with_error else "")
    return _text(text, STYLE[value.verdict(0.0)])


def _scores(rules: AnyRules, report: RunResults) -> list[RenderableType]:
    results = report.of(rules)
    first, digits = results[0], _digits(results[0])
    with_units = first.units is not None
    with_blunders = any(score.blunders is not None for result in results for score in result.scores)
    note = (
        f"±: {report.interval_note} · ×: effective independent games per game played · "
        f"µs: per decision, many at once{UNITS_NOTE if with_units else ''}"
        f"{' · bl.: blunders per 100 decisions in solved endings' if with_blunders else ''}"
    )
    columns = _figure_columns(with_units, rules.num_players)
    grid = _grid("agent", *columns, "×", *(["bl."] if with_blunders else []), "µs", "")
    for result in results:
        for score, label in zip(result.scores, result.labels, strict=True):
            verdict = score.main.verdict(result.parity)
            rate = score.decisions_per_second
            grid.add_row(
                _text(label),
                *_figures(score, result),
                f"{1 / score.variance_ratio:.2f}" if score.variance_ratio else "–",
                *([f"{score.blunders.mean:.1f}" if score.blunders else "–"] if with_blunders else []),
                f"{1e6 / rate:,.2f}" if rate else "–",
                _text(_MARK[verdict], STYLE[verdict]),
                end_section=score is result.scores[-1],
            )
    share = f"{100 * first.parity_first:.1f}"
    blank = " " * (len(" ± 0.") + digits)  # the numbers stand under the means
    shares = " ".join([f"{100 * first.parity_first:3.0f}"] * (rules.num_players - 1))
    # In a game without a fixed sum of points, each match-up has its own mean.
    parities = {round(result.parity_points, digits) for result in results}
    points = f"{first.parity_points:.{digits}f}" if len(parities) == 1 else "mean "
    units = [f"0.00{blank}"] if with_units else []
    grid.add_row("parity", *units, f"{points}{blank}", share + " " * len(" ± 0.0"), shares, style="dim")
    return [_text(report.heading(rules), "bold"), grid, _text(note + "\n", "dim")]


def _league(league: League, report: RunResults) -> list[RenderableType]:
    first, standings = report.of(league.rules)[0], [league.standings[index] for index in league.ranking]
    note = (
        f"±: {report.interval_note} · rating: Plackett–Luce, mean 25, from {league.rated_games:,} games"
        f"{'' if first.units is None else UNITS_NOTE}"
    )
    columns = _figure_columns(first.units is not None, league.rules.num_players)
    grid = _grid("agent", "rating", *columns)
    for standing in standings:
        rating = f"{standing.rating.mean:.2f} ± {standing.rating.half_width:.2f}"
        grid.add_row(_text(standing.name), rating, *_figures(standing, first))
    matrix = _grid("", *(f"v. {number}" for number, _ in enumerate(standings, start=1)), min_width=10)
    with_error = len(standings) <= 4  # as many as fit side by side; the files have all
    for number, row in enumerate(league.ranking, start=1):
        values = [league.payoffs[row][column] for column in league.ranking]
        cells = [_text("–", "dim") if v is None else _gain(v, with_error) for v in values]
        matrix.add_row(_text(f"{number} {league.standings[row].name}"), *cells)
    proven = [" > ".join((*cycle, cycle[0])) for cycle in league.cycles]
    found = "; ".join(proven) if proven else "none that is proven"
    cycles = _text(f"Cycles: {found}", "yellow" if proven else "dim")
    payoffs = f"Payoffs: {first.figure} per seat above the column's agent, in match-ups of only these two"
    title = _text(report.heading(league.rules), "bold")
    return [title, grid, _text(note + "\n", "dim"), _text(payoffs, "bold"), matrix, cycles]


def _by_rules(report: RunResults) -> RenderableType:
    paid = any(result.units is not None for result in report.results)
    grid = _grid("match-up", *(rules.name for rules in report.variants))
    grid.title = "Points by variant, units where there are payments" if paid else "Points by variant"
    for title in dict.fromkeys(result.title for result in report.results):
        row = []
        for rules in report.variants:
            found = [result for result in report.of(rules) if result.title == title]
            row.append(_cell(found[0].scores[0].main, found[0].parity) if found else _text("–"))
        grid.add_row(_text(title), *row)
    return grid


def _latencies(report: RunResults) -> RenderableType:
    grid = _grid("agent", "mean ms", "99 % ms", "decisions")
    grid.title = "One decision at a time"
    for found in report.latencies:
        name = report.title_of(found.name, found.rules)
        grid.add_row(_text(name), f"{found.mean_ms:.3f}", f"{found.p99_ms:.3f}", f"{found.decisions:,}")
    return grid


class LiveProgress:
    """A progress bar in the terminal: games, decisions per second, time left. Use it with ``with``."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        self._bar = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, ratio=1), markup=False),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[games]}", justify="right"),
            TextColumn("{task.fields[rate]}", justify="right"),
            TimeRemainingColumn(elapsed_when_finished=True),
            expand=True,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def start(self, title: str, num_games: int) -> None:
        """Begin a line for a run."""
        self._done, self._decisions, self._begin = 0.0, 0, 0.0
        self._total = num_games
        self._task = self._bar.add_task(title, total=num_games, games="", rate="")

    def advance(self, num_games: float, num_decisions: int) -> None:
        """Move the bar."""
        # The clock starts with the first step, so that compilation before it does not count.
        if not self._begin:
            self._begin = time.perf_counter()
        else:
            self._decisions += num_decisions
        seconds = time.perf_counter() - self._begin
        # The first chunks of several workers arrive together; a rate over so short a time means nothing.
        rate = f"{self._decisions / seconds / 1000:,.1f}k decisions/s" if seconds > 0.5 else ""
        self._done += num_games
        # Sums of shares differ from the total by rounding errors.
        done = self._total if abs(self._total - self._done) < 1e-3 else self._done
        self._bar.update(
            self._task,
            completed=done,
            games=f"{done:,.0f}/{self._total:,}",
            rate=rate,
        )
