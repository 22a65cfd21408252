"""The loop over iterations: a task in its run folder, from the start or a checkpoint to the end."""

from __future__ import annotations

import copy
import ctypes
import shlex
import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tienlen_agents.command import CONSOLE_SCRIPT
from tienlen_agents.console import PlainConsole
from tienlen_agents.executors import Executor, opened
from tienlen_env.extras import MissingExtraError
from tienlen_train.config import DivergenceError, Main, RunError, SelfPlayConfig, command
from tienlen_train.runs import RunFolder, check_resumable, lock_run_folder, parse_run_args

Metrics = dict[str, float]
SECONDS_BETWEEN_LINES: Final = 30.0  # of progress, where the output is not a terminal
FILE_WIDTH: Final = 160  # columns of tables in a file


class TrainingTask(ABC):
    """What `train` runs: a trainer or a population.

    Args:
        config: the settings.

    Attributes:
        name: begins the name of the run folder if the settings have none.
        unit: what is counted: iterations or generations.
        folders: those in the run folder that it writes to.
        rules: the variant.
        iteration: number of units so far.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "iteration"
    folders: ClassVar[tuple[str, ...]] = ()

    def __init__(self, config: SelfPlayConfig) -> None:
        self.config = config
        self.rules = config.variant()
        self.iteration = 0

    @property
    def description(self) -> str:
        """A description of the run, for the console."""
        return f"{self.rules.name}, {self.rules.num_players} players"

    @contextmanager
    def opened_executor(self, console: Console) -> Iterator[Executor | None]:
        """The executor that the settings name; None if they name none.

        Raises:
            RunError: it cannot be reached, a package is not installed, or it refuses the settings.
        """
        config = self.config
        if config.executor is None:
            yield None
            return
        with ExitStack() as stack:
            try:
                found = opened(
                    config.executor, config.agent_names(), say=console.print, at_once=config.actors
                )
                executor = stack.enter_context(found)
                executor.check(config)
            except (MissingExtraError, ValueError) as error:
                raise RunError(str(error)) from error
            yield executor

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether the run has ended."""

    @abstractmethod
    def workplace(self, console: Console) -> AbstractContextManager[None]:
        """Where it plays and learns, for the whole run."""

    @abstractmethod
    def advance(self) -> Metrics:
        """One unit; its metrics."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """The contents of a checkpoint."""

    @abstractmethod
    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a checkpoint.

        Raises:
            DivergenceError: it has weights that are not finite.
            KeyError, TypeError, ValueError, AttributeError, RuntimeError: it is not the state of such a run;
                the task cannot be used any more.
        """

    @abstractmethod
    def save(self, out: Path) -> None:
        """Write the policies to the run folder.

        Raises:
            RunError: the disk is full or the folder cannot be written.
        """

    @abstractmethod
    def display(self, console: Console) -> AbstractContextManager[Callable[[Metrics], None]]:
        """Shows the progress; a function that is called with the metrics after each unit."""

    @abstractmethod
    def finish(self, out: Path, console: Console) -> None:
        """Report on the run in the folder `out` at its end."""


TaskT = TypeVar("TaskT", bound=TrainingTask)


def make_console() -> Console:
    """The standard output; if it is a file, lines are not wrapped and tables are `FILE_WIDTH` wide."""
    found = PlainConsole()
    return found if found.is_terminal else PlainConsole(width=FILE_WIDTH, soft_wrap=True)


@contextmanager
def progress_bar(
    console: Console, total: int, completed: int
) -> Iterator[Callable[[int, int, float, int, str, bool], None]]:
    """A progress bar in a terminal; if the output is a file, a line every half a minute.

    Args:
        console: where.
        total: decisions of the run.
        completed: decisions so far.

    Yields:
        ``show(decisions, games, rate, iteration, score, is_done)``, to be called after every iteration.
    """
    bar = Progress(
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
    task = bar.add_task("", total=total, completed=completed, games=0, rate=0.0, iteration=0, score="")
    printed, shown = time.monotonic(), 0

    def show(decisions: int, games: int, rate: float, iteration: int, score: str, is_done: bool) -> None:
        nonlocal printed, shown
        shown += 1
        if shown == 2 and not is_done:  # compiled code and caches are ready after the first one
            minutes = (total - decisions) / rate / 60
            console.print(f"about {minutes:,.1f} minutes to go, at {rate:,.0f} decisions/s", highlight=False)
        completed = min(decisions, total)
        bar.update(task, completed=completed, games=games, rate=rate, iteration=iteration, score=score)
        now = time.monotonic()
        if not console.is_terminal and now - printed > SECONDS_BETWEEN_LINES:
            printed = now
            console.print(
                f"{decisions / total:4.0%}  {games:,} games  {rate:,.0f} decisions/s  {score}",
                highlight=False,
            )

    with bar:
        yield show


def shell_command(*words: str) -> str:
    """A command of the console script for a shell, with the path of this Python where that is not found."""
    start = [CONSOLE_SCRIPT] if shutil.which(CONSOLE_SCRIPT) else [sys.executable, "-m", "tienlen_train.cli"]
    return shlex.join([*start, *words])


def prepare_process() -> None:
    """Let torch use one thread per shard, and the process reuse the memory of large freed arrays.

    Memory is kept if the C library is glibc. Otherwise it is returned to the system and paged in again in
    every iteration, a tenth of the time.
    """
    # Two OpenMP threads would wait for each other in every operation; ours wait twice a gradient step.
    torch.set_num_threads(1)
    _set_malloc(trim_threshold=2**31 - 1, top_pad=2**26, mmap_max=0)


def _set_malloc(*, trim_threshold: int, top_pad: int, mmap_max: int) -> None:
    """Set what glibc's ``malloc.h`` has; other libraries do not have it."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for setting, value in ((-1, trim_threshold), (-2, top_pad), (-4, mmap_max)):
        mallopt(setting, value)


@contextmanager
def prepared_process() -> Iterator[None]:
    """`prepare_process` for a block, after which torch has its threads and its random numbers of before.

    glibc does not tell what it had, and gets its defaults.
    """
    threads = torch.get_num_threads()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices):
        try:
            prepare_process()
            yield
        finally:
            torch.set_num_threads(threads)
            _set_malloc(trim_threshold=2**17, top_pad=2**17, mmap_max=2**16)


@prepared_process()
def train(make_task: type[TaskT], config: SelfPlayConfig, console: Console) -> tuple[TaskT, Path]:
    """Start or continue a run; returns the task and its run folder.

    When it returns, the policy files in the folder are those of its last checkpoint. The same holds when it
    is interrupted by Ctrl-C or SIGTERM (see `tienlen_agents.command`): then the last checkpoint is that of
    the last complete iteration or generation.

    Args:
        make_task: what runs; it refuses invalid settings before a folder is made.
        config: the settings.
        console: shows the progress.

    Raises:
        RunError: the run folder cannot be used, or written to; or there is no run to resume.
        DivergenceError: a loss, a weight or a metric is not finite; the last checkpoint is of before.
        ValueError: invalid settings.
    """
    if config.resume and config.out is not None:
        check_resumable(Path(config.out))
    task = make_task(config)
    out = Path(config.out or f"runs/{task.name}-{time.strftime('%Y%m%d-%H%M%S')}")
    with (
        lock_run_folder(out, *task.folders),
        task.workplace(console),
        RunFolder(out, task.config, task.rules, resume=config.resume) as folder,
    ):
        run = _Run(task, folder)
        run.begin(console)
        try:
            run.loop(console)
        except KeyboardInterrupt as error:
            run.save_last()
            error.add_note(f"{out} holds {task.unit} {task.iteration}: continue with --resume")
            raise
    return task, out


class _Run:
    """A task in its run folder.

    Every unit writes its metrics, then the checkpoint, then the policies, so that what a kill leaves undone
    is done when the run continues from the checkpoint.
    """

    def __init__(self, task: TrainingTask, folder: RunFolder) -> None:
        self.task = task
        self.folder = folder
        self._saved = -1  # iteration of the last checkpoint
        self._last: tuple[int, dict[str, Any]]  # the state after the last complete iteration

    def begin(self, console: Console) -> None:
        """Load the last checkpoint, or write the first one, before the first iteration.

        A folder without a checkpoint has therefore lost it, if it holds a run.
        """
        task, folder, config = self.task, self.folder, self.task.config
        found = folder.load_checkpoint() if config.resume else None
        if found is not None:
            path = folder.checkpoint_path(found[0])
            try:
                task.restore(*found)
            except DivergenceError as error:
                raise RunError(
                    f"{path} holds the weights of a run that has diverged: remove it to use the one before"
                ) from error
            except Exception as error:  # a stranger's state can fail in any way
                raise RunError(f"{path} does not hold the state of such a run: {error!r:.300}") from error
            self._saved = task.iteration
            if config.new_metrics:
                folder.begin_new_metrics(task.iteration)
            folder.trim_metrics(task.iteration)
            console.print(f"continuing {folder.path} after {task.unit} {task.iteration}")
        self._keep()
        self._save()
        if found is None:
            folder.trim_metrics(0)
        console.print(f"training on {task.description}; run folder {folder.path}")

    def loop(self, console: Console) -> None:
        """All units that are left."""
        task, config = self.task, self.task.config
        with task.display(console) as show:
            while not task.is_done:
                metrics = task.advance()
                self.folder.log({"iteration": task.iteration, "time": time.time(), **metrics})
                self._keep()
                if task.iteration % config.checkpoint_every == 0 or task.is_done:
                    self._save()
                show(metrics)

    def save_last(self) -> None:
        """Write the checkpoint and the policies of the last complete unit, after an interrupt.

        The interrupt may have come in the middle of a gradient step, so the task goes back to that unit.
        """
        self.task.restore(*self._last)
        self._save()
        self.folder.trim_metrics(self.task.iteration)

    def _keep(self) -> None:
        self._last = self.task.iteration, copy.deepcopy(self.task.state())

    def _save(self) -> None:
        """Write the checkpoint, unless it is there, and the policies."""
        if self._saved != self.task.iteration:
            self.folder.save_checkpoint(self.task.iteration, self.task.state())
            self._saved = self.task.iteration
        self.task.save(self.folder.path)


def training_command(
    make_task: type[TrainingTask], config_class: type[SelfPlayConfig], description: str
) -> Main:
    """The ``main`` of an algorithm: train, and report on the run.

    Args:
        make_task: the algorithm.
        config_class: its settings, which are the options.
        description: of the command, for ``--help``.
    """

    @command
    def main(argv: Sequence[str] | None = None) -> int:
        config = parse_run_args(config_class, description, argv)
        console = make_console()
        task, out = train(make_task, config, console)
        task.finish(out, console)
        return 0

    return main
