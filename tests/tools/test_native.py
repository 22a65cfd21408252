"""Loops that were compiled ahead of time: how they are called, and when they are left alone."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.needs import needs_native_compiler
from tests.tools.signature_lines import text_of
from tienlen_env import PRESETS, Batch
from tienlen_env.engine.backends import native, sources
from tienlen_env.games.common.hints import noinline
from tools.native import signatures
from tools.native.build import LIST, TARGETS, _entries, digest_of_sources

ROOT = Path(__file__).parents[2]


class Pair(NamedTuple):
    values: Any
    factor: Any


@noinline
def total(values: Any, factor: Any) -> Any:
    found = 0
    for value in values:
        found += value * factor
    return found


def weighted(pair: Any, more: Any) -> Any:
    return total(pair.values, pair.factor) + more


def both(values: Any) -> Any:
    return values[0], len(values)


def add(out: Any, number: Any, is_twice: Any) -> None:
    for i in range(len(out)):
        for k in range(out.shape[1]):
            out[i, k] += number
            if is_twice:
                out[i, k] += number


def halves(small: Any) -> Any:
    return small / 2


LOOPS = [weighted, both, add, halves]
PAIR = f"{__name__}:Pair"
LINES = {
    "weighted": [f"{PAIR}(int64[1Cr], int), int"],
    "both": ["int64[1A]"],
    "add": ["float32[2C], int, bool"],
    "halves": ["float32"],
}
MAKES = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import importlib.util
spec = importlib.util.spec_from_file_location({__name__!r}, {__file__!r})
module = importlib.util.module_from_spec(spec)
sys.modules[{__name__!r}] = module
spec.loader.exec_module(module)
from tienlen_env.engine.backends import jit
def make_loops():
    for function in module.LOOPS:
        jit.loop(function)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of this file's loops."""
    place = tmp_path_factory.mktemp("native")
    place.joinpath("the_loops_of_tests.py").write_text(MAKES)
    place.joinpath("list.txt").write_text(
        "".join(f"{__name__}:{name} | {line}\n" for name, lines in LINES.items() for line in lines)
    )
    build(place, "--list", str(place / "list.txt"), "--loops", "the_loops_of_tests")
    return place / "built"


def build(place: Path, *options: str, text: str = "", timeout: float = 600) -> None:
    """Build, with success if there is no text; else the output has to have it."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(place), *sys.path])}
    command = [
        sys.executable,
        "-m",
        "tools.native.build",
        "--out",
        str(place / "built"),
    ]
    done = subprocess.run(
        [*command, *options], env=environment, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == bool(text), done.stderr
    assert text in done.stdout + done.stderr


@needs_native_compiler
def test_only_what_changed_is_compiled_and_what_cannot_be_is_named(folder: Path, tmp_path: Path) -> None:
    def objects() -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in folder.glob("objects-*/*.o")}

    place, before = folder.parent, objects()
    lines = place.joinpath("list.txt").read_text()
    options = "--list", str(place / "other.txt"), "--loops", "the_loops_of_tests"
    wrong = ["missing | int", f"halves | {PAIR}(int, int)", "both | int"]
    place.joinpath("other.txt").write_text(lines + "".join(f"{__name__}:{line}\n" for line in wrong))
    build(place, *options, text="3 loops could not be compiled")
    assert len(objects().items() & before.items()) == len(before) - 2 > 0  # those without these loops


# Where a file says what it is: an offset and the bytes there.
FORMATS = {
    "linux-x86_64": [(0, b"\x7fELF"), (18, b"\x3e\0")],
    "linux-aarch64": [(0, b"\x7fELF"), (18, b"\xb7\0")],
    "darwin-x86_64": [(0, b"\xcf\xfa\xed\xfe\x07\0\0\1")],
    "darwin-aarch64": [(0, b"\xcf\xfa\xed\xfe\x0c\0\0\1")],
    "win32-x86_64": [(0, b"MZ")],
}


@pytest.mark.nightly
@needs_native_compiler
@pytest.mark.parametrize("target", FORMATS)
def test_every_platform_is_built_on_this_machine(folder: Path, tmp_path: Path, target: str) -> None:
    """The loops of this file; only those of this machine can be called here."""
    place = folder.parent
    options = "--list", str(place / "list.txt"), "--loops", "the_loops_of_tests", "--target", target
    build(place, *options, "--out", str(tmp_path))
    assert len(names_in_files(tmp_path, target)) == 4


@pytest.mark.nightly
@needs_native_compiler
@pytest.mark.parametrize("target", [target for target in FORMATS if target != native.this_platform()])
def test_all_loops_are_built_for_every_other_platform(tmp_path: Path, target: str) -> None:
    """Those of wheels, on all levels: some minutes each."""
    build(tmp_path, "--target", target, timeout=3600)
    assert len(names_in_files(tmp_path / "built", target)) >= len(list(signatures.read(LIST)))


def names_in_files(folder: Path, target: str) -> list[str]:
    """The names of all loops of a build, after a look into its files: their format, and the names in it."""
    found = json.loads((folder / "loops.json").read_text())
    assert found["platform"] == target
    assert tuple(found["levels"]) == TARGETS[target].levels
    names = [entry[1] for entries in found["loops"].values() for entry in entries]
    for file in found["files"]:
        code = (folder / file).read_bytes()
        assert all(code[at : at + len(mark)] == mark for at, mark in FORMATS[target]), file
        symbols = ["PyInit_calls"] if file.startswith("calls.") else names
        assert all(symbol.encode() in code for symbol in symbols), file
        versions = [tuple(map(int, v.split(b"."))) for v in re.findall(rb"GLIBC_([\d.]+)", code)]
        assert all(version <= (2, 17) for version in versions), file
    return names


def test_a_platform_without_a_compiler_is_named(tmp_path: Path) -> None:
    """The packages are hidden; `make install` says so in one line and goes on."""
    for name in ("ziglang", "numba"):
        tmp_path.joinpath(f"{name}.py").write_text(f"raise ImportError('no {name} here')")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-m", "tools.native.build"]
    done = subprocess.run(
        [*command, "--or-notice", "--levels", "generic", "--out", str(tmp_path / "built")],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert "Numba compiles them when they are called" in line
    assert "no numba here" in line


@pytest.fixture(autouse=True)
def with_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about machine code, even where all others leave it alone."""
    monkeypatch.delenv("TIENLEN_NATIVE", raising=False)


@pytest.fixture
def loop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Any]]:
    """Makes loops by that library; a call of what it does not have gives a word in place of Numba's code."""
    monkeypatch.setattr(native, "FOLDER", folder)
    clear()
    yield lambda function: native.loop_of(function, lambda f: lambda *args: "numba")
    clear()


def clear() -> None:
    native.library.cache_clear()
    native._loop_type.cache_clear()


@needs_native_compiler
def test_arguments_of_every_kind(loop: Callable[[Any], Any]) -> None:
    values = np.arange(5)
    assert loop(weighted)(Pair(values, 3), 4) == 34
    assert loop(weighted)(Pair(values, np.int64(3)), 4) == 34  # a number of NumPy
    values.setflags(write=False)
    assert loop(weighted)(Pair(values, 3), 4) == 34
    assert loop(both)(np.arange(12)[::3]) == (0, 4)
    out = np.zeros((2, 3), np.float32)
    assert loop(add)(out, 2, True) is None
    assert (out == 4).all()
    out.setflags(write=False)
    assert loop(add)(out, 2, True) == "numba"  # its code writes
    assert loop(halves)(np.float32(0.3)) == np.float32(0.3) / 2


@needs_native_compiler
@pytest.mark.parametrize(
    "args",
    [
        (Pair(np.arange(5.0), 3), 4),  # another type of elements
        (Pair(np.arange(10)[::2], 3), 4),  # not contiguous
        (Pair(np.arange(5).astype(">i8"), 3), 4),  # of the other byte order
        (Pair(np.arange(5), 3.5), 4),
        (Pair([1, 2], 3), 4),
    ],
)
def test_other_arguments_are_the_next_backends(loop: Callable[[Any], Any], args: Any) -> None:
    assert loop(weighted)(*args) == "numba"


@needs_native_compiler
def test_integers_of_more_than_64_bits_are_refused(loop: Callable[[Any], Any]) -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        loop(weighted)(Pair(np.arange(5), 3), 2**70)


@needs_native_compiler
def test_a_changed_source_is_not_used(loop: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert loop(weighted)(Pair(np.arange(5), 3), 4) == 34

    def total(values: Any, factor: Any) -> Any:
        return values.sum() * factor + 1

    monkeypatch.setitem(weighted.__globals__, "total", total)
    sources.key_of.cache_clear()
    try:
        assert loop(weighted)(Pair(np.arange(5), 3), 4) == "numba"
    finally:
        monkeypatch.undo()
        sources.key_of.cache_clear()


@needs_native_compiler
def test_threads_may_call_a_loop_first_at_the_same_time(loop: Callable[[Any], Any]) -> None:
    found: list[Any] = []
    made = loop(weighted)
    threads = [
        threading.Thread(target=lambda: found.append(made(Pair(np.arange(5), 3), 4))) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [34] * 16


def damage_library(folder: Path) -> None:
    path = next(folder.glob("loops-*.so"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def damage_list(folder: Path) -> None:
    (folder / "loops.json").write_text("{")


def take_library(folder: Path) -> None:
    next(folder.glob("loops-*.so")).unlink()


def lose_an_entry(folder: Path) -> None:
    found = json.loads((folder / "loops.json").read_text())
    del found["files"]
    (folder / "loops.json").write_text(json.dumps(found))


def change_a_kind(folder: Path) -> None:
    """Of an argument: the code would get a number as an array."""
    text = (folder / "loops.json").read_text()
    kind = re.search(r'\[\s*"([0-9a-f]{4})', text)
    assert kind is not None
    (folder / "loops.json").write_text(f"{text[: kind.start(1)]}0100{text[kind.end(1) :]}")


def cut_the_calls(folder: Path) -> None:
    path = next(folder.glob("calls.*"))
    path.write_bytes(path.read_bytes()[:1000])


DAMAGES = [damage_library, damage_list, take_library, lose_an_entry, change_a_kind, cut_the_calls]


@needs_native_compiler
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_library_is_named_once_and_left_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    for file in filter(Path.is_file, folder.iterdir()):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    damage(tmp_path)
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    clear()
    with pytest.warns(RuntimeWarning, match="is not used, Numba compiles"):
        assert native.library() is None
    assert native.library() is None  # without a second warning
    clear()


@needs_native_compiler
@pytest.mark.parametrize("change", [{"platform": "plan9-mips"}, {"levels": {"x86-64-v9": "none.so"}}])
def test_a_library_for_another_machine_is_named_and_left_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    for file in filter(Path.is_file, folder.iterdir()):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    found = json.loads((folder / "loops.json").read_text()) | change
    del found["digest"]
    (tmp_path / "loops.json").write_text(json.dumps(found | {"digest": native.digest_of(found)}))
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    clear()
    with pytest.warns(RuntimeWarning, match=r"plan9-mips|x86-64-v9"):
        assert native.library() is None
    clear()


def test_no_library_is_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    clear()
    assert native.library() is None
    clear()


# ---------------------------------------------------------------- the list


@pytest.mark.parametrize("line", signatures.read(), ids=lambda line: f"{line.loop} {line.types}"[:60])
def test_the_list_is_understood(line: signatures.Signature) -> None:
    kinds = signatures.types_of(line.types)
    assert text_of(kinds) == line.types
    assert all(0 < kind < 1 << 16 for kind in signatures.kinds_of(kinds))
    module, _, name = line.loop.partition(" ")[0].partition(":")
    assert hasattr(importlib.import_module(module), name.partition(".<locals>")[0])


def test_a_named_tuple_that_has_changed_is_a_line_of_failures(tmp_path: Path) -> None:
    """It is left to Numba, and does not stop the build of the other loops."""
    line = next(line for line in signatures.read() if "Rollout(" in line.types)
    before = signatures.Signature(line.loop, line.types.replace("Rollout(", "Rollout(int, ", 1))
    path = tmp_path / "signatures.txt"
    path.write_text(" | ".join(before) + "\n")
    entries, failed = _entries(path, "tools.native.loops")
    assert not entries
    assert len(failed) == 1
    assert "fields" in failed[0]


def test_every_loop_of_the_list_is_made() -> None:
    """In another process, where no test has made loops."""
    check = """
from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.sources import name_of
from tools.native import signatures
from tools.native.loops import make_loops
make_loops()
missing = {line.loop for line in signatures.read()} - {name_of(loop.py_func) for loop in jit.LOOPS}
assert not missing, missing
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", check], check=True, env=environment, timeout=300)


def test_keys_are_of_the_source(tmp_path: Path) -> None:
    """Not of byte code, which each Python has of its own."""
    text = "def helper(x):\n    return x + 1\n\n\ndef kernel(x):\n    # why\n    return helper(x)\n"
    keys = []
    for i, source in enumerate([text, text + "\n\ndef other():\n    pass\n", text.replace("+ 1", "+ 2")]):
        path = tmp_path / f"part{i}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location("part", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        keys.append(sources.key_of(module.kernel))
    assert keys[0] == keys[1] != keys[2]


def test_keys_name_functions_as_every_numpy_does() -> None:
    """Before NumPy 2.2 no ufunc has ``__module__`` and ``__qualname__``; one that Python made never has."""
    made = np.frompyfunc(abs, 1, 1), np.frompyfunc(len, 1, 1)
    assert len({sources._description(function) for function in (*made, np.exp, np.log)}) == 4
    found = [sources._description(function) for function in (np.exp, np.max, np.float32, math.exp)]
    assert found == [b"numpy.exp", b"numpy.max", b"numpy.float32", b"math.exp"]


# ---------------------------------------------------------------- the library of the package


def is_of_today() -> bool:
    """Whether `make native` has run since a source changed last."""
    if native.library() is None:
        return False
    found = json.loads((native.FOLDER / "loops.json").read_text())
    return bool(found["sources"] == digest_of_sources())


needs_library = pytest.mark.skipif(not is_of_today(), reason="the loops are not compiled (make native)")


@needs_library
def test_the_library_is_of_these_sources() -> None:
    """A library that is older than the sources is not used; then `make native` builds it anew."""
    found = native.library()
    assert found is not None
    names = [name for name in PRESETS if name in ("cardgames", "thirteens")]
    for name in names:
        batch = Batch(PRESETS[name], num_games=1)
        assert sources.key_of(batch.loops.begin.py_func) in found.loops


@needs_library
@pytest.mark.parametrize("name", PRESETS)
def test_the_same_bits_as_numba(name: str) -> None:
    rng = np.random.default_rng(5)
    batches = [Batch(PRESETS[name], num_games=64, auto_reset=True, backend=b) for b in ("native", "numba")]
    outputs = [
        (np.zeros((64, batch.num_actions), np.int8), np.zeros((64, batch.observation_size), np.uint8))
        for batch in batches
    ]
    for batch in batches:
        batch.reset(3)
    for _ in range(200):
        ids = batches[0].sample(rng)
        results = [
            batch.step(ids, mask=mask, observation=observation)
            for batch, (mask, observation) in zip(batches, outputs, strict=True)
        ]
        for first, second in zip((*results[0], *outputs[0]), (*results[1], *outputs[1]), strict=True):
            np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(batches[0]._rows, batches[1]._rows)


# Each is a process in which Numba cannot be imported.
SEARCHING = ["search:worlds=4", "ismcts:worlds=20", "champion:worlds=4"]
PROGRAMS = [
    "from tienlen_env import tienlen_v1; env = tienlen_v1.env(); env.reset(seed=1)",
    "import gymnasium, tienlen_env.envs; gymnasium.make('tienlen_env/TienLen-v1').reset(seed=1)",
    "import gymnasium, tienlen_env.envs; gymnasium.make_vec('tienlen_env/Thirteens-v1', 2).reset(seed=1)",
    f"""
from tienlen_agents import arena
names = ["random", "greedy", "greedy_long", "endgame:heuristic", "reference", "champion:worlds=0"]
for name in [*names, *{SEARCHING}]:
    arena.compare(name, ["heuristic"] * 3, num_deals=2)
""",
    f"""
from tienlen_agents import arena
for name in ["greedy", "endgame:heuristic", *{SEARCHING}]:
    arena.compare(name, ["heuristic"] * 3, num_deals=2, rules="north")
for name in ["random", *{SEARCHING}]:
    arena.compare(name, ["trickster"] * 3, num_deals=2, rules="thirteens")
""",
    """
from tienlen_train.cli import main
main("exact nashconv heuristic champion:worlds=0 --rules mini".split())
main("exact solve --rules mini --until 1e-2 --out mini".split())
""",
]


@needs_library
@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_nothing_is_compiled_in_what_the_package_offers(program: str, tmp_path: Path) -> None:
    """So the list has every signature of its agents and commands; `make signatures` adds what is missing."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    code = f"import sys; sys.modules['numba'] = None\n{program}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
