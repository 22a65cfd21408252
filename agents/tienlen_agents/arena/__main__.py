"""The commands ``tienlen match``, ``compare``, ``league`` and ``gauntlet``: duplicate matches."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import tienlen_agents
from tienlen_agents.arena.chunk import BLOCK_DEALS
from tienlen_agents.arena.curves import read_curves
from tienlen_agents.arena.executors import Executor
from tienlen_agents.arena.forfeits import MAX_FORFEITS
from tienlen_agents.arena.latency import Latency, latency
from tienlen_agents.arena.league import league
from tienlen_agents.arena.lineup import unique_names
from tienlen_agents.arena.match import (
    FAST_PANEL,
    PANEL,
    PILOT_DEALS,
    SLOW_PANEL,
    all_rules,
    compare,
    gauntlet,
    panel_of,
    pilot,
)
from tienlen_agents.arena.report import Report, missing_outputs
from tienlen_agents.arena.run import CHUNKS_FILE, load_all
from tienlen_agents.arena.terminal import LiveProgress, show_pilot
from tienlen_agents.command import complete_agents, program
from tienlen_agents.extras import MissingExtraError, require
from tienlen_agents.interrupts import Interrupted, interruptible
from tienlen_agents.ranges import Range
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import PRESETS, get_rules
from tienlen_env.rendering.view import printable

MODULE = "tienlen_agents.arena"
COMMANDS = ("compare", "match", "league", "gauntlet")


def _common() -> argparse.ArgumentParser:
    """The options that all commands share."""
    parser = argparse.ArgumentParser(add_help=False)
    game = parser.add_argument_group("the game")
    game.add_argument(
        "--rules",
        default="cardgames",
        metavar="NAME[,NAME]",
        help=f"the variant, or several: {', '.join(PRESETS)} (%(default)s)",
    )
    count, natural = Range(1).reader(int), Range(0).reader(int)
    game.add_argument(
        "--players", type=Range(2).reader(int), metavar="N", help="number of players (as in the rules)"
    )
    game.add_argument(
        "--history",
        type=natural,
        default=0,
        metavar="K",
        help="number of past plays in observations, for policies",
    )
    size = parser.add_argument_group("how much")
    size.add_argument("--deals", type=Range(2).reader(int), metavar="N", help="deals of each match-up (2500)")
    size.add_argument(
        "--precision",
        type=Range(0, above=True).reader(float),
        metavar="POINTS",
        help="instead of --deals: as many deals as give intervals of ± POINTS (± units of payments, in rules "
        "that have them), estimated by a pilot match",
    )
    size.add_argument(
        "--pilot",
        type=Range(2).reader(int),
        default=PILOT_DEALS,
        metavar="N",
        help="deals of the pilot (%(default)s)",
    )
    size.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="of deals and agents (%(default)s)"
    )
    size.add_argument(
        "--permutations",
        choices=("rotations", "all"),
        default="rotations",
        help="seatings of each deal: the rotations of one circular order, which changes from deal to deal, "
        "or all distinct seatings (%(default)s)",
    )
    size.add_argument(
        "--stop-when-clear",
        action="store_true",
        help="end a match-up when its first agent is proven above or below parity, by a sequential test with "
        "at most 5 %% false positives (tienlen_agents/arena/stats.py)",
    )
    more = parser.add_argument_group("what else is measured")
    more.add_argument(
        "--blunders",
        type=natural,
        default=0,
        metavar="N",
        help="count blunders in solved endgames of the first N deals",
    )
    more.add_argument(
        "--latency",
        type=natural,
        default=0,
        metavar="N",
        help="measure the time of N single decisions of each agent",
    )
    more.add_argument("--bootstrap", action="store_true", help="show bootstrap intervals, too")
    work = parser.add_argument_group("work and output")
    work.add_argument(
        "--workers",
        type=count,
        default=1,
        metavar="N",
        help=f"number of processes (1; this machine has {os.cpu_count()} cores)",
    )
    work.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="play on a Ray cluster instead: auto (the one that this machine belongs to), local (a new one "
        "here) or the address of its head node; needs the extra 'cluster' (docs/cluster.md)",
    )
    work.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="cuda: play on a GPU, all games of a match-up at once (docs/gpu.md); for random, heuristic and "
        "network policies; needs the extras 'cuda' and 'train' (%(default)s)",
    )
    work.add_argument(
        "--chunk",
        type=_chunk,
        default=BLOCK_DEALS,
        metavar="N",
        help="deals that a worker plays at a time, a divisor of 512: fewer for slow agents (%(default)s)",
    )
    work.add_argument(
        "--out",
        metavar="DIR",
        help="write arena.json, .csv, .png and .html there, and chunks.jsonl during the run; after a kill "
        "the same command resumes from it",
    )
    work.add_argument("--fresh", action="store_true", help="delete the chunks in --out first")
    work.add_argument(
        "--curves",
        action="append",
        default=[],
        metavar="RUN",
        help="show the learning curves of a training run",
    )
    work.add_argument(
        "--max-forfeits",
        type=Range(0, 1).reader(float),
        default=MAX_FORFEITS,
        metavar="SHARE",
        help="a program that does not start, or forfeits a larger share of its rounds, makes the command "
        "fail, and a league does not rate it (%(default)s; 1: never)",
    )
    work.add_argument(
        "--records",
        type=natural,
        default=0,
        metavar="N",
        help="with --out: keep the records of N rounds, as text files that the page links",
    )
    work.add_argument(
        "--records-url",
        default="",
        metavar="URL",
        help="the links to records begin with this address of a page that shows them, or have the record in "
        "place of {record} in it, for example https://example.org/play/#record={record} (default: the files)",
    )
    work.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _chunk(text: str) -> int:
    """Read ``--chunk``."""
    if not text.isascii() or not text.isdigit() or not int(text) or BLOCK_DEALS % int(text):
        raise argparse.ArgumentTypeError(f"expected a divisor of {BLOCK_DEALS}, got {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program(MODULE),
        description="Play duplicate matches. Every deal is played in several seatings, so that each agent "
        "sits in each seat equally often; results have 95 % confidence intervals, clustered by deal.",
        epilog=f"Agents: {', '.join(tienlen_agents.names())}. An argument and options follow after a colon, "
        "separated by commas: 'policy:runs/x/policy.zip,trust=1'. The default command is `compare`. "
        f"Example: {program(MODULE)} gauntlet greedy --deals 1000 --workers 2 --out runs/greedy",
    )
    commands = parser.add_subparsers(dest="play", required=True, metavar="command")
    common = [_common()]
    one = commands.add_parser(
        "compare", parents=common, help="one agent against each of the others, and mixed match-ups"
    )
    one.add_argument("agent", help="the agent to evaluate")
    one.add_argument("opponents", nargs="+", metavar="opponent", help="the agents to compare it with")
    one.add_argument("--no-mixed", action="store_true", help="no match-ups with several opponents")
    two = commands.add_parser("match", parents=common, help="two agents, all compositions of the two")
    two.add_argument("agent", help="the agent to evaluate")
    two.add_argument("opponents", nargs=1, metavar="opponent", help="the other")
    for parser_of in (one, two):
        parser_of.add_argument(
            "--composition",
            action="append",
            metavar="AvB",
            help="seats of the agent and of the opponent, e.g. 3v1 or 2v2; can be repeated "
            + ("(1v3)" if parser_of is one else "(all)"),
        )
    many = commands.add_parser(
        "league", parents=common, help="round-robin of several agents: standings, ratings, payoffs"
    )
    many.add_argument("agent", help="one agent")
    many.add_argument("opponents", nargs="+", metavar="agent", help="the others")
    panel = commands.add_parser(
        "gauntlet", parents=common, help=f"one agent against each of {', '.join(PANEL)}"
    )
    panel.add_argument("agent", help="the agent to evaluate")
    panel.add_argument(
        "--fast",
        action="store_true",
        help=f"without {' and '.join(SLOW_PANEL)}, which take nearly all of the time",
    )
    for command in (one, two, many, panel):
        for action in command._actions:
            if action.dest in ("agent", "opponents"):
                complete_agents(action)
    return parser


def _player(options: argparse.Namespace, command: str, executor: Executor | None) -> Callable[..., Report]:
    """A function that plays the command, for a number of deals and a seed."""
    rules = [get_rules(name, options.players) for name in options.rules.split(",")]

    def play(num_deals: int, seed: int, **more: Any) -> Report:
        shared: dict[str, Any] = {
            "rules": rules,
            "num_deals": num_deals,
            "seed": seed,
            "history": options.history,
            "permutations": options.permutations,
            "deals_per_job": options.chunk,
            "workers": options.workers,
            "executor": executor,
            "max_forfeits": options.max_forfeits,
            "records": options.records,
            "command": command,
            **more,
        }
        if options.play == "league":
            return league([options.agent, *options.opponents], **shared)
        if options.play == "gauntlet":
            return gauntlet(options.agent, panel=_opponents(options), **shared)
        compositions = options.composition
        if compositions is None:
            # All compositions of two agents, one against the rest first; all variants have the same P.
            num_players = rules[0].num_players
            compositions = (
                [f"{n}v{num_players - n}" for n in range(1, num_players)]
                if options.play == "match"
                else [None]
            )
        mixed = options.play == "compare" and not options.no_mixed
        return compare(options.agent, options.opponents, compositions=compositions, mixed=mixed, **shared)

    return play


@runtime_checkable
class _Startable(Protocol):
    """An agent that can fail to start: a program."""

    def check_start(self, rules: AnyRules) -> None:
        """Start it; a ValueError says why this fails."""

    def close(self) -> None:
        """End it."""


def _rules(options: argparse.Namespace) -> tuple[AnyRules, ...]:
    return all_rules(options.rules.split(","), options.players)


def _opponents(options: argparse.Namespace) -> list[str]:
    if options.play == "gauntlet":
        return [*FAST_PANEL] if options.fast else panel_of(_rules(options))
    found: list[str] = options.opponents
    return found


def _check_start(options: argparse.Namespace) -> None:
    """Start each program once, before anything is played.

    Raises:
        ValueError: one does not start.
    """
    for agent in load_all(list(dict.fromkeys([options.agent, *_opponents(options)]))):
        if isinstance(agent, _Startable):
            with closing(agent):
                for rules in _rules(options):
                    try:
                        agent.check_start(rules)
                    except ValueError as error:
                        raise ValueError(f"{error}. --max-forfeits 1 plays the match without it") from None


def _on_cluster(options: argparse.Namespace) -> AbstractContextManager[Executor]:
    """The executor of ``--cluster``; Ray is imported here and not before."""
    from tienlen_agents.cluster import connect

    if options.workers != 1:
        raise ValueError("--workers and --cluster: expected one of them")
    return connect(options.cluster, [options.agent, *_opponents(options)])


def _on_device(options: argparse.Namespace) -> Executor:
    """The executor of ``--device cuda``; torch is imported here and not before.

    Raises:
        ValueError: an agent, or an option, that is not available there.
        DeviceError: there is no device.
    """
    require("torch", "train", "--device cuda")
    from tienlen_agents.device.arena import DeviceExecutor, why_not
    from tienlen_agents.device.available import cuda_machine

    if options.workers != 1 or options.cluster:
        raise ValueError("--device cuda, --workers and --cluster: expected one of them")
    if options.blunders or options.records or options.history:
        raise ValueError("--device cuda: expected no --blunders, --records and --history")
    for agent in load_all(list(dict.fromkeys([options.agent, *_opponents(options)]))):
        if problem := why_not(agent):
            raise ValueError(f"--device cuda: {problem}")
    return DeviceExecutor(cuda_machine())


def _latencies(options: argparse.Namespace) -> list[Latency]:
    distinct = list(dict.fromkeys([options.agent, *_opponents(options)]))
    loaded = load_all(distinct)
    chosen: dict[str, Any] = {
        "decisions": options.latency,
        "history": options.history,
        "seed": options.seed,
    }
    return [
        latency(agent, rules, name=name, **chosen)
        for rules in _rules(options)
        for agent, name in zip(loaded, unique_names(loaded), strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: instead of the command line's.

    Returns:
        The exit code: 0; 1 if an agent failed (see `arena.forfeits`); 130 after Ctrl-C, 143 after SIGTERM.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    is_command = bool(arguments) and arguments[0] in (*COMMANDS, "-h", "--help")
    options = parser.parse_args(arguments if is_command else ["compare", *arguments])
    if options.deals is not None and options.precision is not None:
        parser.error("--deals and --precision: expected one of them")
    if options.records and not options.out:
        parser.error("--records: expected --out, too, the folder for the records")
    if options.records_url and not options.records_url.startswith(("http://", "https://", "/", "./", "../")):
        parser.error("--records-url: expected an address that begins with http://, https://, /, ./ or ../")
    try:
        with interruptible():
            return _run(options, shlex.join([*program(MODULE).split(), *arguments]))
    except Interrupted as error:
        saved = ""
        if options.out and (chunks := Path(options.out) / CHUNKS_FILE).exists():
            saved = f"; the results so far are in {chunks}, the same command resumes from them"
        print(f"{parser.prog}: {error}{saved}", file=sys.stderr)
        return error.exit_code
    except (ValueError, OSError, MissingExtraError) as error:
        parser.exit(2, f"{parser.prog}: {printable(str(error))}\n")


def _run(options: argparse.Namespace, command: str) -> int:
    curves = tuple(curve for run in options.curves for curve in read_curves(run))
    if options.max_forfeits < 1:
        _check_start(options)
    with ExitStack() as stack:
        executor: Executor | None = None
        if options.device == "cuda":
            executor = _on_device(options)
        elif options.cluster:
            executor = stack.enter_context(_on_cluster(options))
        play = _player(options, command, executor)
        found = None
        num_deals = 2500 if options.deals is None else options.deals
        if options.precision is not None:
            found = pilot(play, options.precision, options.seed, options.pilot)
            show_pilot(found)
            num_deals = found.deals_needed
        report = play(
            num_deals,
            options.seed,
            stop_when_clear=options.stop_when_clear,
            blunder_deals=options.blunders,
            out=options.out,
            fresh=options.fresh,
            progress=None if options.quiet else stack.enter_context(LiveProgress()),
        )
    latencies = tuple(_latencies(options)) if options.latency else ()
    report = replace(
        report,
        pilot=found,
        latencies=latencies,
        curves=curves,
        with_bootstrap=options.bootstrap,
        records_url=options.records_url,
    )
    report.print()
    if options.out:
        for path in report.write(options.out):
            print(f"wrote {path}")
        if missing := missing_outputs():
            print(f"left out {' and '.join(missing)}: pip install 'tienlen-env[arena]'")
    if report.failures:
        failed = ", ".join(dict.fromkeys(one.name for one in report.failures))
        print(f"{program(MODULE)}: failed: {printable(failed)} (--max-forfeits)", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
