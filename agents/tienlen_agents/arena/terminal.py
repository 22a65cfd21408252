"""Result tables and a progress bar in the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tienlen_agents.arena.labels import (
    UNITS_NOTE,
    decisions_per_second,
    heading,
    interval_note,
    ordinal,
)
from tienlen_agents.arena.play import Forfeits, by_reason
from tienlen_agents.arena.stats import Estimate, Verdict
from tienlen_env.rendering.view import plural, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from tienlen_agents.arena.result import MatchResult
    from tienlen_agents.arena.run_results import League, RunResults, SampleSizeEstimate
    from tienlen_env.games.common.game import AnyRules

STYLE: Final[dict[Verdict, str]] = {"above": "bold green", "at": "yellow", "below": "red"}

LONG_NAME: Final = 24  # characters

_MARK: Final[dict[Verdict, str]] = {"above": "▲", "at": "=", "below": "▼"}


def show(report: RunResults, console: Console | None = None) -> None:
    """Print a report.

    Args:
        report: what to print.
        console: a `rich` console; None: the terminal.
    """
    if console is None:
        from rich.console import Console

        console = Console()
    for rules in report.variants:
        results = report.of(rules)
        # The results of a league's match-ups are in the files only; its standings are printed.
        if not report.leagues:
            for part in _scores(rules, results, report):
                console.print(part)
    for league in report.leagues:
        for part in _league(league, report):
            console.print(part)
    if len(report.variants) > 1 and not report.leagues:
        console.print(_by_rules(report))
    if report.latencies:
        console.print(_latencies(report))
    saved = report.variance_saved
    if saved is not None:
        change = f"{'saves' if saved >= 0 else 'costs'} {100 * abs(saved):.0f} %"
        console.print(
            f"Duplication {change} of the variance that as many games of independent deals would have.",
            style="dim",
            highlight=False,
        )
    if report.with_bootstrap:
        _bootstrap(report, console)
    for result in report.results:
        if result.planned_deals is not None and result.num_deals < result.planned_deals:
            console.print(
                f"{result.title!r} was clear after {result.num_deals:,} of {result.planned_deals:,} deals.",
                markup=False,
                highlight=False,
            )
        if result.has_identical_decisions:
            console.print(
                f"{result.title!r}: identical decisions: each of {result.num_deals:,} deals ended the same "
                "in all its seatings, so the intervals have no width.",
                style="yellow",
                markup=False,
                highlight=False,
            )
    for where, name, forfeits in _forfeits(report):
        console.print(
            f"forfeited in {where}: {plural(forfeits.num_rounds, 'round')} by {name}: "
            f"{printable(forfeits.reason)}; the first: {printable(forfeits.example)}",
            style="red",
            markup=False,
            highlight=False,
        )
    if any(len(name) > LONG_NAME and "name=" not in name for name in _programs(report)):
        console.print(
            "A program's name in these tables can be shorter: 'process:<command>,name=NAME'.",
            style="dim",
            markup=False,
            highlight=False,
        )
    for failed in report.failures:
        console.print(f"failed: {failed}", style="bold red", markup=False, highlight=False)
    if report.not_rated:
        console.print("No ratings: fewer than two agents did not fail.", style="bold red")


def _forfeits(report: RunResults) -> Iterator[tuple[str, str, Forfeits]]:
    """The forfeits of each agent in each match-up; in a league, those in all its match-ups together."""
    found: dict[tuple[str, str], list[Forfeits]] = {}
    for result in report.results:
        is_league = bool(report.leagues or report.not_rated)
        where = f"the league of {result.rules.name}" if is_league else repr(result.title)
        for score in result.scores:
            found.setdefault((where, score.name), []).extend(score.forfeits)
    for (where, name), several in found.items():
        for forfeits in by_reason(several):
            yield where, name, forfeits


def _programs(report: RunResults) -> list[str]:
    names = (name for result in report.results for name in result.names)
    return [name for name in names if name.startswith("process:")]


def show_pilot(pilot: SampleSizeEstimate, console: Console | None = None) -> None:
    """Print the number of deals that a precision needs, before they are played."""
    if console is None:
        from rich.console import Console

        console = Console()
    grid = _grid(
        f"Deals for ± {pilot.precision:g} {pilot.unit}, from a pilot of {pilot.num_deals} other deals"
    )
    grid.add_column("figure", overflow="fold")
    grid.add_column("pilot", justify="right", no_wrap=True)
    grid.add_column("deals", justify="right", no_wrap=True)
    for need in pilot.needs:
        grid.add_row(need.title, f"± {need.half_width:.3f}", f"{need.num_deals:,}")
    console.print(grid)


def _grid(title: str | None = None) -> Table:
    from rich import box
    from rich.table import Table

    return Table(
        title=title,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        header_style="bold",
        title_style="bold",
        title_justify="left",
    )


def _cell(value: Estimate, parity: float, scale: float = 1, digits: int = 3) -> Text:
    from rich.text import Text

    text = f"{scale * value.mean:.{digits}f} ± {scale * value.half_width:.{digits}f}"
    return Text(text, STYLE[value.verdict(parity)])


def _gain(value: Estimate, with_error: bool) -> Text:
    from rich.text import Text

    text = f"{value.mean:+.2f}" + (f" ± {value.half_width:.2f}" if with_error else "")
    return Text(text, STYLE[value.verdict(0.0)])


def _percents(shares: Sequence[float]) -> str:
    return " ".join(f"{100 * share:3.0f}" for share in shares)


def _scores(rules: AnyRules, results: Sequence[MatchResult], report: RunResults) -> list[RenderableType]:
    from rich.text import Text

    first = results[0]
    with_blunders = any(score.blunders is not None for result in results for score in result.scores)
    note = (
        f"±: {interval_note(results)} · ×: effective independent games per game played · "
        "µs: per decision, many at once"
    )
    if first.units is not None:
        note += UNITS_NOTE
    if with_blunders:
        note += " · bl.: blunders per 100 decisions in solved endings"
    grid = _grid()
    grid.add_column("agent", overflow="fold", min_width=12)
    if first.units is not None:
        grid.add_column("units", justify="right", no_wrap=True)
    grid.add_column("points", justify="right", no_wrap=True)
    grid.add_column("first %", justify="right", no_wrap=True)
    places = [ordinal(place) for place in range(1, rules.num_players)]
    grid.add_column(" ".join(places), justify="right", no_wrap=True)
    grid.add_column("×", justify="right", no_wrap=True)
    if with_blunders:
        grid.add_column("bl.", justify="right", no_wrap=True)
    grid.add_column("µs", justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    digits = 3 if first.units is None else 2  # what fits 80 columns
    for result in results:
        for score, label in zip(result.scores, result.labels, strict=True):
            verdict = score.main.verdict(result.parity)
            rate = decisions_per_second(score)
            grid.add_row(
                Text(label),
                *([] if score.units is None else [_cell(score.units, 0.0, digits=2)]),
                _cell(score.points, result.parity_points, digits=digits),
                _cell(score.first, result.parity_first, 100, 1),
                _percents(score.places[1:]),
                f"{1 / score.variance_ratio:.2f}" if score.variance_ratio else "–",
                *([f"{score.blunders.mean:.1f}" if score.blunders else "–"] if with_blunders else []),
                f"{1e6 / rate:,.2f}" if rate else "–",
                Text(_MARK[verdict], STYLE[verdict]),
                end_section=score is result.scores[-1],
            )
    share = f"{100 * first.parity_first:.1f}"
    blank = " " * (len(" ± 0.") + digits)  # the numbers stand under the means
    shares = _percents([first.parity_first] * (rules.num_players - 1))
    # In a game without a fixed sum of points, each match-up has its own mean.
    parities = {round(result.parity_points, digits) for result in results}
    points = f"{first.parity_points:.{digits}f}" if len(parities) == 1 else "mean "
    units = [] if first.units is None else [f"0.00{blank}"]
    grid.add_row("parity", *units, f"{points}{blank}", share + " " * len(" ± 0.0"), shares, style="dim")
    return [Text(heading(rules, results), "bold"), grid, Text(note + "\n", "dim")]


def _league(league: League, report: RunResults) -> list[RenderableType]:
    from rich.text import Text

    rules, results = league.rules, report.of(league.rules)
    parity = results[0].parity_points
    grid = _grid()
    note = f"±: {interval_note(results)} · rating: Plackett–Luce, mean 25, from {league.rated_games:,} games"
    grid.add_column("agent", overflow="fold", min_width=12)
    grid.add_column("rating", justify="right", no_wrap=True)
    if results[0].units is not None:
        grid.add_column("units", justify="right", no_wrap=True)
        note += UNITS_NOTE
    grid.add_column("points", justify="right", no_wrap=True)
    grid.add_column("first %", justify="right", no_wrap=True)
    grid.add_column(" ".join(ordinal(p) for p in range(1, rules.num_players)), justify="right", no_wrap=True)
    for index in league.ranking:
        standing = league.standings[index]
        grid.add_row(
            Text(standing.name),
            f"{standing.rating.mean:.2f} ± {standing.rating.half_width:.2f}",
            *([] if standing.units is None else [_cell(standing.units, 0.0, digits=2)]),
            _cell(standing.points, parity, digits=3 if standing.units is None else 2),
            _cell(standing.first, 1 / rules.num_players, 100, 1),
            _percents([value.mean for value in standing.places[1:]]),
        )
    matrix = _grid()
    matrix.add_column("", overflow="fold", min_width=10)
    for number in range(1, len(league.ranking) + 1):
        matrix.add_column(f"v. {number}", justify="right", no_wrap=True)
    with_error = len(league.ranking) <= 4  # as many as fit side by side; the files have all
    for number, row in enumerate(league.ranking, start=1):
        values = [league.payoffs[row][column] for column in league.ranking]
        cells = [Text("–", "dim") if v is None else _gain(v, with_error) for v in values]
        matrix.add_row(Text(f"{number} {league.standings[row].name}"), *cells)
    proven = [" > ".join((*cycle, cycle[0])) for cycle in league.cycles]
    found = "; ".join(proven) if proven else "none that is proven"
    cycles = Text(f"Cycles: {found}", "yellow" if proven else "dim")
    title = heading(rules, results).replace("Duplicate matches", f"League of {len(league.standings)}")
    what = results[0].figure
    payoffs = f"Payoffs: {what} per seat above the column's agent, in match-ups of only these two"
    return [Text(title, "bold"), grid, Text(note + "\n", "dim"), Text(payoffs, "bold"), matrix, cycles]


def _by_rules(report: RunResults) -> RenderableType:
    from rich.text import Text

    paid = any(result.units is not None for result in report.results)
    grid = _grid("Points by variant, units where there are payments" if paid else "Points by variant")
    grid.add_column("match-up", overflow="fold", min_width=12)
    for rules in report.variants:
        grid.add_column(rules.name, justify="right", no_wrap=True)
    for title in dict.fromkeys(result.title for result in report.results):
        row = []
        for rules in report.variants:
            found = [result for result in report.of(rules) if result.title == title]
            row.append(_cell(found[0].scores[0].main, found[0].parity) if found else Text("–"))
        grid.add_row(Text(title), *row)
    return grid


def _latencies(report: RunResults) -> RenderableType:
    from rich.text import Text

    grid = _grid("One decision at a time")
    grid.add_column("agent", overflow="fold", min_width=12)
    for name in ("mean ms", "99 % ms", "decisions"):
        grid.add_column(name, justify="right", no_wrap=True)
    for found in report.latencies:
        name = found.name if len(report.variants) == 1 else f"{found.name} · {found.rules}"
        grid.add_row(Text(name), f"{found.mean_ms:.3f}", f"{found.p99_ms:.3f}", f"{found.decisions:,}")
    return grid


def _bootstrap(report: RunResults, console: Console) -> None:
    figures = " or ".join(dict.fromkeys(result.figure for result in report.results))
    console.print(f"Intervals of the {figures}, analytic and by bootstrap over deals:", style="bold")
    for result in report.results:
        for index, score in enumerate(result.scores):
            low, high = result.bootstrap(index)
            console.print(
                f"  {result.title}, {score.name}: {score.main.low:.4f} .. {score.main.high:.4f}, "
                f"bootstrap {low:.4f} .. {high:.4f}",
                markup=False,
                highlight=False,
            )


class LiveProgress:
    """A progress bar in the terminal: games, decisions per second, time left. Use it with ``with``."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        self._bar = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, ratio=1), markup=False),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[games]}", justify="right"),
            TextColumn("{task.fields[rate]}", justify="right"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
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
