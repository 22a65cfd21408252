"""Check whether a program keeps to the line protocol (PROTOCOL.md).

``python -m tienlen_agents.external.protocol check <command>`` does this.

The checks are the handshake, positions in which bots often fail, messages of a later version, many questions
at once, whole rounds under every preset, and the end. The exit code is 0 if all checks pass, 1 if one fails,
2 if the command does not exist.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, cast

import numpy as np

from tienlen_agents.command import program
from tienlen_agents.external.process import (
    Child,
    Failure,
    ProcessAgent,
    as_rules,
    encode,
    hello_message,
    no_question,
    play_requests,
    read_message,
    validate_answer,
)
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.tienlen.actions import ActionTable
from tienlen_env.games.tienlen.plays import cards_to_action
from tienlen_env.games.tienlen.rules import PRESETS

WIDTH: Final = 56  # of the titles in the report


class Check(NamedTuple):
    """One line of the report.

    Attributes:
        title: the check.
        problem: the failure; empty if it passed.
        note: a remark if it passed.
    """

    title: str
    problem: str = ""
    note: str = ""


class Position(NamedTuple):
    """A scripted position: hands by seat, who leads (-1: with the opening duty), what has been played."""

    title: str
    rules: str
    hands: tuple[str, ...]
    leader: int
    plays: tuple[str, ...] = ()

    def batch(self) -> Batch:
        """The position as a batch of one game."""
        batch = Batch(self.rules, 1, num_players=len(self.hands))
        batch.set_hands([[parse_cards(hand) for hand in self.hands]], self.leader)
        for play in self.plays:
            cards = parse_cards(play)
            batch.step([cards_to_action(self.rules, cards)], [cards])
        return batch


POSITIONS: Final = (
    Position(
        "the opening play contains the lowest card",
        "cardgames",
        ("3s 4c 4d 9h 2s", "3c 5d", "5s 6h", "7s Jd"),
        -1,
    ),
    Position("a free lead, with tens", "cardgames", ("Ts Tc Td", "4s", "5s 5h", "Th Js"), 0),
    Position("a lead with the last card", "cardgames", ("2h", "4s", "5s", "6s"), 0),
    Position(
        "a pair is followed by a pair", "cardgames", ("5s 5h 9c", "6s 7c 8d 8h", "4s", "3s"), 0, ("5s 5h",)
    ),
    Position("a pass is the only play", "cardgames", ("Ah 4s", "3s 5c", "6s", "7s"), 0, ("Ah",)),
    Position(
        "four of a kind may go on a 2", "cardgames", ("2s 4s", "6s 6c 6d 6h", "5s 5c", "7s"), 0, ("2s",)
    ),
    Position(
        "five pairs in a row may go on three 2s",
        "cardgames",
        ("2s 2c 2d 3s", "4s 4c 5s 5c 6s 6c 7s 7c 8s 8c", "9s"),
        0,
        ("2s 2c 2d",),
    ),
    Position("two players, others gone", "cardgames", ("9s Kd", "Jc Qh"), 0, ("9s",)),
    Position(
        "a suited run is followed by suited runs",
        "foicica",
        ("3s 4s 9h", "5d 6c 7h 8h", "Js Jd", "Qs"),
        0,
        ("3s 4s",),
    ),
    Position(
        "a bomb may be played after a pass",
        "foicica",
        ("4h 9s 2h", "3s 3c 4s 4d 5s 5d Kc", "9d Jd", "Th Tc Qs"),
        0,
        ("4h", "", "9d", "", "2h"),
    ),
    Position("a run up to a 2", "pagat", ("Qs Kd Ac 2h 3d", "4s", "5s"), 0),
)


def check(agent: ProcessAgent, *, num_rounds: int = 5, seed: int = 0) -> Iterator[Check]:
    """Check a program, one thing after the other.

    Args:
        agent: the program.
        num_rounds: under each preset and number of players.
        seed: of the deals.
    """
    try:
        yield _handshake(agent)
        for position in POSITIONS:
            yield _position(agent, position)
        yield _later_version(agent)
        yield _questions_at_once(agent)
        yield from _rounds(agent, num_rounds, seed)
        yield _end(agent)
    finally:
        agent.close()


def _handshake(agent: ProcessAgent) -> Check:
    begin = time.perf_counter()
    try:
        agent.start(PRESETS["cardgames"])
    except Failure as failure:
        return Check("handshake", f"{failure.reason}: {failure.detail}")
    return Check("handshake", note=f"{1000 * (time.perf_counter() - begin):.0f} ms")


def _problem(agent: ProcessAgent) -> str:
    """The forfeits of the agent since the last call, as text."""
    forfeits = agent.take_forfeits()
    if not forfeits:
        return ""
    more = f" (and {len(forfeits) - 1} more)" if len(forfeits) > 1 else ""
    return f"{forfeits[0].reason}: {forfeits[0].detail}{more}"


def _position(agent: ProcessAgent, position: Position) -> Check:
    agent.reset(0)
    view = View(position.batch())
    action, _ = agent.act_cards(view)
    problem = _problem(agent)
    return Check(f"{position.rules}: {position.title}", problem, view.table.text(int(action[0])))


def _later_version(agent: ProcessAgent) -> Check:
    """Messages of an unknown type, and unknown fields, are to be ignored."""
    title = "unknown messages and fields are ignored"
    view = View(POSITIONS[0].batch())
    (request,) = play_requests(view, [0], lambda _: (1, 1))
    child = Child(agent.arguments)
    try:
        child.send(encode(dict(hello_message(as_rules(view.rules), agent.limit_ms)) | {"weather": "fine"}))
        read_message(child.line(time.monotonic() + agent.start_ms / 1000))
        child.send(encode({"type": "weather", "rain": [1, {"mm": 2}]}))
        child.send(encode(dict(request.message) | {"weather": None}))
        answer = read_message(child.line(time.monotonic() + agent.limit_ms / 1000))
        if answer.get("id") != 1:
            raise no_question(answer)
        validate_answer(request, answer.get("cards"), cast(ActionTable, view.table))
    except Failure as failure:
        return Check(title, f"{failure.reason}: {failure.detail}")
    finally:
        child.stop()
    return Check(title)


def _questions_at_once(agent: ProcessAgent, number: int = 200) -> Check:
    agent.reset(0)
    batch = Batch("cardgames", number)
    batch.reset(0)
    view = View(batch)
    begin = time.perf_counter()
    agent.act_cards(view)
    took = time.perf_counter() - begin
    return Check(f"{number} questions at once", _problem(agent), f"{1e6 * took / number:.0f} µs an answer")


def _rounds(agent: ProcessAgent, num_rounds: int, seed: int) -> Iterator[Check]:
    """Whole rounds, one question at a time; every other seat plays at random."""
    rng = np.random.default_rng(seed)
    times: list[float] = []
    for rules, num_players in [*((name, 4) for name in PRESETS), ("cardgames", 3), ("cardgames", 2)]:
        agent.reset(seed)
        for game in range(num_rounds):
            batch = Batch(rules, 1, num_players=num_players)
            batch.reset(rng)
            while (turn := int(batch.state.turn[0])) >= 0:
                view = View(batch)
                if turn == game % num_players:
                    begin = time.perf_counter()
                    actions, cards = agent.act_cards(view)
                    times.append(1000 * (time.perf_counter() - begin))
                else:
                    actions = view.sample(rng)
                    cards = view.cards_of(actions)
                batch.step(actions, cards)
        yield Check(f"{num_rounds} rounds of {rules}, {num_players} players", _problem(agent))
    median, high, most = np.percentile(times, [50, 99, 100])
    yield Check(
        "time for an answer",
        note=f"median {median:.2f} ms, 99 % within {high:.2f} ms, at most {most:.2f} ms",
    )


def _end(agent: ProcessAgent) -> Check:
    title = "ends by itself when its input does"
    try:
        child = agent.start(PRESETS["cardgames"])
    except Failure as failure:
        return Check(title, f"{failure.reason}: {failure.detail}")
    code = child.stop(grace=5.0)
    if code is None:
        return Check(title, "it was still running after 5 seconds")
    return Check(title, f"exit code {code}; {child.stderr}" if code else "")


def main(argv: Sequence[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Run the command.

    Args:
        argv: its arguments; None: those of the command line.
        write: gets every line of the report.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog=program("tienlen_agents.external.protocol"), description=__doc__.split("\n\n")[1]
    )
    parser.add_argument("what", choices=["check"], help="the only command")
    parser.add_argument("command", help='the program and its arguments, in quotes: "python bot.py --fast"')
    parser.add_argument("--limit-ms", type=int, default=1000, help="for every answer (%(default)s)")
    parser.add_argument("--start-ms", type=int, default=10_000, help="to start in (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="under each preset (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the deals (%(default)s)")
    options = parser.parse_args(argv)
    try:
        agent = ProcessAgent(options.command, limit_ms=options.limit_ms, start_ms=options.start_ms)
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    failed = total = 0
    for line in check(agent, num_rounds=options.rounds, seed=options.seed):
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
