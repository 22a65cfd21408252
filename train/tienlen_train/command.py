"""What all commands of training have in common: errors and interrupts end with one line."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Sequence
from typing import Protocol

from tienlen_agents.extras import MissingExtraError
from tienlen_agents.interrupts import Interrupted, interruptible


class RunError(RuntimeError):
    """A run that cannot go on: its folder belongs to another run, is damaged, or is on a full disk."""


class DivergenceError(RunError):
    """A run whose loss, weights or metrics are not finite any more."""


class Main(Protocol):
    """The ``main`` of a command."""

    def __call__(self, argv: Sequence[str] | None = None) -> int:
        """Run it with `argv`, or the arguments of the process; the exit code."""


def command(main: Main) -> Main:
    """Decorate the ``main`` of a command.

    A wrong setting or file is one line and the exit code 1. Ctrl-C and SIGTERM raise `Interrupted` in it, so
    that it can save its work; they are one line and the exit codes 130 and 143.
    """

    @functools.wraps(main)
    def run(argv: Sequence[str] | None = None) -> int:
        try:
            with interruptible():
                return main(argv)
        except Interrupted as error:
            notes = getattr(error, "__notes__", [])
            program = argparse.ArgumentParser().prog
            print(f"{program}: {'; '.join([str(error), *notes])}", file=sys.stderr)
            return error.exit_code
        except MissingExtraError:
            raise  # `tienlen_train.cli` reports it
        except (RunError, ValueError, OSError) as error:
            raise SystemExit(f"error: {error}") from error

    return run
