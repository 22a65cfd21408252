"""Starts a program and ends it, with everything that it has started, when its owner ends.

`tienlen_agents.external.process.Child` runs this file as a script: ``python -I -S keeper.py OWNER REPORT
COMMAND ...``. The program inherits standard input, output and error, so no data passes through the keeper.

The owner may end in any way, also by SIGKILL: its end of a pipe closes, and the keeper's parent changes. Then
the program has `GRACE_S` seconds to exit, because its input has ended, and is killed after that. SIGTERM to
the keeper kills the program at once. When the program ends, the keeper kills what the program has left
behind, and ends in the same way: with the same exit code or by the same signal.

On Linux the keeper is a *child subreaper*: every descendant whose parent has ended becomes a child of the
keeper, also one in a session of its own, so all of them are found. Elsewhere it kills the process group of
the program. If the keeper itself is killed, the program ends with it on Linux, by the parent-death signal,
but not what the program has started: a keeper is not a sandbox.

It is a process of its own, because this cannot be done as safely in the arena's process: `preexec_fn` runs
Python in a copy of a process with threads, and the parent-death signal of Linux is that of a thread, not of a
process.

This file imports the standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Final, NoReturn

GRACE_S: Final = 0.5  # seconds to exit after standard input is closed
KILL_S: Final = 5.0  # a killed process that does not end in this time waits in the kernel, and will end
LOOK_S: Final = 1.0  # between two looks at the parent's process id

_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_PDEATHSIG: Final = 1
_ENDS: Final = (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM))  # none on Windows


def main(owner: int, report: int, command: list[str]) -> NoReturn:
    """Run the command until it ends or the owner does.

    Args:
        owner: read end of a pipe whose write end only the owner has.
        report: write end of a pipe: why the program does not run; it is closed without a word if it runs.
        command: the command and its arguments.
    """
    parent = os.getppid()
    for descriptor in (owner, report):
        os.set_inheritable(descriptor, False)
    prctl = _prctl()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_ENDS):
        signal.signal(number, lambda *_: None)  # only wakes `select`
    program = _start(command, report, prctl)
    os.close(report)  # the program's copy closes when it begins to run
    # The pipes belong to the program alone, so that the owner sees when the program closes them.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)

    deadline = None
    waited_for = [owner, wake]
    while (code := _exit_code(program)) is None:
        if deadline is not None and time.monotonic() >= deadline:
            break
        ready, _, _ = select.select(waited_for, [], [], 0.05 if deadline else LOOK_S)
        if wake in ready and any(number in _ENDS for number in os.read(wake, 512)):
            break
        if deadline is None and (owner in ready or os.getppid() != parent):
            deadline = time.monotonic() + GRACE_S
            waited_for = [wake]
    killed = _kill_all(program)
    _end_with(killed if code is None else code)


def _prctl() -> Callable[[int, int], object]:
    """The system call of Linux that changes how a process ends; elsewhere it does nothing."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes

            call = ctypes.CDLL(None).prctl
            return lambda option, value: call(option, value, 0, 0, 0)
    return lambda option, value: None


def _start(command: list[str], report: int, prctl: Callable[[int, int], object]) -> int:
    """Start the program in a session of its own, so that Ctrl-C does not reach it; its process id."""
    keeper = os.getpid()
    program = os.fork()
    if program:
        return program
    try:
        signal.set_wakeup_fd(-1)
        # A program inherits what is ignored: Python ignores the first two, and a shell makes its background
        # jobs ignore the third.
        for name in ("SIGPIPE", "SIGXFSZ", "SIGQUIT"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:  # it died before that
            os._exit(127)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(report, f"{error}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(127)


def _exit_code(program: int) -> int | None:
    """The exit code of the program, negative for a signal; None: it runs. Orphans that it left are reaped.

    The program stays a zombie, so that nothing else gets its id before its process group is killed.
    """
    with contextlib.suppress(ChildProcessError):
        if not hasattr(os, "waitid"):  # macOS, before Python 3.13
            ended, status = os.waitpid(program, os.WNOHANG)
            return os.waitstatus_to_exitcode(status) if ended else None
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if found.si_pid == program:
                return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            os.waitpid(found.si_pid, 0)
    return None


def _kill_all(program: int) -> int | None:
    """Kill the program's process group and, on Linux, every descendant; the program's exit code if known."""
    code = None
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGKILL)
    deadline = time.monotonic() + KILL_S
    while time.monotonic() < deadline:
        # The children of a process that is killed become children of this one, until none is left.
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if ended == program:
            code = os.waitstatus_to_exitcode(status)
        elif not ended:
            time.sleep(0.002)
    return code


def _children() -> list[int]:
    """The children of this process; empty where the system does not list them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _end_with(code: int | None) -> NoReturn:
    """End as the program did: with its exit code, or by the same signal."""
    if code is not None and code < 0:
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program may have left its own
        with contextlib.suppress(ValueError, OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(1 if code is None or code < 0 else code)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
