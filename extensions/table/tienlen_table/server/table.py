"""One game at the server: its seats, who may do what, and what each seat gets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any, Final, Protocol

import numpy as np

from tienlen_agents.external.process import notice_of
from tienlen_env.engine.agent import Agent, FallibleAgent, ScoringAgent, history_of
from tienlen_env.engine.backends.per_game import card_check
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.facts import Json
from tienlen_env.single.base import AnyPlay, AnyRound, Facts, round_type
from tienlen_env.single.game import Game
from tienlen_env.single.session import Session
from tienlen_env.texts import printable
from tienlen_table import machine
from tienlen_table.machine import TableEvent, TablePlayer, TableRefusal
from tienlen_table.server.messages import MessageError
from tienlen_table.server.store import Store, Stored
from tienlen_table.words import table_words_of

PERSON: Final = "human"
AWAY_SECONDS: Final = 20.0  # then an agent plays for a person who was there
READY_SECONDS: Final = (
    20.0  # then the next round is dealt, although not all who are present have asked for it
)
LINGER_SECONDS: Final = 1.5  # in which who watches agents sees the end of a round
REFUSALS: Final = {  # the code and the sentence of an error
    TableRefusal.OVER: ("over", "the game is over"),
    TableRefusal.WAITING: ("waiting", "the next round has not begun"),
    TableRefusal.TURN: ("turn", "it is not your turn"),
    TableRefusal.POSITION: ("turn", "the position has changed"),
    TableRefusal.SEAT: ("turn", "only players may do that"),
    TableRefusal.UNDO: ("undo", "only moves against agents can be taken back"),
    TableRefusal.ROUND: ("end", "a game can be ended between two rounds only"),
}
MAX_NAME: Final = 24  # characters
ABANDONED_SECONDS: Final = 10.0  # programs of a table end after this time without a listener
logger = logging.getLogger(__name__)


class Listener(Protocol):
    """A connection that gets the messages of a game.

    Attributes:
        seat: the seat whose information it gets; None for an observer.
        num_events: the number of events that it has.
        name: of the person; empty for none.
    """

    seat: int | None
    name: str
    num_events: int

    def send(self, message: Facts) -> None:
        """Send a message, at once or a little later, in order."""


class ServedTable:
    """A game that is played.

    All methods are called in one event loop. Moves are serialised by a lock, agents think in threads.

    Args:
        stored: the game.
        store: where its plays go.
        names: by seat, as people see them.
        agents: by seat; None for a person.
        adviser: for hints; None for none.
        executor: runs the agents.
        stand_in: plays for people who are away; None: the table waits.

    Raises:
        TienLenError: the stored plays are not legal.
    """

    def __init__(
        self,
        stored: Stored,
        store: Store,
        names: Sequence[str],
        agents: Sequence[Agent | None],
        adviser: ScoringAgent | None,
        executor: Executor,
        stand_in: Agent | None = None,
    ) -> None:
        self.names = tuple(names)
        self._away: dict[int, asyncio.TimerHandle] = {}
        self._stand_in = stand_in
        self.listeners: set[Listener] = set()
        self._store = store
        self._agents = agents
        self._adviser = adviser
        self._executor = executor
        self._pause = stored.pause / 1000
        self._lock = asyncio.Lock()
        self._driver: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._notices: list[str] = []
        self._numbers = [0] * machine.NUM_NUMBERS
        self._numbers[machine.PEOPLE] = sum(1 << seat for seat in self.people)
        self.begin(stored)

    def begin(self, stored: Stored) -> None:
        """Begin with a stored game: the first one, or another one with the same seats."""
        others = [agent for agent in (self._stand_in, self._adviser) if agent is not None]
        bots = [agent for agent in self._agents if agent is not None]
        self.id, self._names_of_people = stored.id, stored.people
        self.session = Session(
            stored.rules,
            stored.key,
            num_players=len(self._agents),
            whole_game=stored.whole_game,
            num_rounds=stored.num_rounds,
            history_length=history_of([*bots, *others]),
        )
        for text in stored.plays:
            self.session.apply(text)
        if stored.is_ended:
            self.session.end()
        self._numbers[machine.ROUNDS_SEEN] = stored.rounds_seen
        self._numbers[machine.IS_ENDED] = int(stored.is_ended)
        self._react(TableEvent.LOOK)
        if not self.people:
            self._react(TableEvent.TIME, None, self.num_rounds)
        for listener in self.listeners:
            listener.num_events = 0
        if self.listeners:
            self._tell_and_drive()

    # ------------------------------------------------------------ what all may know

    @property
    def people(self) -> list[int]:
        """The seats of people."""
        return [seat for seat, agent in enumerate(self._agents) if agent is None]

    @property
    def num_programs(self) -> int:
        """The number of seats that programs play."""
        return sum(isinstance(agent, FallibleAgent) for agent in self._agents)

    @property
    def num_rounds(self) -> int:
        """The number of finished rounds."""
        return self.session.round.round_index + self.session.is_over

    @property
    def is_waiting(self) -> bool:
        """Whether a round is over and a person has to go on."""
        return bool(self._numbers[machine.IS_WAITING])

    def _react(self, event: TableEvent, seat: int | None = None, number: int = 0) -> TableRefusal:
        """Let the state machine react to an event; see `tienlen_table.machine.react`."""
        session = self.session
        plays = [machine.SEATS * number + seat for number, seat in session.turns]
        given = [len(plays), self.num_rounds, int(session.is_over), session.turn]
        self._numbers[machine.NUM_PLAYS : machine.NUM_GIVEN] = given
        machine.react(self._numbers, plays, TableEvent.LOOK, -1, 0)
        return TableRefusal(machine.react(self._numbers, plays, event, -1 if seat is None else seat, number))

    def _ask(self, event: TableEvent, seat: int | None, number: int = 0) -> None:
        """As `_react`.

        Raises:
            MessageError: the event is refused; nothing has changed.
        """
        self._check(self._react(event, seat, number))

    def _check(self, refusal: TableRefusal) -> None:
        """Raise the error of a refusal, if it has one."""
        if refusal == TableRefusal.HOST:
            raise MessageError("end", f"the person at seat {self._numbers[machine.HOST] + 1} ends the game")
        if refusal in REFUSALS:
            raise MessageError(*REFUSALS[refusal])

    def _has(self, seats: int, seat: int | None) -> bool:
        """Whether a mask of the state machine has a seat."""
        return seat is not None and bool(self._numbers[seats] >> seat & 1)

    def view(self, seat: int | None, since: int = 0) -> Facts:
        """The message ``view`` of a seat: `Session.view`, and facts about the table.

        Args:
            seat: the seat, None for an observer.
            since: the number of events to leave out.
        """
        session = self.session
        since = since if since <= len(session.events) else 0
        ready: list[Json] = [number for number in self.people if self._has(machine.READY, number)]
        seats: list[Json] = [
            {
                "name": self._names_of_people.get(number, printable(name)),
                "is_person": agent is None,
                "is_here": agent is not None or self._has(machine.HERE, number),
                **({"stand_in": self._stand_in.name} if self._stand_in and self._is_away(number) else {}),
            }
            for number, (name, agent) in enumerate(zip(self.names, self._agents, strict=True))
        ]
        return {
            "type": "view",
            "since": since,
            "turn": len(session.plays),
            "seats": seats,
            "target": int(getattr(session.rules, "target", 0)) if session.whole_game else 0,
            "has_no_end": session.num_rounds == 0,
            "waiting": self.is_waiting,
            "ready": ready,
            "can_end": seat is not None and seat == self._numbers[machine.HOST],
            "can_undo": self._has(machine.PEOPLE, seat) and self._numbers[machine.UNDO_TO] >= 0,
            "has_hints": self._adviser is not None,
            "notices": list(self._notices),
            **session.view(seat, since),
        }

    def tell(self, listener: Listener) -> None:
        """Send a listener what is new."""
        message = self.view(listener.seat, listener.num_events)
        listener.num_events = len(self.session.events)
        listener.send(message)

    def tell_all(self) -> None:
        """Send all listeners what is new."""
        for listener in list(self.listeners):
            self.tell(listener)

    # ------------------------------------------------------------ listeners

    def enter(self, listener: Listener) -> None:
        """Add a listener."""
        self.listeners.add(listener)
        if listener.seat is not None:
            if timer := self._away.pop(listener.seat, None):
                timer.cancel()
            self._react(TableEvent.ENTER, listener.seat)
            name = printable(listener.name.strip())[:MAX_NAME]
            if name and name != self._names_of_people.get(listener.seat):
                self._names_of_people[listener.seat] = name
                self._store.name(self.id, listener.seat, name)
        self._tell_and_drive()

    def leave(self, listener: Listener) -> None:
        """Remove a listener. Programs of a table without listeners end a little later."""
        self.listeners.discard(listener)
        if listener.seat is not None and all(other.seat != listener.seat for other in self.listeners):
            loop = asyncio.get_running_loop()
            self._away[listener.seat] = loop.call_later(AWAY_SECONDS, self._is_gone, listener.seat)
            self._go_on(TableEvent.LEAVE, listener.seat)
        self.tell_all()
        if self.num_programs and not self.listeners:
            loop = asyncio.get_running_loop()
            loop.call_later(ABANDONED_SECONDS, lambda: self._tasks.add(loop.create_task(self._rest())))

    def _is_gone(self, seat: int) -> None:
        """A person has left the others waiting for so long that an agent plays."""
        self._react(TableEvent.AWAY, seat)
        self._tell_and_drive()

    def _is_away(self, seat: int) -> bool:
        """Whether an agent plays for a person, because others are here."""
        return self._has(machine.AWAY, seat) and self._numbers[machine.HOST] >= 0

    def _tell_and_drive(self) -> None:
        """Tell all what is new, and let agents play."""
        self.tell_all()
        self.drive()

    # ------------------------------------------------------------ moves of people

    async def play(self, seat: int | None, turn: int, text: str) -> None:
        """Play for a seat. A move that has been made already, sent again after a lost connection, is ignored.

        Raises:
            MessageError: it is not this seat's turn, or the move is not legal; nothing has changed.
        """
        async with self._lock:
            refusal = self._react(TableEvent.PLAY, seat, turn)
            if refusal != TableRefusal.REPEATED:
                self._check(refusal)
                try:
                    self._apply(text)
                except TienLenError as error:
                    raise MessageError("illegal", printable(str(error))) from None
        self._tell_and_drive()

    def _apply(self, move: str | AnyPlay) -> None:
        """Play for the current seat, and store it."""
        session = self.session
        number = len(session.plays)
        session.apply(move)
        text = next(event["text"] for event in reversed(session.events) if event["type"] == "play")
        try:
            self._store.add_play(self.id, number, str(text))
        except BaseException:
            session.undo()  # what is not stored has not happened
            raise
        self._react(TableEvent.LOOK)
        if session.is_over:
            self._store.finish(self.id, session.record())
        elif self.is_waiting and not self.people:
            self._close_later()

    def _close_later(self) -> None:
        """Let who watches agents see the end of a round, unless they play without a pause."""
        if self._pause:
            loop = asyncio.get_running_loop()
            loop.call_later(LINGER_SECONDS, self._go_on, TableEvent.TIME, None, self.num_rounds)
        else:
            self._react(TableEvent.TIME, None, self.num_rounds)

    def _ask_turn(self, seat: int | None, turn: int) -> None:
        """A question about a turn is refused where a play is, and about a turn that is over."""
        self._ask(TableEvent.PLAY, seat, turn)
        if turn != len(self.session.plays):
            raise MessageError(*REFUSALS[TableRefusal.POSITION])

    def select(self, seat: int | None, turn: int, text: str) -> Facts:
        """Whether selected cards are a legal move, and whether cards can be added to make another one.

        Raises:
            MessageError: it is not this seat's turn, or the text does not name cards.
        """
        self._ask_turn(seat, turn)
        session = self.session
        try:
            cards = session.batch.game.text.parse_cards(text) if text else 0
        except TienLenError as error:
            raise MessageError("illegal", printable(str(error))) from None
        legal, more = selection(session, cards)
        why = -1 if legal else refusal(session, cards)
        found: Facts = {"legal": legal, "more": more, "why": why}
        return {"type": "selection", "turn": turn, "cards": text, **found}

    async def undo(self, seat: int | None) -> None:
        """Take the last move of a person back, and all moves of agents after it.

        Raises:
            MessageError: another person plays, or nothing has been played.
        """
        async with self._lock:
            before = self._numbers.copy()
            self._ask(TableEvent.UNDO, seat)
            back = before[machine.UNDO_TO]
            try:  # first the file: what is not stored has not happened
                self._store.cut(self.id, back, self._numbers[machine.ROUNDS_SEEN])
            except BaseException:
                self._numbers = before
                raise
            self.session.undo(len(self.session.plays) - back)
            self._react(TableEvent.LOOK)
            for listener in self.listeners:
                listener.num_events = 0
        self._tell_and_drive()

    async def go_on(self, seat: int | None) -> None:
        """A person has seen the result: the next round is dealt when all who are here have, or after a time.

        Raises:
            MessageError: an observer asks.
        """
        is_first = self._numbers[machine.READY] == 0
        self._ask(TableEvent.NEXT, seat)
        self._store_seen()
        if self.is_waiting and is_first:
            loop = asyncio.get_running_loop()
            loop.call_later(READY_SECONDS, self._go_on, TableEvent.TIME, None, self.num_rounds)
        self._tell_and_drive()

    def _go_on(self, event: TableEvent, seat: int | None, number: int = 0) -> None:
        """An event after which the next round may begin."""
        was_waiting = self.is_waiting
        self._react(event, seat, number)
        if was_waiting and not self.is_waiting:
            self._store_seen()
            self._tell_and_drive()

    def _store_seen(self) -> None:
        self._store.cut(self.id, len(self.session.plays), self._numbers[machine.ROUNDS_SEEN])

    async def end(self, seat: int | None) -> None:
        """End the game after the round that is over; the first person at the table may.

        Raises:
            MessageError: another one asks, no round is over, or the next one has begun.
        """
        async with self._lock:
            self._ask(TableEvent.END, seat)
            self.session.end()
            self._react(TableEvent.LOOK)
            self._store.finish(self.id, self.session.record(), is_ended=True)
        self._tell_and_drive()

    async def hint(self, seat: int | None, turn: int) -> Facts:
        """The probability of each legal play by the champion's network.

        Raises:
            MessageError: it is not this seat's turn, or no network plays these rules.
        """
        adviser = self._adviser
        if adviser is None:
            raise MessageError("hint", "there are no hints for these rules")
        async with self._lock:
            self._ask_turn(seat, turn)
            legal, view = self.session.legal, self.session.agent_view()
            loop = asyncio.get_running_loop()
            logarithms = await loop.run_in_executor(self._executor, adviser.log_probabilities, view)
        batch = self.session.batch
        plays: list[Json] = [
            {
                "text": batch.game.text.play_text(batch.action_table, play.action, play.cards),
                "id": play.action,
                "probability": float(np.exp(logarithm)),
            }
            for play, logarithm in zip(legal, logarithms.tolist(), strict=True)
        ]
        return {"type": "hint", "turn": turn, "plays": plays}

    def record(self) -> Facts:
        """The records of the finished rounds.

        The key of a game deals all its rounds, so before the end the records have the hands instead.
        """
        session = self.session
        if session.is_over:
            lines = session.record().splitlines()
        else:
            finished = session.game.records if isinstance(session.game, Game) else []
            kind = round_type(session.rules)
            lines = [with_hands(kind.from_record(line, session.rules)) for line in finished]
        found: list[Json] = list(lines)
        return {"type": "record", "lines": found}

    # ------------------------------------------------------------ agents

    def drive(self) -> None:
        """Let agents play until a person has to, in the background."""
        if self._driver is None or self._driver.done():
            self._driver = asyncio.get_running_loop().create_task(self._drive())

    def stop(self) -> None:
        """Stop the agents, and end their programs."""
        if self._driver is not None:
            self._driver.cancel()
        self._end_programs()

    def _end_programs(self) -> None:
        """A program that has to choose again is started again."""
        for agent in self._agents:
            if close := getattr(agent, "close", None):
                close()

    async def _rest(self) -> None:
        """End the programs if no page shows the game, or it is over; waits for a choice under way."""
        self._tasks = {task for task in self._tasks if not task.done()}
        async with self._lock:
            if self.num_programs and (self.session.is_over or not self.listeners):
                await asyncio.get_running_loop().run_in_executor(self._executor, self._end_programs)

    async def _drive(self) -> None:
        is_told = True
        while self.listeners:  # without people or observers agents wait
            if self._pause:
                await asyncio.sleep(self._pause)
            async with self._lock:
                session = self.session
                seat, player = session.turn, self._numbers[machine.PLAYER]
                agent = self._agents[seat] if player == TablePlayer.AGENT else None
                if player == TablePlayer.STAND_IN:
                    agent = self._stand_in
                if agent is None:
                    break
                is_quick = bool(getattr(agent, "is_quick", False))
                if not is_quick and not is_told:
                    self.tell_all()
                    is_told = True
                try:
                    if is_quick:  # a change of threads takes longer
                        self._apply(self._choose(agent))
                    else:
                        loop = asyncio.get_running_loop()
                        self._apply(await loop.run_in_executor(self._executor, self._choose, agent))
                except Exception:  # of an agent's own code; the game stays as it is
                    # Its text may have a hidden hand or the command of a program, so it is in the log only.
                    self._notice(seat, "has failed: the game cannot go on")
                    self.tell_all()
                    logger.exception("game %d: %s failed", self.id, self.names[seat])
                    return
            # Without a pause, plays of quick agents are sent together when another seat is to play.
            is_told = not is_quick or self._pause > 0 or not self.people
            if is_told:
                self.tell_all()
            await asyncio.sleep(0)
        if not is_told:
            self.tell_all()
        if self.session.is_over:
            await self._rest()

    def _notice(self, seat: int, text: str) -> None:
        self._notices.append(f"{printable(self.names[seat])} {text}")
        del self._notices[:-5]

    def _choose(self, agent: Agent) -> AnyPlay:
        play = self.session.ask(agent)
        if isinstance(agent, FallibleAgent):
            for forfeit in agent.take_forfeits():
                self._notice(self.session.turn, notice_of(agent, forfeit))
        return play


def selection(session: Session, cards: int) -> tuple[bool, bool]:
    """Whether cards of the hand to act are a legal move, and whether others can be added to make another one.

    Args:
        session: the game.
        cards: a mask.
    """
    legal, game = session.legal, session.batch.game
    words = table_words_of(session.rules)
    row, options, fields = (array.tolist() for array in session.batch.kernel_arrays)
    row = row[0]
    is_held = cards != 0 and cards & ~row[game.columns.hand + session.turn] == 0
    is_refused = card_check(game)
    actions = [play.action for play in legal]
    if words.find_action is not None:
        actions = [words.find_action(options, fields, cards)] if is_held else []
    is_legal = is_held and any(a >= 0 and not is_refused(row, options, fields, a, cards) for a in actions)
    more = any(words.can_extend(fields, play.action, play.cards, cards) for play in legal)
    return is_legal, more


def refusal(session: Session, cards: int) -> int:
    """The number of the reason why cards of the hand to act are refused (`TableWords.reasons`); -1: none."""
    words = table_words_of(session.rules)
    if words.find_action is None or words.reason is None:
        return -1
    rows, spec, actions = session.batch.kernel_arrays
    action = words.find_action(spec.tolist(), actions.tolist(), cards)
    return words.reason(rows[0].tolist(), spec.tolist(), actions.tolist(), action, cards)


def with_hands(played: AnyRound) -> str:
    """The record of a round with its hands instead of its key."""
    leader = played.leader
    dealt = type(played)(played.rules, played.key, round_index=played.round_index, leader=leader)
    hands = [int(dealt.hand(seat)) for seat in range(dealt.num_players)]
    new: Any = type(played).from_hands(played.rules, hands, leader=leader, backend=played.backend)
    for play in played.plays:
        new.play(play)
    return str(new.record())
