"""``python -m tienlen_agents.arena``: duplicate matches from the terminal."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import tienlen_agents
from tienlen_agents.arena.curves import read_curves
from tienlen_agents.arena.latency import Latency, latency
from tienlen_agents.arena.league import league
from tienlen_agents.arena.lineup import unique_names
from tienlen_agents.arena.match import PANEL, all_rules, compare, gauntlet
from tienlen_agents.arena.pilot import PILOT_DEALS, pilot
from tienlen_agents.arena.report import Report
from tienlen_agents.arena.run import load_all
from tienlen_agents.arena.terminal import LiveProgress, show_pilot
from tienlen_agents.command import program
from tienlen_env.games.registry import PRESETS, get_rules

MODULE = "tienlen_agents.arena"
COMMANDS = ("compare", "match", "league", "gauntlet")


def _common() -> argparse.ArgumentParser:
    """The options of all commands."""
    parser = argparse.ArgumentParser(add_help=False)
    game = parser.add_argument_group("the game")
    game.add_argument(
        "--rules",
        default="cardgames",
        metavar="NAME[,NAME]",
        help=f"the variant, or several: {', '.join(PRESETS)} (%(default)s)",
    )
    game.add_argument("--players", type=int, metavar="N", help="at a table (as the rules say)")
    game.add_argument(
        "--history", type=int, default=0, metavar="K", help="last plays in observations, for policies"
    )
    size = parser.add_argument_group("how much")
    size.add_argument("--deals", type=int, metavar="N", help="deals of each table (2500)")
    size.add_argument(
        "--precision",
        type=float,
        metavar="POINTS",
        help="instead of --deals: as many as give intervals of ± this, found out by a pilot",
    )
    size.add_argument(
        "--pilot", type=int, default=PILOT_DEALS, metavar="N", help="deals of the pilot (%(default)s)"
    )
    size.add_argument("--seed", type=int, default=0, metavar="N", help="of deals and agents (%(default)s)")
    size.add_argument(
        "--permutations",
        choices=("rotations", "all"),
        default="rotations",
        help="seatings of each deal: rotations of the table, in another order from deal to deal, or all "
        "that differ (%(default)s)",
    )
    size.add_argument(
        "--stop-when-clear",
        action="store_true",
        help="end a table once its first agent is proven above or below parity, by a test that errs on at "
        "most 5 %% of equal pairs (agents/arena/sequential.py)",
    )
    more = parser.add_argument_group("what else is measured")
    more.add_argument(
        "--blunders", type=int, default=0, metavar="N", help="judge solved endings in the first N deals"
    )
    more.add_argument(
        "--latency", type=int, default=0, metavar="N", help="time N decisions of each agent one at a time"
    )
    more.add_argument("--bootstrap", action="store_true", help="show intervals by resampling deals, too")
    work = parser.add_argument_group("work and output")
    work.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help=f"processes; here are {os.cpu_count()} cores (1)",
    )
    work.add_argument(
        "--chunk",
        type=int,
        default=512,
        metavar="N",
        help="deals that a worker takes at a time, a divisor of 512: fewer for slow agents (%(default)s)",
    )
    work.add_argument(
        "--out",
        metavar="DIR",
        help="write arena.json, .csv, .png and .html there, and chunks.jsonl while it runs: the same command "
        "goes on where it was killed",
    )
    work.add_argument("--fresh", action="store_true", help="drop the chunks that are in --out")
    work.add_argument(
        "--curves", action="append", default=[], metavar="RUN", help="show a training run's learning curves"
    )
    work.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program(MODULE),
        description="Play duplicate matches. Every deal is played in seatings that put each agent in each "
        "seat, so neither the cards nor the seat favour anyone; intervals are at 95 %, clustered by deal.",
        epilog=f"Agents: {', '.join(tienlen_agents.names())}. An argument and options follow a colon, "
        "with commas between: 'policy:runs/x/policy.zip,trust=1'. Without a command it is `compare`. "
        f"Example: {program(MODULE)} gauntlet greedy --deals 1000 --workers 2 --out runs/greedy",
    )
    commands = parser.add_subparsers(dest="play", required=True, metavar="command")
    common = [_common()]
    one = commands.add_parser(
        "compare", parents=common, help="an agent alone against each other one, and mixed tables"
    )
    one.add_argument("agent", help="the agent that is examined")
    one.add_argument("opponents", nargs="+", metavar="opponent", help="whom it is compared with")
    one.add_argument("--no-mixed", action="store_true", help="no tables with several opponents")
    two = commands.add_parser("match", parents=common, help="two agents at all tables of the two")
    two.add_argument("agent", help="the agent that is examined")
    two.add_argument("opponents", nargs=1, metavar="opponent", help="the other")
    for parser_of in (one, two):
        parser_of.add_argument(
            "--composition",
            action="append",
            metavar="AvB",
            help="seats of the agent and of the opponent, e.g. 3v1 or 2v2; may come several times "
            + ("(1v3)" if parser_of is one else "(all)"),
        )
    many = commands.add_parser("league", parents=common, help="several agents at all tables of them")
    many.add_argument("agent", help="one agent")
    many.add_argument("opponents", nargs="+", metavar="agent", help="the others")
    panel = commands.add_parser("gauntlet", parents=common, help=f"alone against {', '.join(PANEL)}")
    panel.add_argument("agent", help="the agent that is examined")
    return parser


def _player(options: argparse.Namespace, command: str) -> Callable[..., Report]:
    """What plays the command, for a number of deals, a seed and where the chunks go."""
    rules = [get_rules(name, options.players) for name in options.rules.split(",")]

    def play(num_deals: int, seed: int, **more: Any) -> Report:
        shared: dict[str, Any] = {
            "rules": rules,
            "num_deals": num_deals,
            "seed": seed,
            "history": options.history,
            "permutations": options.permutations,
            "chunk_deals": options.chunk,
            "workers": options.workers,
            "command": command,
            **more,
        }
        if options.play == "league":
            return league([options.agent, *options.opponents], **shared)
        if options.play == "gauntlet":
            return gauntlet(options.agent, **shared)
        compositions = options.composition
        if compositions is None:
            # All of the two agents, one against the rest first; every table has the same number of players.
            num_players = rules[0].num_players
            compositions = (
                [f"{n}v{num_players - n}" for n in range(1, num_players)]
                if options.play == "match"
                else [None]
            )
        mixed = options.play == "compare" and not options.no_mixed
        return compare(options.agent, options.opponents, compositions=compositions, mixed=mixed, **shared)

    return play


def _latencies(options: argparse.Namespace) -> list[Latency]:
    distinct = list(dict.fromkeys([options.agent, *getattr(options, "opponents", PANEL)]))
    loaded = load_all(distinct)
    chosen: dict[str, Any] = {
        "decisions": options.latency,
        "history": options.history,
        "seed": options.seed,
    }
    return [
        latency(agent, rules, name=name, **chosen)
        for rules in all_rules(options.rules.split(","), options.players)
        for agent, name in zip(loaded, unique_names(loaded), strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command.

    Args:
        arguments: instead of the command line's.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    is_command = bool(arguments) and arguments[0] in (*COMMANDS, "-h", "--help")
    options = parser.parse_args(arguments if is_command else ["compare", *arguments])
    if options.deals is not None and options.precision is not None:
        parser.error("--deals and --precision: expected one of them")
    try:
        curves = tuple(curve for run in options.curves for curve in read_curves(run))
        play = _player(options, shlex.join([*program(MODULE).split(), *arguments]))
        found = None
        num_deals = 2500 if options.deals is None else options.deals
        if options.precision is not None:
            found = pilot(play, options.precision, options.seed, options.pilot)
            show_pilot(found)
            num_deals = found.deals_needed
        with ExitStack() as stack:
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
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    report = replace(
        report, pilot=found, latencies=latencies, curves=curves, with_bootstrap=options.bootstrap
    )
    report.print()
    if options.out:
        for path in report.write(options.out):
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
