"""Run folders: settings, metrics, and checkpoints that survive a kill at any moment.

Folders of older versions load: this module maps the names that have changed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import torch
from torch.utils.tensorboard import SummaryWriter

from tienlen_agents import files
from tienlen_agents.command import command_line
from tienlen_agents.versions import versions
from tienlen_env.games.common.game import AnyRules
from tienlen_train.config import RENAMED

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RENAMED_METRICS: Final[Mapping[str, str]] = MappingProxyType(
    {"divergence": "approx_kl", "clipped": "clip_fraction"}
)
# Settings in which a resumed run may differ; those of the rules are compared by their digest.
_FREE: Final = frozenset({"resume", "out", "env", "rules", "num_players", "cluster", "actors", "learners"})


class RunError(RuntimeError):
    """A run folder that cannot be used: of another run, unreadable, or on a full disk."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the error of a write into one that a run reports in one line.

    Args:
        path: the file that is written in the block.

    Raises:
        RunError: the disk is full or the folder cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error


def write_atomic(path: Path, data: bytes) -> None:
    """`tienlen_agents.files.write_atomic`, with an error that a run reports in one line.

    Raises:
        RunError: the disk is full or the folder cannot be written; the old file is still there.
    """
    with writing(path):
        files.write_atomic(path, data)


def upgrade_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a config.json of any age under their present names."""
    return {RENAMED.get(name, name): value for name, value in settings.items()}


def upgrade_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a metrics.jsonl of any age under its present names."""
    return {RENAMED_METRICS.get(name, name): value for name, value in metrics.items()}


def upgrade_checkpoint(state: Mapping[str, Any]) -> dict[str, Any]:
    """A checkpoint of any age with its present keys."""
    upgraded = dict(state)
    if "snapshot_scores" in state:
        upgraded.setdefault("snapshot_versions", list(range(len(state["snapshots"]))))
    if "num_timesteps" in state:  # of stable-baselines3
        upgraded.setdefault("num_decisions", state["num_timesteps"])
    return upgraded


@contextmanager
def sole_run(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a run folder; the system releases it when the process ends in any way.

    Raises:
        RunError: another process trains there.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(files.locked(path / "config.json"))
        except BlockingIOError as error:
            raise RunError(f"another process is training in {path}") from error
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror}") from error
        yield


class RunFolder:
    """A folder that holds one training run.

    Its files:

        config.json       the settings, the rules and their digest, versions, the command
        metrics.jsonl     one line per iteration
        checkpoints/      000123.pt, the last few; each begins with its own SHA-256
        tensorboard/      the numbers of metrics.jsonl, by iteration

    Args:
        path: the folder; it is made if it does not exist.
        config: the run's dataclass.
        rules: the variant.
        resume: continue the run in the folder; otherwise the folder must not hold one.

    Raises:
        RunError: the folder holds a run and `resume` is False, or the run has other settings or rules.
    """

    KEEP = 3

    def __init__(self, path: Path, config: DataclassInstance, rules: AnyRules, *, resume: bool) -> None:
        self.path = path
        self.metrics_path = path / "metrics.jsonl"
        self._events: SummaryWriter | None = None
        settings = dataclasses.asdict(config)
        described = {
            "config": settings,
            "rules": dataclasses.asdict(cast("DataclassInstance", rules)),
            "rules_digest": rules.digest(),
            "versions": versions(),
            "command": command_line(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        config_path = path / "config.json"
        if config_path.exists():
            if not resume:
                raise RunError(f"{path} already holds a run: use --resume, or another --out")
            before = json.loads(config_path.read_text())
            # A setting that is newer than the run had its default value.
            old = {field.name: field.default for field in dataclasses.fields(config)}
            old |= upgrade_settings(before["config"])
            changed = {k: (old[k], v) for k, v in settings.items() if k not in _FREE and old[k] != v}
            if changed or before["rules_digest"] != rules.digest():
                raise RunError(f"{path} holds a run of other settings: {changed or 'other rules'}")
        else:
            write_atomic(config_path, json.dumps(described, indent=1).encode())

    def log(self, metrics: dict[str, Any]) -> None:
        """Append one line to the metrics, and its numbers to TensorBoard's events.

        Args:
            metrics: by name, with the ``iteration``.
        """
        with self.metrics_path.open("a") as file:
            file.write(json.dumps(metrics) + "\n")
        iteration = metrics["iteration"]
        if self._events is None:
            # A resumed run drops what was written after its checkpoint.
            self._events = SummaryWriter(str(self.path / "tensorboard"), purge_step=iteration)
        for name, value in metrics.items():
            if name not in ("iteration", "time"):
                self._events.add_scalar(name, value, iteration)

    def trim_metrics(self, iteration: int) -> None:
        """Drop the lines after an iteration, and a line that a kill cut short, before the run continues."""
        if not self.metrics_path.exists():
            return
        kept = []
        for line in self.metrics_path.read_text().splitlines():
            try:
                metrics = json.loads(line)
                if metrics["iteration"] <= iteration:
                    kept.append(json.dumps(upgrade_metrics(metrics)))
            except (ValueError, KeyError):
                continue
        write_atomic(self.metrics_path, "".join(f"{line}\n" for line in kept).encode())

    def save_checkpoint(self, iteration: int, state: dict[str, Any]) -> Path:
        """Write a checkpoint atomically and delete all but the last few.

        Args:
            iteration: its number, and its name.
            state: tensors, numbers, strings, and lists and dicts of these.
        """
        buffer = io.BytesIO()
        torch.save(state, buffer)
        data = buffer.getvalue()
        path = self.path / "checkpoints" / f"{iteration:06d}.pt"
        write_atomic(path, hashlib.sha256(data).digest() + data)
        for old in sorted(path.parent.glob("*.pt"))[: -self.KEEP]:
            old.unlink()
        return path

    def load_checkpoint(self) -> tuple[int, dict[str, Any]] | None:
        """The newest undamaged checkpoint, as (iteration, state); None if there is none.

        Only tensors and plain values are read; a file cannot run code.
        """
        for path in sorted((self.path / "checkpoints").glob("*.pt"), reverse=True):
            data = path.read_bytes()
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                print(f"{path} is damaged; falling back to the one before", file=sys.stderr)
                continue
            state = torch.load(io.BytesIO(data[32:]), weights_only=True)
            return int(path.stem), upgrade_checkpoint(state)
        return None
