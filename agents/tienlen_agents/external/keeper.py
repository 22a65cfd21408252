"""Starts a program and ends it, with everything that it has started, when its owner ends.

`tienlen_agents.external.process.Child` runs this file as a script: ``python -I -S keeper.py OWNER REPORT
COMMAND ...``. The program inherits standard input, output and error, so no data passes through the keeper.

The owner may end in any way, also by SIGKILL: its end of a pipe closes, and the keeper's parent changes. Then
the program has `GRACE_S` seconds to exit, because its input has ended, and is killed after that. SIGTERM to
the keeper kills the program at once. When the program ends, the keeper kills what the program has left
behind, and ends in the same way: with the same exit code or by the same signal.

On Linux the keeper is a *child subreaper*: every descendant whose parent has ended becomes a child of the
keeper, also one in a session of its own, so all of them are found. Elsewhere it kills the process group of
the program. A program that kills its keeper escapes: a keeper is not a sandbox.

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
from typing import Final, NoReturn

GRACE_S: Final = 0.5  # seconds to exit after standard input is closed
KILL_S: Final = 5.0  # a killed process that does not end in this time waits in the kernel, and will end
LOOK_S: Final = 1.0  # between two looks at the parent's process id

_PR_SET_CHILD_SUBREAPER: Final = 36
_ENDS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
    _become_subreaper()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_ENDS):
        signal.signal(number, lambda *_: None)  # only wakes `select`
    program = _start(command, report)
    os.close(report)  # the program's copy closes when it begins to run
    # The pipes belong to the program alone, so that the owner sees when the program closes them.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)

    deadline = None
    waited_for = [owner, wake]
    while not _has_ended(program):
        if deadline is not None and time.monotonic() >= deadline:
            break
        ready, _, _ = select.select(waited_for, [], [], 0.05 if deadline else LOOK_S)
        if wake in ready and any(number in _ENDS for number in os.read(wake, 512)):
            break
        if deadline is None and (owner in ready or os.getppid() != parent):
            deadline = time.monotonic() + GRACE_S
            waited_for = [wake]
    _end_as(_kill_all(program))


def _become_subreaper() -> None:
    if sys.platform.startswith("linux"):
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _start(command: list[str], report: int) -> int:
    """Start the program in a session of its own, so that Ctrl-C does not reach it; its process id."""
    program = os.fork()
    if program:
        return program
    try:
        signal.set_wakeup_fd(-1)
        # Python ignores these two, and a program inherits what is ignored.
        for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.execvp(command[0], command)
    except OSError as error:
        os.write(report, f"{error}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(127)


def _has_ended(program: int) -> bool:
    """Whether the program has ended; it stays a zombie, so that nothing else can get its id."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid == program:
                return True
            os.waitpid(ended.si_pid, 0)  # an orphan that the program left
    return False


def _kill_all(program: int) -> int | None:
    """Kill the program's process group and, on Linux, every descendant; the program's wait status."""
    status = None
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGKILL)
    deadline = time.monotonic() + KILL_S
    while time.monotonic() < deadline:
        # The children of a process that is killed become children of this one, until none is left.
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            ended, found = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if ended == program:
            status = found
        elif not ended:
            time.sleep(0.002)
    return status


def _children() -> list[int]:
    """The children of this process; empty where the system does not list them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _end_as(status: int | None) -> NoReturn:
    """End as the program did."""
    code = 1 if status is None else os.waitstatus_to_exitcode(status)
    if code < 0:
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(ValueError, OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
