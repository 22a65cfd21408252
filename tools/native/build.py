"""Build the loops of ``signatures.txt`` as machine code: Numba's LLVM code, optimised and linked.

``python -m tools.native.build`` builds for the processor at hand; ``--target`` and
``--levels`` name others. It needs Numba and ``ziglang``, a C compiler and linker for every platform that pip
can install. Loops that have most of their code in common are one object, whose name is a digest of all that
it is made of: what has not changed since the last build is not compiled again.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from tienlen_env.engine.backends import native
from tienlen_env.extras import is_installed

# LLVM's names of the features of each level, as the x86-64 psABI lists them.
_V2: Final = "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2"
_V3: Final = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_V4: Final = f"{_V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
FEATURES: Final = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2, "generic": ""}
LOOPS: Final = "tools.native.loops"  # its ``make_loops()`` makes the loops that the list names
LIST: Final = Path(__file__).with_name("signatures.txt")
PACKAGES: Final = ("tienlen_env", "tienlen_agents", "tienlen_exact", "tienlen_bridges")  # which have loops
CALLS: Final = Path(__file__).with_name("calls.c")
# Loops that are objects of their own. LLVM inlines large kernels that one place calls: worth up to a tenth.
ALONE: Final = ("step", "step_games", "play_one")


class Target(NamedTuple):
    """A platform.

    Attributes:
        triple: LLVM's name of it.
        zig: the linker's, with the oldest version of the C library or of the system.
        tag: that of a wheel.
        levels: what is built for its processors.
    """

    triple: str
    zig: str
    tag: str
    levels: tuple[str, ...]


_X86: Final = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
TARGETS: Final = {  # by `native.this_platform`
    "linux-x86_64": Target(
        "x86_64-unknown-linux-gnu",
        "x86_64-linux-gnu.2.17",
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        _X86,
    ),
    "linux-aarch64": Target(
        *("aarch64-unknown-linux-gnu", "aarch64-linux-gnu.2.17"),
        *("manylinux_2_17_aarch64.manylinux2014_aarch64", ("generic",)),
    ),
    "darwin-aarch64": Target(
        "arm64-apple-macosx11.0.0", "aarch64-macos.11.0", "macosx_11_0_arm64", ("generic",)
    ),
    "darwin-x86_64": Target(
        "x86_64-apple-macosx10.13.0", "x86_64-macos.10.13", "macosx_10_13_x86_64", ("x86-64-v2", "x86-64-v3")
    ),
    "win32-x86_64": Target("x86_64-pc-windows-gnu", "x86_64-windows-gnu", "win_amd64", _X86),
}


def build(
    levels: Iterable[str],
    folder: Path = native.FOLDER,
    target: str = "",
    signatures: Path = LIST,
    loops_of: str = LOOPS,
) -> list[str]:
    """Write the files of `native.FOLDER`.

    Args:
        levels: of `FEATURES`.
        folder: where to write; the objects, too.
        target: of `TARGETS`; empty: this machine's.
        signatures: the list of what to compile.
        loops_of: a module whose ``make_loops()`` makes all loops of the list.

    Returns:
        For each loop of the list that could not be compiled a line with the reason.

    Raises:
        RuntimeError: a level could not be built; the message ends with the reason.
    """
    target = target or native.this_platform()
    if target not in TARGETS:
        raise RuntimeError(f"{target}: expected one of {', '.join(TARGETS)}")
    folder.mkdir(parents=True, exist_ok=True)
    names = {level: f"loops-{level}.so" for level in levels}
    objects = {level: folder / f"objects-{target}-{level}" for level in names}
    loops: dict[str, Any] = {}
    failed: list[str] = []
    for alike in _with_the_same_code(names):
        found, failed = _compile({level: objects[level] for level in alike}, target, signatures, loops_of)
        if loops not in ({}, found):
            raise RuntimeError(f"{alike[0]}: other loops than those of the first level")
        loops = found
    for level, name in names.items():
        _link(sorted(map(str, objects[level].glob("*.o"))), folder / name, target)
    calls = folder / "calls.abi3.so"
    python = [_python_for_windows(folder)] if target.startswith("win32") else []
    _link(["-O2", str(CALLS), *python], calls, target, has_python=True)
    files = [calls.name, *names.values()]
    manifest = {
        "platform": target,
        "tag": TARGETS[target].tag,
        "levels": names,
        "files": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files},
        "loops": loops,
        "sources": digest_of_sources(),
    }
    manifest["digest"] = native.digest_of(manifest)
    scratch = folder / "loops.json.new"
    scratch.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    scratch.replace(folder / "loops.json")
    return failed


def _with_the_same_code(levels: Iterable[str]) -> list[list[str]]:
    """Levels for which Numba makes the same code: `overloads` asks for two features, LLVM does the rest."""
    groups: dict[Any, list[str]] = {}
    for level in levels:
        features = FEATURES[level].split(",")
        groups.setdefault(("+avx2" in features, "+bmi2" in features), []).append(level)
    return list(groups.values())


def _compile(
    objects: Mapping[str, Path], target: str, path: Path, loops_of: str
) -> tuple[dict[str, Any], list[str]]:
    """`compile_loops` in a process of its own, with Numba's settings for the levels."""
    level = next(iter(objects))
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": FEATURES[level],
        "NUMBA_OPT": "0",
        "TIENLEN_NATIVE": "0",
    }
    folders = json.dumps({name: str(folder) for name, folder in objects.items()})
    done = subprocess.run(
        [
            *(sys.executable, "-m", __spec__.name, "--objects", folders, "--target", target),
            *("--list", str(path), "--loops", loops_of),
        ],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{level}: the loops could not be compiled\n{done.stderr[-4000:]}")
    found, failed = json.loads(done.stdout.splitlines()[-1])
    return found, failed


def digest_of_sources() -> str:
    """A digest of the sources of all packages with loops: whether a build is up to date."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for folder in map(Path, importlib.import_module(package).__path__ if is_installed(package) else ()):
            for path in sorted(folder.rglob("*.py")):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _link(inputs: Iterable[str], out: Path, target: str, has_python: bool = False) -> None:
    """Link objects, or compile ``calls.c``; a name that nothing defines is an error.

    Except with `has_python` on Linux and macOS: Python's names are those of the process that imports the
    file.
    """
    scratch = out.with_name(out.name + ".new")
    options = ["-target", TARGETS[target].zig, "-shared", "-fPIC", "-s"]
    if target.startswith("darwin") and has_python:
        options.append("-Wl,-undefined,dynamic_lookup")
    if target.startswith("linux") and not has_python:
        options.append("-Wl,-z,defs")
    _zig("cc", *options, *inputs, "-o", str(scratch))
    scratch.replace(out)
    out.with_suffix(".lib").unlink(missing_ok=True)


def _zig(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "ziglang", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ziglang {arguments[0]} failed\n{done.stderr[-4000:]}")


def _python_for_windows(folder: Path) -> str:
    """The import library of Python's stable interface, of the names that ``calls.c`` declares."""
    lines = [line for line in CALLS.read_text(encoding="utf-8").splitlines() if line.startswith("IMPORT ")]
    names = [
        f"{name} DATA" if " extern " in line else name
        for line in lines
        for name in re.findall(r"\b_?Py\w+", line)
    ]
    source, library = folder / "python3.def", folder / "python3.lib"
    source.write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *names]), encoding="utf-8")
    _zig("dlltool", "-m", "i386:x86-64", "-d", str(source), "-l", str(library))
    return str(library)


class _Entry(NamedTuple):
    """A loop for one signature.

    Attributes:
        function: of the loop.
        key: of its source.
        types: of its arguments.
        kinds: the same as ``calls.c`` has them.
        name: of its code.
    """

    function: Any
    key: str
    types: tuple[Any, ...]
    kinds: str
    name: str


def compile_loops(
    objects: Mapping[str, Path], target: str, path: Path, loops_of: str
) -> tuple[dict[str, list[tuple[str, str, str]]], list[str]]:
    """Compile what is missing of the list.

    Args:
        objects: a folder for each level; gets an object ``GROUP.o`` for each group of `_groups`, and
            ``GROUP.json``, the results of its entries. Others are removed.
        target: of `TARGETS`.
        path: of the list.
        loops_of: see `build`.

    Returns:
        `native.Library.loops`, and for each loop that could not be compiled a line with the reason.
    """
    entries, failed = _entries(path, loops_of)
    groups = {_name_of(group): group for group in _groups(entries)}
    work = []
    for name, group in groups.items():
        missing = {}
        for level, folder in objects.items():
            folder.mkdir(exist_ok=True)
            done = _results(folder, name).keys()
            if any(entry.name not in done for entry in group):
                missing[level] = folder
        if missing:
            numbers = [entries.index(entry) for entry in group]
            work.append((missing, name, target, path, loops_of, numbers))
    if work:
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
        with ProcessPoolExecutor(min(len(work), cores)) as pool:
            failed += chain.from_iterable(pool.map(_compile_group, work))
    results: dict[str, str] = {}
    for folder in objects.values():
        for file in folder.iterdir():
            if file.name.partition(".")[0] not in groups:
                file.unlink()
        results = dict(chain.from_iterable(_results(folder, name).items() for name in groups))
    found: dict[str, list[tuple[str, str, str]]] = {}
    for entry in entries:
        if entry.name in results:
            found.setdefault(entry.key, []).append((entry.kinds, entry.name, results[entry.name]))
    return found, failed


def _results(folder: Path, name: str) -> dict[str, str]:
    """The kinds of results of each entry of a group that is compiled."""
    path = folder / f"{name}.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def _name_of(group: Sequence[_Entry]) -> str:
    return hashlib.sha256(" ".join(entry.name for entry in group).encode()).hexdigest()[:24]


def _groups(entries: Sequence[_Entry]) -> list[list[_Entry]]:
    """Entries of one module that have at least half of their code in common, the largest groups first.

    LLVM optimises what they share once, where it does not inline it. Those of `ALONE` are not in groups.
    """
    from tienlen_env.engine.backends import sources

    sizes = {}
    for entry in entries:
        codes = (getattr(value, "__code__", None) for value in sources.reachable(entry.function))
        sizes[entry.name] = {code: len(code.co_code) for code in codes if code}
    groups: list[tuple[str, dict[Any, int], list[_Entry]]] = []
    for entry in sorted(entries, key=lambda entry: -sum(sizes[entry.name].values())):
        size, function = sizes[entry.name], entry.function
        module = entry.name if function.__name__ in ALONE else function.__module__
        for other, common, group in groups:
            shared = sum(size[code] for code in size if code in common)
            if other == module and 2 * shared >= sum(size.values()):
                common.update(size)
                group.append(entry)
                break
        else:
            groups.append((module, dict(size), [entry]))
    return [group for *_, group in sorted(groups, key=lambda found: -sum(found[1].values()))]


@cache
def _entries(path: Path, loops_of: str) -> tuple[list[_Entry], list[str]]:
    """What the list names, in its order, and what is wrong in it; loops of the same code are there once."""
    import llvmlite
    import numba

    from tienlen_env.engine.backends import jit, sources
    from tools.native import signatures

    importlib.import_module(loops_of).make_loops()
    steps: tuple[Callable[..., Any], ...] = (_compile_group, _add, _code_of, _arguments)
    how = "".join(map(inspect.getsource, steps))
    tools = f"{numba.__version__} {llvmlite.__version__} {how}"
    by_name: dict[str, list[Any]] = {}
    for loop in jit.LOOPS:
        by_name.setdefault(sources.name_of(loop.py_func), []).append(loop.py_func)
    entries: dict[tuple[str, str], tuple[str, _Entry]] = {}
    failed: list[str] = []
    for line in signatures.read(path):
        if not is_installed(line.loop.partition(".")[0]):
            continue
        try:
            types = signatures.types_of(line.types)
            functions = by_name[line.loop]
        except (LookupError, ValueError, TypeError, AttributeError, AssertionError, ImportError) as error:
            failed.append(f"{line.loop}: {error!r}")
            continue
        kinds = b"".join(kind.to_bytes(2, "little") for kind in signatures.kinds_of(types)).hex()
        for function in functions:
            key = sources.key_of(function)
            digest = hashlib.sha256(f"{tools} {key} {line.types}".encode()).hexdigest()
            entry = _Entry(function, key, types, kinds, f"loop_{digest[:24]}")
            if entries.setdefault((key, kinds), (line.types, entry))[0] != line.types:
                raise ValueError(f"{line.loop}: two signatures that a call cannot tell apart")
    return [entry for _, entry in entries.values()], failed


def _compile_group(work: tuple[Mapping[str, Path], str, str, Path, str, Sequence[int]]) -> list[str]:
    """Write the object of some entries of the list; a line for each that could not be compiled."""
    from llvmlite import binding as llvm
    from numba.core.errors import NumbaError

    objects, name, target, path, loops_of, numbers = work
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = llvm.Target.from_triple(TARGETS[target].triple)
    machines = {
        level: triple.create_target_machine(
            opt=3, cpu=level, features=FEATURES[level], reloc="pic", codemodel="default"
        )
        for level in objects
    }
    machine = next(iter(machines.values()))
    module, results, failed = _parse("", machine), {}, []
    for entry in (_entries(path, loops_of)[0][i] for i in numbers):
        try:
            results[entry.name] = _add(entry, module, machine)
        except NumbaError as error:
            failed.append(f"{entry.function.__module__}:{entry.function.__qualname__}: {error}")
    for part in (*module.functions, *module.global_variables):
        if not part.is_declaration and part.name not in results:
            part.linkage = "internal"
    module.verify()
    # All calls are inlined before anything is optimised, as by Numba: a step is some percent faster so.
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    passes.getModulePassManager().run(module, passes)
    for level, folder in objects.items():
        code = module.clone()
        passes = llvm.create_pass_builder(machines[level], llvm.create_pipeline_tuning_options(speed_level=3))
        passes.getModulePassManager().run(code, passes)
        for file, data in (
            (f"{name}.o", machines[level].emit_object(code)),
            (f"{name}.json", json.dumps(results).encode()),
        ):
            scratch = folder / f"{name}.new"
            scratch.write_bytes(data)
            scratch.replace(folder / file)
    return failed


def _add(entry: _Entry, module: Any, machine: Any) -> str:
    """Add the code of an entry, which calls Numba's function, to a module; the kinds of its results."""
    from numba import njit, types

    from tienlen_env.engine.backends import compiler, overloads

    function = entry.function
    compiler.register(function)
    dispatcher: Any = njit(
        entry.types,
        nogil=True,
        **overloads.NO_RUNTIME,
        **compiler.PART,
        no_cpython_wrapper=True,
    )(function)
    (overload,) = dispatcher.overloads.values()
    inner = overload.fndesc.llvm_func_name
    module.link_in(_parse(compiler.code_of(overload.library), machine))
    parameters = [str(argument.type) for argument in module.get_function(inner).arguments]
    module.link_in(_parse(_code_of(entry, inner, parameters), machine))
    result = overload.signature.return_type
    letters = {types.int64: "i", types.boolean: "b", types.float64: "f", types.none: "n"}
    return "".join(letters[kind] for kind in getattr(result, "types", [result]))


def _parse(code: str, machine: Any) -> Any:
    from llvmlite import binding as llvm

    module = llvm.parse_assembly(code)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def _code_of(entry: _Entry, inner: str, parameters: list[str]) -> str:
    """The code of an entry (``calls.c``): reads its words, and calls Numba's function with them.

    Args:
        entry: gives the name and the types.
        inner: Numba's name of the function.
        parameters: the LLVM types of Numba's: of the result, of an error, of the arguments.
    """
    lines: list[str] = []
    arguments = list(_arguments(entry.types, lines, iter(range(1, 1 << 20))))
    if [argument.partition(" ")[0] for argument in arguments] != parameters[2:]:
        raise ValueError(f"{inner}: expected arguments of {parameters[2:]}, got {arguments}")
    return f"""
declare i32 @{inner}({", ".join(parameters)})
define i32 @{entry.name}(ptr %words) {{
  %error = alloca ptr
{chr(10).join(lines)}
  %status = call i32 @{inner}({", ".join(["ptr %words", "ptr %error", *arguments])})
  ret i32 %status
}}
"""


def _arguments(kinds: Iterable[Any], lines: list[str], at: Iterator[int]) -> Iterator[str]:
    """Numba's arguments, with their LLVM types; appends the code that reads them from words, from `at` on."""
    from numba import types

    def value(code: str) -> str:
        lines.append(f"  %v{len(lines)} = {code}")
        return f"%v{len(lines) - 1}"

    def read(kind: str) -> str:
        place = value(f"getelementptr i64, ptr %words, i64 {next(at)}")
        return value(f"load {kind}, ptr {place}")

    for kind in kinds:
        if isinstance(kind, types.Array):
            size = 1 if kind.dtype == types.boolean else kind.dtype.bitwidth // 8
            data = read("ptr")
            shape = [read("i64") for _ in range(kind.ndim)]
            strides = [read("i64") for _ in range(kind.ndim)]
            if kind.layout == "C":  # constants where they can be
                strides = [str(size)]
                for length in shape[:0:-1]:
                    strides.insert(0, value(f"mul i64 {strides[0]}, {length}"))
            total = shape[0]
            for length in shape[1:]:
                total = value(f"mul i64 {total}, {length}")
            yield from ["ptr null", "ptr null", f"i64 {total}", f"i64 {size}", f"ptr {data}"]
            yield from (f"i64 {number}" for number in (*shape, *strides))
        elif isinstance(kind, types.BaseTuple):
            yield from _arguments(kind.types, lines, at)
        elif kind == types.float32:
            number = read("double")
            yield f"float {value(f'fptrunc double {number} to float')}"
        elif kind == types.none:
            yield "ptr null"
        else:
            name = {types.int64: "i64", types.boolean: "i8", types.float64: "double"}[kind]
            yield f"{name} {read(name)}"


def main(args: Mapping[str, Any]) -> None:
    """Build, or compile in the process that `build` starts."""
    if args["objects"]:
        objects = {level: Path(folder) for level, folder in json.loads(args["objects"]).items()}
        path = Path(args["list"])
        print(json.dumps(compile_loops(objects, args["target"], path, args["loops"])))
        return
    start = time.monotonic()
    target = args["target"] or native.this_platform()
    levels = args["levels"] or (TARGETS[target].levels if args["target"] else [this_level()])
    try:
        failed = build(levels, Path(args["out"]), target, Path(args["list"]), args["loops"])
    except RuntimeError as error:
        if not args["or_notice"]:
            raise
        reason = str(error).splitlines()[-1]
        print(f"No loops are compiled ahead of time, Numba compiles them when they are called: {reason}")
        return
    print(f"Compiled ahead of time for {', '.join(levels)}: {time.monotonic() - start:.0f} s")
    for line in failed:
        print(f"Left to Numba: {line.splitlines()[0]}")
    if failed and not args["or_notice"]:
        sys.exit(f"{len(failed)} loops could not be compiled")


def this_level() -> str:
    """The highest level of the processor at hand."""
    from llvmlite import binding as llvm

    if not native.this_platform().endswith("x86_64"):
        return "generic"
    has = llvm.get_host_cpu_features()
    levels = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
    return next(n for n in levels if all(has.get(f[1:], False) for f in FEATURES[n].split(",")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=TARGETS, help="platform (default: this processor)")
    parser.add_argument("--levels", nargs="+", choices=FEATURES, help="default: all of the platform")
    parser.add_argument("--out", default=str(native.FOLDER), help="folder to write to (%(default)s)")
    parser.add_argument("--list", default=str(LIST), help="what to compile (%(default)s)")
    parser.add_argument("--loops", default=LOOPS, help="module that makes the loops (%(default)s)")
    parser.add_argument("--or-notice", action="store_true", help="if it fails, say so in one line")
    parser.add_argument("--objects", help=argparse.SUPPRESS)
    main(vars(parser.parse_args()))
