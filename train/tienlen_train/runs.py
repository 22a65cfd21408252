"""Run folders: what was run, on what, and checkpoints that survive a kill at any moment."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter

from tienlen_agents import files
from tienlen_agents.command import command_line
from tienlen_agents.versions import versions
from tienlen_env.games.common.game import AnyRules


class RunError(RuntimeError):
    """A run folder that cannot be used: of another run, unreadable, or on a full disk."""


def write_atomic(path: Path, data: bytes) -> None:
    """`tienlen_agents.files.write_atomic`, with an error that a run reports in one line.

    Raises:
        RunError: the disk is full or the folder cannot be written; the old file is still there.
    """
    try:
        files.write_atomic(path, data)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def sole_run(path: Path) -> Iterator[None]:
    """Keep a run folder to oneself; the system lets go of it when the process dies, however it does.

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

    ::

        config.json       the settings, the rules and their digest, versions, the command
        metrics.jsonl     one line an iteration
        checkpoints/      000123.pt, the last few; each begins with its own SHA-256
        tensorboard/      the numbers of metrics.jsonl, by iteration

    Args:
        path: the folder; made if it is not there.
        config: the run's dataclass.
        rules: the variant.
        resume: continue the run that is there; else the folder must be empty of one.

    Raises:
        RunError: a run is there and `resume` is False, or it is of other settings or rules.
    """

    KEEP = 3

    def __init__(self, path: Path, config: Any, rules: AnyRules, *, resume: bool) -> None:
        self.path = path
        self.metrics_path = path / "metrics.jsonl"
        self._events: SummaryWriter | None = None
        settings = dataclasses.asdict(config)
        described = {
            "config": settings,
            "rules": dataclasses.asdict(rules),
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
            changed = {
                k: (before["config"].get(k), v)
                for k, v in settings.items()
                if k not in ("resume", "out") and before["config"].get(k) != v
            }
            if changed or before["rules_digest"] != rules.digest():
                raise RunError(f"{path} holds a run of other settings: {changed or 'other rules'}")
        else:
            write_atomic(config_path, json.dumps(described, indent=1).encode())

    def log(self, metrics: dict[str, Any]) -> None:
        """Append one line to the metrics, and its numbers to TensorBoard's events.

        Args:
            metrics: with the ``iteration``.
        """
        with self.metrics_path.open("a") as file:
            file.write(json.dumps(metrics) + "\n")
        iteration = metrics["iteration"]
        if self._events is None:
            # A resumed run takes back what was written after its checkpoint.
            self._events = SummaryWriter(str(self.path / "tensorboard"), purge_step=iteration)
        for name, value in metrics.items():
            if name not in ("iteration", "time"):
                self._events.add_scalar(name, value, iteration)

    def trim_metrics(self, iteration: int) -> None:
        """Drop the lines after an iteration, and a line that a kill cut short, before the run goes on."""
        if not self.metrics_path.exists():
            return
        kept = []
        for line in self.metrics_path.read_text().splitlines():
            try:
                if json.loads(line)["iteration"] <= iteration:
                    kept.append(line)
            except (ValueError, KeyError):
                continue
        write_atomic(self.metrics_path, "".join(f"{line}\n" for line in kept).encode())

    def save_checkpoint(self, iteration: int, state: dict[str, Any]) -> Path:
        """Write a checkpoint atomically and drop all but the last few.

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
        """The newest checkpoint that is whole, as (iteration, state); None if there is none.

        Only tensors and plain values are read back; a file can run no code.
        """
        for path in sorted((self.path / "checkpoints").glob("*.pt"), reverse=True):
            data = path.read_bytes()
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                print(f"{path} is damaged; falling back to the one before", file=sys.stderr)
                continue
            state = torch.load(io.BytesIO(data[32:]), weights_only=True)
            return int(path.stem), state
        return None
