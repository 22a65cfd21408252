"""Compiled loops: what they reach, the key of their cache, and caches that fail."""

from __future__ import annotations

import errno
import importlib
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache
from numba.core.codegen import CPUCodeLibrary

from tests.needs import forks
from tienlen_env.engine.backends import jit, private, sources
from tienlen_env.games.common import bits
from tienlen_env.games.thirteens import kernels as thirteens
from tienlen_env.games.tienlen import kernels, state

LIMIT = 3


def inner(x: int) -> int:
    return x + LIMIT


def outer(x: int) -> int:
    return inner(x) + kernels.next_seat(7, 0)


def test_the_walk_follows_calls_modules_and_constants() -> None:
    found = sources.reachable(outer)
    assert found[0] is outer
    assert inner in found
    assert LIMIT in found
    assert kernels.next_seat in found
    assert not any(f.__module__.startswith("numpy") for f in found if isinstance(f, FunctionType))


def test_a_kernel_reaches_what_other_modules_define() -> None:
    """The constant JOKERS is compiled into the kernels of Thirteens, but is defined beside the cards."""
    assert state.is_set in sources.reachable(kernels.play)
    assert any(value is thirteens.JOKERS for value in sources.reachable(thirteens.play))


@pytest.mark.parametrize(
    ("function", "module", "name", "value"),
    [
        (outer, sys.modules[__name__], "LIMIT", 4),
        (thirteens.play, thirteens, "JOKERS", 0),
        (kernels.play, state, "NUM_KINDS", 5),
        (outer, sys.modules[__name__], "inner", bits.popcount),
    ],
)  # fmt: skip
def test_the_digest_follows_every_constant_and_function(
    function: FunctionType, module: object, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources.digest_of.cache_clear()
    before = sources.digest_of(function)
    monkeypatch.setattr(module, name, value)
    sources.digest_of.cache_clear()
    assert sources.digest_of(function) != before
    monkeypatch.undo()
    sources.digest_of.cache_clear()
    assert sources.digest_of(function) == before


def test_the_digest_follows_arrays() -> None:
    def with_array(array: np.ndarray) -> FunctionType:
        def read(i: int) -> int:
            return int(array[i])

        return read  # type: ignore[return-value]

    assert sources.digest_of(with_array(np.arange(3))) == sources.digest_of(with_array(np.arange(3)))
    assert sources.digest_of(with_array(np.arange(3))) != sources.digest_of(with_array(np.arange(4)))


LOOPS = """
from tienlen_env.engine.backends import jit, private, sources
STEP = {step}

def each(x):
    return x * STEP

@jit.loop
def total(xs):
    found = 0
    for i in range(len(xs)):
        found += each(xs[i])
    return found
"""


def total(end: Connection, folder: Path, place: str) -> None:
    """In a child: send the total and what it said, or its error."""
    sys.stderr, sys.dont_write_bytecode, numba.config.CACHE_DIR = io.StringIO(), True, place
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        found: object = importlib.import_module("loops").total(np.arange(5))
    except BaseException as error:
        found = repr(error)
    end.send((found, sys.stderr.getvalue().splitlines()))


@cache
def warm() -> None:
    """Let Numba compile something here: a fork need not prepare again what it prepares for that."""
    numba.njit(lambda x: x + 1)(1)


def run(folder: Path, place: Path | str) -> tuple[object, list[str]]:
    """The total of `loops.py` in a fork of this process, which has imported Numba, and what it said."""
    warm()
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=total, args=(there, folder, str(place)))
    child.start()
    assert here.poll(120)
    found: tuple[object, list[str]] = here.recv()
    child.join()
    return found


@forks
def test_a_line_says_what_is_compiled_and_how_long_it_took_last_time(tmp_path: Path) -> None:
    def lines(step: int) -> list[str]:
        (tmp_path / "loops.py").write_text(LOOPS.format(step=step))
        return run(tmp_path, tmp_path / "cache")[1]

    assert lines(2) == ["Compiling total (loops) ..."]
    assert lines(2) == []  # it is stored
    (seconds,) = (tmp_path / "cache").rglob("*.seconds")
    seconds.write_text("7.2")
    assert lines(30) == ["Compiling total (loops), which took 7 s last time ..."]
    assert float(seconds.read_text()) != 7.2


@forks
def test_caches_that_are_damaged_or_cannot_be_written(tmp_path: Path) -> None:
    module, place = tmp_path / "loops.py", tmp_path / "cache"
    module.write_text(LOOPS.format(step=2))
    assert run(tmp_path, place)[0] == 20
    files = [path for path in place.rglob("*.nb?") if path.is_file()]
    assert {path.suffix for path in files} == {".nbi", ".nbc"}
    for suffix in (".nbc", ".nbi"):
        for path in files:
            if path.suffix == suffix:
                path.write_bytes(path.read_bytes()[:20])
        assert run(tmp_path, place)[0] == 20
    # The same file, as far as its time and size say, with another constant.
    stat = module.stat()
    module.write_text(LOOPS.format(step=3))
    os.utime(module, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert run(tmp_path, place)[0] == 30


FLIPS = """
import os, random, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy as np
import loops
assert loops.total(np.arange(5)) == 20
files = sorted(path for path in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nb?"))
draw = random.Random(0)
for number in range(int(sys.argv[2])):
    path = files[number % len(files)]
    sound = {each: each.read_bytes() for each in files}
    data = bytearray(sound[path])
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(bytes(data))
    child = os.fork()
    if child == 0:
        del sys.modules["loops"]
        import loops
        os._exit(0 if loops.total(np.arange(5)) == 20 else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, (path.name, number, status)
    for each, bytes_ in sound.items():
        each.write_bytes(bytes_)
print("whole")
"""


@pytest.mark.parametrize("num_flips", [3, pytest.param(300, marks=pytest.mark.nightly)])
def test_every_flipped_bit_of_a_cache_is_found(num_flips: int, tmp_path: Path) -> None:
    """In the index and in the machine code, whose pickle can mostly be read all the same."""
    (tmp_path / "loops.py").write_text(LOOPS.format(step=2))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", FLIPS, str(tmp_path), str(num_flips)]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=1200)
    assert done.stdout == "whole\n", done.stderr


@forks
def test_an_installed_package_leaves_nothing_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its compiled code is in the user's folder; that of a checkout is beside the source."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    installed, checkout = tmp_path / "lib" / "site-packages", tmp_path / "checkout"
    for folder in (installed, checkout):
        folder.mkdir(parents=True)
        (folder / "loops.py").write_text(LOOPS.format(step=2))
        assert run(folder, "")[0] == 20
    found = {suffix: sorted(tmp_path.rglob(f"*.{suffix}")) for suffix in ("nbi", "nbc")}
    for paths in found.values():
        beside, kept = paths
        assert beside.parent == checkout / "__pycache__" or kept.parent == checkout / "__pycache__"
        assert any((tmp_path / "cache" / "tienlen_env" / "compiled") in path.parents for path in paths)
    assert [path.name for path in installed.rglob("*")] == ["loops.py"]


COUNTING = """
import sys
import numpy as np
from numba.core import event
sys.path.insert(0, sys.argv[1])
import loops

class Listener(event.Listener):
    def on_start(self, event):
        print("compiles", event.data["dispatcher"].py_func.__name__, flush=True)

    def on_end(self, event):
        pass

with event.install_listener("numba:compile", Listener()):
    assert loops.total(np.arange(5)) == 20
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")
def test_of_processes_that_start_together_one_compiles(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS.format(step=2))
    command = [sys.executable, "-W", "error", "-c", COUNTING, str(tmp_path)]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE) for _ in range(2)
    ]
    printed = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert "".join(printed).count("compiles total") == 1


def test_a_compilation_that_fails_or_hangs_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    wrong = jit.loop(names_of("def wrong(x):\n    return x + 'a'", tmp_path)["wrong"])
    for _ in range(2):  # the lock of the first trial is released
        with pytest.raises(Exception, match="Failed in nopython mode"):
            wrong(1)
    right = jit.compiled(names_of("def right(x):\n    return 2 * x", tmp_path)["right"])
    lock = Path(right._cache.cache_path, f"{right._cache._impl.filename_base}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(private, "PATIENCE", 0.2)
    with lock.open("ab") as file:  # a process that hangs
        fcntl.flock(file, fcntl.LOCK_EX)
        assert right(3) == 6


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_full_disk_costs_the_cache_alone(
    is_damaged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    saves = []

    def save(*_: object) -> None:
        saves.append(1)
        if is_damaged and len(saves) == 1:
            raise pickle.UnpicklingError("an index that was cut short")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(FunctionCache, "save_overload", save)
    triple = jit.loop(names_of("def triple(x):\n    return 3 * x", tmp_path)["triple"])
    assert triple(5) == 15
    assert len(saves) == 1 + is_damaged


def names_of(source: str, folder: Path) -> dict[str, FunctionType]:
    """The names that a module's source defines; Numba's cache wants a file."""
    path = folder / f"module_{abs(hash(source))}.py"
    path.write_text(source)
    names: dict[str, FunctionType] = {"__name__": path.stem}  # type: ignore[dict-item]
    exec(compile(source, str(path), "exec"), names)
    return names


def test_without_a_place_for_the_cache() -> None:
    """Numba knows no folder for a function without a file, as it knows none where nothing can be written."""
    names: dict[str, FunctionType] = {"inner": inner}  # type: ignore[dict-item]
    exec("def double(x):\n    return 2 * inner(x)", names)
    assert jit.loop(names["double"])(np.int64(1)) == 2 * (1 + LIMIT)


def fresh(x: int) -> int:
    return 3 * x + LIMIT


def test_only_loops_become_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a loop calls is linked into it, and neither optimised nor translated on its own."""
    optimised: list[str] = []
    optimise = CPUCodeLibrary._optimize_final_module
    monkeypatch.setattr(
        CPUCodeLibrary,
        "_optimize_final_module",
        lambda library: (optimised.append(library.name), optimise(library)),
    )

    names: dict[str, Any] = {"fresh": fresh}
    exec("def twice(x):\n    return 2 * fresh(x)", names)  # without a file: it is not in the cache
    assert jit.loop(names["twice"])(np.int64(5)) == 36
    assert [name for name in optimised if "twice" in name]
    assert not [name for name in optimised if "fresh" in name]


# ---------------------------------------------------------------- releases without Numba's private names

NAMES = [(owner, name) for owner, names in private.NEEDED.items() for name in names]


class Lacking:
    """Stands for a class or module of a later release: it has all names of the real one but one."""

    def __init__(self, real: object, name: str) -> None:
        self._real, self._name = real, name
        self.__mro__ = ()

    def __getattr__(self, name: str) -> object:
        if name == self._name:
            raise AttributeError(name)
        return getattr(self._real, name)


@pytest.mark.parametrize(("owner", "name"), NAMES, ids=lambda value: value.rpartition(".")[2])
def test_a_missing_name_is_found(owner: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not list(private.missing_names())
    module, _, kind = owner.rpartition(".")
    if kind[0].isupper():
        real = getattr(sys.modules[module], kind)
        monkeypatch.setattr(sys.modules[module], kind, Lacking(real, name))
        missing = list(private.missing_names())
        assert f"{owner}.{name}" in missing
    else:
        monkeypatch.delattr(sys.modules[owner], name)
        assert any(found.startswith(f"{owner}.{name}") for found in private.missing_names())


PARTS = """
from tienlen_env.engine.backends import jit
from tienlen_env.games.common.bits import nth_index, popcount, shift_right, write_bits
from tienlen_env.games.common.hints import noinline

@noinline
def each(x):
    return 2 * x

def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)

@jit.loop
def total(xs, out):
    found = factorial(4) - popcount(-1) + nth_index(6, 1) + shift_right(-1, 60)
    for i in range(len(xs)):
        found += each(xs[i])
    write_bits(out, 0, 5, 3)
    return found
"""
PUBLIC = """
import sys, warnings
import numpy as np
import numba, numba.core.caching, numba.core.ccallback, numba.core.options, numba.extending
del numba.core.caching.FunctionCache
if sys.argv[2] == "options":
    del numba.core.options.DefaultOptions
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    sys.path.insert(0, sys.argv[1])
    import loops
    from tienlen_env.engine.batch import Batch
assert len(caught) == 1 and "FunctionCache" in str(caught[0].message), caught
warnings.simplefilter("error")
out = np.zeros(4, np.uint8)
assert loops.total(np.arange(5), out) == 24 - 64 + 2 + 15 + 20
assert out.tolist() == [1, 0, 1, 0]
if sys.argv[2] == "game":
    found, rng = Batch("cardgames", 3), np.random.default_rng(0)
    wanted = Batch("cardgames", 3, backend="python")
    found.reset(1)
    wanted.reset(1)
    while (found.state.turn >= 0).any():
        ids = found.sample(rng)
        found.step(ids)
        wanted.step(ids)
        assert np.array_equal(found.state.rows, wanted.state.rows)
"""


@pytest.mark.parametrize(
    "missing", ["options", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("cache", "game"))]
)
def test_without_a_private_name_all_is_compiled_by_the_public_way(missing: str, tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(PARTS)
    command = [sys.executable, "-W", "error", "-c", PUBLIC, str(tmp_path), missing]
    environment = os.environ | {"TIENLEN_NATIVE": "0"}
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr


INTERPRETED = """
import numpy as np
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
import tienlen_agents

for rules, name, backend in (
    ("south", "search:worlds=1,inference=0", "native"),
    ("thirteens_manual", "random", "native"),
    ("mini", "random", "numba"),
):
    found, wanted = Batch(rules, 2, backend=backend), Batch(rules, 2, backend="python")
    agent = tienlen_agents.load(name)
    agent.reset(0)
    for batch in (found, wanted):
        batch.reset(1)
    for _ in range(6):
        mask = np.empty((2, found.num_actions), np.int8)
        words = np.empty((2, found.packed_observation_size), np.int64)
        actions = agent.act(View(found))
        rewards, _ = found.step(actions, mask=mask, observation=words)
        assert np.array_equal(rewards, wanted.step(actions)[0])
        assert np.array_equal(found.state.rows, wanted.state.rows)
        assert np.array_equal(mask, wanted.action_mask())
        assert np.array_equal(words, wanted.packed_observation())
"""


def test_loops_run_in_plain_python_for_debuggers() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", INTERPRETED],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
