"""The commands ``tienlen match``, ``compare``, ``league`` and ``gauntlet``: duplicate matches."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import tienlen_agents
from tienlen_agents.arena.league import league
from tienlen_agents.arena.lineup import unique_names
from tienlen_agents.arena.match import (
    FAST_PANEL,
    PANEL,
    PILOT_DEALS,
    SLOW_PANEL,
    all_rules,
    compare,
    panel_of,
    pilot,
)
from tienlen_agents.arena.play import latency
from tienlen_agents.arena.report import Report
from tienlen_agents.arena.run import CHUNKS_FILE, ArenaSettings, load_all
from tienlen_agents.arena.terminal import LiveProgress, show_pilot
from tienlen_agents.command import complete_agents, interruptible_work, program, shows_any_text
from tienlen_agents.executors import Executor, opened
from tienlen_agents.external.process import ProcessAgent
from tienlen_agents.settings import (
    COUNT_OR_NONE,
    DEALS,
    Choice,
    FreeText,
    Parser,
    Pattern,
    Range,
    add_options,
    make_config,
    setting,
    settings_of,
)
from tienlen_env.engine.agent import Agent
from tienlen_env.extras import MissingExtraError, how_to_install, is_installed
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import games
from tienlen_env.texts import printable

MODULE = "tienlen_agents.arena"
# The text of each command, and of its agents besides the first.
COMMANDS: Final = {
    "compare": ("one agent against each of the others, and mixed match-ups", "the agents to compare it with"),
    "match": ("two agents, all compositions of the two", "the other"),
    "league": ("round-robin of several agents: standings, ratings, payoffs", "the others"),
    "gauntlet": (f"one agent against each of {', '.join(PANEL)}", ""),
}
# The options whose names differ from those of the settings.
FLAGS = {"num_deals": "--deals", "deals_per_job": "--chunk", "blunder_deals": "--blunders"}
RULES = Choice(lambda: [name for game in games() for name in game.presets], separator=",")
ADDRESS = Pattern(
    "((https?://|/|[.]{1,2}/).*)?", "an address that begins with http://, https://, /, ./ or ../"
)


@dataclass(frozen=True, kw_only=True)
class ArenaCommandLine(ArenaSettings):
    """The options of all commands.

    Attributes:
        rules: the variant, or several.
        players: number of players, if not that of the rules.
        precision: instead of --deals: the wanted half width of the intervals, in points (units of payments,
            in rules that have them); a pilot match estimates how many deals it needs.
        pilot: deals of the pilot.
        latency: number of single decisions of each agent whose time is measured.
        bootstrap: show bootstrap intervals, too.
        executor: where to play, instead of --workers: for example ray:auto, a Ray cluster (docs/cluster.md),
            or cuda, a GPU (docs/gpu.md); packages add others (docs/extending.md).
        out: write arena.json, .csv and .html into this folder, and chunks.jsonl during the run; after a
            kill the same command resumes from it.
        records_url: the links to records begin with this address of a page that shows them, or have the
            record in place of {record} in it, for example https://example.org/play/#record={record}; without
            it they lead to the files.
        quiet: no progress bar.
    """

    rules: str = setting("cardgames", RULES)
    players: int | None = setting(None, Range(2))
    precision: float | None = setting(None, Range(0, above=True))
    pilot: int = setting(PILOT_DEALS, DEALS)
    latency: int = setting(0, COUNT_OR_NONE)
    bootstrap: bool = False
    executor: str | None = setting(None, FreeText("an executor"))
    out: str | None = setting(None, FreeText("a folder"))
    records_url: str = setting("", ADDRESS)
    quiet: bool = False

    def __post_init__(self) -> None:
        """Check the settings that depend on one another, too."""
        super().__post_init__()
        if self.records and not self.out:
            raise ValueError("--records: expected --out, too, the folder for the records")
        if self.workers != 1 and self.executor:
            raise ValueError("--workers and --executor: expected one of them")

    @property
    def variants(self) -> tuple[AnyRules, ...]:
        """The rules."""
        return all_rules(self.rules.split(","), self.players)


class ArenaCommand(NamedTuple):
    """What is played, and how: the name of the command, the agents by name, the options, the words as typed.

    `compositions` are those of match-ups of two agents, None for those of the command; `mixed` adds match-ups
    with several opponents.
    """

    play: str
    entrants: list[str]
    settings: ArenaCommandLine
    compositions: list[str] | None
    mixed: bool
    text: str

    def agents(self) -> list[Agent]:
        """Each agent once."""
        return load_all(list(dict.fromkeys(self.entrants)))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=program(MODULE),
        description="Play duplicate matches. Every deal is played in several seatings, so that each agent "
        "sits in each seat equally often; results have 95 % confidence intervals, clustered by deal.",
        epilog=f"Agents: {', '.join(tienlen_agents.names())}. An argument and options follow after a colon, "
        "separated by commas: 'policy:runs/x/policy.zip,trust=1'. The default command is `compare`. "
        f"Example: {program(MODULE)} gauntlet greedy --deals 1000 --workers 2 --out runs/greedy",
    )
    commands = parser.add_subparsers(dest="play", required=True, metavar="command")
    options = Parser(add_help=False)
    add_options(options, ArenaCommandLine, FLAGS)
    for name, (text, others) in COMMANDS.items():
        command = commands.add_parser(name, parents=[options], help=text)
        complete_agents(command.add_argument("agent", help="the agent to evaluate"))
        if others:
            number, shown = 1 if name == "match" else "+", "agent" if name == "league" else "opponent"
            complete_agents(command.add_argument("opponents", nargs=number, metavar=shown, help=others))
        if name in ("compare", "match"):
            command.add_argument(
                "--composition",
                action="append",
                metavar="AvB",
                help="seats of the agent and of the opponent, e.g. 3v1 or 2v2; can be repeated "
                + ("(1v3)" if name == "compare" else "(all)"),
            )
    commands.choices["compare"].add_argument(
        "--no-mixed", dest="mixed", action="store_false", help="no match-ups with several opponents"
    )
    commands.choices["gauntlet"].add_argument(
        "--fast",
        action="store_true",
        help=f"without {' and '.join(SLOW_PANEL)}, which take nearly all of the time",
    )
    return parser


def _player(command: ArenaCommand, executor: Executor | None) -> Callable[..., Report]:
    """A function that plays the command, for a number of deals, a seed and other options."""
    settings = command.settings
    shared: dict[str, Any] = {name: getattr(settings, name) for name in settings_of(ArenaSettings)}
    shared |= {"rules": settings.variants, "executor": executor, "command": command.text}
    if command.play == "league":
        return partial(league, command.entrants, **shared)
    compositions: Sequence[str | None] = command.compositions or (None,)
    if command.compositions is None and command.play == "match":
        # All compositions of two agents, one against the rest first; all variants have the same P.
        num_players = settings.variants[0].num_players
        compositions = [f"{n}v{num_players - n}" for n in range(1, num_players)]
    agent, *others = command.entrants
    return partial(compare, agent, others, compositions=compositions, mixed=command.mixed, **shared)


def _check_start(command: ArenaCommand) -> None:
    """Start each program once, before anything is played.

    Raises:
        ValueError: one does not start.
    """
    for agent in command.agents():
        if isinstance(agent, ProcessAgent):
            with closing(agent):
                for rules in command.settings.variants:
                    try:
                        agent.check_start(rules)
                    except ValueError as error:
                        raise ValueError(f"{error}. --max-forfeits 1 plays the match without it") from None


def _command(parser: argparse.ArgumentParser, arguments: list[str]) -> ArenaCommand:
    """What the words of a command line ask for.

    Raises:
        SystemExit: an option that cannot be read or is out of its range; argparse names it.
    """
    is_command = bool(arguments) and arguments[0] in (*COMMANDS, "-h", "--help")
    given = vars(parser.parse_args(arguments if is_command else ["compare", *arguments]))
    if "num_deals" in given and "precision" in given:
        parser.error("--deals and --precision: expected one of them")
    values = {name: given[name] for name in settings_of(ArenaCommandLine) if name in given}
    settings = make_config(parser, ArenaCommandLine, values, FLAGS)
    if given["play"] == "gauntlet":
        others = [*FAST_PANEL] if given["fast"] else panel_of(settings.variants)
    else:
        others = given["opponents"]
    text = shlex.join([*program(MODULE).split(), *arguments])
    mixed, compositions = given.get("mixed", False), given.get("composition")
    return ArenaCommand(given["play"], [given["agent"], *others], settings, compositions, mixed, text)


@shows_any_text
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: instead of the command line's.

    Returns:
        The exit code: 0; 1 if an agent failed (see `arena.result`); 130 after Ctrl-C, 143 after SIGTERM.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    try:
        command = _command(parser, arguments)
        return interruptible_work(parser.prog, lambda: _run(command), lambda: _saved(command.settings.out))
    except (ValueError, OSError, MissingExtraError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


def _saved(out: str | None) -> str:
    """What an interrupted run says of its results."""
    if not out or not (chunks := Path(out) / CHUNKS_FILE).exists():
        return ""
    return f"; the results so far are in {chunks}, the same command resumes from them"


def _run(command: ArenaCommand) -> int:
    settings = command.settings
    if settings.max_forfeits < 1:
        _check_start(command)
    with ExitStack() as stack:
        executor: Executor | None = None
        if settings.executor:
            say = partial(print, file=sys.stderr)
            executor = stack.enter_context(opened(settings.executor, command.entrants, say=say))
        play = _player(command, executor)
        found, num_deals = None, settings.num_deals
        if settings.precision is not None:
            # A pilot plays as its match does, but keeps nothing.
            plain = {"stop_when_clear": False, "blunder_deals": 0, "fresh": False}
            found = pilot(
                lambda num_deals, seed: play(num_deals=num_deals, seed=seed, **plain),
                settings.precision,
                settings.seed,
                settings.pilot,
            )
            show_pilot(found)
            num_deals = found.deals_needed
        progress = None if settings.quiet else stack.enter_context(LiveProgress())
        report = play(num_deals=num_deals, out=settings.out, progress=progress)
    loaded = command.agents() if settings.latency else []
    chosen = {"decisions": settings.latency, "history": settings.history, "seed": settings.seed}
    is_new = report.seed_key and not settings.seed_key
    report = replace(
        report,
        command=f"{report.command} --seed-key {report.seed_key}" if is_new else report.command,
        pilot=found,
        latencies=tuple(
            latency(agent, rules, name=name, **chosen)
            for rules in settings.variants
            for agent, name in zip(loaded, unique_names(loaded), strict=True)
        ),
        with_bootstrap=settings.bootstrap,
        records_url=settings.records_url,
    )
    report.print()
    if settings.out:
        for path in report.write(settings.out):
            print(f"wrote {path}")
        if not is_installed("jinja2"):
            print(f"left out arena.html: {how_to_install('arena')}")
    if report.failures:
        failed = ", ".join(dict.fromkeys(one.name for one in report.failures))
        print(f"{program(MODULE)}: failed: {printable(failed)} (--max-forfeits)", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
