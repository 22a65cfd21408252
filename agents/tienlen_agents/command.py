"""Helpers of all commands: the command line as typed, and completion of agents' names."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Final

CONSOLE_SCRIPT: Final = "tienlen"


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
    return " ".join([Path(sys.executable).name, "-m", *sys.orig_argv[2:3], *sys.argv[1:]])


def _is_console_script() -> bool:
    # `tienlen_train.cli` sets the first word to the names of the command and its subcommand.
    return sys.argv[0].partition(" ")[0] == CONSOLE_SCRIPT


def complete_agents(action: argparse.Action) -> None:
    """Add the names of agents to the tab completion (argcomplete) of an argument."""
    from tienlen_agents import names

    action.completer = lambda **_: names()  # type: ignore[attr-defined]
