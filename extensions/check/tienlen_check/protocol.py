"""Check a program that plays by JSON lines: ``tienlen protocol check <command>`` (PROTOCOL.md).

The checks are the handshake, positions where bots often fail, messages of a later version, many questions
at once, whole rounds under every preset, and the end. The exit code is 0 if all checks pass, 1 if one fails,
2 if the command does not exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from tienlen_agents.command import interruptible_work, program, shows_any_text
from tienlen_agents.external.messages import (
    LATE,
    Failure,
    encode,
    hello_message,
    no_question,
    play_requests,
    read_message,
    validate_answer,
)
from tienlen_agents.external.process import Child, ProcessAgent
from tienlen_agents.settings import (
    COUNT,
    COUNT_OR_NONE,
    Choice,
    Config,
    Parser,
    add_options,
    make_config,
    setting,
)
from tienlen_check.words import HardPosition, checked_words_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.engine.view import View
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import PRESETS, get_rules

MANY: Final = 200  # questions at once
WIDTH: Final = 56  # of the titles in the report
MAX_LATE: Final = 3  # checks in a row without an answer; then the others are left out
UNFLUSHED: Final = (
    ": answers do not come. The usual cause is a program that does not flush its output after each answer "
    "(Python: print(..., flush=True); C: fflush(stdout); Perl: $| = 1)"
)


@dataclass(frozen=True, kw_only=True)
class ProgramCommandLine(Config):
    """The options of the command.

    Attributes:
        rules: a preset of the game that the program plays.
        limit_ms: milliseconds for an answer.
        start_ms: milliseconds for the start.
        rounds: number of rounds of each preset.
        seed: of the deals.
    """

    rules: str = setting("cardgames", Choice(lambda: PRESETS))
    limit_ms: int = setting(1000, COUNT)
    start_ms: int = setting(10_000, COUNT)
    rounds: int = setting(5, COUNT)
    seed: int = setting(0, COUNT_OR_NONE)


class Check(NamedTuple):
    """One line of the report.

    Attributes:
        title: the check.
        problem: the failure; empty if it passed.
        note: a remark if it passed.
        is_late: the failure is an answer that did not come.
    """

    title: str
    problem: str = ""
    note: str = ""
    is_late: bool = False


def check(
    agent: ProcessAgent, *, rules: str | AnyRules = "cardgames", num_rounds: int = 5, seed: int = 0
) -> Iterator[Check]:
    """Check a program, one check after the other.

    Args:
        agent: the program.
        rules: a preset or rules of the game that it plays.
        num_rounds: under each preset and number of players.
        seed: of the deals.
    """
    first, num_late = get_rules(rules), 0
    try:
        yield (line := _checked("handshake", lambda: _handshake(agent, first)))
        if line.problem:
            yield Check("the other checks", f"left out{UNFLUSHED if line.is_late else ''}")
            return
        for line in _checks(agent, first, num_rounds, seed):
            yield line
            num_late = num_late + 1 if line.is_late else 0
            if num_late == MAX_LATE:
                yield Check("the other checks", f"left out{UNFLUSHED}")
                return
    finally:
        agent.close()


def _checks(agent: ProcessAgent, first: AnyRules, num_rounds: int, seed: int) -> Iterator[Check]:
    """All but the first one."""
    for position in checked_words_of(first).positions:
        yield _checked(f"{position.rules}: {position.title}", partial(_position, agent, position))
    yield _checked("unknown messages and fields are ignored", lambda: _later_version(agent, first))
    yield _checked(f"{MANY} questions at once", lambda: _questions_at_once(agent, first))
    yield from _rounds(agent, first, num_rounds, seed)
    yield _checked("ends by itself when its input does", lambda: _end(agent, first))


def _checked(title: str, run: Callable[[], str]) -> Check:
    """The line of a check, whose function returns a remark."""
    try:
        return Check(title, note=run())
    except Failure as failure:
        problem = f"{failure.reason}: {failure.detail}"
        return Check(title, problem, is_late=problem.removeprefix("no handshake: ").startswith(LATE))


def _handshake(agent: ProcessAgent, rules: AnyRules) -> str:
    begin = time.perf_counter()
    agent.start(rules)
    return f"{1000 * (time.perf_counter() - begin):.0f} ms"


def _check_forfeits(agent: ProcessAgent) -> str:
    """Raise the first failure of the agent since the last call; no remark if there is none."""
    forfeits = agent.take_forfeits()
    if forfeits:
        more = f" (and {len(forfeits) - 1} more)" if len(forfeits) > 1 else ""
        raise Failure(forfeits[0].reason, f"{forfeits[0].detail}{more}")
    return ""


def _position(agent: ProcessAgent, position: HardPosition) -> str:
    agent.reset(0)
    view = View(position.batch())
    action, _ = agent.act_cards(view)
    _check_forfeits(agent)
    return view.action_table.text(int(action[0]))


def _later_version(agent: ProcessAgent, rules: AnyRules) -> str:
    """A program must ignore messages of an unknown type, and unknown fields."""
    batch = Batch(rules, 1)
    batch.reset(0)
    view = View(batch)
    (request,) = play_requests(view, [0], lambda _: (1, 1))
    child = Child(agent.arguments)
    try:
        child.send(encode(dict(hello_message(rules, agent.limit_ms)) | {"weather": "fine"}))
        read_message(child.line(time.monotonic() + agent.start_ms / 1000))
        child.send(encode({"type": "weather", "rain": [1, {"mm": 2}]}))
        child.send(encode(dict(request.message) | {"weather": None}))
        answer = read_message(child.line(time.monotonic() + agent.limit_ms / 1000))
        if answer.get("id") != 1:
            raise no_question(answer)
        validate_answer(request, answer.get("cards"), view)
    finally:
        child.stop()
    return ""


def _questions_at_once(agent: ProcessAgent, rules: AnyRules) -> str:
    agent.reset(0)
    batch = Batch(rules, MANY)
    batch.reset(0)
    view = View(batch, np.flatnonzero(batch.state.turn >= 0))  # a round may be over when it is dealt
    begin = time.perf_counter()
    agent.act_cards(view)
    took = time.perf_counter() - begin
    _check_forfeits(agent)
    return f"{1e6 * took / MANY:.0f} µs an answer"


def _rounds(agent: ProcessAgent, first: AnyRules, num_rounds: int, seed: int) -> Iterator[Check]:
    """Whole rounds, one question at a time; every other seat plays at random."""
    rng = np.random.default_rng(seed)
    times: list[float] = []
    for name, rules in checked_words_of(first).tables(first):
        agent.reset(seed)
        num_players = rules.num_players
        for game in range(num_rounds):
            batch = Batch(rules, 1)
            batch.reset(rng)
            loop = RoundLoop(batch, [None, agent], np.arange(num_players) == game % num_players)
            for waiting in loop:
                view = View(batch)
                if waiting.who[0]:
                    begin = time.perf_counter()
                    actions, cards = agent.act_cards(view)
                    times.append(1000 * (time.perf_counter() - begin))
                else:
                    actions = view.sample(rng)
                    cards = view.cards_of(actions)
                loop.play(waiting.games, actions, cards)
        title = f"{num_rounds} rounds of {name}, {num_players} players"
        yield _checked(title, lambda: _check_forfeits(agent))
    median, high, most = np.percentile(times, [50, 99, 100])
    yield Check(
        "time for an answer",
        note=f"median {median:.2f} ms, 99 % within {high:.2f} ms, at most {most:.2f} ms",
    )


def _end(agent: ProcessAgent, rules: AnyRules) -> str:
    child = agent.start(rules)
    code = child.stop(grace=5.0)
    if code is None:
        raise Failure("still running", "5 seconds after the end of its input")
    if code:
        raise Failure(f"exit code {code}", child.stderr)
    return ""


@shows_any_text
def main(argv: Sequence[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Run the command.

    Args:
        argv: its arguments; None: those of the command line.
        write: gets every line of the report.

    Returns:
        The exit code.
    """
    parser = Parser(
        prog=program("tienlen_check.protocol"),
        description=(__doc__ or "").partition("\n\n")[2],
    )
    parser.add_argument("what", choices=["check"], help="the only command")
    parser.add_argument("command", help='the program and its arguments, in quotes: "python bot.py --fast"')
    add_options(parser, ProgramCommandLine)
    given = vars(parser.parse_args(argv))
    command = (given.pop("what"), given.pop("command"))[1]
    options = make_config(parser, ProgramCommandLine, given)
    try:
        agent = ProcessAgent(command, limit_ms=options.limit_ms, start_ms=options.start_ms)
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    return interruptible_work(parser.prog, lambda: _report(agent, options, write))


def _report(agent: ProcessAgent, options: ProgramCommandLine, write: Callable[[str], object]) -> int:
    failed = total = 0
    for line in check(agent, rules=options.rules, num_rounds=options.rounds, seed=options.seed):
        total += 1
        if line.problem:
            failed += 1
            write(f"FAIL  {line.title}")
            write("      " + line.problem.replace("\n", "\n      | "))
        else:
            write(f"ok    {line.title:<{WIDTH}}{line.note}".rstrip())
    write(f"{total} checks, {failed} failed" if failed else f"{total} checks, all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
