"""Build the loops of ``signatures.txt`` as machine code: Numba's LLVM code, optimised and linked.

``python -m tienlen_env.engine.backends.native.build`` builds for the processor at hand; ``--levels`` names
others. It needs Numba and ``ziglang``, a C compiler and linker for every platform that pip can install.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from tienlen_env.engine.backends import native

# LLVM's names of the features of each level, as the x86-64 psABI lists them.
_V2: Final = "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2"
_V3: Final = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_V4: Final = f"{_V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
FEATURES: Final = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4, "generic": ""}
LOOPS: Final = "tienlen_agents.native_loops"  # its ``make_loops()`` makes the loops that the list names
LIST: Final = Path(__file__).with_name("signatures.txt")


def build(
    levels: Iterable[str], folder: Path = native.FOLDER, signatures: Path = LIST, loops_of: str = LOOPS
) -> None:
    """Write the files of `native.FOLDER`; each level in a process of its own, with Numba's settings for it.

    Args:
        levels: of `FEATURES`.
        folder: where to write.
        signatures: the list of what to compile.
        loops_of: a module whose ``make_loops()`` makes all loops of the list.

    Raises:
        RuntimeError: a level could not be built; the message ends with the reason.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = {level: f"loops-{level}.so" for level in levels}
    loops: dict[str, Any] = {}
    for level, name in names.items():
        environment = {
            **os.environ,
            "NUMBA_CPU_NAME": level,
            "NUMBA_CPU_FEATURES": FEATURES[level],
            "NUMBA_OPT": "0",
            "TIENLEN_NATIVE": "0",
        }
        with TemporaryDirectory() as place:
            code = Path(place, "loops.o")
            done = subprocess.run(
                [
                    *(sys.executable, "-m", __spec__.name, "--object", str(code)),
                    *("--list", str(signatures), "--loops", loops_of),
                ],
                env=environment,
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise RuntimeError(f"{level}: the loops could not be compiled\n{done.stderr[-4000:]}")
            found = json.loads(done.stdout.splitlines()[-1])
            if loops not in ({}, found):
                raise RuntimeError(f"{level}: other loops than those of the first level")
            loops = found
            _link([str(code)], folder / name)
    calls = folder / "calls.abi3.so"
    _link(["-O2", str(Path(__file__).with_name("calls.c"))], calls)
    files = [calls.name, *names.values()]
    manifest = {
        "platform": native.this_platform(),
        "levels": names,
        "files": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files},
        "loops": loops,
        "sources": digest_of_sources(),
    }
    scratch = folder / "loops.json.new"
    scratch.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    scratch.replace(folder / "loops.json")


def digest_of_sources() -> str:
    """A digest of the sources of both packages; tests use it to see whether a build is up to date."""
    digest = hashlib.sha256()
    for name in (native.__name__, LOOPS):
        package = Path(importlib.import_module(name.partition(".")[0]).__path__[0])
        for path in sorted(package.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _link(inputs: list[str], out: Path) -> None:
    scratch = out.with_name(out.name + ".new")
    command = [sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-s", *inputs, "-o", str(scratch)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{out.name} could not be linked\n{done.stderr[-4000:]}")
    scratch.replace(out)


class _Compiled(NamedTuple):
    """A function of the object: the types of its arguments, its name, the kinds of its results."""

    types: str
    name: str
    results: str


def compile_loops(out: Path, path: Path, loops_of: str) -> dict[str, list[tuple[str, str, str]]]:
    """Compile the list for the processor that this process's Numba compiles for.

    Args:
        out: gets the object.
        path: of the list.
        loops_of: see `build`.

    Returns:
        `native.Library.loops`.
    """
    from llvmlite import binding as llvm
    from numba.core import config

    from tienlen_env.engine.backends import jit, sources
    from tienlen_env.engine.backends.native import signatures

    importlib.import_module(loops_of).make_loops()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(
        opt=3, cpu=config.CPU_NAME, features=config.CPU_FEATURES, reloc="pic", codemodel="default"
    )
    module = _parse("", target)
    found: dict[str, dict[str, _Compiled]] = {}
    by_name: dict[str, list[Any]] = {}
    for loop in jit.LOOPS:
        by_name.setdefault(signatures.name_of(loop.py_func), []).append(loop.py_func)
    exports: list[str] = []
    for line in signatures.read(path):
        kinds = signatures.types_of(line.types)
        packed = b"".join(kind.to_bytes(2, sys.byteorder) for kind in signatures.kinds_of(kinds)).hex()
        for function in by_name[line.loop]:
            entries = found.setdefault(sources.key_of(function), {})
            if packed in entries and entries[packed].types != line.types:
                raise ValueError(f"{line.loop}: two signatures that a call cannot tell apart")
            if packed not in entries:  # else a loop of the same code
                name = f"loop_{len(exports)}"
                exports.append(name)
                entries[packed] = _Compiled(line.types, name, _add(module, target, function, kinds, name))
    for function in module.functions:
        if not function.is_declaration and function.name not in exports:
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    module.verify()
    passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    out.write_bytes(target.emit_object(module))
    return {
        key: [(kinds, each.name, each.results) for kinds, each in entries.items()]
        for key, entries in found.items()
    }


def _parse(code: str, target: Any) -> Any:
    from llvmlite import binding as llvm

    module = llvm.parse_assembly(code)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    return module


def _add(module: Any, target: Any, function: Any, kinds: tuple[Any, ...], name: str) -> str:
    """Add a function and its entry of a name to a module; the kind of its result."""
    from numba import njit, types

    from tienlen_env.engine.backends import compiler, overloads

    compiler.register(function)
    dispatcher: Any = njit(
        kinds,
        nogil=True,
        fastmath=compiler.fastmath(function),
        **overloads.NO_RUNTIME,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)
    (overload,) = dispatcher.overloads.values()
    inner = overload.fndesc.llvm_func_name
    code = _parse(overload.library.get_llvm_str(), target)
    parameters = [str(argument.type) for argument in code.get_function(inner).arguments]
    module.link_in(code)
    module.link_in(_parse(_entry(name, inner, parameters, kinds), target))
    result = overload.signature.return_type
    letters = {types.int64: "i", types.boolean: "b", types.float64: "f", types.none: "n"}
    return "".join(letters[kind] for kind in getattr(result, "types", [result]))


def _entry(name: str, inner: str, parameters: list[str], kinds: tuple[Any, ...]) -> str:
    """The code of an entry (``calls.c``): reads its words, and calls Numba's function with them.

    Args:
        name: of the entry.
        inner: Numba's name of the function.
        parameters: the LLVM types of Numba's: of the result, of an error, of the arguments.
        kinds: of the arguments.
    """
    lines: list[str] = []
    arguments = list(_arguments(kinds, lines, iter(range(1, 1 << 20))))
    if [argument.partition(" ")[0] for argument in arguments] != parameters[2:]:
        raise ValueError(f"{inner}: expected arguments of {parameters[2:]}, got {arguments}")
    return f"""
declare i32 @{inner}({", ".join(parameters)})
define i32 @{name}(ptr %words) {{
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
    if args["object"]:
        print(json.dumps(compile_loops(Path(args["object"]), Path(args["list"]), args["loops"])))
        return
    build(args["levels"] or [this_level()], Path(args["out"]), Path(args["list"]), args["loops"])


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
    parser.add_argument("--levels", nargs="+", choices=sorted(FEATURES), help="default: of this processor")
    parser.add_argument("--out", default=str(native.FOLDER), help="folder to write to (%(default)s)")
    parser.add_argument("--list", default=str(LIST), help="what to compile (%(default)s)")
    parser.add_argument("--loops", default=LOOPS, help="module that makes the loops (%(default)s)")
    parser.add_argument("--object", help=argparse.SUPPRESS)
    main(vars(parser.parse_args()))
