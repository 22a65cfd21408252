"""``python -m agents.arena``: duplicate matches from the terminal."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack

import agents
from agents.arena.report import LiveProgress, compare
from tienlen_env.games import PRESETS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agents.arena",
        description="Play duplicate matches: the agent alone against each opponent, and mixed tables where "
        "there are enough of them. Every deal is played in all distinct seatings, so neither the cards nor "
        "the seat favour anyone; intervals are at 95 %, clustered by deal.",
        epilog=f"Agents: {', '.join(agents.names())}. An argument and options follow a colon, with commas "
        "between: 'policy:runs/x/policy.zip,trust=1'. Example: "
        "python -m agents.arena greedy random greedy_long --deals 1000 --seed 1 --out runs/greedy",
    )
    parser.add_argument("agent", help="the agent that is examined")
    parser.add_argument("opponents", nargs="+", metavar="opponent", help="whom it is compared with")
    parser.add_argument(
        "--deals", type=int, default=2500, metavar="N", help="deals of each table (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of deals and agents (%(default)s)")
    parser.add_argument(
        "--rules", choices=list(PRESETS), default="cardgames", help="the variant (%(default)s)"
    )
    parser.add_argument(
        "--players", type=int, choices=range(2, 8), metavar="P", help="at a table (as the rules say)"
    )
    parser.add_argument(
        "--composition",
        action="append",
        metavar="AvB",
        help="seats of the agent and of the opponent, e.g. 3v1 or 2v2; may come several times (1v3)",
    )
    parser.add_argument("--no-mixed", action="store_true", help="no tables with several opponents")
    parser.add_argument(
        "--history",
        type=int,
        default=0,
        metavar="K",
        help="last plays in observations, as a policy was trained",
    )
    parser.add_argument("--out", metavar="DIR", help="write arena.json, arena.csv and arena.png there")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command.

    Args:
        arguments: instead of the command line's.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        with ExitStack() as stack:
            report = compare(
                agents.load(options.agent),
                [agents.load(opponent) for opponent in options.opponents],
                rules=options.rules,
                num_players=options.players,
                compositions=options.composition or [None],
                mixed=not options.no_mixed,
                num_deals=options.deals,
                seed=options.seed,
                history=options.history,
                progress=None if options.quiet else stack.enter_context(LiveProgress()),
                command=shlex.join(["python", "-m", "agents.arena", *arguments]),
            )
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    report.print()
    if options.out:
        for path in report.write(options.out):
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
