"""The command ``tienlen suite``: enter an agent in the benchmark, check what others entered.

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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table as TextTable

from tienlen_agents.arena.terminal import LiveProgress
from tienlen_agents.command import Interrupted, complete_agents, interruptible, program, show_any_text
from tienlen_agents.files import write_atomic
from tienlen_agents.settings import (
    COUNT,
    COUNT_OR_NONE,
    Config,
    ExistingFile,
    FreeText,
    add_options,
    make_config,
    setting,
    settings_of,
)
from tienlen_agents.suite.checking import SUITES, check, held_out_digest
from tienlen_agents.suite.packet import PacketError, read_packet
from tienlen_agents.suite.page import entry_of, leaderboard, read_entries, write_entry
from tienlen_agents.suite.power import power
from tienlen_agents.suite.running import Declaration, Entry, replay, run
from tienlen_agents.suite.submitted import check_row
from tienlen_env.extras import MissingExtraError
from tienlen_env.rendering.view import printable

MODULE: Final = "tienlen_agents.suite"
SECRET_BYTES: Final = 32


@dataclass(frozen=True, kw_only=True)
class Common(Config):
    """The options of run, check and replay.

    Attributes:
        secret: the file of a secret seed, for held-out deals.
        quiet: no progress.
    """

    secret: str | None = setting(None, ExistingFile())
    quiet: bool = False

    @property
    def secret_bytes(self) -> bytes | None:
        """The secret."""
        return None if self.secret is None else Path(self.secret).read_bytes()


@dataclass(frozen=True, kw_only=True)
class Running(Common, Declaration):
    """The options of run.

    Attributes:
        suite: the suite.
        track: of the suite, see list.
        out: the folder of the packet.
        quick: few deals against the fast panel: a packet without a rank.
        workers: number of processes.
        budget: class of budget, 0 for no limit; left out: the smallest that holds the measured time.
        cluster: play on the machines of this Ray cluster.
    """

    suite: str = setting("v1", FreeText("a suite"))
    track: str = setting("A", FreeText("a track"))
    out: str = setting("packet", FreeText("a folder"))
    quick: bool = False
    workers: int = setting(1, COUNT)
    budget: float | None = setting(None, COUNT_OR_NONE)
    cluster: str | None = setting(None, FreeText("an address"))


@dataclass(frozen=True, kw_only=True)
class Checking(Common):
    """The options of check and replay.

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
        seed: draws the sample; take one that was not known when the packet was made.
        jobs: number of jobs that are played again, of some tens of deals each.
        agent: load the agent from here, if its files are elsewhere than in the packet.
    """

    seed: int = setting(0, COUNT_OR_NONE)
    jobs: int = setting(4, COUNT)
    agent: str = setting("", FreeText("an agent"))


@dataclass(frozen=True, kw_only=True)
class CheckingRows(Common):
    """The options of check-row.

    Attributes:
        any_level: take levels of trust above community, too, which this check does not prove.
    """

    any_level: bool = False


def _list(suite_name: str) -> int:
    suite = SUITES[suite_name]
    table = TextTable(title=f"suite {suite.name}")
    for title in ("track", "what", "tables", "deals", "digest", "who cannot"):
        table.add_column(title)
    for track in suite.tracks.values():
        deals = str(track.num_deals) if track.num_deals else "all"
        digest = suite.digest(track.name)[:16]
        table.add_row(track.name, track.title, str(len(track.tables)), deals, digest, track.cannot)
    console = Console()
    console.print(table)
    classes = ", ".join(f"{most:g}" if most else "no limit" for most in suite.budgets)
    console.print(f"Classes of budget, units a decision: {classes}.")
    console.print(f"Panel: {', '.join(f'{n} = {m.agent}' for n, m in suite.panel.items())}.")
    return 0


def _run(settings: Running, agent: str) -> int:
    declared = {name: getattr(settings, name) for name in settings_of(Declaration)}
    entry = Entry(
        agent,
        settings.track,
        _suite(settings.suite),
        settings.quick,
        Declaration(**declared),
        settings.secret_bytes,
        settings.budget,
    )
    folder = Path(settings.out)
    if settings.cluster:
        from tienlen_agents.cluster import connect  # imports ray

        names = [agent, *(member.agent for member in entry.suite.panel.values())]
        with connect(settings.cluster, names) as executor:
            packet = run(entry, folder, executor=executor)
    elif settings.quiet:
        packet = run(entry, folder, workers=settings.workers)
    else:
        with LiveProgress() as progress:
            packet = run(entry, folder, workers=settings.workers, progress=progress)
    _show(packet.values["figures"])
    print(f"class of budget: {packet.values['budget']:g} ({packet.run['units']:.3g} units a decision)")
    print(f"wrote {folder}: {packet.digest}")
    return 0


def _suite(name: str) -> Any:
    if name not in SUITES:
        raise ValueError(f"suite {name!r}: expected one of {', '.join(SUITES)}")
    return SUITES[name]


def _show(figures: dict[str, Any]) -> None:
    score = figures["score"]
    print(f"score {score['mean']:.4f} ± {score['half_width']:.4f}")
    for row in figures["tables"]:
        shown = [
            f"{key} {value['mean']:.4f} ± {value['half_width']:.4f}"
            if isinstance(value, dict)
            else f"{key} {value}"
            for key, value in row.items()
            if key != "title"
        ]
        print(f"  {row['title']}: {', '.join(shown)}")
    for key in ("regret", "regret_above"):
        if key in figures:
            print(f"  {key}: {figures[key]['mean']:.4f} ± {figures[key]['half_width']:.4f}")


def _check(settings: Checking, folder: str) -> int:
    console = Console(stderr=True, quiet=settings.quiet)
    found = check(Path(folder), secret=settings.secret_bytes, on_table=console.print)
    _show(found.figures)
    level = "community"
    if isinstance(settings, Replaying):
        same = replay(
            Path(folder),
            settings.seed,
            agent=settings.agent,
            jobs=settings.jobs,
            secret=settings.secret_bytes,
            on_job=console.print,
        )
        level = "replayed" if settings.secret is None else "official"
        print(f"played again: {same} rounds, all the same")
    print(f"{level}: {found.rounds} rounds, {found.decisions} decisions of the panel computed again")
    if settings.entry:
        write_entry(Path(settings.entry), entry_of(read_packet(Path(folder)), level, settings.url))
        print(f"wrote {settings.entry}")
    return 0


def _check_rows(settings: CheckingRows, rows: Sequence[str]) -> int:
    console = Console(stderr=True, quiet=settings.quiet)
    for row in rows:
        secret, on_table = settings.secret_bytes, console.print
        found = check_row(Path(row), any_level=settings.any_level, secret=secret, on_table=on_table)
        print(f"{printable(row)}: community: {found.rounds} rounds, as its packet says")
    return 0


def _new_seed(path: str) -> int:
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
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program(MODULE), description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("list", help="the tracks, the panel, the classes of budget").add_argument(
        "suite", nargs="?", default="v1", choices=SUITES, help="the suite (v1)"
    )
    one = commands.add_parser("run", help="play a track and write a packet")
    complete_agents(one.add_argument("agent", help="the agent to enter"))
    add_options(one, Running)
    for name, config, text in (
        ("check", Checking, "compute everything in a packet again from its records"),
        ("replay", Replaying, "check, then play a drawn sample of a packet again"),
    ):
        one = commands.add_parser(name, help=text)
        one.add_argument("packet", help="its folder")
        add_options(one, config)
    one = commands.add_parser("check-row", help="check submitted rows and the packets at their addresses")
    one.add_argument("rows", nargs="+", metavar="row", help="files of the leaderboard")
    add_options(one, CheckingRows)
    one = commands.add_parser(
        "power", help="the difference of two packets, and the smallest one that is found"
    )
    one.add_argument("packets", nargs=2, metavar="packet", help="two packets of one track")
    one = commands.add_parser("new-seed", help="write a secret seed, print its hash")
    one.add_argument("file", help="outside of the repository")
    one = commands.add_parser("page", help="print the tables of the leaderboard, Markdown")
    one.add_argument("folder", nargs="?", default="leaderboard", help="of the rows (leaderboard)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: instead of the command line's.

    Returns:
        The exit code: 0; 1 for a packet that is refused; 130 after Ctrl-C, 143 after SIGTERM.
    """
    show_any_text()
    parser = _parser()
    given = vars(parser.parse_args(sys.argv[1:] if arguments is None else arguments))
    command = given.pop("command")
    try:
        with interruptible():
            return _call(parser, command, given)
    except Interrupted as error:
        saved = "; the same command goes on from what was played" if command == "run" else ""
        print(f"{parser.prog}: {error}{saved}", file=sys.stderr)
        return error.exit_code
    except PacketError as error:
        print(f"{parser.prog}: refused: {printable(str(error))}", file=sys.stderr)
        return 1
    except (ValueError, OSError, MissingExtraError) as error:
        parser.exit(2, f"{parser.prog}: {printable(str(error))}\n")


def _call(parser: argparse.ArgumentParser, command: str, given: dict[str, Any]) -> int:
    if command == "list":
        return _list(given["suite"])
    if command == "run":
        agent = given.pop("agent")
        return _run(make_config(parser, Running, given), agent)
    if command in ("check", "replay"):
        packet = given.pop("packet")
        return _check(make_config(parser, Replaying if command == "replay" else Checking, given), packet)
    if command == "check-row":
        rows = given.pop("rows")
        return _check_rows(make_config(parser, CheckingRows, given), rows)
    if command == "power":
        print(power(*(read_packet(Path(folder)) for folder in given["packets"])))
        return 0
    if command == "new-seed":
        return _new_seed(given["file"])
    print(leaderboard(read_entries(Path(given["folder"]))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
