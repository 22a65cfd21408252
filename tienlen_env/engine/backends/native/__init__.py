"""Loops as machine code that was compiled before the package was installed.

`build` (or ``make native``) writes into the folder `FOLDER`

- ``calls.abi3.so``, which calls machine code with Python's arguments (``calls.c``);
- ``loops-LEVEL.so`` for each level of processors, the loops;
- ``loops.json``: for each loop a digest of its source, and its signatures (``signatures.txt``).

A loop takes its code from there if its source has that digest and if its arguments are of one of those
signatures. Everything else is compiled by Numba when it is called. So nothing here is needed, and nothing
that is out of date is used. The variable ``TIENLEN_NATIVE=0`` leaves it alone.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import platform
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from tienlen_env.engine.backends.sources import key_of

FOLDER: Final = Path(__file__).with_name("built")
# Levels of the x86-64 architecture, and what other architectures have.
LEVELS: Final = {4: "x86-64-v4", 3: "x86-64-v3", 2: "x86-64-v2", 0: "generic"}


class Library(NamedTuple):
    """The machine code for this processor.

    Attributes:
        calls: the module ``calls.c``; instances of its ``Loop`` are called with Python's arguments.
        code: the shared library of the loops.
        loops: the digest of a loop's source (`sources.key_of`) to its signatures: the kinds of the arguments,
            the name of the function, and the kinds of its results.
        level: what processors it was compiled for.
    """

    calls: Any
    code: ctypes.CDLL
    loops: Mapping[str, list[tuple[str, str, str]]]
    level: str


@cache
def library() -> Library | None:
    """What was built for this machine; None if there is nothing, or it cannot be used."""
    manifest = FOLDER / "loops.json"
    if os.environ.get("TIENLEN_NATIVE", "1") == "0" or not manifest.exists():
        return None
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
        if found.pop("digest") != digest_of(found):
            raise ValueError(f"{manifest.name} is damaged")
        if found["platform"] != this_platform():
            raise ValueError(f"it is for {found['platform']}, this is {this_platform()}")
        calls = _import_calls(found["files"])
        level = calls.level()
        best = max((n for n in LEVELS if n <= level and LEVELS[n] in found["levels"]), default=None)
        if best is None:
            raise ValueError(f"it is for {', '.join(found['levels'])}, which this processor does not have")
        path = _checked(found["levels"][LEVELS[best]], found["files"])
        return Library(calls, ctypes.CDLL(str(path)), found["loops"], LEVELS[best])
    except (OSError, ImportError, ValueError, KeyError, TypeError, AttributeError) as error:
        warnings.warn(
            f"{FOLDER}: machine code that was compiled ahead of time is not used, Numba compiles: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def this_platform() -> str:
    """The operating system and the architecture, for example ``linux-x86_64``."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }"


def digest_of(manifest: Mapping[str, Any]) -> str:
    """What ``loops.json`` has as the digest of its other fields. A wrong type there would be a wrong call."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _checked(name: str, digests: Mapping[str, str]) -> Path:
    path = FOLDER / name
    if hashlib.sha256(path.read_bytes()).hexdigest() != digests[name]:
        raise ValueError(f"{name} is damaged")
    return path


def _import_calls(digests: Mapping[str, str]) -> Any:
    path = next(_checked(name, digests) for name in digests if name.startswith("calls."))
    loader = importlib.machinery.ExtensionFileLoader("calls", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("calls", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


def address_of(code: Any, name: str) -> int:
    """Where the code of a loop is."""
    return ctypes.cast(getattr(code, name), ctypes.c_void_p).value or 0


def loop_of(function: Callable[..., Any], compiled: Callable[[Any], Any]) -> Any:
    """The loop of a function.

    Args:
        function: a plain function.
        compiled: gives what is called for arguments of other signatures; called when there are such.

    Returns:
        A callable with the attribute ``py_func``.
    """
    loop = _loop_type()()
    loop.py_func = function
    loop.compiled = compiled
    return loop


@cache
def _loop_type() -> Any:
    calls, code, loops, _ = library() or (SimpleNamespace(Loop=object), None, {}, "")

    class Loop(calls.Loop):  # type: ignore[name-defined]
        """A loop that is called with the machine code of its arguments' signature.

        Attributes:
            py_func: its function.
        """

        is_bound = False
        other: Any = None

        def call_other(self, *args: Any) -> Any:
            """A call with arguments for which no code is known yet.

            Raises:
                OverflowError: an integer of more than 64 bits.
            """
            if any(type(arg) is int and not -(2**63) <= arg < 2**63 for arg in args):
                raise OverflowError("expected integers of 64 bits")
            if self.is_bound:
                with _LOCK:
                    self.other = self.other or self.compiled(self.py_func)
                return self.other(*args)
            with _LOCK:
                if not self.is_bound:
                    for kinds, name, results in loops.get(key_of(self.py_func), ()):
                        self.bind(address_of(code, name), bytes.fromhex(kinds), results)
                    self.is_bound = True
            return self(*args)

        @property
        def signatures(self) -> list[Any]:
            """What Numba has compiled."""
            return [] if self.other is None else list(self.other.signatures)

    return Loop


_LOCK: Final = threading.Lock()
