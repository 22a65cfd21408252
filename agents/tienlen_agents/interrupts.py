"""Ctrl-C and SIGTERM: commands end with one line and the exit code of the shell, 130 or 143.

    try:
        with interruptible():
            work()
    except Interrupted as error:
        print(f"{program}: {error}", file=sys.stderr)
        return error.exit_code

Without this, SIGTERM ends a process without its ``finally`` blocks, and Ctrl-C prints a traceback.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


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
    finally:
        for signum, handler in before.items():
            # None: installed by other code than Python's, which cannot be named here.
            signal.signal(signum, signal.SIG_DFL if handler is None else handler)
