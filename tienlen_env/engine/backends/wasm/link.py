"""The linker: ``wasm-ld`` of the LLVM project makes a module of the object that LLVM wrote.

It comes with the package ``lld`` of Debian, Ubuntu, Fedora, Homebrew and conda-forge, and with LLVM's
installer for Windows. One version of it writes the same bytes every time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

STACK_SIZE: Final = 1 << 18  # the stack lies at the bottom of the memory, so that an overflow traps
PROGRAM: Final = "wasm-ld"
VARIABLE: Final = "WASM_LD"  # names another program


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
