"""The training loop: a trainer in its run folder, from the first iteration or a checkpoint to the end."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import Console

from tienlen_train.config import RunConfig
from tienlen_train.progress import TrainingProgress
from tienlen_train.runs import RunFolder, check_resumable, parse_run_args, restoring, sole_run
from tienlen_train.trainer import SelfPlayTrainer, Trainer

TrainerT = TypeVar("TrainerT", bound=Trainer)


def train(make_trainer: type[TrainerT], config: RunConfig, console: Console) -> tuple[TrainerT, Path]:
    """Start or continue a run; returns the trainer and its run folder.

    When it returns, the policy file in the folder is the policy of its last checkpoint. The same holds when
    it is interrupted by Ctrl-C or SIGTERM (see `tienlen_agents.interrupts`): then the last checkpoint is that
    of the last complete iteration.

    Raises:
        RunError: the run folder cannot be used, or written to; or there is no run to resume.
        DivergenceError: a loss, a weight or a metric is not finite; the last checkpoint is of before.
        ValueError: invalid settings.
    """
    if config.resume and config.out is not None:
        check_resumable(Path(config.out))
    make_trainer.prepare_process(config)
    trainer = make_trainer(config)
    out = Path(config.out or f"runs/{trainer.name}-{time.strftime('%Y%m%d-%H%M%S')}")
    with (
        sole_run(out),
        _workplace(trainer, console),
        RunFolder(out, config, trainer.rules, resume=config.resume) as folder,
    ):
        run = _Run(trainer, folder)
        run.begin(console)
        try:
            run.loop(console)
        except KeyboardInterrupt as error:
            if run.save_last():
                error.add_note(f"{out} holds iteration {trainer.iteration}: continue with --resume")
            raise
    return trainer, out


def _workplace(trainer: Trainer, console: Console) -> AbstractContextManager[None]:
    """Where a run plays and learns: in this process, or on the cluster that the settings name."""
    if not isinstance(trainer, SelfPlayTrainer) or trainer.config.cluster is None:
        return nullcontext()
    from tienlen_train.cluster.link import linked  # imports ray

    return linked(trainer, console)


class _Run(Generic[TrainerT]):
    """A trainer in its run folder."""

    def __init__(self, trainer: TrainerT, folder: RunFolder) -> None:
        self.trainer = trainer
        self.folder = folder
        self.policy_path = folder.path / trainer.policy_file
        self._saved = -1  # iteration of the last checkpoint
        self._last: tuple[int, dict[str, Any]] | None = None  # the state after the last complete iteration

    def begin(self, console: Console) -> None:
        """Load the last checkpoint, or write the first one, before the first iteration.

        A folder without a checkpoint has therefore lost it, if it holds a run.
        """
        trainer, folder, config = self.trainer, self.folder, self.trainer.config
        found = folder.load_checkpoint() if config.resume else None
        if found is not None:
            with restoring(folder.checkpoint_path(found[0])):
                trainer.restore(*found)
                trainer.check_finite({})
            if config.new_metrics:
                folder.begin_new_metrics(trainer.iteration)
            folder.trim_metrics(trainer.iteration)
            # The run may have been stopped after it wrote the checkpoint and before it wrote the policy.
            trainer.save_policy(self.policy_path)
            self._saved = trainer.iteration
            console.print(f"continuing {folder.path} after iteration {trainer.iteration}")
        else:
            self._keep()
            self._save()
            folder.trim_metrics(0)
        console.print(f"training on {trainer.description}; run folder {folder.path}")

    def loop(self, console: Console) -> None:
        """All iterations that are left."""
        trainer, config = self.trainer, self.trainer.config
        with TrainingProgress(console, config.decisions, trainer.num_decisions) as progress:
            scores: dict[str, float] = {}
            while not trainer.is_done:
                metrics = trainer.iterate()
                done = trainer.is_done
                if config.eval_every and trainer.iteration % config.eval_every == 0 and not done:
                    scores = trainer.evaluate()
                    metrics.update(scores)
                self.folder.log({"iteration": trainer.iteration, "time": time.time(), **metrics})
                self._keep()
                if trainer.iteration % config.checkpoint_every == 0 or done:
                    self._save()
                progress.update(
                    trainer.num_decisions,
                    trainer.num_games,
                    metrics["decisions_per_second"],
                    trainer.iteration,
                    scores,
                )

    def _keep(self) -> None:
        self._last = self.trainer.iteration, copy.deepcopy(self.trainer.state())

    def _save(self) -> None:
        self.folder.save_checkpoint(self.trainer.iteration, self.trainer.state())
        self._saved = self.trainer.iteration
        self.trainer.save_policy(self.policy_path)

    def save_last(self) -> bool:
        """Write the checkpoint and the policy of the last complete iteration, after an interrupt.

        The interrupt may have come in the middle of a gradient step, so the trainer goes back to that
        iteration.

        Returns:
            Whether the folder holds them now.
        """
        if self._last is None:
            return self._saved >= 0
        self.trainer.restore(*self._last)
        if self._saved != self.trainer.iteration:
            self.folder.save_checkpoint(self.trainer.iteration, self.trainer.state())
        self.trainer.save_policy(self.policy_path)
        self.folder.trim_metrics(self.trainer.iteration)
        return True


def run(
    make_trainer: type[Trainer],
    config_class: type[RunConfig],
    description: str,
    argv: Sequence[str] | None,
) -> int:
    """A training command: train, then compare the policy with other agents; the exit status.

    Raises:
        RunError, ValueError, OSError: see `train`; `tienlen_train.command.command` reports them.
    """
    config = parse_run_args(config_class, description, argv)
    console = Console()
    trainer, out = train(make_trainer, config, console)
    if config.final_deals:
        trainer.report(out, console)
    console.print(f"run folder: {out}")
    policy = f"policy:{out / trainer.policy_file}{trainer.policy_options}"
    console.print(f"play with it: tienlen_agents.load({policy!r})")
    return 0
