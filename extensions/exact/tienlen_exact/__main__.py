"""Small games, solved: NashConv of agents, equilibria, best responses.

tienlen exact nashconv heuristic champion:worlds=0 --rules mini
tienlen exact solve --rules small --algorithm cfr+ --until 1e-4 --out runs/small
tienlen exact show runs/small/policy.npz --hand "3s 4c 2s" --plays "3s"
tienlen exact best-response heuristic --rules mini --out runs/exploiter.npz
tienlen exact size --rules medium
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.progress import Progress
from rich.table import Table

import tienlen_agents
from tienlen_agents.command import complete_agents, interruptible_work, program, shows_any_text
from tienlen_agents.console import PlainConsole
from tienlen_agents.files import locked, read_json, refusing, remove_temporaries, write_atomic
from tienlen_agents.settings import (
    COUNT,
    COUNT_OR_NONE,
    SHARE,
    Choice,
    Config,
    FreeText,
    Parser,
    Range,
    add_options,
    make_config,
    setting,
    settings_of,
)
from tienlen_env.engine.agent import Agent, check_plays
from tienlen_env.engine.batch import Batch
from tienlen_env.extras import MissingExtraError
from tienlen_env.games.common.arrays import FloatArray
from tienlen_env.games.registry import games
from tienlen_exact.agent import load_exact, save_policy, show
from tienlen_exact.plan import Purpose, bench, check_fits, plan
from tienlen_exact.policies import Measure, best_responses, lookahead, measure, method_of, policy_of
from tienlen_exact.small_tienlen import SmallGame, small_game
from tienlen_exact.solvers import Algorithm, Solver, Steps
from tienlen_exact.tree import PublicTree, build

CHECKPOINT, POLICY, CURVE = "checkpoint.npz", "policy.npz", "nash_conv.jsonl"


@dataclass(frozen=True, kw_only=True)
class Common(Config):
    """The options of all commands.

    Attributes:
        rules: the variant; mini, small, medium and large are made for this.
        players: number of players, if not that of the rules.
        deck: the cards in play, such as '3s 3c 4s 4c 2s', if not those of the rules.
        cards_each: cards dealt to each player, if not as in the rules.
        memory: memory that may be used, in GiB, if not nine tenths of what is free.
        quiet: no progress bar.
    """

    rules: str = setting("mini", Choice(lambda: [name for game in games() for name in game.presets]))
    players: int | None = setting(None, Range(2))
    deck: str | None = setting(None, FreeText("cards"))
    cards_each: int | None = setting(None, COUNT)
    memory: float | None = setting(None, Range(0, above=True))
    quiet: bool = False

    @property
    def game(self) -> SmallGame:
        """The game of the rules."""
        return small_game(self.rules, self.players, deck=self.deck, cards_each=self.cards_each)


@dataclass(frozen=True, kw_only=True)
class Asking(Common):
    """How agents are asked.

    Attributes:
        repeats: how often an agent that draws its actions is asked at each information set.
        seed: of the agents.
        sampled: count the choices of agents whose probabilities are known, too, which shows the bias of
            `repeats`.
        lookahead: take the policy that looks one play ahead and goes on as the agent; with 0 all hands of the
            others weigh the same, with 1 their plays tell of them as far as they can.
        out: write the results to this file.
    """

    repeats: int = setting(1, COUNT)
    seed: int = setting(0, COUNT_OR_NONE)
    sampled: bool = False
    lookahead: float | None = setting(None, SHARE)
    out: str | None = setting(None, FreeText("a file"))


@dataclass(frozen=True, kw_only=True)
class Solving(Common):
    """How a game is solved.

    Attributes:
        algorithm: what solves it.
        iterations: number of iterations; in mccfr one has 1,000 traversals for each seat.
        until: NashConv that ends the run before.
        every: iterations between two measurements, each with a checkpoint.
        seed: of mccfr.
        magnet: of mmd: the weight of the magnet at first.
        rate: of mmd: the learning rate at first.
        out: a folder for the policy, the curve of NashConv and a checkpoint, from which the same command goes
            on.
    """

    algorithm: Algorithm = "cfr+"
    iterations: int = setting(1_000, COUNT)
    until: float = setting(0.0, Range(0))
    every: int = setting(25, COUNT)
    seed: int = setting(0, COUNT_OR_NONE)
    magnet: float = setting(Steps.magnet, Range(0))
    rate: float = setting(Steps.rate, Range(0, above=True))
    out: str | None = setting(None, FreeText("a folder"))


COMMANDS: Final[dict[str, tuple[type[Common], str]]] = {
    "nashconv": (Asking, "how much the best responses to agents gain: exactly"),
    "solve": (Solving, "an equilibrium, with bounds of the game's value"),
    "best-response": (Asking, "the exact best response to an agent, to a file that plays as exact:<file>"),
    "show": (Common, "the probabilities of a policy's file at a position"),
    "size": (Common, "how large a game is, and what it needs"),
    "bench": (Common, "time of a best response and of an iteration, on one core"),
}


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=program("tienlen_exact"),
        description="Small games of Tiến lên, solved: all deals, all histories, no sampling error.",
        epilog=f"Agents: {', '.join(tienlen_agents.names())}, with options after a colon.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, (config, help) in COMMANDS.items():
        one = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        if name == "nashconv":
            complete_agents(one.add_argument("agents", nargs="+", metavar="agent", help="the agents"))
        elif name == "best-response":
            complete_agents(one.add_argument("agents", nargs=1, metavar="agent", help="the agent"))
        elif name == "show":
            one.add_argument("file", help="what `solve` or `best-response` wrote")
            one.add_argument("--hand", default="", help="the hand of the seat to act, as it was dealt")
            one.add_argument(
                "--plays", default="", help="what was played so far, separated by commas; '-' for a pass"
            )
        add_options(one, config)
    return parser


class Work:
    """A command's tree and its progress bars."""

    def __init__(self, settings: Common, purpose: Purpose) -> None:
        self.settings, self.game = settings, settings.game
        self.console = PlainConsole()
        needs = plan(self.game, purpose)
        self.say(str(needs))
        check_fits(needs, settings.memory)
        self._nodes = needs.size.nodes

    def say(self, text: str) -> None:
        """Print a line as it is."""
        self.console.print(text, highlight=False, soft_wrap=True)

    @contextmanager
    def bar(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """A progress bar; the function that it gives sets it."""
        with Progress(console=self.console, transient=True, disable=self.settings.quiet) as progress:
            task = progress.add_task(title, total=total)
            yield lambda done: progress.update(task, completed=done)

    def tree(self) -> PublicTree:
        """Build the tree."""
        with self.bar("tree", self._nodes) as move:
            return build(self.game, progress=move)


def _numbers(measured: Measure) -> dict[str, Any]:
    return {
        "nash_conv": measured.nash_conv,
        "values": list(measured.values),
        "best": list(measured.best),
        "gains": list(measured.gains),
    }


def _policy(work: Work, tree: PublicTree, settings: Asking, name: str, agent: Agent) -> FloatArray:
    """An agent's policy on the tree, with a progress bar."""
    with work.bar(name, None) as move:
        policy = policy_of(
            tree,
            agent,
            repeats=settings.repeats,
            seed=settings.seed,
            sampled=settings.sampled,
            progress=move,
        )
    return policy if settings.lookahead is None else lookahead(tree, policy, settings.lookahead)


def _ask(settings: Asking, command: str, names: Sequence[str]) -> None:
    # An agent that is unknown or does not play the rules is refused before any work.
    agents = [tienlen_agents.load(name) for name in names]
    check_plays(agents, Batch(settings.game.rules, 1))
    work = Work(settings, "agents" if settings.lookahead is None else "lookahead")
    run = _nashconv if command == "nashconv" else _best_response
    run(work, work.tree(), settings, list(zip(names, agents, strict=True)))


def _nashconv(work: Work, tree: PublicTree, settings: Asking, agents: list[tuple[str, Agent]]) -> None:
    # With more players NashConv bounds nothing, so only the gains are shown.
    two = tree.num_players == 2
    table = Table(title=f"{work.game.rules.name}, {tree.num_players} players")
    table.add_column("agent", overflow="fold")
    gain = "gain {}" if two else "gain of seat {}'s best deviation"
    titles = [*(["NashConv"] if two else []), *map(gain.format, range(tree.num_players)), "method", "s"]
    for title in titles:
        table.add_column(title, justify="right", no_wrap=two)
    found = []
    for name, agent in agents:
        begin = time.process_time()
        measured = measure(tree, _policy(work, tree, settings, name, agent))
        method = ("choices" if settings.sampled else str(method_of(agent))) + (
            f" × {settings.repeats}" if settings.repeats > 1 else ""
        )
        method += "" if settings.lookahead is None else f", lookahead {settings.lookahead:g}"
        gains = [f"{gain:.6f}" for gain in measured.gains]
        seconds = time.process_time() - begin
        table.add_row(name, *([f"{measured.nash_conv:.6f}"] if two else []), *gains, method, f"{seconds:.1f}")
        found.append({"agent": name, "method": method, **_numbers(measured)})
    work.console.print(table)
    if settings.out:
        size = tree.size()
        facts = {"rules": work.game.rules.settings(), "information_sets": size.information_sets}
        text = json.dumps({**facts, "players": tree.num_players, "results": found}, indent=1)
        write_atomic(Path(settings.out), text.encode())
        work.say(f"wrote {settings.out}")


def _solve(settings: Solving) -> None:
    work = Work(settings, "solver")
    steps = Steps(settings.magnet, settings.rate)
    folder = Path(settings.out) if settings.out else None
    with locked(folder / CHECKPOINT) if folder else nullcontext():
        if folder:
            remove_temporaries(folder)
        _run_solver(work, settings, steps, folder)


def _run_solver(work: Work, settings: Solving, steps: Steps, folder: Path | None) -> None:
    tree = work.tree()
    solver = Solver(tree, settings.algorithm, seed=settings.seed, steps=steps)
    curve: list[dict[str, Any]] = []
    if folder and (folder / CHECKPOINT).exists():
        solver.resume(folder / CHECKPOINT)
        curve = _read_curve(folder / CURVE, solver.iteration)
        work.say(f"goes on after iteration {solver.iteration}")
    seconds = curve[-1]["seconds"] if curve else 0.0
    measured = measure(tree, solver.policy())
    with work.bar(settings.algorithm, settings.iterations) as move:
        while solver.iteration < settings.iterations:
            if settings.until and curve and curve[-1]["nash_conv"] <= settings.until:
                break
            begin = time.process_time()
            solver.step()
            seconds += time.process_time() - begin
            move(solver.iteration)
            if solver.iteration % settings.every == 0 or solver.iteration == settings.iterations:
                measured = measure(tree, solver.policy())
                curve.append({"iteration": solver.iteration, "seconds": seconds, **_numbers(measured)})
                work.say(
                    f"iteration {solver.iteration:6d}  NashConv {measured.nash_conv:.3e}  {seconds:.1f} s"
                )
                if folder:
                    write_atomic(folder / CURVE, "".join(json.dumps(p) + "\n" for p in curve).encode())
                    solver.save(folder / CHECKPOINT)
    if tree.num_players == 2:
        (lower, upper), seat_0 = measured.opener_bounds, measured.bounds
        work.say(
            f"in an equilibrium who leads earns {lower:+.6f} to {upper:+.6f}, seat 0 {seat_0[0]:+.6f} to "
            f"{seat_0[1]:+.6f}: NashConv {measured.nash_conv:.3e}"
        )
    else:
        gains = ", ".join(f"{gain:.3e}" for gain in measured.gains)
        work.say(f"the seats' best deviations gain {gains}")
    if folder:
        about = f"{settings.algorithm}, {solver.iteration} iterations, NashConv {measured.nash_conv:.3e}"
        save_policy(folder / POLICY, tree, solver.policy(), about)
        work.say(_wrote(folder / POLICY, settings))


def _read_curve(path: Path, last: int) -> list[dict[str, Any]]:
    """The points of a curve up to an iteration."""
    lines = path.read_bytes().splitlines()
    with refusing(str(path)):
        curve = [point for point in map(read_json, lines) if point["iteration"] <= last]
        if not all(type(point[key]) in (int, float) for point in curve for key in ("seconds", "nash_conv")):
            raise ValueError("not the points of a curve")
    return curve


def _wrote(path: str | Path, settings: Common) -> str:
    """What can be done with a policy's file."""
    if settings.deck is None and settings.cards_each is None:
        return f"wrote {path}, which plays as exact:{path}"
    return (  # other commands take rules by their names alone
        f"wrote {path}, which `tienlen exact show` reads; rules with a deck of one's own have no name, so it "
        f"plays as exact:{path} in Python alone: arena.match(..., rules=small_game(...).rules)"
    )


def _best_response(work: Work, tree: PublicTree, settings: Asking, agents: list[tuple[str, Agent]]) -> None:
    ((name, agent),) = agents
    policy = _policy(work, tree, settings, name, agent)
    measured = measure(tree, policy)
    for seat, (value, best) in enumerate(zip(measured.values, measured.best, strict=True)):
        work.say(f"seat {seat}: the best response earns {best:+.6f}, {name} itself {value:+.6f}")
    if settings.out:
        save_policy(settings.out, tree, best_responses(tree, policy), f"best response to {name}")
        work.say(_wrote(settings.out, settings))


@shows_any_text
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: instead of the command line's.

    Returns:
        The exit code: 0; 130 after Ctrl-C, 143 after SIGTERM.
    """
    parser = _parser()
    given = vars(parser.parse_args(sys.argv[1:] if arguments is None else arguments))
    command = given["command"]
    config, _ = COMMANDS[command]
    values = {name: given[name] for name in settings_of(config) if name in given}
    settings = make_config(parser, config, values)
    is_saved = isinstance(settings, Solving) and settings.out
    saved = "; the same command goes on from the checkpoint" if is_saved else ""

    def work() -> int:
        if isinstance(settings, Solving):
            _solve(settings)
        elif isinstance(settings, Asking):
            _ask(settings, command, given["agents"])
        elif command == "show":
            print(show(load_exact(given["file"]), given["hand"], given["plays"]))
        else:
            print(bench(settings.game) if command == "bench" else plan(settings.game, "solver"))
        return 0

    try:
        return interruptible_work(parser.prog, work, lambda: saved)
    except (ValueError, OSError, MissingExtraError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    raise SystemExit(main())
