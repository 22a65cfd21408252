"""The progress line of a training run."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class TrainingProgress:
    """A progress bar in a terminal; if output goes to a file, a line every half a minute.

    Args:
        console: the output.
        total: decisions of the whole run.
        done: decisions trained on already.
    """

    EVERY = 30.0  # seconds between lines without a terminal

    def __init__(self, console: Console, total: int, done: int = 0) -> None:
        self._console = console
        self._total = total
        self._printed = time.monotonic()
        self._bar = Progress(
            TextColumn("[bold]training"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[games]:,} games"),
            TextColumn("{task.fields[rate]:,.0f} decisions/s"),
            TextColumn("update {task.fields[iteration]}"),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(
            "", total=total, completed=done, games=0, rate=0.0, iteration=0, score=""
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, done: int, games: int, rate: float, iteration: int, scores: dict[str, float]) -> None:
        """Show the progress.

        Args:
            done: decisions trained on.
            games: games played.
            rate: decisions a second.
            iteration: iterations so far.
            scores: the last quick comparison; its ``units_v_*`` entries are shown, else ``points_v_*``.
        """
        prefix = "units_v_" if any(key.startswith("units_v_") for key in scores) else "points_v_"
        shown = {k.removeprefix(prefix): v for k, v in scores.items() if k.startswith(prefix)}
        text = "  ".join(f"{v:.2f} v. {k}" for k, v in shown.items())
        self._bar.update(
            self._task,
            completed=min(done, self._total),
            games=games,
            rate=rate,
            iteration=iteration,
            score=text,
        )
        now = time.monotonic()
        if not self._console.is_terminal and now - self._printed > self.EVERY:
            self._printed = now
            self._console.print(
                f"{done / self._total:4.0%}  {games:,} games  {rate:,.0f} decisions/s  {text}",
                highlight=False,
            )
