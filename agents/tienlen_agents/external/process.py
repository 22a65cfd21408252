"""``process:<command>``: an agent that is a program in any language, with JSON lines on stdin and stdout.

``agents/tienlen_agents/external/PROTOCOL.md`` describes the protocol, with an example exchange;
``tienlen protocol check`` checks a program against it. No failure of the program stops a match. A
late, unreadable or illegal answer forfeits its round, and so does the end of the program: a fixed rule plays
the rest of that round (`ProcessAgent`), and the reason is in the report (`FallibleAgent`).

It needs a system where a process can wait for several pipes: Linux, macOS or another POSIX system.
"""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import subprocess
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Final, cast

from tienlen_agents.external.keeper import GRACE_S, KILL_S
from tienlen_agents.external.messages import (
    LATE,
    STDERR_KEPT,
    VERSION,
    Failure,
    encode,
    hello_message,
    no_question,
    play_requests,
    read_message,
    shortened,
    validate_answer,
    visible,
)
from tienlen_agents.external.seeds import close_others, hashed_seed, new_seed_key
from tienlen_agents.quoting import ShellWords
from tienlen_agents.words import Message, Request, words_of
from tienlen_env.engine.agent import Agent, Forfeit
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules

MAX_LINE: Final = 1 << 16  # bytes of an answer; a legal one has less than a hundred
KEEPER: Final = Path(__file__).with_name("keeper.py")


def _check_length(line: bytes, longest: int) -> None:
    if len(line) > longest:
        raise Failure(f"a line of more than {longest} bytes", shortened(line), broken=True)


# ---------------------------------------------------------------- the child process


class Child:
    """A running command with non-blocking I/O on all three pipes.

    One loop serves them: while it waits for answers, it sends data as fast as the child reads, and reads
    stderr. The command runs under a keeper (`tienlen_agents.external.keeper`), which ends it and everything
    it has started when this process ends in any way.

    Args:
        arguments: the command and its arguments.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, arguments: list[str]) -> None:
        self._owner = os.getpid()
        pipe = subprocess.PIPE
        # The keeper sees the end of `life` when this process ends; only this process has the pipe.
        life, self._life = os.pipe()
        report, reporter = os.pipe()
        keeper = [sys.executable, "-I", "-S", str(KEEPER), str(life), str(reporter), *arguments]
        try:
            # In its own session: Ctrl-C does not reach it.
            self._process = subprocess.Popen(
                keeper,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                start_new_session=True,
                pass_fds=(life, reporter),
            )
        except OSError:
            for descriptor in (self._life, report):
                os.close(descriptor)
            raise
        finally:
            os.close(life)
            os.close(reporter)
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._in, self._out, self._err = (cast(IO[bytes], stream) for stream in streams)  # all are pipes
        self._selector = selectors.DefaultSelector()
        for stream in (self._out, self._err):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)
        os.set_blocking(self._in.fileno(), False)
        self._unsent = memoryview(b"")
        self._partial = b""
        self._lines: deque[bytes] = deque()
        self._ended = self._stopped = False
        self._stderr = b""
        with os.fdopen(report, "rb") as lines:
            problem = lines.read()
        if problem:
            self.stop(grace=0)
            raise OSError(problem.decode(errors="backslashreplace").strip())

    def send(self, data: bytes) -> None:
        """Queue data; `line` sends it while it waits for answers."""
        if not self._unsent:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        self._unsent = memoryview(bytes(self._unsent) + data)

    def line(self, deadline: float, longest: int = MAX_LINE) -> bytes:
        """The next line of its stdout, without the end of the line.

        Args:
            deadline: by `time.monotonic`.
            longest: bytes that a line may have.

        Raises:
            Failure: no line came in time, the line was too long, or stdout has been closed.
        """
        while not self._lines:
            _check_length(self._partial, longest)
            if self._ended:
                raise Failure("the program ended", self._exit_report(), broken=True)
            left = deadline - time.monotonic()
            self._serve(max(left, 0))  # once more after the deadline: data already in the pipe is in time
            if left <= 0 and not self._lines and not self._ended:
                raise self.late()
        line = self._lines.popleft()
        _check_length(line, longest)
        return line

    def late(self) -> Failure:
        """The failure for a missed deadline."""
        return Failure(LATE, self.stderr, broken=True)

    def _serve(self, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._in:
                self._write()
                continue
            try:
                data = os.read(key.fd, 1 << 16)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
                self._ended |= key.fileobj is self._out
            elif key.fileobj is self._err:
                self._stderr = (self._stderr + data)[-STDERR_KEPT:]
            else:
                *lines, self._partial = (self._partial + data).split(b"\n")
                self._lines.extend(line for line in lines if line.strip())

    def _write(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._in.fileno(), self._unsent[: 1 << 16]) :]
        except BlockingIOError:
            return
        except OSError:  # it has stopped reading; `line` reports a closed stdout or the time limit
            self._unsent = memoryview(b"")
        if not self._unsent:
            self._selector.unregister(self._in)

    @property
    def stderr(self) -> str:
        """The last text on its stderr, made `visible`, or a note that it is empty."""
        text = visible(self._stderr.decode(errors="backslashreplace").strip())[-STDERR_KEPT:]
        return f"its stderr ends: {text}" if text else "its stderr is empty"

    def _exit_report(self) -> str:
        """The exit status of the program, with the last text on its stderr."""
        with suppress(subprocess.TimeoutExpired):  # stdout closes a moment before the process is gone
            self._process.wait(GRACE_S)
        self._serve(0)
        code = self._process.returncode
        how = "its stdout is closed" if code is None else f"exit code {code}"
        return f"{how}; {self.stderr}"

    def abandon(self) -> None:
        """In a fork: leave it to the process that started it, which alone holds its pipes then."""
        os.close(self._life)
        for stream in (self._in, self._out, self._err):
            stream.close()

    def stop(self, grace: float = GRACE_S) -> int | None:
        """End it and all that it has started, and leave no zombie; a second call has no effect.

        Args:
            grace: seconds to exit after its stdin is closed.

        Returns:
            The exit code, or None if it had to be killed.
        """
        if self._stopped or self._owner != os.getpid():  # a fork inherits the object, but not the child
            return None
        self._stopped = True
        self._selector.close()
        self._in.close()
        code = None
        try:
            code = self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.terminate()  # the keeper kills the program, and ends
            try:
                self._process.wait(KILL_S + 1)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        os.close(self._life)
        self._out.close()
        self._err.close()
        return code


# ---------------------------------------------------------------- the agent


def notice_of(agent: Agent, forfeit: Forfeit) -> str:
    """What the others at a table may be told of a forfeit: no text of the agent, and nothing of its hand."""
    reason = f": {forfeit.reason}" if isinstance(agent, ProcessAgent) else ""  # ours are fixed words
    return f"forfeits this round{reason}"


_AGENTS: weakref.WeakSet[ProcessAgent] = weakref.WeakSet()


def _forget() -> None:
    for agent in _AGENTS:
        agent.forget()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)


class ProcessAgent:
    """A program that plays by the protocol of ``agents/tienlen_agents/external/PROTOCOL.md``.

    The program is started for the first decision, and ended by `close`, at the latest with this process. All
    waiting decisions are sent at once; the program may answer them in any order. The limit of `limit_ms`
    starts when they are sent, and again with each answer: a program that answers one after the other has the
    limit for each.

    An answer that is late, unreadable or illegal forfeits its round; then, to the end of that round, the
    agent passes where that is legal and else plays the legal action with the lowest id. A program that is
    late, ends or writes without end of line is killed and started anew, and gets the questions that are still
    open; the one that has waited longest counts as the cause.

    Args:
        command: the command to run, split as a shell would; no shell is started. In `tienlen_agents.load` a
            word with a comma in it stands in double quotes.
        limit_ms: milliseconds for an answer.
        start_ms: milliseconds for the answer to ``hello``.
        restarts: number of restarts between two `reset`s; after that all remaining rounds are forfeited.
        name: its name in result tables and plots; empty for ``process:<command>``.

    Attributes:
        seed_key: see `tienlen_agents.external.seeds.KeyedAgent`.

    Raises:
        ValueError: there is no such command, or a limit out of range.
    """

    def __init__(
        self,
        command: ShellWords,
        *,
        limit_ms: int = 1000,
        start_ms: int = 10_000,
        restarts: int = 3,
        name: str = "",
    ) -> None:
        self.name = name or f"process:{command}"
        try:
            self.arguments = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"process: {command!r} cannot be split into words ({error})") from None
        if not self.arguments or shutil.which(self.arguments[0]) is None:
            raise ValueError(f"process: there is no command {command!r}")
        if limit_ms < 1 or start_ms < 1 or restarts < 0:
            raise ValueError(
                f"process: limit_ms={limit_ms}, start_ms={start_ms}, restarts={restarts}: expected 1 or more "
                "milliseconds and no negative number of restarts"
            )
        self.limit_ms, self.start_ms, self.restarts = limit_ms, start_ms, restarts
        self._remake: Callable[[], ProcessAgent] = partial(
            ProcessAgent, command, limit_ms=limit_ms, start_ms=start_ms, restarts=restarts, name=name
        )
        self.seed_key = new_seed_key()
        self._child: Child | None = None
        _AGENTS.add(self)
        self._rules: AnyRules | None = None
        self._num_requests = 0
        self._last_failure = ""
        self.reset(0)

    def __reduce__(self) -> tuple[Callable[[], ProcessAgent], tuple[()]]:
        return self._remake, ()  # a copy, in another process too, runs a program of its own

    def reset(self, seed: int) -> None:
        """Send a hash of the seed to the program, and count restarts from 0 again."""
        self._seed = hashed_seed(self.seed_key, seed)
        self._restarts_left = self.restarts + 1  # the first start counts too
        self._rounds: dict[tuple[int, int, object], int] = {}
        self._hands: dict[tuple[int, int], tuple[int, int]] = {}
        self._lost: set[int] = set()
        self._forfeits: list[Forfeit] = []
        if self._child is not None:
            self._restarts_left -= 1
            self._child.send(encode({"type": "reset", "seed": self._seed}))

    def close(self) -> None:
        """End the program; a later decision starts it again, which does not count as a restart."""
        close_others(self)
        if self._child is not None:
            self._finalizer()
            self._child = None
            self._restarts_left += 1

    def forget(self) -> None:
        """In a fork: the program answers the process that started it; this one starts its own."""
        if self._child is not None:
            self._child.abandon()
            self._child = None
            self._restarts_left += 1

    def take_forfeits(self) -> list[Forfeit]:
        """See `FallibleAgent.take_forfeits`."""
        taken, self._forfeits = self._forfeits, []
        return taken

    def act(self, view: View) -> IntArray:
        """Choose for n decisions; the lowest suits replace the chosen cards (see `Agent.act`)."""
        return self.act_cards(view)[0]

    def act_cards(self, view: View) -> tuple[IntArray, IntArray]:
        """Choose the cards for n decisions (see `CardAgent.act_cards`)."""
        legal = view.legal_actions
        # Played in forfeited rounds: the legal action with the lowest id; the pass has the lowest id of all.
        actions, cards = legal.action[legal.start], legal.cards[legal.start]
        rounds = self._rounds_of(view)
        playing = [i for i, number in enumerate(rounds) if number not in self._lost]
        for i, play in self._plays(view, playing, rounds) if playing else ():
            if isinstance(play, Failure):
                self._lost.add(rounds[i])
                self._forfeits.append(
                    Forfeit(int(view.games[i]), int(view.seat[i]), play.reason, play.detail)
                )
            else:
                actions[i], cards[i] = play
        return actions, cards

    def _plays(
        self, view: View, playing: list[int], rounds: list[int]
    ) -> Iterator[tuple[int, tuple[int, int] | Failure]]:
        """The action and the cards of each decision in `playing`, or why its round is forfeited."""
        requests = play_requests(view, playing, lambda i: (self._next_request(), rounds[i]))
        waiting = {request.number: request for request in requests}
        asked: Child | None = None
        while waiting:
            culprit = next(iter(waiting))
            try:
                child = self.start(view.rules)
                if child is not asked:
                    child.send(b"".join(encode(request.message) for request in waiting.values()))
                    asked = child
                culprit, answer = self._answer(child, waiting)
                play = validate_answer(waiting[culprit], answer.get("cards"), view)
                yield waiting.pop(culprit).decision, play
            except Failure as failure:
                if failure.broken:
                    self._kill(failure)
                yield waiting.pop(culprit).decision, failure

    def _answer(self, child: Child, waiting: Mapping[int, Request]) -> tuple[int, Message]:
        """The next answer to an open question, and the question's id."""
        deadline = time.monotonic() + self.limit_ms / 1000
        while True:
            answer = read_message(child.line(deadline))
            number = answer.get("id")
            if type(number) is not int or not 0 < number <= self._num_requests:
                raise no_question(answer)
            if number in waiting:
                return number, answer
            # Late answer to a forfeited round: ignored, but its time counts.
            if time.monotonic() > deadline:
                raise child.late()

    def _next_request(self) -> int:
        self._num_requests += 1
        return self._num_requests

    def _rounds_of(self, view: View) -> list[int]:
        """The number of each decision's round; it is constant until that round is over."""
        numbers = []
        deals = words_of(view.rules).deal_ids(view)
        decisions = zip(view.games.tolist(), view.seat.tolist(), deals, view.hand.tolist(), strict=True)
        for game, seat, deal, hand in decisions:
            if deal is None:  # a hand with a card that was not in the last one belongs to a new round
                last, deal = self._hands.get((game, seat), (0, -1))
                deal += bool(hand & ~last)
                self._hands[game, seat] = hand, deal
            numbers.append(self._rounds.setdefault((game, seat, deal), len(self._rounds) + 1))
        return numbers

    def start(self, rules: AnyRules) -> Child:
        """The program, started if it does not run or runs with other rules; `act` calls this.

        Raises:
            Failure: it does not start, or there are no restarts left.
        """
        if self._child is not None and self._rules not in (None, rules):
            self.close()
        if self._child is not None and self._rules is not None:
            return self._child
        child = self._child or self._launch()
        self._rules = rules
        child.send(encode(hello_message(rules, self.limit_ms)))
        try:
            line = child.line(time.monotonic() + self._patient(self.start_ms / 1000))
            answer = read_message(line)
        except Failure as failure:
            raise Failure("no handshake", f"{failure.reason}: {failure.detail}", broken=True) from None
        if answer.get("type") != "ready" or answer.get("version") != VERSION:
            detail = f"expected type 'ready' and version {VERSION}, got {shortened(line)}"
            raise Failure("no handshake", detail, broken=True)
        child.send(encode({"type": "reset", "seed": self._seed}))
        return child

    def _launch(self) -> Child:
        """The program, started; it has no rules yet.

        Raises:
            Failure: see `start`.
        """
        if not self._restarts_left:
            detail = f"it was started {self.restarts + 1} times; the last failure: {self._last_failure}"
            raise Failure("the program failed too often", detail)
        self._restarts_left -= 1
        try:
            child = Child(self.arguments)
        except OSError as error:
            raise Failure("the program does not start", str(error)) from None
        self._child, self._rules = child, None
        self._finalizer = weakref.finalize(self, child.stop)
        return child

    def check_start(self, rules: AnyRules) -> None:
        """Start the program, if it does not run, to see whether it can play by `rules`.

        Raises:
            ValueError: it does not start, or does not answer ``hello``.
        """
        try:
            self._prepare(rules)
        except Failure as failure:
            self._kill(failure)
            raise ValueError(f"{self.name} does not start: {failure.reason}: {failure.detail}") from None

    def _patient(self, seconds: float) -> float:
        """How long to wait where a limit is so many seconds."""
        return seconds

    def _prepare(self, rules: AnyRules) -> None:
        """Start it.

        Raises:
            Failure: see `start`.
        """
        self.start(rules)

    def _kill(self, failure: Failure) -> None:
        """End the program, because it has failed."""
        self._last_failure = f"{failure.reason}: {failure.detail}"
        if self._child is not None:
            self._finalizer.detach()
            self._child.stop(grace=0)
            self._child = None
