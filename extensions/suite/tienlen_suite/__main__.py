"""A benchmark to enter: tracks, packets, checks.

Enter an agent, and check what others entered.

tienlen suite list
tienlen suite run heuristic --track A --out packet
tienlen suite check packet
tienlen suite replay packet --seed 1234
tienlen suite check-row leaderboard/A-mine.json
tienlen suite power packet other-packet
tienlen suite new-seed ../secret
tienlen suite page
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.table import Table as TextTable

from tienlen_agents.arena.terminal import LiveProgress
from tienlen_agents.command import complete_agents, interruptible_work, program, shows_any_text
from tienlen_agents.console import PlainConsole
from tienlen_agents.executors import opened
from tienlen_agents.files import write_atomic
from tienlen_agents.settings import (
    COUNT,
    COUNT_OR_NONE,
    Config,
    ExistingFile,
    FreeText,
    Parser,
    add_options,
    make_config,
    setting,
)
from tienlen_env.extras import MissingExtraError
from tienlen_env.texts import printable
from tienlen_suite.checking import SUITES, check, held_out_digest, read_secret
from tienlen_suite.figures import power
from tienlen_suite.packet import PacketError, read_packet
from tienlen_suite.page import entry_of, leaderboard, read_entries, write_entry
from tienlen_suite.running import Entry, replay, run
from tienlen_suite.submitted import check_row

MODULE: Final = "tienlen_suite"
SECRET_BYTES: Final = 32


@dataclass(frozen=True, kw_only=True)
class Running(Entry):
    """The options of run.

    Attributes:
        out: the folder of the packet.
        workers: number of processes.
        executor: where to play, instead of --workers, for example ray:auto (docs/cluster.md).
        quiet: no progress.
    """

    out: str = setting("packet", FreeText("a folder"))
    workers: int = setting(1, COUNT)
    executor: str | None = setting(None, FreeText("an executor"))
    quiet: bool = False


@dataclass(frozen=True, kw_only=True)
class Reading(Config):
    """The options of all commands that read packets.

    Attributes:
        secret: the file of a secret seed, for held-out deals.
        seed: draws what is played again: moves of the panel's slow members, and jobs of a replay; left out:
            by chance, so that nobody knew it when the packet was made.
        quiet: no progress.
    """

    secret: str | None = setting(None, ExistingFile())
    seed: int | None = setting(None, COUNT_OR_NONE)
    quiet: bool = False


@dataclass(frozen=True, kw_only=True)
class CheckingRows(Reading):
    """The options of check-row.

    Attributes:
        any_level: take levels of trust above community, too, which this check does not prove.
    """

    any_level: bool = False


@dataclass(frozen=True, kw_only=True)
class Checking(Reading):
    """The options of check.

    Attributes:
        entry: write the packet's row of the leaderboard to this file.
        url: where the packet can be read, for that row.
    """

    entry: str | None = setting(None, FreeText("a file"))
    url: str = setting("", FreeText("an address"))


@dataclass(frozen=True, kw_only=True)
class Replaying(Checking):
    """The options of replay.

    Attributes:
        jobs: number of jobs that are played again, of some tens of deals each.
        agent: load the agent from here, if its files are elsewhere than in the packet.
    """

    jobs: int = setting(4, COUNT)
    agent: str = setting("", FreeText("an agent"))


def _list(name: str) -> None:
    suite = SUITES[name]
    table = TextTable(title=f"suite {suite.name}")
    for title in ("track", "what", "tables", "deals", "digest", "who cannot"):
        table.add_column(title)
    for track in suite.tracks.values():
        deals = str(track.num_deals) if track.num_deals else "all"
        digest = suite.digest(track.name)[:16]
        table.add_row(track.name, track.title, str(len(track.tables)), deals, digest, track.cannot)
    console = PlainConsole()
    console.print(table)
    classes = ", ".join(f"{most:g}" if most else "no limit" for most in suite.budgets)
    console.print(f"Classes of budget, units a decision: {classes}.")
    console.print(f"Panel: {', '.join(f'{n} = {m.agent}' for n, m in suite.panel.items())}.")


def _run(settings: Running, agent: str) -> None:
    folder, executor, progress = Path(settings.out), None, None
    with ExitStack() as stack:
        if settings.executor:
            panel = [member.agent for member in SUITES[settings.suite].panel.values()]
            say = partial(print, file=sys.stderr)
            executor = stack.enter_context(opened(settings.executor, [agent, *panel], say=say))
        elif not settings.quiet:
            progress = stack.enter_context(LiveProgress())
        packet = run(agent, settings, folder, workers=settings.workers, executor=executor, progress=progress)
    _show(packet.values["figures"])
    print(f"class of budget: {packet.values['budget']:g} ({packet.run['units']:.3g} units a decision)")
    print(f"wrote {folder}: {packet.digest}")


def _show(figures: dict[str, Any]) -> None:
    def text(value: Any) -> str:
        return f"{value['mean']:.4f} ± {value['half_width']:.4f}" if isinstance(value, dict) else str(value)

    print(f"score {text(figures['score'])}")
    for row in figures["tables"]:
        shown = [f"{key} {text(value)}" for key, value in row.items() if key != "title"]
        print(f"  {row['title']}: {', '.join(shown)}")
    for key in ("regret", "regret_above"):
        if key in figures:
            print(f"  {key}: {text(figures[key])}")


def _check(settings: Checking, packet: str) -> None:
    folder, secret, seed = Path(packet), read_secret(settings.secret), _seed(settings)
    show = PlainConsole(stderr=True, quiet=settings.quiet).print
    found = check(folder, seed=seed, secret=secret, on_table=show)
    _show(found.figures)
    level = "community"
    if isinstance(settings, Replaying):
        again = replay(folder, seed, agent=settings.agent, jobs=settings.jobs, secret=secret, on_job=show)
        print(f"played again: {again} rounds, all the same")
        level = "replayed" if secret is None else "official"
    panel = f"{found.decisions} decisions of the panel computed again (--seed {seed})"
    print(f"{level}: {found.rounds} rounds, {panel}")
    if settings.entry:
        write_entry(Path(settings.entry), entry_of(read_packet(folder), level, settings.url))
        print(f"wrote {settings.entry}")


def _seed(settings: Reading) -> int:
    return secrets.randbits(64) if settings.seed is None else settings.seed


def _check_rows(settings: CheckingRows, rows: Sequence[str]) -> None:
    show = PlainConsole(stderr=True, quiet=settings.quiet).print
    for row in rows:
        secret, seed = read_secret(settings.secret), _seed(settings)
        found = check_row(Path(row), any_level=settings.any_level, seed=seed, secret=secret, on_table=show)
        print(f"{printable(row)}: community: {found.rounds} rounds, as its packet says (--seed {seed})")


def _new_seed(path: str) -> None:
    out = Path(path)
    if out.exists():
        raise ValueError(f"{out}: there is a file already")
    inside = next((folder for folder in out.absolute().parents if (folder / ".git").exists()), None)
    if inside is not None:
        raise ValueError(f"{out}: a secret does not belong in the repository {inside}")
    secret = secrets.token_bytes(SECRET_BYTES)
    write_atomic(out, secret)
    out.chmod(0o600)
    print(held_out_digest(secret))


def _power(folders: Sequence[str]) -> None:
    print(power(*(read_packet(Path(folder)) for folder in folders)))


def _page(folder: str) -> None:
    print(leaderboard(read_entries(Path(folder))))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=program(MODULE), description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(
        name: str, text: str, call: Callable[..., None], config: type[Config] | None = None
    ) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text)
        one.set_defaults(call=call, config=config)
        if config is not None:
            add_options(one, config)
        return one

    one = add("list", "the tracks, the panel, the classes of budget", _list)
    one.add_argument("what", nargs="?", default="v1", choices=SUITES, help="the suite (v1)")
    one = add("run", "play a track and write a packet", _run, Running)
    complete_agents(one.add_argument("what", metavar="agent", help="the agent to enter"))
    one = add("check", "compute everything in a packet again from its records", _check, Checking)
    one.add_argument("what", metavar="packet", help="its folder")
    one = add("replay", "check, then play a drawn sample of a packet again", _check, Replaying)
    one.add_argument("what", metavar="packet", help="its folder")
    one = add(
        "check-row", "check submitted rows and the packets at their addresses", _check_rows, CheckingRows
    )
    one.add_argument("what", metavar="row", nargs="+", help="files of the leaderboard")
    one = add("power", "the difference of two packets, and the smallest one that is found", _power)
    one.add_argument("what", metavar="packet", nargs=2, help="two packets of one track")
    one = add("new-seed", "write a secret seed, print its hash", _new_seed)
    one.add_argument("what", metavar="file", help="outside of the repository")
    one = add("page", "print the tables of the leaderboard, Markdown", _page)
    one.add_argument(
        "what", metavar="folder", nargs="?", default="leaderboard", help="of the rows (leaderboard)"
    )
    return parser


@shows_any_text
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: instead of the command line's.

    Returns:
        The exit code: 0; 1 for a packet that is refused; 130 after Ctrl-C, 143 after SIGTERM.
    """
    parser = _parser()
    given = vars(parser.parse_args(sys.argv[1:] if arguments is None else arguments))
    command, call, config, what = (given.pop(name) for name in ("command", "call", "config", "what"))
    settings = [] if config is None else [make_config(parser, config, given)]
    try:
        saved = "; the same command goes on from what was played" if command == "run" else ""
        return interruptible_work(parser.prog, lambda: call(*settings, what) or 0, lambda: saved)
    except PacketError as error:
        print(f"{parser.prog}: refused: {printable(str(error))}", file=sys.stderr)
        return 1
    except (ValueError, OSError, MissingExtraError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    raise SystemExit(main())
