"""From entries to WebAssembly: Numba's LLVM code, optimised anew for wasm32.

Numba compiles for a processor in general and leaves the code as it is; LLVM then optimises all entries of a
game together for the other target. Both are settings of the whole process, so a build has its own.

The linker, ``wasm-ld`` of the LLVM project, comes with the package ``lld`` of Debian, Ubuntu, Fedora,
Homebrew and conda-forge, and with LLVM's installer for Windows. One version of it writes the same bytes
every time.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import llvmlite
import numba
from llvmlite import binding as llvm
from numba import njit, types
from numba.core import config

from tienlen_env.engine.backends import compiler, overloads, sources
from tienlen_table.engine import ENVIRONMENT, resolve
from tienlen_table.engine.entries import EngineEntry, entries_of

TRIPLE: Final = "wasm32-unknown-unknown"
# What every browser of the last years has: Chrome 91, Firefox 89, Safari 16.4.
FEATURES: Final = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
STACK_SIZE: Final = 1 << 18  # the stack lies at the bottom of the memory, so that an overflow traps
PROGRAM: Final = "wasm-ld"
VARIABLE: Final = "WASM_LD"  # names another program

_LLVM_TYPES: Final = {types.int32: "i32", types.float64: "double"}


def compile_entries(entries: Sequence[EngineEntry]) -> bytes:
    """Compile entries to a WebAssembly module without imports.

    Raises:
        RuntimeError: the process was not started with `ENVIRONMENT`.
        LinkError: there is no linker; or the code calls something outside, so it is not a kernel.
    """
    if config.OPT != 0 or config.CPU_NAME != "generic":
        raise RuntimeError(f"WebAssembly is compiled in a process with {ENVIRONMENT}")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3, features=FEATURES)
    module = _parse("", target)
    for entry in entries:
        name, code = _compile(entry)
        module.link_in(_parse(code, target))
        module.link_in(_parse(_wrapper(entry, name), target))
    exports = [entry.name for entry in entries]
    for function in module.functions:
        if not function.is_declaration and function.name not in exports:
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"  # Numba's are "common", which WebAssembly does not have
    module.verify()
    passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    return link(target.emit_object(module), exports)


def _parse(code: str, target: Any) -> Any:
    module = llvm.parse_assembly(code)
    module.triple = TRIPLE
    module.data_layout = str(target.target_data)
    return module


def _compile(entry: EngineEntry) -> tuple[str, str]:
    """The name of an entry's compiled function, and LLVM code that contains it and all that it calls."""
    compiler.register(entry.function)
    compiled: Any = njit(
        types.int32(*entry.arguments),
        error_model="numpy",
        **overloads.NO_RUNTIME,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(entry.function)
    (found,) = compiled.overloads.values()
    return found.fndesc.llvm_func_name, found.library.get_llvm_str()


def _wrapper(entry: EngineEntry, name: str) -> str:
    """The exported function: calls Numba's, which returns a status and writes its result to memory.

    A kernel raises nothing, so the test of the status is optimised away; if one did, the module would trap.
    """
    kinds = [_LLVM_TYPES.get(argument, "ptr") for argument in entry.arguments]
    parameters = [f"{kind} %a{i}" for i, kind in enumerate(kinds)]
    return f"""
declare i32 @{name}({", ".join(["ptr", "ptr", *kinds])})
declare void @llvm.trap()
define i32 @{entry.name}({", ".join(parameters)}) {{
  %result = alloca i32
  %error = alloca ptr
  %status = call i32 @{name}({", ".join(["ptr %result", "ptr %error", *parameters])})
  %is_bad = icmp ne i32 %status, 0
  br i1 %is_bad, label %bad, label %good
bad:
  call void @llvm.trap()
  unreachable
good:
  %value = load i32, ptr %result
  ret i32 %value
}}
"""


def compile_game(game: str, path: str, more: str = "", sources: str = "") -> str:
    """Write the module of a game, unless it is there and made of the same sources.

    Args:
        game: see `tienlen_table.engine.build`.
        path: of the module.
        more: ``module:function`` that gives further entries; empty for none.
        sources: what this returned for the module that is there; empty if there is none.

    Returns:
        The digest of the module's sources.
    """
    found = resolve(game)
    entries = entries_of(found)
    if more:
        module, _, name = more.partition(":")
        entries += getattr(importlib.import_module(module), name)(found)
    return write_module(entries, path, sources)


def compile_functions(entries: str, path: str, sources: str = "") -> str:
    """As `compile_game`, of entries that belong to no game: those that ``module:function`` returns."""
    module, _, name = entries.partition(":")
    return write_module(getattr(importlib.import_module(module), name)(), path, sources)


def write_module(entries: Sequence[EngineEntry], path: str, sources: str) -> str:
    """Compile entries, unless the file is there and made of `sources`; returns their digest."""
    digest = sources_digest(entries)
    if digest != sources:
        Path(path).write_bytes(compile_entries(entries))
    return digest


def sources_digest(entries: Sequence[EngineEntry]) -> str:
    """A digest of all that a module is made of: sources of the packages of its functions, and the compilers.

    Only what has been imported counts, so that a change of the terminal's screens compiles nothing.
    """
    reached = [each for entry in entries for each in sources.reachable(entry.function)]
    modules = {str(getattr(each, "__module__", "")) for each in reached} | {__name__}
    packages = {name.partition(".")[0] for name in modules} - {"", "numpy", "numba", *sys.stdlib_module_names}
    digest = hashlib.sha256(f"{sys.version_info[:2]} {llvmlite.__version__} {numba.__version__}".encode())
    digest.update(subprocess.run([linker(), "--version"], capture_output=True, check=True).stdout)
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name.partition(".")[0] in packages:
            digest.update(name.encode() + b"\0" + hashlib.sha256(Path(file).read_bytes()).digest())
    return digest.hexdigest()


# ---------------------------------------------------------------- the linker


class LinkError(Exception):
    """The object cannot be linked, or there is no linker."""


def linker() -> str:
    """The path of the linker.

    Raises:
        LinkError: there is none; the message says how to install it.
    """
    found = shutil.which(os.environ.get(VARIABLE, PROGRAM))
    if found is None:
        raise LinkError(
            f"{os.environ.get(VARIABLE, PROGRAM)} was not found; install LLVM's linker (Debian, Ubuntu: "
            f"apt-get install lld; macOS: brew install lld), or name it in {VARIABLE}"
        )
    return found


def link(data: bytes, exports: Iterable[str]) -> bytes:
    """Link an object to a module that imports nothing.

    The module exports the functions named, its memory as ``memory``, and the address where its memory
    is free as the global ``__heap_base``.

    Args:
        data: an object that LLVM wrote for wasm32.
        exports: names of functions in it.

    Raises:
        LinkError: there is no linker; or the object calls functions that it does not contain, or cannot be
            read; with the linker's message.
    """
    program = linker()
    with TemporaryDirectory() as folder:
        code, module = Path(folder, "code.o"), Path(folder, "module.wasm")
        code.write_bytes(data)
        command = [program, str(code), "-o", str(module), "--no-entry", "--strip-all", "--stack-first"]
        command += ["-z", f"stack-size={STACK_SIZE}", "--export=__heap_base"]
        done = subprocess.run(
            [*command, *(f"--export={name}" for name in exports)], capture_output=True, text=True
        )
        if done.returncode:
            raise LinkError(f"the code needs what no kernel may need, or is not an object\n{done.stderr}")
        return module.read_bytes()
