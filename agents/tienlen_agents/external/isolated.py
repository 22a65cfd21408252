"""``NAME:isolate=1``: any agent in a process of its own, which gets what its player sees and nothing else.

Its seeds tell nothing of the deals (`tienlen_agents.external.seeds`); public deals it may know (SECURITY.md).

The child runs this module. It loads the agent by its name and answers lines of JSON. A message holds
decisions as a pickled `View` without hidden cards. The parent reads numbers alone, and checks every play.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import shlex
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from tienlen_agents.external.messages import VERSION, Failure, encode, read_message
from tienlen_agents.external.process import ProcessAgent
from tienlen_agents.words import Message
from tienlen_env.engine.agent import ParticularAgent, choose_cards, load_agent
from tienlen_env.engine.view import View
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import AnyRules

PATIENCE_S: Final = 600.0
MAX_ANSWER: Final = 1 << 26  # bytes: 40 a decision
MODULE: Final = "tienlen_agents.external.isolated"


class IsolatedAgent(ProcessAgent):
    """An agent that runs in a process of its own.

    It cannot see the hidden cards of the match, or change any object of it. A failure, an illegal play and an
    answer that comes too late forfeit their rounds, as for a program (`ProcessAgent`). The process has the
    rights of its user: this keeps cheats out of results, and is no sandbox for code that attacks the machine.

    Questions that fail, such as those to an agent that hangs, cost `PATIENCE_S` seconds in all; after that a
    question and a start have `limit_ms`.

    Args:
        agent: its name and options.
        limit_ms: milliseconds for a decision; a question with n decisions has n times as much, but no more
            than is left of `PATIENCE_S`.
        start_ms: milliseconds for the start, the import of the agent included.

    Raises:
        ValueError: the agent cannot be loaded; the message has the end of its stderr.
    """

    def __init__(self, agent: str, *, limit_ms: int = 10_000, start_ms: int = 120_000) -> None:
        name = agent.partition(":")[0]
        if name == "process":
            raise ValueError(f"agent {name!r} has no option 'isolate': it is not run in this process")
        command = shlex.join([sys.executable, "-m", MODULE, agent])
        separator = "," if ":" in agent else ":"
        super().__init__(command, limit_ms=limit_ms, start_ms=start_ms, name=f"{agent}{separator}isolate=1")
        self._remake = partial(IsolatedAgent, agent, limit_ms=limit_ms, start_ms=start_ms)
        self._problems: dict[AnyRules, str] = {}  # why it does not play some rules; empty: it does
        self._patience = PATIENCE_S  # seconds left for questions that fail
        try:
            child = self._launch()
            child.send(encode({"type": "about"}))
            about = read_message(child.line(time.monotonic() + start_ms / 1000))
            self.history = int(str(about["history"]))
            if about["plays"] is not None:
                self.plays = str(about["plays"])
        except (Failure, KeyError, ValueError) as error:
            failure = error if isinstance(error, Failure) else Failure("a wrong answer", str(error))
            self._kill(failure)
            why = f"{failure.reason}: {failure.detail}"
            raise ValueError(f"agent {agent!r} cannot be loaded in a process of its own: {why}") from None

    def check_rules(self, rules: AnyRules) -> None:
        """See `ParticularAgent.check_rules`; the agent is asked once, and a failure costs its rounds only.

        Raises:
            ValueError: the agent refuses the rules.
        """
        try:
            self._prepare(rules)
        except Failure as failure:
            self._kill(failure)
            self._problems[rules] = ""
        if problem := self._problems[rules]:
            raise ValueError(problem)

    def _prepare(self, rules: AnyRules) -> None:
        """Start it and ask whether it plays some rules, if it was not asked before."""
        if rules in self._problems:
            return
        child = self.start(rules)
        child.send(encode({"type": "rules", "rules": _packed(rules)}))
        answer = read_message(child.line(time.monotonic() + self._patient(self.start_ms / 1000)))
        self._problems[rules] = str(answer.get("problem", ""))[:1000]

    def _plays(
        self, view: View, playing: list[int], rounds: list[int]
    ) -> Iterator[tuple[int, tuple[int, int] | Failure]]:
        """All decisions in one message; see `ProcessAgent._plays`."""
        begin = time.monotonic()
        try:
            child = self.start(view.rules)
            begin, number = time.monotonic(), self._next_request()
            asked = _packed(view.select(playing).without_hidden())
            child.send(encode({"type": "decide", "id": number, "view": asked}))
            seconds = self._patient(len(playing) * self.limit_ms / 1000)
            answer = read_message(child.line(begin + seconds, MAX_ANSWER))
            if answer.get("id") != number:
                raise Failure("an answer to no question", f"expected the id {number}", broken=True)
            plays = [_integers(answer.get(name), len(playing)) for name in ("actions", "cards")]
        except Failure as failure:
            self._patience -= time.monotonic() - begin
            if failure.broken:
                self._kill(failure)
            yield from ((i, failure) for i in playing)
            return
        batch, games = view.source
        for i, action, mask in zip(playing, *plays, strict=True):
            if why := batch.variant.judge(batch.state.rows[games[i]], action, mask):
                yield i, Failure("an illegal play", f"action {action} with the cards {mask:#x}: {why}")
            else:
                yield i, (action, mask)

    def _patient(self, seconds: float) -> float:
        """See `ProcessAgent._patient`: no more than is left, and a decision's time at least."""
        return max(self.limit_ms / 1000, min(seconds, self._patience))


def _integers(values: Json, number: int) -> list[int]:
    """A list of n integers of 64 bits.

    Raises:
        Failure: something else.
    """
    found = values if isinstance(values, list) else []
    integers = [value for value in found if type(value) is int and -(2**63) <= value < 2**63]
    if len(found) != number or len(integers) != number:
        raise Failure("an answer without plays", f"expected {number} integers", broken=True)
    return integers


def _packed(value: object) -> str:
    return base64.b64encode(pickle.dumps(value)).decode()


def _unpacked(text: object) -> object:
    return pickle.loads(base64.b64decode(str(text)))  # from the parent


def main(name: str) -> None:
    """Answer the parent's messages until its end of the pipe is closed."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what the agent prints is not an answer
    agent = load_agent(name)
    if getattr(agent, "needs_terminal", False):  # of a person
        sys.exit(f"agent {name!r} has no option 'isolate': it reads what is typed here")
    for line in sys.stdin.buffer:
        message: Message = json.loads(line)
        kind = message["type"]
        answer: dict[str, object] | None = None
        if kind == "about":
            answer = {"history": int(getattr(agent, "history", 0)), "plays": getattr(agent, "plays", None)}
        elif kind == "hello":
            answer = {"type": "ready", "version": VERSION}
        elif kind == "reset":
            agent.reset(int(str(message["seed"])))
        elif kind == "rules":
            problem = ""
            if isinstance(agent, ParticularAgent):
                try:
                    agent.check_rules(_unpacked(message["rules"]))  # type: ignore[arg-type]
                except ValueError as error:
                    problem = str(error)
            answer = {"problem": problem}
        elif kind == "decide":
            view = _unpacked(message["view"])
            assert isinstance(view, View)
            actions, cards = choose_cards(agent, view)
            answer = {
                "id": message["id"],
                "actions": np.asarray(actions).tolist(),
                "cards": np.asarray(cards).tolist(),
            }
        if answer is not None:
            out.write(encode(answer))  # type: ignore[arg-type]


if __name__ == "__main__":
    main(sys.argv[1])
