# PYTHON_ARGCOMPLETE_OK
"""The console script ``tienlen``: one command for everything that runs in a terminal.

Each subcommand calls ``main(arguments)`` of one module, which is imported only then, so ``tienlen --help`` is
fast. ``python -m <module>`` does the same. Installed packages add theirs (`tienlen_train.commands`).

Tab completion, with the extra ``completion``: ``eval "$(register-python-argcomplete tienlen)"``.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

TYPE_CHECKING = False  # importing `typing` would take a tenth of the help's time
if TYPE_CHECKING:
    from typing import Any, Final

PROGRAM: Final = "tienlen"


class Command:
    """A subcommand.

    Args:
        module: its function is called with the arguments.
        help: one line.
        before: arguments that come before the user's.
        function: its name.
        error: why it cannot be called; empty if it can.
    """

    def __init__(
        self, module: str, help: str, before: tuple[str, ...] = (), function: str = "main", error: str = ""
    ) -> None:
        self.module, self.help, self.before = module, help, before
        self.function, self.error = function, error


class Group:
    """A subcommand that has subcommands.

    Args:
        help: one line.
        default: the subcommand if none is given; empty for none. It may be of an installed package.
        commands: by name.
    """

    def __init__(self, help: str, default: str, commands: Mapping[str, Command]) -> None:
        self.help, self.default, self.commands = help, default, dict(commands)


def _arena(name: str, description: str) -> Command:
    return Command("tienlen_agents.arena.__main__", description, (name,))


COMMANDS: Final[dict[str, Command | Group]] = {
    "match": _arena("match", "compare two agents: duplicate matches of all compositions"),
    "compare": _arena("compare", "compare one agent with several others"),
    "league": _arena("league", "rate several agents: every match-up of them, ratings, payoffs"),
    "gauntlet": _arena("gauntlet", "compare one agent with the standard panel"),
    "train": Group(
        "train an agent",
        "ppo",
        {
            "ppo": Command("tienlen_train.ppo", "PPO in self-play on action scores"),
            "dmc": Command("tienlen_train.dmc", "Deep Monte Carlo in self-play"),
            "best-response": Command("tienlen_train.best_response", "an exploiter of one fixed agent"),
            "belief": Command("tienlen_train.belief", "the belief network of a policy: who holds which card"),
            "league": Command("tienlen_train.league", "a population: main learners, exploiters, past selves"),
        },
    ),
    "bench": Group("measure speed", "speed", {}),
    "cache": Command("tienlen_train.cache", "where compiled code is kept, and how to delete it"),
}


def all_commands() -> dict[str, Command | Group]:
    """`COMMANDS`, and the commands of installed packages with other names; no empty group."""
    from tienlen_train.commands import help_of, installed

    found: dict[str, Command | Group] = {
        name: Group(entry.help, entry.default, entry.commands) if isinstance(entry, Group) else entry
        for name, entry in COMMANDS.items()
    }
    for name, values in installed().items():
        module, _, function = values[0].partition(":")
        error = f"two packages have it: {', '.join(values)}" if len(values) > 1 else ""
        command = Command(module, error or help_of(values[0]), (), function, error)
        first, _, second = name.partition(".")
        place = found.setdefault(first, Group("commands of other packages", "", {}) if second else command)
        if second and isinstance(place, Group):
            place.commands.setdefault(second, command)
    for entry in found.values():
        if isinstance(entry, Group) and entry.default not in entry.commands:
            entry.default = ""
    return {name: entry for name, entry in found.items() if isinstance(entry, Command) or entry.commands}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand.

    Args:
        argv: the words after ``tienlen``; None for those of the process.

    Returns:
        The exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    path, command, rest = _find(words)
    if command is None:
        if (sys.stdout.encoding or "").lower().startswith("utf"):
            return _show_help(path, rest)
        from tienlen_agents.command import shows_any_text  # importing it takes a moment

        return shows_any_text(_show_help)(path, rest)
    return _call(path, command, rest)


def _show_help(path: Sequence[str], rest: Sequence[str]) -> int:
    parser = _parser(path)
    if rest and not rest[0].startswith("-"):
        from tienlen_env.errors import expected_one_of

        entries = all_commands()
        group = entries[path[0]] if path else None
        known = group.commands if isinstance(group, Group) else entries
        parser.error(f"{rest[0]!r}: {expected_one_of(rest[0], known)}")
    parser.parse_args(rest)  # prints the help or an error, and exits
    return 2


def _find(words: list[str]) -> tuple[list[str], Command | None, list[str]]:
    """The names of the subcommand, the subcommand if there is one, and the words after it."""
    found = _find_in(COMMANDS, words)
    return _find_in(all_commands(), words) if found[1] is None else found


def _find_in(
    commands: Mapping[str, Command | Group], words: list[str]
) -> tuple[list[str], Command | None, list[str]]:
    if not words or words[0] not in commands:
        return [], None, words
    name, *rest = words
    entry = commands[name]
    if isinstance(entry, Command):
        return [name], entry, rest
    if rest and rest[0] in entry.commands:
        return [name, rest[0]], entry.commands[rest[0]], rest[1:]
    is_default = not rest or (rest[0].startswith("-") and rest[0] not in ("-h", "--help"))
    if is_default and entry.default in entry.commands:
        return [name, entry.default], entry.commands[entry.default], rest
    return [name], None, rest


def _call(path: list[str], command: Command, rest: list[str]) -> int:
    from tienlen_agents.command import shows_any_text

    argv = sys.argv
    try:
        return shows_any_text(_run)(path, command, rest)
    finally:
        sys.argv = argv


def _run(path: list[str], command: Command, rest: list[str]) -> int:
    # The arena has its own subcommands, so its parser begins with the script's name alone.
    typed = " ".join([PROGRAM, *path])
    program = PROGRAM if command.before else typed
    sys.argv = [program, *command.before, *rest]  # argparse and reports read the program's name here
    from tienlen_agents.command import Interrupted, interruptible
    from tienlen_env.engine.agent import AgentError
    from tienlen_env.texts import printable

    if command.error:
        print(printable(f"{typed}: {command.error}"), file=sys.stderr)
        return 2

    try:
        with interruptible():
            code = getattr(import_module(command.module), command.function)([*command.before, *rest])
    except ModuleNotFoundError as error:
        from tienlen_env.extras import told_of

        if not (told := told_of(error)):
            raise
        print(f"{typed}: {told}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        what = str(error) if isinstance(error, Interrupted) else "interrupted"
        print(f"{typed}: {what}", file=sys.stderr)
        return error.exit_code if isinstance(error, Interrupted) else 130
    except AgentError as error:
        print(printable(f"{typed}: {error}"), file=sys.stderr)
        return 1
    except MemoryError as error:  # NumPy says how much it asked for, Python says nothing
        detail = f": {error}" if str(error) else ""
        print(f"{typed}: there is not enough memory{detail}", file=sys.stderr)
        return 1
    return code if isinstance(code, int) else 0


class _Version(argparse.Action):
    """Prints the version of the installed distribution; reading it takes a moment."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"tienlen-env {version('tienlen-env')}")
        except PackageNotFoundError:
            print("tienlen-env, not installed")
        parser.exit()


def _parser(path: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of the names of subcommands, for the help and for completion."""
    program = " ".join([PROGRAM, *path])
    epilog = f"'{program} COMMAND --help' lists the options of a command."
    parser = argparse.ArgumentParser(prog=program, epilog=epilog)
    entries: Mapping[str, Command | Group] = all_commands()
    if path:
        group = entries[path[0]]
        assert isinstance(group, Group)
        parser.description = f"{group.help.capitalize()}."
        parser.description += f" The default command is '{group.default}'." if group.default else ""
        entries = group.commands
    else:
        parser.description = "Tiến lên (Thirteen) and Thirteens: play, compare agents, train them."
        parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for name, entry in entries.items():
        commands.add_parser(name, help=entry.help.replace("%", "%%"), add_help=False)
    return parser


def _complete() -> None:
    """Answer a request of the shell for completions, and exit (argcomplete's protocol)."""
    import argcomplete

    line = os.environ["COMP_LINE"][: int(os.environ.get("COMP_POINT", "9999"))]
    try:
        words = shlex.split(line)
    except ValueError:  # within quotes
        words = line.split()
    if not line.endswith(" "):
        words = words[:-1]  # still being typed
    path, command, _ = _find(words[1:])
    if command is None or len(path) > len(words) - 1:
        os.environ["_ARGCOMPLETE"] = str(1 + min(len(path), len(words) - 1))
        argcomplete.autocomplete(_parser(path[:1]))
        return

    def complete(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        argcomplete.autocomplete(parser)

    # The module's own parser has the options; its call to parse becomes a call to complete.
    argparse.ArgumentParser.parse_args = complete  # type: ignore[assignment,method-assign]
    os.environ["_ARGCOMPLETE"] = str(1 + len(path) - len(command.before))
    _call(path, command, [])


if __name__ == "__main__":
    sys.exit(main())
