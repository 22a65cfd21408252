"""Kill a command at any of its writes, start it again, and compare it with one that was not killed.

    python -m tests.kill_points ppo FOLDER every
    python -m tests.kill_points dmc,match FOLDER 5 death,full

`ALGORITHMS` train and are resumed; `COMMANDS` go on by themselves.

A run writes files, renames and deletes them, and makes folders. Every such operation is a point, and each
write is two: before it, and when half of it is in the file. One process imports everything and then forks a
child for each run, so that a run takes a fraction of a second. What is done at a point:

    death   the child kills itself with SIGKILL
    power   the same, and what was never synchronised to the disk is cut off, as after a power cut
    full    the operation fails with "No space left on device"
    clock   at no point: the clock of the day jumps, to and fro, at every look of the whole run
"""

from __future__ import annotations

import builtins
import errno
import io
import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.extensions.cluster.clusters import figures

NEVER = 10**9
# All write with `write_atomic`, as `ppo` does: for the others the loss of power, the strictest, is enough
# each day.
EVERY_KIND = ("ppo",)
JUMPS = (0, 86_400, -864_000, 3, -3, 10**9, -(10**9))  # seconds
STATUS_ERROR = 3  # of a child that ended with an error of one line
STATUS_TRACEBACK = 4


def let_the_clock_jump(patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """Replace the clock of the day; the other one runs on, as it always does."""
    jumps, clock, nanoseconds = itertools.cycle(JUMPS), time.time, time.time_ns
    patch(time, "time", lambda: clock() + next(jumps))
    patch(time, "time_ns", lambda: nanoseconds() + 10**9 * next(jumps))


class Points:
    """Counts the operations on files below a folder, and does something at one of them.

    Args:
        folder: of the run.
        at: the number of the point, from 0.
        what: see above.
    """

    def __init__(self, folder: Path, at: int, what: str) -> None:
        self.folder, self.at, self.what = str(folder), at, what
        self.count = 0
        self.synced: dict[str, int] = {}  # bytes on the disk, by path; of files that were written
        self.names: list[str] = []

    def point(self, name: str) -> bool:
        """Pass a point; whether it is the one."""
        self.names.append(name)
        self.count += 1
        return self.count - 1 == self.at and self.what != "clock"

    def act(self) -> None:
        if self.what == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.what == "power":
            for path, size in self.synced.items():
                if os.path.exists(path) and os.path.getsize(path) > size:
                    os.truncate(path, size)
        os.kill(os.getpid(), signal.SIGKILL)

    def is_ours(self, path: object) -> bool:
        # TensorBoard writes in a thread of its own, and the run never reads what it has written.
        text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        return str(text).startswith(self.folder) and "tensorboard" not in str(text)

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(path: Any, *args: Any, **options: Any) -> Any:
            is_new = name != "mkdir" or not os.path.isdir(path)
            if self.is_ours(path) and is_new and self.point(f"{name} {Path(path).name}"):
                self.act()
            done = function(path, *args, **options)
            if name == "replace" and str(path) in self.synced:
                self.synced[str(args[0])] = self.synced.pop(str(path))
            return done

        return wrapped

    def install(self) -> None:
        """Replace the functions of this process that change files."""
        if self.what == "clock":
            let_the_clock_jump()
        for name in ("replace", "rename", "unlink", "remove", "mkdir"):
            setattr(os, name, self.wrap(name, getattr(os, name)))
        plain_open, plain_fsync, points = io.open, os.fsync, self
        open_files: dict[int, str] = {}

        class Counted:
            """A file whose writes are points."""

            def __init__(self, file: Any, path: str) -> None:
                self.file, self.path = file, path
                open_files[file.fileno()] = path
                points.synced.setdefault(path, os.path.getsize(path))

            def write(self, data: Any) -> Any:
                name = Path(self.path).name
                if points.point(f"before writing {name}"):
                    points.act()
                if points.point(f"half of {name}"):
                    self.file.write(data[: len(data) // 2])
                    self.file.flush()
                    points.act()
                written = self.file.write(data)
                self.file.flush()
                return written

            def __enter__(self) -> Counted:
                self.file.__enter__()
                return self

            def __exit__(self, *error: Any) -> Any:
                return self.file.__exit__(*error)

            def __getattr__(self, name: str) -> Any:
                return getattr(self.file, name)

        def counted_open(path: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            writes = any(letter in mode for letter in "wax+")
            if not (writes and points.is_ours(path)) or str(path).endswith(".lock"):
                return plain_open(path, mode, *args, **options)
            if points.point(f"open {Path(path).name} {mode}"):
                points.act()
            return Counted(plain_open(path, mode, *args, **options), str(path))

        def counted_fsync(descriptor: int) -> None:
            path = open_files.get(descriptor, "a folder")
            if points.point(f"fsync {Path(path).name}"):
                points.act()
            plain_fsync(descriptor)
            if path in points.synced:
                points.synced[path] = os.path.getsize(path)

        io.open = builtins.open = counted_open  # type: ignore[assignment]
        os.fsync = counted_fsync


def settings_of(algorithm: str) -> tuple[Any, Any, str, dict[str, Any]]:
    """The main of an algorithm, what compiles its loops without training, its policy file, its settings."""
    own: dict[str, Any] = {
        "num_games": 8,
        "batch_size": 64,
        "state_width": 8,
        "action_width": 8,
        "snapshot_every": 1,
    }
    own |= {"precision": "fp32"}
    if algorithm == "dmc":
        from tienlen_train import dmc

        return dmc.main, dmc.DMCConfig, "policy.safetensors", own
    own["critic_width"] = 8
    if algorithm == "league":
        from tienlen_train import league

        del own["snapshot_every"]  # a population has no snapshots of its own
        return league.main, league.LeagueConfig, "league.json", {**own, **LEAGUE}
    if algorithm == "best_response":
        from tienlen_train import best_response

        return (
            best_response.main,
            best_response.BestResponseConfig,
            "policy.safetensors",
            {**own, "agent": "greedy", "num_games": 12},
        )
    from tienlen_train import ppo

    return ppo.main, ppo.PPOConfig, "policy.safetensors", own


SETTINGS = {"threads": 1, "seed": 3}
SINGLE = {"stop_after": 4, "checkpoint_every": 2, "eval_every": 0, "final_deals": 0}  # of runs of one learner
LEAGUE = {"generations": 2, "iterations": 1, "payoff_deals": 2, "num_games": 24}
TIMES = {"time", "seconds", "cpu_seconds", "decisions_per_second", "outside_network"}


def results(folder: Path, policy: str) -> tuple[list[dict[str, Any]], bytes]:
    """The curve of a run without its times, and the bytes of its policy; of a population, of all policies."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    curve = [{k: v for k, v in json.loads(line).items() if k not in TIMES} for line in lines]
    policies = sorted((folder / "policies").glob("*"))
    return curve, b"".join(path.name.encode() + path.read_bytes() for path in (folder / policy, *policies))


class Command(NamedTuple):
    """What is stopped and started again.

    Attributes:
        main: of the command.
        words: its arguments but the folder.
        results: what must be the same afterwards, of the folder.
        is_resumed: it needs ``--resume`` to go on.
    """

    main: Callable[[list[str]], int]
    words: list[str]
    results: Callable[[Path], Any]
    is_resumed: bool = False


def training(algorithm: str) -> Command:
    """A run of one of `ALGORITHMS`."""
    main, _, policy, own = settings_of(algorithm)
    settings = {**SETTINGS, **({} if algorithm == "league" else SINGLE), **own}
    words = [f"--{k.replace('_', '-')}={v}" for k, v in settings.items()]
    return Command(main, words, lambda out: results(out, policy), is_resumed=True)


def bytes_of(folder: Path, *without: str) -> dict[str, bytes]:
    """The files of a folder but locks, by name."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.name not in without}


def match_results(out: Path) -> Any:
    """The report without times, the names of all files, and the records."""
    files = bytes_of(out)
    records = {name: data for name, data in files.items() if name.startswith("records")}
    return figures(out / "arena.json"), sorted(files), records


def arena_command(*words: str) -> Command:
    """A command of the arena."""
    from tienlen_agents.arena.__main__ import main

    return Command(main, [*words, "--chunk=4", "--seed=4", "--quiet"], match_results)


def data_command() -> Command:
    """A data set in three shards."""
    from tienlen_data.__main__ import main

    return Command(main, ["--agents=greedy random", "--rounds=10", "--shard-rounds=4", "--seed=5"], bytes_of)


def suite_command() -> Command:
    """A track of a small suite; the packet passes its check."""
    from tests.extensions.suite.suites import TINY
    from tienlen_suite import SUITES, check, figures, running
    from tienlen_suite.__main__ import main

    SUITES["tiny"] = TINY
    running.units = lambda agent, rules: 0.5  # tests/extensions/suite/test_budget.py measures
    figures.rate = partial(figures.rate, resamples=4)

    def packet(out: Path) -> Any:
        return check(out).figures, bytes_of(out, "run.json")

    return Command(main, ["run", "greedy", "--suite=tiny", "--track=A", "--quiet"], packet)


def solve_command() -> Command:
    """A solver of a small game."""
    from tienlen_exact.__main__ import CURVE, main

    def solution(out: Path) -> Any:
        lines = (out / CURVE).read_text().splitlines()
        curve = [{k: v for k, v in json.loads(line).items() if k not in TIMES} for line in lines]
        return curve, bytes_of(out, CURVE)

    return Command(main, ["solve", "--rules=mini", "--iterations=6", "--every=2", "--quiet"], solution)


ALGORITHMS = ("ppo", "dmc", "best_response", "league")
COMMANDS: dict[str, Callable[[], Command]] = {
    "match": lambda: arena_command("match", "random", "greedy", "--deals=8", "--records=3"),
    "tournament": lambda: arena_command("league", "random", "greedy", "greedy_long", "--deals=8"),
    "data": data_command,
    "suite": suite_command,
    "solve": solve_command,
}


class Runs:
    """Runs of one command, each in a process of its own.

    Args:
        kind: one of `ALGORITHMS` or `COMMANDS`.
        folder: for all runs.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.command = COMMANDS[kind]() if kind in COMMANDS else training(kind)
        self.folder = folder

    def run(self, out: Path, *extra: str, at: int = NEVER, what: str = "death") -> tuple[int, str]:
        """Fork, and run; the exit status (minus the signal) and what was printed."""
        log = self.folder / "log"
        child = os.fork()
        if child == 0:
            status = STATUS_TRACEBACK
            try:
                descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(descriptor, 1)
                os.dup2(descriptor, 2)
                points = Points(out, at, what)
                points.install()
                try:
                    status = self.command.main([*self.command.words, "--out", str(out), *extra])
                except SystemExit as error:
                    print(error.code)
                    status = STATUS_ERROR
                (self.folder / "points.json").write_text(json.dumps(points.names))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), log.read_text(errors="replace")

    def try_point(self, at: int, what: str, wanted: Any) -> str:
        """Stop a run at a point and resume it; what is wrong, empty if nothing is."""
        out = self.folder / "stopped"
        shutil.rmtree(out, ignore_errors=True)
        status, printed = self.run(out, at=at, what=what)
        if what == "clock":
            if status:
                return f"ended with {status}: {printed[-2000:]}"
        elif what == "full":
            if status != STATUS_ERROR or "Traceback" in printed or "No space left" not in printed:
                return f"a full disk ended with {status}: {printed[-2000:]}"
        elif status != -signal.SIGKILL:
            return f"was not killed: {status}: {printed[-2000:]}"
        extra = ["--resume"] if self.command.is_resumed and (out / "config.json").exists() else []
        status, printed = self.run(out, *extra)
        if status:
            return f"resumed: {status}: {printed[-2000:]}"
        if left := [str(path) for path in out.rglob(".*.tmp")]:
            return f"left behind: {left}"
        found = self.command.results(out)
        return "" if found == wanted else f"another result: {found!s:.2000}"


def main(kinds: str, folder: Path, chosen: str, whats: str) -> int:
    """Try the points; prints a line for each that fails, and a summary as JSON.

    Args:
        kinds: see `Runs`; separated by commas.
        folder: an empty one.
        chosen: "every", or the number of points drawn.
        whats: of `Points`, separated by commas; of drawn points those not in `EVERY_KIND` try "power" alone.
    """
    found: dict[str, Any] = {}
    for kind in kinds.split(","):
        (folder / kind).mkdir()
        tried = whats.split(",") if chosen == "every" or kind in EVERY_KIND else ["power"]
        found[kind] = try_points(kind, folder / kind, chosen, tried)
    print(json.dumps(found))
    return 1 if any(each["failures"] for each in found.values()) else 0


def try_points(kind: str, folder: Path, chosen: str, whats: list[str]) -> dict[str, Any]:
    """The number of points, of those tried, and what failed."""
    runs = Runs(kind, folder)
    # In this process, so that its children find everything imported and compiled.
    assert runs.command.main([*runs.command.words, "--out", str(folder / "warm")]) == 0
    status, printed = runs.run(folder / "whole")
    assert status == 0, printed
    names = json.loads((folder / "points.json").read_text())
    wanted = runs.command.results(folder / "whole")
    assert runs.command.results(folder / "warm") == wanted  # and two unbroken runs are the same
    failures, num_tried = [], 0
    for what in whats:
        points = [0] if what == "clock" else list(range(len(names)))
        if chosen != "every" and what != "clock":
            points = sorted(random.Random(kind + what).sample(points, int(chosen)))
        for at in points:
            num_tried += 1
            if problem := runs.try_point(at, what, wanted):
                failures.append(f"{what} at point {at}, {names[at]}: {problem}")
                print(failures[-1], file=sys.stderr, flush=True)
    return {"points": len(names), "tried": num_tried, "failures": failures}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], *(sys.argv[4:] or ["death"])))
