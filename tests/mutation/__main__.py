"""``make mutation``: draw mutants of what decides, run the tests that reach them, and print the score.

A process for each module collects its test files once. For a mutant it forks; the child puts the changed code
into the functions that exist, and runs the tests that reach the changed line until one fails. A change that
is made when a module is imported gets a new process. Kernels run as plain Python. The results are kept: a
second call goes on, and one with ``--again`` runs the survivors once more.
"""

from __future__ import annotations

import argparse
import functools
import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

import pytest

from tests.mutation.mutants import Mutant, mutants_of, mutated

ROOT: Final = Path(__file__).parents[2]
OUT: Final = ROOT / "build" / "mutation"
EQUIVALENT: Final = Path(__file__).with_name("equivalent.txt")
GAMES: Final = "tests/tienlen_env/games/"
SLOW: Final = 1.5  # seconds of processor time; tests above it are left out
MEMORY: Final = 6 << 30


class Target(NamedTuple):
    """A module and its tests.

    Attributes:
        tests: files or folders, for every mutant.
        more: the same, for those that survive them.
        is_kernel: Numba compiles it, so that the tests run in plain Python.
    """

    tests: str
    more: str = ""
    is_kernel: bool = True


RULES: Final = (
    f"{GAMES}tienlen/test_clauses.py {GAMES}tienlen/test_payment_clauses.py {GAMES}tienlen/test_payments.py "
    f"{GAMES}tienlen/test_instant.py {GAMES}tienlen/test_last_card.py {GAMES}tienlen/test_actions.py "
    f"{GAMES}tienlen/test_payment_examples.py {GAMES}tienlen/test_decks.py {GAMES}tienlen/test_perft.py "
    f"{GAMES}tienlen/test_payment_oracle.py {GAMES}tienlen/test_engine_oracle.py "
    "tests/tienlen_env/engine/test_golden.py tests/tienlen_env/engine/test_properties.py"
)
MORE: Final = (
    f"{GAMES}tienlen/test_few_games.py {GAMES}tienlen/test_rewards.py "
    f"{GAMES}tienlen/test_play_summary.py {GAMES}test_resample_hidden.py "
    "tests/tienlen_env/engine/test_rows.py tests/tienlen_env/engine/test_exact_cards.py"
)
THIRTEENS: Final = f"{GAMES}thirteens tests/tienlen_env/engine/test_thirteens_golden.py"
COMMON: Final = f"{RULES} {THIRTEENS} tests/tienlen_env/engine tests/project/test_outside_game.py"
TARGETS: Final[dict[str, Target]] = {
    "tienlen_env/games/tienlen/kernels.py": Target(RULES, MORE),
    "tienlen_env/games/tienlen/suited.py": Target(RULES, MORE),
    "tienlen_env/games/tienlen/endings.py": Target(RULES, MORE),
    "tienlen_env/games/tienlen/instant.py": Target(RULES, MORE),
    "tienlen_env/games/tienlen/payments.py": Target(RULES, MORE),
    "tienlen_env/games/tienlen/actions.py": Target(RULES, MORE),
    "tienlen_env/games/tienlen/observe.py": Target(
        f"{GAMES} tests/tienlen_env/engine/test_golden.py tests/tienlen_env/engine/test_properties.py "
        "tests/tienlen_env/engine/test_packed.py"
    ),
    "tienlen_env/games/common/legal.py": Target(COMMON),
    "tienlen_env/games/common/bits.py": Target(COMMON),
    "tienlen_env/games/common/dealing.py": Target(COMMON),
    "tienlen_env/games/thirteens/kernels.py": Target(THIRTEENS, MORE),
    "tienlen_env/games/thirteens/melds.py": Target(THIRTEENS),
    "tienlen_env/games/thirteens/observe.py": Target(f"{THIRTEENS} tests/tienlen_env/envs/test_thirteens.py"),
    "agents/tienlen_agents/arena/stats.py": Target(
        "tests/agents/arena/test_sequential.py tests/agents/arena/test_match.py "
        "tests/agents/arena/test_coverage.py tests/agents/arena/test_report.py",
        is_kernel=False,
    ),
    "train/tienlen_train/learner.py": Target(
        "tests/train/test_rollout.py tests/train/test_trainer.py", is_kernel=False
    ),
    "train/tienlen_train/ppo.py": Target("tests/train/test_trainer.py", is_kernel=False),
}

# ---------------------------------------------------------------- draws and results


def drawn(path: str, number: int, seed: int) -> list[Mutant]:
    """Mutants of a module, in the order of the draw; all of them if there are fewer."""
    found = mutants_of((ROOT / path).read_text())
    return random.Random(f"{seed} {path}").sample(found, min(number, len(found)))


def mark_of(tests: str) -> str:
    """Of a list of tests."""
    return hashlib.sha256(tests.encode()).hexdigest()[:12]


def digest(path: str) -> str:
    """Of the source of a module."""
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:12]


def results_of(path: str) -> dict[str, dict[str, Any]]:
    """The results of the mutants of a module, as its source is now, by line and change."""
    file = OUT / f"{path.replace('/', '.')}.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {f"{line['line']} {line['change']}": line for line in lines if line["digest"] == digest(path)}


def key_of(mutant: Mutant) -> str:
    """The key in `results_of`."""
    return f"{mutant.line} {mutant.change}"


def equivalents() -> dict[str, str]:
    """Why no test can see a mutant, by path, line of source and change."""
    found = {}
    for line in EQUIVALENT.read_text().splitlines():
        if line and not line.startswith("#"):
            *name, reason = line.split(" | ")
            found[" | ".join(name)] = reason
    return found


# ---------------------------------------------------------------- in the process of a module


def codes(code: CodeType) -> Iterator[CodeType]:
    """All code of functions in some code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


def by_place(code: CodeType) -> dict[tuple[str, int, int], CodeType]:
    """The code of functions by name, line and order."""
    numbers: Counter[tuple[str, int]] = Counter()
    found = {}
    for each in codes(code):
        place = each.co_qualname, each.co_firstlineno
        found[*place, numbers[place]] = each
        numbers[place] += 1
    return found


def put_in(path: str, mutant: Mutant) -> bool:
    """Give the functions of this process the code of a mutant; False if that is not possible."""
    file = str(ROOT / path)
    source = (ROOT / path).read_text()
    old = by_place(compile(source, file, "exec"))
    new = by_place(compile(mutated(source, mutant), file, "exec"))
    if old.keys() != new.keys():
        return False
    pairs = {code: new[place] for place, code in old.items() if code != new[place]}
    if any(code.co_freevars != other.co_freevars for code, other in pairs.items()):
        return False
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()
        elif isinstance(each, FunctionType) and each.__code__.co_filename == file:
            each.__code__ = pairs.get(each.__code__, each.__code__)
    return True


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a module with the code of a mutant."""

    def __init__(self, path: str, mutant: Mutant) -> None:
        self.path, self.mutant = path, mutant
        self.name = path.removesuffix(".py").replace("/", ".").split(".", path.count("/") and 1)[-1]
        if path.startswith("tienlen_env/"):
            self.name = path.removesuffix(".py").replace("/", ".")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, ROOT / self.path, loader=self)  # type: ignore[arg-type]

    def exec_module(self, module: ModuleType) -> None:
        source = (ROOT / self.path).read_text()
        exec(compile(mutated(source, self.mutant), str(ROOT / self.path), "exec"), module.__dict__)


class Lines:
    """The lines of some modules that run; of all that is called by `sys.settrace`."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = {str(ROOT / path): path for path in paths}
        self.found: dict[str, set[int]] = {path: set() for path in paths}
        self._expected: dict[CodeType, set[int]] = {}

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        path = self.paths.get(code.co_filename)
        if path is None:
            return None
        if code not in self._expected:
            self._expected[code] = {line for _, _, line in code.co_lines() if line is not None}
        self.found[path].add(frame.f_lineno)
        return None if self._expected[code] <= self.found[path] else self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        self.found[self.paths[frame.f_code.co_filename]].add(frame.f_lineno)
        return self._line


class Judge:
    """A plugin that runs the collected tests for one mutant after the other.

    Args:
        path: the module.
        tests: its files.
        pending: its mutants.
        end: when no further one is begun, by `time.monotonic`.
        imported: the lines that ran while the tests were collected.
    """

    def __init__(self, path: str, tests: str, pending: list[Mutant], end: float, imported: Lines) -> None:
        self.path, self.tests, self.pending, self.end, self.imported = path, tests, pending, end, imported
        self.kills: Counter[str] = Counter()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.settrace(None)
        reached = self._baseline(session)
        for mutant in self.pending:
            if time.monotonic() > self.end:
                break
            begin = time.monotonic()
            is_put_in = mutant.in_function and mutant.line not in self.imported.found[self.path]
            state = self._run(session, mutant, reached) if is_put_in else "new process"
            if state == "new process":
                state = in_new_process(self.path, self.tests, mutant, reached)
            record(self.path, self.tests, mutant, state, time.monotonic() - begin)
        return True

    def _baseline(self, session: pytest.Session) -> dict[str, tuple[float, set[int]]]:
        """The seconds and the lines of every test; without those that fail or take too long."""
        OUT.mkdir(parents=True, exist_ok=True)
        tests = self.tests
        paths = [path for path, target in TARGETS.items() if tests in target]
        state = hashlib.sha256(" ".join(map(digest, paths)).encode())
        for place in tests.split():
            for each in sorted((ROOT / place).rglob("*.py")) or [ROOT / place]:
                state.update(each.read_bytes())
        file = OUT / f"{state.hexdigest()[:12]}.tests"

        def give_up(*_: Any) -> None:
            raise TimeoutError

        def run_all() -> None:
            signal.signal(signal.SIGVTALRM, give_up)
            with file.with_suffix(".part").open("w") as out:
                num_slow: Counter[str] = Counter()
                for item in session.items:
                    function = item.nodeid.partition("[")[0]
                    if num_slow[function] == 2:
                        continue  # its other parameters, most probably too
                    lines = Lines(paths)
                    begin = time.process_time()
                    signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
                    sys.settrace(lines)
                    failed = fails(session, item)
                    sys.settrace(None)
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                    num_slow[function] += failed
                    used = time.process_time() - begin
                    found = {path: sorted(numbers) for path, numbers in lines.found.items()}
                    out.write(json.dumps([item.nodeid, failed, used, found]) + "\n")
            file.with_suffix(".part").rename(file)

        if not file.exists():
            in_child(run_all)
        reached, num_left_out = {}, 0
        for name, failed, used, lines in map(json.loads, file.read_text().splitlines()):
            if failed:
                num_left_out += 1
            else:
                reached[name] = used, set(lines[self.path])
        print(f"{len(reached)} tests; {num_left_out} fail here, or take more than {SLOW:.0f} s", flush=True)
        return reached

    def _run(self, session: pytest.Session, mutant: Mutant, reached: dict[str, Any]) -> str:
        items = [item for item in session.items if mutant.line in reached.get(item.nodeid, (0, ()))[1]]
        if not items:
            return "not reached"
        items.sort(key=lambda item: -(self.kills[item.nodeid] + 0.1) / (reached[item.nodeid][0] + 0.02))
        report = OUT / "killed"
        report.unlink(missing_ok=True)

        def run_until_failure() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            if not put_in(self.path, mutant):
                os._exit(3)
            for item in items:
                report.write_text(item.nodeid)
                # Processor time: a busy machine kills no mutant.
                signal.setitimer(signal.ITIMER_VIRTUAL, 5 + 5 * reached[item.nodeid][0])
                if fails(session, item):
                    os._exit(1)

        code = in_child(run_until_failure)
        if code == 3:
            return "new process"
        if code == 0:
            return "survived"
        killer = report.read_text() if report.exists() else "at once"
        self.kills[killer] += 1
        return f"killed: {killer}" if code == 1 else f"killed: {killer} (ends by {code})"


def fails(session: pytest.Session, item: pytest.Item) -> bool:
    """Run a test; whether it fails."""
    before = session.testsfailed
    try:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    except BaseException:  # the alarm rang outside of the test
        session._setupstate.teardown_exact(None)
        return True
    return session.testsfailed > before


def in_child(run: Callable[[], None]) -> int:
    """Run something in a fork of this process; its exit status, below 0 for a signal."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            silent = os.open(OUT / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            run()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_new_process(path: str, tests: str, mutant: Mutant, names: Collection[str]) -> str:
    """Run tests of a module until one fails, with a mutant that is there when the module is imported."""
    (OUT / "names").write_text(json.dumps(list(names)))
    command = [sys.executable, "-m", "tests.mutation", "--module", path, "--import-with", str(mutant.index)]
    command += [mutant.change, tests]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    except subprocess.TimeoutExpired:
        return "killed: no end"
    if done.returncode == 0:
        return "survived"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return f"killed: {failed[0][:100] if failed else 'import'}"


class Chosen:
    """A plugin that leaves out what the baseline left out."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        names = set(json.loads((OUT / "names").read_text()))
        items[:] = [item for item in items if item.nodeid in names]


def record(path: str, tests: str, mutant: Mutant, state: str, seconds: float) -> None:
    """Keep a result, and print it."""
    line = {
        "digest": digest(path), "line": mutant.line, "change": mutant.change, "source": mutant.source,
        "state": state, "seconds": round(seconds, 2), "tests": mark_of(tests),
    }  # fmt: skip
    with (OUT / f"{path.replace('/', '.')}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    if not state.startswith("killed"):
        print(f"{path}:{mutant.line}: {mutant.name}: {state}", flush=True)


OPTIONS: Final = ("-o", "addopts=", "--import-mode=importlib", "-m", "not nightly", "-p", "no:cacheprovider")


def serve(path: str, tests: str, pending: list[Mutant], seconds: float) -> None:
    """Judge the mutants of a module in this process."""
    imported = Lines([path])
    judge = Judge(path, tests, pending, time.monotonic() + seconds, imported)
    options = [*OPTIONS, "-q", "-q", "-s", "-p", "no:faulthandler"]
    sys.settrace(imported)
    pytest.main([*options, *tests.split()], plugins=[judge])


# ---------------------------------------------------------------- the command


def survivors_of(path: str, mutants: list[Mutant]) -> list[Mutant]:
    """Those that no test has killed, and that are not explained."""
    results, explained = results_of(path), equivalents()
    lived = {key for key, found in results.items() if not found["state"].startswith("killed")}
    return [each for each in mutants if key_of(each) in lived and f"{path} | {each.name}" not in explained]


def report(number: int, seed: int) -> int:
    """Print the score of every module; 0 if each survivor is explained."""
    explained, total, bad = equivalents(), Counter[str](), 0
    print("| module | mutants | drawn | killed | equivalent | survived | not run |")
    print("|---|---|---|---|---|---|---|")
    for path in TARGETS:
        mutants, results = drawn(path, number, seed), results_of(path)
        count = Counter({"drawn": len(mutants), "all": len(mutants_of((ROOT / path).read_text()))})
        for mutant in mutants:
            state = results.get(key_of(mutant), {"state": "not run"})["state"].split(":")[0]
            if state in ("survived", "not reached"):
                state = "equivalent" if f"{path} | {mutant.name}" in explained else "survived"
            count[state] += 1
        total += count
        bad += count["survived"] + count["not run"]
        print("|", path, *row(count))
    print("| all", *row(total))
    if run := total["killed"] + total["survived"]:
        print(f"killed: {100 * total['killed'] / run:.1f} % of those that are not equivalent")
    return int(bad > 0)


def row(count: Counter[str]) -> Iterator[str]:
    """The cells of a row of the table."""
    for name in ("all", "drawn", "killed", "equivalent", "survived", "not run"):
        yield f"| {count[name]}"
    yield "|"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 if every mutant that was drawn is killed or explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--module", action="append", choices=list(TARGETS), help="only this one")
    parser.add_argument("--number", type=int, default=70, help="mutants drawn of each module (70)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further mutant after this time")
    parser.add_argument("--again", action="store_true", help="run survivors again")
    parser.add_argument("--report", action="store_true", help="run nothing, and list what survived")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--import-with", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    paths = options.module or list(TARGETS)
    if options.import_with:
        index, change, tests = options.import_with
        mutants = mutants_of((ROOT / paths[0]).read_text())
        (mutant,) = (each for each in mutants if (str(each.index), each.change) == (index, change))
        sys.meta_path.insert(0, Changed(paths[0], mutant))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        return int(pytest.main([*OPTIONS, "-q", "-x", "-rfE", *tests.split()], plugins=[Chosen()]))
    end = time.monotonic() + options.seconds
    for path in paths:
        mutants = drawn(path, options.number, options.seed)
        survivors = survivors_of(path, mutants)
        if options.report:
            for mutant in sorted(survivors, key=lambda mutant: mutant.line):
                print(f"{path} | {mutant.name} (line {mutant.line})")
            continue
        target = TARGETS[path]
        plain = {"NUMBA_DISABLE_JIT": "1", "TIENLEN_NATIVE": "0"} if target.is_kernel else {}
        for stage in (1, 2) if target.more else (1,):
            results = results_of(path)
            tests = target.more if stage == 2 else target.tests
            mark = mark_of(tests)
            pending = [each for each in mutants if key_of(each) not in results]
            if stage == 2:
                pending = [m for m in survivors if options.again or results[key_of(m)].get("tests") != mark]
            elif options.again and not target.more:
                pending = survivors
            seconds = end - time.monotonic()
            if not pending or seconds < 0 or (options.serve and options.serve != stage):
                continue
            if options.serve:
                serve(path, tests, pending, seconds)
                return 0
            given = ["--serve", str(stage), "--module", path, f"--number={options.number}"]
            given += [
                f"--seed={options.seed}",
                f"--seconds={seconds}",
                *(["--again"] if options.again else []),
            ]
            command = [sys.executable, "-m", "tests.mutation", *given]
            subprocess.run(command, cwd=ROOT, env=os.environ | plain, check=False)
            survivors = survivors_of(path, mutants)
    return report(options.number, options.seed)


if __name__ == "__main__":
    sys.exit(main())
