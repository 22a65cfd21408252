"""What an arena run leaves: a terminal table, JSON, CSV and a plot; and `compare`, which makes one."""

from __future__ import annotations

import csv
import io
import json
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import combinations
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agents.arena.lineup import lineup_of
from agents.arena.match import CHUNK_DEALS, PLACE_NAMES, Progress, TableResult, table
from agents.arena.stats import Estimate, Verdict
from agents.files import write_atomic
from tienlen_env.agent import Agent
from tienlen_env.core.definition import AnyRules
from tienlen_env.games import get_rules
from tienlen_env.rendering.view import plural, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_RICH_STYLE: dict[Verdict, str] = {"above": "bold green", "at": "yellow", "below": "red"}


@dataclass(frozen=True)
class Report:
    """Several tables of one run, ready to be shown and written.

    Attributes:
        tables: results under the same rules.
        command: what to type for the same result; empty if it did not come from a command.
    """

    tables: tuple[TableResult, ...]
    command: str = ""

    def print(self, console: Console | None = None) -> None:
        """Show the results in the terminal, or on a given `rich` console."""
        if console is None:
            from rich.console import Console

            console = Console()
        console.print(_rich_table(self.tables))
        for result in self.tables:
            for score in result.scores:
                for forfeits in score.forfeits:
                    rounds = plural(forfeits.num_rounds, "round")
                    console.print(
                        f"forfeited in {result.title!r}: {rounds} by {score.name}: {forfeits.reason}; "
                        f"the first: {printable(forfeits.example)}",
                        style="red",
                        markup=False,
                        highlight=False,
                    )

    def to_dict(self) -> dict[str, Any]:
        """All figures with what is needed to get them again, as plain JSON values."""
        rules = self.tables[0].rules
        return {
            "schema": 1,
            "command": self.command,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": _versions(),
            "rules": {"name": rules.name, "digest": rules.digest(), "num_players": rules.num_players},
            "chunk_deals": CHUNK_DEALS,
            "tables": [
                {
                    "title": result.title,
                    "seed": result.seed,
                    "num_deals": result.num_deals,
                    "num_seatings": result.num_seatings,
                    "num_games": result.num_games,
                    "seconds": result.seconds,
                    "parity": {"points": result.parity_points, "first": result.parity_first},
                    "agents": [
                        {
                            "name": score.name,
                            "num_seats": score.num_seats,
                            "points": _estimate_dict(score.points, result.parity_points),
                            "first": _estimate_dict(score.first, result.parity_first),
                            "places": list(score.places),
                            "variance_ratio": score.variance_ratio,
                            "decisions": score.decisions,
                            "seconds": score.seconds,
                            "forfeits": [forfeits._asdict() for forfeits in score.forfeits],
                        }
                        for score in result.scores
                    ],
                }
                for result in self.tables
            ],
        }

    def to_csv(self) -> str:
        """One line an agent and table, with a header."""
        num_players = self.tables[0].rules.num_players
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            ["table", "agent", "num_seats", "points", "points_low", "points_high", "points_verdict"]
            + ["first", "first_low", "first_high", "first_verdict"]
            + [f"place_{place + 1}" for place in range(num_players)]
            + [
                "variance_ratio",
                "decisions",
                "seconds",
                "forfeits",
                "num_deals",
                "num_games",
                "rules",
                "rules_digest",
                "seed",
            ]
        )
        for result in self.tables:
            for score in result.scores:
                row: list[object] = [result.title, score.name, score.num_seats]
                for value, parity in (
                    (score.points, result.parity_points),
                    (score.first, result.parity_first),
                ):
                    row += [value.mean, value.low, value.high, value.verdict(parity)]
                row += [*score.places, score.variance_ratio, score.decisions, score.seconds]
                row += [sum(forfeits.num_rounds for forfeits in score.forfeits), result.num_deals]
                row += [result.num_games, result.rules.name, result.rules.digest(), result.seed]
                writer.writerow(row)
        return out.getvalue()

    def to_png(self) -> bytes:
        """The plot: points, first places and the distribution of places of every agent (see `plot`)."""
        from agents.arena.plot import plot

        return plot(self.tables, _heading(self.tables))

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``arena.json``, ``arena.csv`` and ``arena.png``; each is there whole or not at all.

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
        }
        for name, content in contents.items():
            write_atomic(folder / name, content)
        return [folder / name for name in contents]


def compare(
    agent: Agent,
    baselines: Sequence[Agent],
    *,
    rules: str | AnyRules = "cardgames",
    num_players: int | None = None,
    compositions: Sequence[str | None] = (None,),
    mixed: bool = True,
    num_deals: int = 2500,
    seed: int = 0,
    history: int = 0,
    progress: Progress | None = None,
    command: str = "",
) -> Report:
    """One agent against a panel: alone against each baseline, and in mixed tables.

    Args:
        agent: the one that is examined.
        baselines: the others.
        rules: the variant.
        num_players: P; None keeps the number in `rules`.
        compositions: of the tables of two agents, see `match`.
        mixed: also seat the agent with every P-1 different baselines, if there are so many.
        num_deals: deals of each table, the same ones at all.
        seed: of deals and agents.
        history: plays that observations show.
        progress: is told how it gets on.
        command: what to type for the same result, for the report.

    Raises:
        ValueError: see `match` and `table`.
    """
    rules = get_rules(rules, num_players)
    # All lineups before the first game: a wrong one shows at once.
    lineups = [lineup_of(composition, rules.num_players) for composition in compositions]
    tables: list[tuple[list[Agent], list[int] | None]]
    tables = [([agent, baseline], lineup) for baseline in baselines for lineup in lineups]
    if mixed and rules.num_players > 2:
        tables += [([agent, *others], None) for others in combinations(baselines, rules.num_players - 1)]
    results = [
        table(seated, lineup, rules=rules, num_deals=num_deals, seed=seed, history=history, progress=progress)
        for seated, lineup in tables
    ]
    return Report(tuple(results), command)


class LiveProgress:
    """A progress bar in the terminal: games, decisions a second, time left. Use it with ``with``."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        self._bar = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, ratio=1)),
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
        """Begin a line of its own for a table."""
        self._done, self._decisions, self._begin = 0.0, 0, 0.0
        self._total = num_games
        self._task = self._bar.add_task(title, total=num_games, games="", rate="")

    def advance(self, num_games: float, num_decisions: int) -> None:
        """Move the bar."""
        # The clock starts with the first step: what is compiled before it is no playing time.
        if not self._begin:
            self._begin = time.perf_counter()
        else:
            self._decisions += num_decisions
        rate = self._decisions / max(time.perf_counter() - self._begin, 1e-9)
        self._done += num_games
        # Sums of shares end a hair beside the total.
        done = self._total if abs(self._total - self._done) < 1e-3 else self._done
        self._bar.update(
            self._task,
            completed=done,
            games=f"{done:,.0f}/{self._total:,}",
            rate=f"{rate / 1000:,.1f}k decisions/s",
        )


# ---------------------------------------------------------------- numbers


def _estimate_dict(value: Estimate, parity: float) -> dict[str, Any]:
    return {"mean": value.mean, "low": value.low, "high": value.high, "verdict": value.verdict(parity)}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("tienlen-env", "numpy", "numba", "torch", "stable-baselines3", "sb3-contrib"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


# ---------------------------------------------------------------- terminal


def _rich_table(results: Sequence[TableResult]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    first = results[0]
    num_players = first.rules.num_players
    grid = Table(
        title=_heading(results),
        caption="±: 95 % intervals, clustered by deal · ×: independent games that a duplicate one is worth",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        header_style="bold",
        title_style="bold",
    )
    grid.add_column("agent", overflow="fold", min_width=12)
    grid.add_column("points", justify="right", no_wrap=True)
    grid.add_column("first %", justify="right", no_wrap=True)
    grid.add_column(" ".join(PLACE_NAMES[1:num_players]), justify="right", no_wrap=True)
    grid.add_column("×", justify="right", no_wrap=True)
    grid.add_column("µs/dec.", justify="right", no_wrap=True)
    grid.add_column("parity", no_wrap=True)

    def cell(value: Estimate, parity: float, scale: float, digits: int) -> Text:
        text = f"{scale * value.mean:.{digits}f} ± {scale * value.half_width:.{digits}f}"
        return Text(text, _RICH_STYLE[value.verdict(parity)])

    for result in results:
        for score, label in zip(result.scores, result.labels, strict=True):
            verdict = score.points.verdict(result.parity_points)
            grid.add_row(
                label,
                cell(score.points, result.parity_points, 1, 3),
                cell(score.first, result.parity_first, 100, 1),
                " ".join(f"{100 * share:3.0f}" for share in score.places[1:]),
                f"{1 / score.variance_ratio:.2f}" if score.variance_ratio else "–",
                f"{1e6 * score.seconds / max(score.decisions, 1):,.2f}",
                Text(verdict, _RICH_STYLE[verdict]),
                end_section=score is result.scores[-1],
            )
    share = f"{100 * first.parity_first:.1f}"
    shares = " ".join([f"{100 * first.parity_first:3.0f}"] * (num_players - 1))
    blank = " " * len(" ± 0.000")  # the numbers stand under the means
    # In a game whose points a table does not fix, each table has its own mean.
    parities = {round(result.parity_points, 3) for result in results}
    points = f"{first.parity_points:.3f}" if len(parities) == 1 else "mean "
    grid.add_row("parity", f"{points}{blank}", share + blank[2:], shares, style="dim")
    return grid


def _heading(results: Sequence[TableResult]) -> str:
    first = results[0]
    games = sum(result.num_games for result in results)
    return (
        f"Duplicate matches · {first.rules.name}, {first.rules.num_players} players · "
        f"{first.num_deals:,} deals, {games:,} games · seed {first.seed}"
    )
