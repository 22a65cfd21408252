"""Runs: a task in its run folder, from the start or a checkpoint to the end; and the base of trainers."""

from __future__ import annotations

import copy
import ctypes
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.exact import build, measure, policy_of, small_game
from tienlen_agents.exact.plan import check_fits, plan
from tienlen_agents.exact.tree import Tree
from tienlen_agents.networks.features import features_of
from tienlen_env.engine.agent import Agent
from tienlen_train.config import DivergenceError, Main, SelfPlayConfig, command
from tienlen_train.runs import RunFolder, check_resumable, lock_run_folder, parse_run_args, restoring

Metrics = dict[str, float]
LARGEST: Final = 1e10  # a weight; beyond it products of layers leave the range of float32

SECONDS_BETWEEN_LINES: Final = 30.0  # of progress, where the output is not a terminal
FILE_WIDTH: Final = 160  # columns of tables in a file


class Task(ABC):
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

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether the run has ended."""

    def workplace(self, console: Console) -> AbstractContextManager[None]:
        """Where it plays and learns, for the whole run: in this process."""
        return nullcontext()

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


TaskT = TypeVar("TaskT", bound=Task)


def make_console() -> Console:
    """The standard output; if it is a file, lines are not wrapped and tables are `FILE_WIDTH` wide."""
    found = Console()
    return found if found.is_terminal else Console(width=FILE_WIDTH, soft_wrap=True)


def prepare_process() -> None:
    """Let torch use one thread per shard, and the process reuse the memory of large freed arrays.

    Memory is kept if the C library is glibc. Otherwise it is returned to the system and paged in again in
    every iteration, a tenth of the time.
    """
    # Two OpenMP threads would wait for each other in every operation; ours wait twice a gradient step.
    torch.set_num_threads(1)
    trim_threshold, top_pad, mmap_max = -1, -2, -4  # of malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for setting, value in ((trim_threshold, 2**31 - 1), (top_pad, 2**26), (mmap_max, 0)):
        mallopt(setting, value)


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
    prepare_process()
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

    def __init__(self, task: Task, folder: RunFolder) -> None:
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
            with restoring(folder.checkpoint_path(found[0])):
                task.restore(*found)
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


class Trainer(Task):
    """A run of one policy.

    Args:
        config: the settings.

    Attributes:
        eval_opponents: names of the agents that the policy is compared with, alone against three of each; at
            the end also with random.
        num_decisions: number of decisions so far.
        num_games: number of games so far.
        seconds: wall time of all iterations so far.
        cpu_seconds: processor time of all iterations so far.
        scores: the last quick comparison.
    """

    policy_file: ClassVar[str] = "policy.safetensors"

    def __init__(self, config: SelfPlayConfig) -> None:
        super().__init__(config)
        self.eval_opponents: Sequence[str] = features_of(self.rules).eval_opponents
        self.num_decisions = 0
        self.num_games = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.scores: Metrics = {}
        self._tree = self._build_tree() if config.eval_exact else None

    def _build_tree(self) -> Tree:
        try:
            game = small_game(self.rules)
            check_fits(plan(game, "agents"))
        except ValueError as error:
            self.config.refuse("eval_exact", f"expected False: {error}")
        return build(game)

    @abstractmethod
    def play_and_learn(self) -> dict[str, float]:
        """One iteration, which adds to `num_decisions` and `num_games`; its metrics."""

    @abstractmethod
    def agent(self) -> Agent:
        """A copy of the current policy, as it plays matches."""

    def drawing_agent(self) -> Agent:
        """The current policy with the probabilities of its actions, if it is one that draws them."""
        return self.agent()

    @property
    def progress(self) -> float:
        """0 at the start, 1 at the end."""
        return min(self.num_decisions / self.config.decisions, 1.0)

    @property
    def is_done(self) -> bool:
        """Whether the run has ended."""
        return self.progress == 1 or 0 < self.config.stop_after <= self.iteration

    @property
    def lr_factor(self) -> float:
        """Factor on the learning rate: 1 at the start, falls linearly to a tenth at the end."""
        return 1 - 0.9 * self.progress

    @property
    @abstractmethod
    def weights(self) -> Iterable[torch.Tensor]:
        """The trained weights."""

    def advance(self) -> Metrics:
        """An iteration, and every few iterations a quick comparison; the metrics."""
        metrics, every = self.iterate(), self.config.eval_every
        is_due = every > 0 and self.iteration % every == 0
        if is_due and not self.is_done:
            self.scores = self.evaluate()
            metrics.update(self.scores)
        if self._tree is not None and (is_due or self.is_done):
            metrics["nash_conv"] = self.nash_conv()
        return metrics

    def nash_conv(self) -> float:
        """NashConv of the current policy, with the probabilities that it draws from; needs `eval_exact`."""
        if self._tree is None:
            raise ValueError("eval_exact=False: expected True")
        return measure(self._tree, policy_of(self._tree, self.drawing_agent())).nash_conv

    def iterate(self) -> dict[str, float]:
        """Play and learn once; the metrics.

        Raises:
            DivergenceError: see `check_finite`.
        """
        begin, begin_cpu, before = time.perf_counter(), time.process_time(), self.num_decisions
        try:
            metrics = self.play_and_learn()
        except FloatingPointError as error:
            raise self._divergence(str(error)) from error
        self.check_finite(metrics)
        seconds = time.perf_counter() - begin
        self.iteration += 1
        self.seconds += seconds
        self.cpu_seconds += time.process_time() - begin_cpu
        self.end_iteration()
        return {
            "decisions": self.num_decisions,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "decisions_per_second": (self.num_decisions - before) / seconds,
            **metrics,
        }

    def check_finite(self, metrics: Mapping[str, float]) -> None:
        """Refuse to go on with numbers that are not finite, or weights that will soon make such numbers.

        Raises:
            DivergenceError: a metric is not finite, or a weight is not in -LARGEST..LARGEST.
        """
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise self._divergence(f"{name} is {value}")
        for weights in self.weights:
            if not bool((weights.detach().abs() <= LARGEST).all()):  # False for NaN, too
                raise self._divergence(f"a weight is not in -{LARGEST:g}..{LARGEST:g}")

    def _divergence(self, what: str) -> DivergenceError:
        return DivergenceError(
            f"the run has diverged in iteration {self.iteration + 1}: {what}. The checkpoints and the policy "
            "are of before; start another run with a smaller --learning-rate"
        )

    @abstractmethod
    def end_iteration(self) -> None:
        """Do what follows an iteration, such as taking snapshots."""

    def evaluate(self) -> dict[str, float]:
        """Points, units of payments and first places against the `eval_opponents`, on deals of their own."""
        found = {}
        for name in self.eval_opponents:
            result = arena.match(
                self.agent(),
                tienlen_agents.load(name),
                rules=self.rules,
                num_deals=self.config.eval_deals,
                seed=self.config.seed + 1_000_000,
            )
            score = result.scores[0]
            found[f"points_v_{name}"] = score.points.mean
            if score.units is not None:
                found[f"units_v_{name}"] = score.units.mean
            found[f"firsts_v_{name}"] = score.first.mean
        return found

    def report(self, out: Path, console: Console) -> None:
        """Compare the policy on held-out duplicate deals; print and write the result table."""
        report = arena.compare(
            self.agent(),
            [tienlen_agents.load(name) for name in dict.fromkeys(("random", *self.eval_opponents))],
            rules=self.rules,
            num_deals=self.config.final_deals,
            seed=self.config.seed + 2_000_000,
            mixed=False,
        )
        report.print(console)
        report.write(out)

    def state(self) -> dict[str, Any]:
        """The contents of a checkpoint."""
        return {
            "num_decisions": self.num_decisions,
            "num_games": self.num_games,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
        }

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.iteration = iteration
        self.num_decisions = int(state["num_decisions"])
        self.num_games = int(state["num_games"])
        self.seconds = float(state["seconds"])
        self.cpu_seconds = float(state["cpu_seconds"])

    @contextmanager
    def display(self, console: Console) -> Iterator[Callable[[Metrics], None]]:
        """A progress bar in a terminal; if the output is a file, a line every half a minute."""
        total = self.config.decisions
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
        task = bar.add_task(
            "", total=total, completed=self.num_decisions, games=0, rate=0.0, iteration=0, score=""
        )
        printed, shown = time.monotonic(), 0

        def show(metrics: Metrics) -> None:
            nonlocal printed, shown
            done, rate, shown = self.num_decisions, metrics["decisions_per_second"], shown + 1
            if shown == 2 and not self.is_done:  # compiled code and caches are ready after the first one
                minutes = (total - done) / rate / 60
                console.print(
                    f"about {minutes:,.1f} minutes to go, at {rate:,.0f} decisions/s", highlight=False
                )
            figure = "units_v_" if any(name.startswith("units_v_") for name in self.scores) else "points_v_"
            score = "  ".join(
                f"{value:.2f} v. {name.removeprefix(figure)}"
                for name, value in self.scores.items()
                if name.startswith(figure)
            )
            bar.update(
                task,
                completed=min(done, total),
                games=self.num_games,
                rate=rate,
                iteration=self.iteration,
                score=score,
            )
            now = time.monotonic()
            if not console.is_terminal and now - printed > SECONDS_BETWEEN_LINES:
                printed = now
                console.print(
                    f"{done / total:4.0%}  {self.num_games:,} games  {rate:,.0f} decisions/s  {score}",
                    highlight=False,
                )

        with bar:
            yield show


def training_command(
    make_trainer: type[Trainer], config_class: type[SelfPlayConfig], description: str
) -> Main:
    """The ``main`` of an algorithm: train, compare the policy with other agents, print the result table.

    Args:
        make_trainer: the algorithm.
        config_class: its settings, which are the options.
        description: of the command, for ``--help``.
    """

    @command
    def main(argv: Sequence[str] | None = None) -> int:
        config = parse_run_args(config_class, description, argv)
        console = make_console()
        trainer, out = train(make_trainer, config, console)
        if config.final_deals:
            trainer.report(out, console)
        console.print(f"run folder: {out}")
        policy = f"policy:{out / trainer.policy_file}"
        console.print(f"play with it: tienlen_agents.load({policy!r})")
        return 0

    return main
