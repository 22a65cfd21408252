"""Run folders: settings, metrics, and checkpoints that survive a kill at any moment.

A checkpoint is written when the metrics up to it are on the disk, and the policy file after the checkpoint.
So a resumed run finds all that it needs, or says what is damaged or missing: it never begins anew by itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, cast

import torch
from torch.utils.tensorboard import SummaryWriter

from tienlen_agents import files
from tienlen_agents.command import command_line, versions
from tienlen_agents.settings import Config, ConfigT, parse_args, settings_of
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.rules import RulesBase
from tienlen_env.texts import printable
from tienlen_train.config import RunError

if TYPE_CHECKING:
    pass

# Settings that a resumed run does not take from its folder: what to do, and where.
_NOT_TAKEN: Final = frozenset({"resume", "new_metrics", "out", "executor", "actors"})
_CHECKPOINT: Final = re.compile(r"\d{6,}\.pt")
CONFIG: Final = "config.json"
CHECKPOINTS: Final = "checkpoints"
_NEW_METRICS: Final = "put back a sound copy, or continue with --new-metrics, which sets the file aside"
RESTORE_HINT: Final = "put back a sound copy, or start anew with another --out"


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
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def write_atomic(path: Path, data: bytes) -> None:
    """`tienlen_agents.files.write_atomic`, with an error that a run reports in one line.

    Raises:
        RunError: the disk is full or the folder cannot be written; the old file is still there.
    """
    with writing(path):
        files.write_atomic(path, data)


@contextmanager
def lock_run_folder(path: Path, *folders: str) -> Iterator[None]:
    """Hold an exclusive lock on a run folder; the system releases it when the process ends in any way.

    Temporary files that a kill has left there are deleted.

    Args:
        path: the run folder.
        folders: folders in it that the run writes to, besides that of the checkpoints.

    Raises:
        RunError: another process trains there.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(files.locked(path / CONFIG))
            for folder in (path, path / CHECKPOINTS, *(path / name for name in folders)):
                files.remove_temporaries(folder)
        except BlockingIOError as error:
            raise RunError(f"another process is training in {path}") from error
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror}") from error
        yield


def parse_run_args(config_class: type[ConfigT], description: str, argv: Sequence[str] | None) -> ConfigT:
    """`parse_args` for a run: with ``--resume``, options that are not given have the values of the folder.

    Raises:
        RunError: the config.json of the folder is damaged.
        SystemExit: see `parse_args`.
    """

    def stored(given: Mapping[str, Any]) -> dict[str, Any]:
        path = Path(given.get("out", ""), CONFIG)
        if not given.get("resume") or "out" not in given or not path.is_file():
            return {}
        taken = settings_of(config_class).keys() - _NOT_TAKEN
        return {k: value for k, value in _settings_in(_read_description(path)).items() if k in taken}

    return parse_args(config_class, description, argv, defaults_of=stored)


def check_resumable(path: Path) -> None:
    """Refuse to resume where there is no run; nothing is written.

    Raises:
        RunError: there is none, or its config.json is missing.
    """
    if (path / CONFIG).is_file():
        return
    if any(_holds_run(path)):
        raise RunError(f"{path / CONFIG} is missing: {RESTORE_HINT}")
    raise RunError(f"{path} holds no run: leave out --resume to start one there")


def _holds_run(path: Path) -> Iterator[Path]:
    """What only a run writes."""
    yield from path.glob("metrics.jsonl")
    yield from (path / CHECKPOINTS).glob("*.pt")


class RunFolder:
    """A folder that holds one training run.

    Its files:

        config.json       the settings, the rules and their digest, versions, the command
        metrics.jsonl     one line per iteration
        checkpoints/      000123.pt, the last few; each begins with its own SHA-256
        tensorboard/      the numbers of metrics.jsonl, by iteration

    Args:
        path: the folder; it is made if it does not exist.
        config: the settings.
        rules: the variant.
        resume: continue the run in the folder; otherwise the folder must not hold one.

    Raises:
        RunError: the folder holds a run and `resume` is False, or the run has other settings or rules, or its
            config.json is damaged.
    """

    KEEP = 3

    def __init__(self, path: Path, config: Config, rules: AnyRules, *, resume: bool) -> None:
        self.path = path
        self.metrics_path = path / "metrics.jsonl"
        self._events: SummaryWriter | None = None
        self._damaged: list[Path] = []  # checkpoints; deleted as soon as a new one is written
        self._chain: dict[int, str] = {}  # by iteration: a digest of all lines of the metrics up to it
        self._chain_of_checkpoint: dict[int, str] = {}
        settings = dataclasses.asdict(config)
        self._may_change = frozenset(config.may_change)
        config_path = path / CONFIG
        if config_path.exists():
            if not resume:
                raise RunError(f"{path} already holds a run: use --resume, or another --out")
            self._described = _read_description(config_path)
            # A setting that is newer than the run had its default value.
            old = {field.name: field.default for field in dataclasses.fields(config)}
            old |= _settings_in(self._described)
            fixed = settings_of(type(config)).keys() - config.may_change
            changed = {k: (old[k], settings[k]) for k in fixed if old[k] != settings[k]}
            if changed or self._described["rules_digest"] != rules.digest():
                raise RunError(f"{path} holds a run of other settings: {changed or 'other rules'}")
            return
        if any(_holds_run(path)):
            raise RunError(f"{config_path} is missing, but the folder holds a run: {RESTORE_HINT}")
        self._described = {
            "config": settings,
            "rules": rules.flat() if isinstance(rules, RulesBase) else dataclasses.asdict(cast(Any, rules)),
            "rules_digest": rules.digest(),
            "versions": versions(),
            "command": command_line(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        self._write_description()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        events, self._events = self._events, None
        if events is None:
            return
        try:
            with writing(self.path / "tensorboard"):
                events.close()
        except RunError:
            if kind is None:  # otherwise the first error is the one to report
                raise

    def _write_description(self) -> None:
        write_atomic(self.path / CONFIG, json.dumps(self._described, indent=1).encode())

    @property
    def _settings_digest(self) -> str:
        """SHA-256 of the settings that a run keeps, and of its rules."""
        settings = {k: v for k, v in self._described["config"].items() if k not in self._may_change}
        kept = json.dumps([settings, self._described["rules_digest"]], sort_keys=True)
        return hashlib.sha256(kept.encode()).hexdigest()

    # ------------------------------------------------------------ metrics

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Append one line to the metrics, and its numbers to TensorBoard's events.

        Args:
            metrics: by name, with the ``iteration``; finite numbers.

        Raises:
            RunError: the disk is full or the folder cannot be written.
        """
        line = json.dumps(metrics, allow_nan=False)
        with writing(self.metrics_path), self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        iteration = metrics["iteration"]
        self._add_to_chain(iteration, line)
        with writing(self.path / "tensorboard"):
            if self._events is None:
                # A resumed run drops what was written after its checkpoint.
                self._events = SummaryWriter(str(self.path / "tensorboard"), purge_step=iteration)
            for name, value in metrics.items():
                if name not in ("iteration", "time"):
                    self._events.add_scalar(name, value, iteration)

    def trim_metrics(self, iteration: int) -> None:
        """Drop the lines after an iteration, and a line that a kill cut short, before the run continues.

        Args:
            iteration: of the checkpoint.

        Raises:
            RunError: a line of the iterations before is damaged, changed or missing.
        """
        found = {metrics["iteration"]: json.dumps(metrics) for metrics in self._read_metrics(iteration)}
        kept = list(found.values())
        self._chain = {}
        for number, line in found.items():
            self._add_to_chain(number, line)
        said = self._chain_of_checkpoint.get(iteration)
        if said is not None and self._chain.get(iteration, said) != said:
            raise RunError(
                f"{self.metrics_path}: a line was changed after the checkpoint of iteration {iteration} was "
                f"written: {_NEW_METRICS}"
            )
        write_atomic(self.metrics_path, "".join(f"{line}\n" for line in kept).encode())

    def _add_to_chain(self, iteration: int, line: str) -> None:
        before = next(reversed(self._chain.values()), "")
        self._chain[iteration] = hashlib.sha256(f"{before}{line}".encode()).hexdigest()

    def begin_new_metrics(self, iteration: int) -> None:
        """Set a damaged metrics.jsonl aside, as metrics.jsonl.damaged; the new one begins after an iteration.

        Raises:
            RunError: the folder cannot be written.
        """
        with writing(self.metrics_path):
            if self.metrics_path.exists():
                os.replace(self.metrics_path, self.metrics_path.with_name("metrics.jsonl.damaged"))
        self._chain_of_checkpoint = {}
        self._described["first_iteration"] = iteration + 1
        self._write_description()
        write_atomic(self.metrics_path, b"")

    def _read_metrics(self, iteration: int) -> list[dict[str, Any]]:
        """The lines up to an iteration.

        Raises:
            RunError: a line is damaged or missing.
        """
        # The first line is that of iteration 1, unless a damaged file was set aside.
        wanted = range(self._described.get("first_iteration", 1), iteration + 1)
        lines = _bytes(self.metrics_path).split(b"\n") if self.metrics_path.exists() else []
        found = []
        for number, (expected, line) in enumerate(zip_longest(wanted, lines[: len(wanted)]), 1):
            where = f"{self.metrics_path}: line {number} is not that of iteration {expected}"
            with files.refusing(where, RunError, _NEW_METRICS.capitalize()):
                metrics = files.read_json(line or b"")
                is_right = all(v is None or type(v) in (int, float) for v in metrics.values())
                if metrics["iteration"] != expected or not is_right:
                    raise ValueError("another iteration, or other values than numbers")
            found.append(metrics)
        return found

    # ------------------------------------------------------------ checkpoints

    def checkpoint_path(self, iteration: int) -> Path:
        """The file of a checkpoint."""
        return self.path / CHECKPOINTS / f"{iteration:06d}.pt"

    def save_checkpoint(self, iteration: int, state: dict[str, Any]) -> None:
        """Write a checkpoint atomically and delete all but the last few.

        The metrics up to it are on the disk before. Damaged checkpoints that `load_checkpoint` has found are
        deleted first; of the others the newest `KEEP` stay.

        Args:
            iteration: its number, and its name.
            state: tensors, numbers, strings, and lists and dicts of such.

        Raises:
            RunError: the disk is full or the folder cannot be written; the last checkpoint is still there.
        """
        buffer = io.BytesIO()
        known = {"metrics": self._chain[iteration]} if iteration in self._chain else {}
        torch.save({**state, **known, "iteration": iteration, "settings": self._settings_digest}, buffer)
        data = buffer.getvalue()
        path = self.checkpoint_path(iteration)
        with writing(self.metrics_path):
            if self.metrics_path.exists():
                with self.metrics_path.open("rb+") as file:
                    os.fsync(file.fileno())
        write_atomic(path, hashlib.sha256(data).digest() + data)
        with writing(path.parent):
            for damaged in self._damaged:
                if damaged != path:
                    damaged.unlink(missing_ok=True)
            self._damaged = []
            own = sorted(int(old.stem) for old in path.parent.iterdir() if _CHECKPOINT.fullmatch(old.name))
            for old in own[: -self.KEEP]:
                self.checkpoint_path(old).unlink(missing_ok=True)

    def load_checkpoint(self) -> tuple[int, dict[str, Any]] | None:
        """The newest undamaged checkpoint, as (iteration, state); None if the run has not written one yet.

        Only tensors and plain values are read; a file cannot run code.

        Raises:
            RunError: all checkpoints are damaged or gone, or a file is not a checkpoint of this run.
        """
        newest: tuple[Path, bytes] | None = None
        self._damaged = []
        for path in self._checkpoints():
            data = _bytes(path)
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                self._damaged.append(path)
                print(printable(f"{path} is damaged; falling back to the one before"), file=sys.stderr)
            elif newest is None:
                newest = path, data[32:]
        if newest is None:
            if self._damaged or any(_holds_run(self.path)):
                state = f"all {len(self._damaged)} are damaged" if self._damaged else "there is none left"
                raise RunError(f"{self.path / CHECKPOINTS}: {state}: {RESTORE_HINT}")
            return None
        path, data = newest
        with files.refusing(f"{path} is not a checkpoint", RunError):
            state = torch.load(io.BytesIO(data), weights_only=True)
        if not isinstance(state, dict) or state.get("iteration", int(path.stem)) != int(path.stem):
            raise RunError(f"{path} is not the checkpoint of iteration {int(path.stem)} of a run")
        if state.get("settings", self._settings_digest) != self._settings_digest:
            raise RunError(
                f"{self.path / CONFIG} has other settings than {path.name} was written with: {RESTORE_HINT}"
            )
        self._chain_of_checkpoint = {int(path.stem): state["metrics"]} if "metrics" in state else {}
        return int(path.stem), state

    def _checkpoints(self) -> list[Path]:
        """The files, the newest first.

        Raises:
            RunError: another file or a folder is among them.
        """
        found = list((self.path / CHECKPOINTS).glob("*.pt"))
        for path in found:
            if not _CHECKPOINT.fullmatch(path.name) or not path.is_file():
                raise RunError(f"{path} is not a checkpoint of this run: move it to another folder")
        return sorted(found, key=lambda path: int(path.stem), reverse=True)


def _bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        RunError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from error


def _settings_in(described: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a config.json by today's names."""
    found = dict(described["config"])
    if found.pop("eval_exact", False):
        found["evaluators"] = "exact"
    return found


def _read_description(path: Path) -> dict[str, Any]:
    """The content of a config.json.

    Raises:
        RunError: the file is damaged.
    """
    data = _bytes(path)
    with files.refusing(f"{path} is damaged", RunError, RESTORE_HINT.capitalize()):
        described = files.read_json(data)
        is_right = isinstance(described["config"], dict) and isinstance(described["rules_digest"], str)
        if not is_right or type(described.get("first_iteration", 1)) is not int:
            raise ValueError("not the settings of a run")
    return cast("dict[str, Any]", described)
