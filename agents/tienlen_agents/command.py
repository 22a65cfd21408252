"""Helpers of all commands: the command line and the versions for reports, agents' names, Ctrl-C and SIGTERM.

A command that works in `interruptible_work` ends with one line and the exit code of the shell, 130 or 143.
Without this, SIGTERM ends a process without its ``finally`` blocks, and Ctrl-C prints a traceback.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import platform
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module, metadata
from pathlib import Path
from types import FrameType
from typing import Final, ParamSpec, TypeVar

from tienlen_env.engine.agent import AgentError
from tienlen_env.texts import READABLE, printable

T = TypeVar("T")
P = ParamSpec("P")

CONSOLE_SCRIPT: Final = "tienlen"
PACKAGES: Final = (
    "tienlen-env",
    "numpy",
    "numba",
    "torch",
    "gymnasium",
    "pettingzoo",
    "stable-baselines3",
    "sb3-contrib",
    "openskill",
)


def program(module: str) -> str:
    """The command without its arguments, as the user typed it.

    Args:
        module: the running module.

    Returns:
        ``"tienlen play"`` if the console script `tienlen` called the module, else ``"python -m <module>"``.
    """
    return sys.argv[0] if _is_console_script() else f"python -m {module}"


def command_line() -> str:
    """The whole command of this process, to be typed again."""
    if _is_console_script():
        return shlex.join([*sys.argv[0].split(), *sys.argv[1:]])
    return shlex.join([Path(sys.executable).name, "-m", *sys.orig_argv[2:3], *sys.argv[1:]])


def _is_console_script() -> bool:
    # `tienlen_train.cli` sets the first word to the names of the command and its subcommand.
    return sys.argv[0].partition(" ")[0] == CONSOLE_SCRIPT


def versions() -> dict[str, str]:
    """The versions of Python, the machine and the installed packages that results depend on."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def cpu_name() -> str:
    """The processor's name if the system has it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def code_digest(*packages: str) -> str:
    """16 hex digits: a digest of the sources of packages, and of the weights beside them.

    Args:
        packages: their names; none for `tienlen_env` and this package, which determine all results.
    """
    digest = hashlib.sha256()
    for package in packages or ("tienlen_env", "tienlen_agents"):
        root = Path(import_module(package).__path__[0])
        for path in sorted([*root.rglob("*.py"), *root.glob("rule_based/**/*.json")]):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def shows_any_text(main: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that writes what the terminal's encoding lacks in ASCII (``LC_ALL=C``).

    So no result is lost. The streams are as before when it returns, but not for the last words of a process.
    """

    @wraps(main)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        streams = [each for each in (sys.stdout, sys.stderr) if isinstance(each, io.TextIOWrapper)]
        before = [stream.errors for stream in streams]
        try:
            for stream in streams:
                stream.reconfigure(errors=READABLE)
            return main(*args, **kwargs)
        except SystemExit as error:
            if isinstance(error.code, str):  # Python writes it when nobody catches this
                streams = []
            raise
        finally:
            for stream, errors in zip(streams, before, strict=False):
                if not stream.closed:
                    stream.reconfigure(errors=errors)

    return run


def with_bar(items: Iterable[T], description: str, total: int) -> Iterable[T]:
    """The items, with a progress bar on stderr that disappears at the end."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    # A thread draws the bar at a terminal only: where memory is too small for a thread, its start never ends.
    return track(items, description, total, auto_refresh=console.is_terminal, console=console, transient=True)


def complete_agents(action: argparse.Action) -> None:
    """Add the names of agents to the tab completion (argcomplete) of an argument."""
    from tienlen_agents import names

    action.completer = lambda **_: names()  # type: ignore[attr-defined]


SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_MAY_EXIT: Final = ("argparse", "uvicorn")  # modules that end a command by `sys.exit`


class Interrupted(KeyboardInterrupt):
    """The process got SIGINT (Ctrl-C) or SIGTERM.

    Args:
        signum: the number of the signal.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """128 and the number of the signal, as a shell reports it."""
        return 128 + self.signum

    def __str__(self) -> str:
        return "interrupted" if self.signum == signal.SIGINT else "terminated"


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Interrupted` in the main thread when SIGINT or SIGTERM arrives during the block.

    A second signal raises it again, so it also ends a cleanup that hangs. The handlers of before come back
    after the block. A process that was forked inside the block has the system's handlers: it ends at once and
    prints nothing. In another thread than the main one the block changes nothing, because Python allows
    handlers in the main thread only.

    Raises:
        AgentError: code of other people called `sys.exit`, which would end the command in silence.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner = os.getpid()

    def interrupt(signum: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)
            return
        raise Interrupted(signum)

    before = {signum: signal.signal(signum, interrupt) for signum in SIGNALS}
    try:
        yield
    except SystemExit as error:
        if place := _place_outside(error):
            code = "" if error.code is None else repr(error.code)
            raise AgentError(f"{place}, called sys.exit({code}); an agent must not") from error
        raise
    finally:
        for signum, handler in before.items():
            # None: installed by other code than Python's, which cannot be named here.
            signal.signal(signum, signal.SIG_DFL if handler is None else handler)


def _place_outside(error: SystemExit) -> str:
    """Where code of other people raised it; empty for a command's own end."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    module = "" if last is None else str(last.tb_frame.f_globals.get("__name__"))
    is_refusal = module.startswith("tienlen_") and error.code not in (0, None)  # ours do not end with 0
    if last is None or is_refusal or module.startswith(_MAY_EXIT):
        return ""
    return f"{last.tb_frame.f_code.co_filename}, line {last.tb_lineno}"


def interruptible_work(prog: str, work: Callable[[], int], saved: Callable[[], str] = lambda: "") -> int:
    """Do the work of a command; the exit code. An interrupt ends it with a line.

    Args:
        prog: name of the command.
        work: returns the exit code.
        saved: the end of the line: what of the work is saved, and how to go on.
    """
    try:
        with interruptible():
            return work()
    except Interrupted as error:
        print(printable(f"{prog}: {error}{saved()}"), file=sys.stderr)
        return error.exit_code
