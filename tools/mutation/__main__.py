"""``make mutation``: draw mutants of what decides, run the tests that reach them, and print the score.

A process for each group of modules collects their tests once. For a mutant it forks; the child puts the new
code into the functions that exist, and runs the tests that reach the changed line until one fails, for ten
seconds of processor time at most. Kernels run as plain Python. The results are kept: a second call goes on,
and one with ``--again`` runs the survivors once more.
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

from tools.mutation.mutants import Mutant, mutants_of, mutated

ROOT: Final = Path(__file__).parents[2]
OUT: Final = ROOT / "build" / "mutation"
EQUIVALENT: Final = Path(__file__).with_name("equivalent.txt")
MEMORY: Final = 6 << 30


class ModuleGroup(NamedTuple):
    """Modules that have the same tests.

    Attributes:
        modules: their paths.
        tests: files or folders.
        is_kernel: Numba compiles them, so that the tests run in plain Python.
        slow: tests that take more seconds of processor time are left out.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    is_kernel: bool = False
    slow: float = 4.0


TIENLEN: Final = "tienlen_env/games/tienlen/"
THIRTEENS: Final = "tienlen_env/games/thirteens/"
COMMON: Final = "tienlen_env/games/common/"
ENGINE: Final = "tests/tienlen_env/engine/"
GROUPS: Final = (
    ModuleGroup(
        (
            *(f"{TIENLEN}{name}.py" for name in ("kernels", "suited", "endings", "instant", "payments")),
            *(f"{TIENLEN}{name}.py" for name in ("actions", "observe")),
            *(f"{COMMON}{name}.py" for name in ("legal", "bits", "dealing")),
            *(f"{THIRTEENS}{name}.py" for name in ("kernels", "melds", "observe")),
        ),
        (
            "tests/tienlen_env/games",
            *(f"{ENGINE}test_{name}.py" for name in ("golden", "thirteens_golden", "properties", "packed")),
            *(f"{ENGINE}test_{name}.py" for name in ("rows", "exact_cards")),
        ),
        is_kernel=True,
        slow=0.8,
    ),
    ModuleGroup(
        ("agents/tienlen_agents/arena/stats.py",),
        tuple(f"tests/agents/arena/test_{name}.py" for name in ("sequential", "match", "coverage", "report")),
    ),
    ModuleGroup(
        ("train/tienlen_train/learner.py", "train/tienlen_train/ppo.py"),
        ("tests/train/test_learn.py", "tests/train/test_rollout.py", "tests/train/test_trainer.py"),
        slow=8.0,
    ),
)
MODULES: Final = tuple(path for group in GROUPS for path in group.modules)

# ---------------------------------------------------------------- draws and results


def drawn(path: str, number: int, seed: int) -> list[Mutant]:
    """Mutants of a module, in the order of the draw; all of them if there are fewer."""
    found = mutants_of((ROOT / path).read_text())
    return random.Random(f"{seed} {path}").sample(found, min(number, len(found)))


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


# ---------------------------------------------------------------- in the process of a group


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


def put_in(path: str, mutant: Mutant, *, at_import: bool) -> bool:
    """Give what was defined in this process the code and constants of a mutant; False if it cannot be.

    Args:
        path: the module.
        mutant: of it.
        at_import: it changes what runs when the module is imported.
    """
    file = str(ROOT / path)
    source = (ROOT / path).read_text()
    changed = compile(mutated(source, mutant), file, "exec")
    old, new = by_place(compile(source, file, "exec")), by_place(changed)
    if old.keys() != new.keys():
        return False
    if at_import and not _run_again(file, changed):
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


def _run_again(file: str, code: CodeType) -> bool:
    """Run a changed module again, and give its constants to all who have the old; False for objects."""
    module = next(each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == file)
    before = vars(module)
    after = {name: value for name, value in before.items() if name.startswith("__")}
    exec(code, after)
    if before.keys() - after.keys():
        return False
    for name, value in list(before.items()):
        other = after.get(name)
        if name.startswith("__") or isinstance(value, type | ModuleType):
            if isinstance(value, type) and repr(_plain(value)) != repr(_plain(other)):
                return False
        elif isinstance(value, FunctionType) and isinstance(other, FunctionType):
            value.__defaults__, value.__kwdefaults__ = other.__defaults__, other.__kwdefaults__
        elif repr(value) != repr(other):
            if " at 0x" in repr(other):
                return False
            for each in list(sys.modules.values()):
                if each is module or vars(each).get(name) is value:
                    setattr(each, name, other)
    return True


def _plain(kind: Any) -> dict[str, Any]:
    """The attributes of a class without code and addresses."""
    return {name: value for name, value in vars(kind).items() if " at 0x" not in repr(value)}


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
        group: the modules.
        pending: the mutants of each.
        end: when no further one is begun, by `time.monotonic`.
        budget: seconds of processor time for a mutant; the tests that kill most, and short ones, come first.
        imported: the lines that ran while the tests were collected.
    """

    def __init__(
        self, group: ModuleGroup, pending: dict[str, list[Mutant]], end: float, budget: float, imported: Lines
    ) -> None:
        self.group, self.pending, self.end, self.budget = group, pending, end, budget
        self.imported = imported
        self.kills: Counter[str] = Counter()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.settrace(None)
        reached = self._baseline(session)
        for path, mutants in self.pending.items():
            for mutant in mutants:
                if time.monotonic() > self.end:
                    return True
                begin = time.monotonic()
                state = self._run(session, path, mutant, reached)
                if state == "new process":
                    tests = [name for name, (_, lines) in reached.items() if lines[path]]
                    state = in_new_process(path, mutant, self.group, tests)
                record(path, mutant, state, time.monotonic() - begin)
        return True

    def _baseline(self, session: pytest.Session) -> dict[str, tuple[float, dict[str, list[int]]]]:
        """The seconds and the lines of every test; without those that fail or take too long."""
        OUT.mkdir(parents=True, exist_ok=True)
        state = "".join(map(digest, self.group.modules))
        files: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            files.setdefault(item.nodeid.partition("::")[0], []).append(item)
        reached, num_left_out = {}, 0
        for name, items in files.items():
            known = OUT / f"{hashlib.sha256((state + digest(name)).encode()).hexdigest()[:12]}.tests"
            if not known.exists():
                in_child(lambda items=items, known=known: self._measure(session, items, known))  # type: ignore[misc]
            for line in known.read_text().splitlines() if known.exists() else ():
                test, failed, used, lines = json.loads(line)
                num_left_out += failed
                if not failed:
                    reached[test] = used, lines
        print(
            f"{len(reached)} tests; {num_left_out} fail here, or take more than {self.group.slow} s",
            flush=True,
        )
        return reached

    def _measure(self, session: pytest.Session, items: list[pytest.Item], known: Path) -> None:
        def give_up(*_: Any) -> None:
            raise TimeoutError

        signal.signal(signal.SIGVTALRM, give_up)
        num_slow: Counter[str] = Counter()
        with known.with_suffix(".part").open("w") as out:
            for item in items:
                function = item.nodeid.partition("[")[0]
                if num_slow[function] == 2:
                    continue  # its other parameters, most probably too
                lines = Lines(self.group.modules)
                begin = time.process_time()
                signal.setitimer(signal.ITIMER_VIRTUAL, self.group.slow)
                sys.settrace(lines)
                failed = fails(session, item)
                sys.settrace(None)
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                num_slow[function] += failed
                used = time.process_time() - begin
                found = {path: sorted(numbers) for path, numbers in lines.found.items()}
                out.write(json.dumps([item.nodeid, failed, used, found]) + "\n")
        known.with_suffix(".part").rename(known)

    def _run(self, session: pytest.Session, path: str, mutant: Mutant, reached: dict[str, Any]) -> str:
        at_import = not mutant.in_function or mutant.line in self.imported.found[path]
        items = []
        for item in session.items:
            _, lines = reached.get(item.nodeid, (0, {}))
            if lines and lines[path] and (at_import or mutant.line in lines[path]):
                items.append(item)
        if not items:
            return "not reached"
        items.sort(key=lambda item: -(self.kills[item.nodeid] + 0.1) / (reached[item.nodeid][0] + 0.02))
        report = OUT / f"killed-{os.getpid()}"
        report.unlink(missing_ok=True)

        def run_until_failure() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            if not put_in(path, mutant, at_import=at_import):
                os._exit(3)
            left = self.budget
            for item in items:
                left -= reached[item.nodeid][0]
                if left < 0:
                    break
                report.write_text(item.nodeid)
                # Processor time: a busy machine kills no mutant.
                signal.setitimer(signal.ITIMER_VIRTUAL, 2 + 5 * reached[item.nodeid][0])
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


def in_new_process(path: str, mutant: Mutant, group: ModuleGroup, names: Collection[str]) -> str:
    """Run tests until one fails, with a mutant that is there when the module is imported."""
    names_file = OUT / f"names-{os.getpid()}"
    names_file.write_text(json.dumps(list(names)))
    command = [sys.executable, "-m", "tools.mutation", "--module", path, "--import-with", str(mutant.index)]
    command += [mutant.change, str(names_file)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    except subprocess.TimeoutExpired:
        return "killed: no end"
    if done.returncode == 0:
        return "survived"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return f"killed: {failed[0][:100] if failed else 'import'}"


class Chosen:
    """A plugin that leaves out what is not in a list of tests."""

    def __init__(self, names: list[str]) -> None:
        self.names = set(names)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.names]


def record(path: str, mutant: Mutant, state: str, seconds: float) -> None:
    """Keep a result, and print it."""
    line = {
        "digest": digest(path), "line": mutant.line, "change": mutant.change, "source": mutant.source,
        "state": state, "seconds": round(seconds, 2),
    }  # fmt: skip
    with (OUT / f"{path.replace('/', '.')}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    if not state.startswith("killed"):
        print(f"{path}:{mutant.line}: {mutant.name}: {state}", flush=True)


OPTIONS: Final = ("-o", "addopts=", "--import-mode=importlib", "-m", "not nightly", "-p", "no:cacheprovider")


def serve(group: ModuleGroup, pending: dict[str, list[Mutant]], end: float, budget: float) -> None:
    """Judge mutants in this process."""
    imported = Lines(group.modules)
    judge = Judge(group, pending, end, budget, imported)
    sys.settrace(imported)
    pytest.main([*OPTIONS, "-q", "-q", "-s", "-p", "no:faulthandler", *group.tests], plugins=[judge])


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
    for path in MODULES:
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
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--module", action="append", choices=MODULES, help="only this one")
    parser.add_argument("--number", type=int, default=70, help="mutants drawn of each module (70)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further mutant after this time")
    parser.add_argument("--budget", type=float, default=10.0, help="processor time for a mutant, in seconds")
    parser.add_argument("--again", action="store_true", help="run survivors again")
    parser.add_argument("--report", action="store_true", help="run nothing, and list what survived")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--import-with", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    paths = options.module or list(MODULES)
    if options.import_with:
        index, change, names = options.import_with
        mutants = mutants_of((ROOT / paths[0]).read_text())
        (mutant,) = (each for each in mutants if (str(each.index), each.change) == (index, change))
        sys.meta_path.insert(0, Changed(paths[0], mutant))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        chosen = json.loads(Path(names).read_text())
        files = dict.fromkeys(name.partition("::")[0] for name in chosen)
        return int(pytest.main([*OPTIONS, "-q", "-x", "-rfE", *files], plugins=[Chosen(chosen)]))
    end = time.monotonic() + options.seconds
    for group in GROUPS:
        pending = {}
        for path in paths:
            mutants, results = drawn(path, options.number, options.seed), results_of(path)
            if options.report and path in group.modules:
                for mutant in sorted(survivors_of(path, mutants), key=lambda mutant: mutant.line):
                    print(f"{path} | {mutant.name} (line {mutant.line})")
            if path in group.modules:
                pending[path] = [each for each in mutants if key_of(each) not in results]
                pending[path] += survivors_of(path, mutants) if options.again else []
        if options.report or not any(pending.values()) or time.monotonic() > end:
            continue
        if options.serve:
            serve(group, pending, end, options.budget)
            continue
        given = [word for path in pending for word in ("--module", path)]
        given += [f"--number={options.number}", f"--seed={options.seed}", f"--budget={options.budget}"]
        given += [f"--seconds={end - time.monotonic()}", *(["--again"] if options.again else [])]
        command = [sys.executable, "-m", "tools.mutation", "--serve", *given]
        plain = {"NUMBA_DISABLE_JIT": "1", "TIENLEN_NATIVE": "0"} if group.is_kernel else {}
        subprocess.run(command, cwd=ROOT, env=os.environ | plain, check=False)
    return 0 if options.serve else report(options.number, options.seed)


if __name__ == "__main__":
    sys.exit(main())
