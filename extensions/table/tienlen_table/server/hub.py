"""All games of a server: makes them, finds them by their tokens, and keeps the live ones in memory."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import numpy.typing as npt

import tienlen_agents
from tienlen_agents.networks.shipped import ShippedNetworks, can_play
from tienlen_env.engine.agent import Agent, FallibleAgent, check_plays, choose_cards, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.errors import RulesError, expected_one_of
from tienlen_env.games.registry import PRESETS, game_of, games, get_rules
from tienlen_env.single.session import Session
from tienlen_env.texts import printable
from tienlen_table.server.messages import Create, MessageError
from tienlen_table.server.store import Store
from tienlen_table.server.table import PERSON, ServedTable

# What a client may seat unless the command line says otherwise: no files and no programs.
AGENTS: Final = ("random", "greedy", "heuristic", "champion", "search", "trickster")
STAND_INS: Final = ("heuristic", "trickster", "random")  # play for people who are away
MAX_LIVE: Final = 1000  # games in memory; others are read again when they are needed
MAX_PROGRAMS: Final = 32  # at the tables that people look at
_THREADS: Final = 16
_QUICK: Final = 0.002  # seconds of a choice; a change of threads can cost more
_NUM_TIMES: Final = 32  # choices that are remembered
_FOLDERS: Final = re.compile(r"[^\s:,=]*[/\\]")


class SharedAgent:
    """An agent that plays at several tables, one decision after the other."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._lock = threading.Lock()
        self._times: deque[float] = deque(maxlen=_NUM_TIMES)
        self.name = agent.name
        self.history = int(getattr(agent, "history", 0))
        if plays := getattr(agent, "plays", ""):  # for agents of all games there is no such attribute
            self.plays = plays

    def reset(self, seed: int) -> None:
        """See `Agent.reset`."""
        self._agent.reset(seed)

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """See `Agent.act`."""
        return self.act_cards(view)[0]

    def act_cards(self, view: View) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """See `CardAgent.act_cards`."""
        with self._lock:
            begin = time.thread_time()
            try:
                return choose_cards(self._agent, view)
            finally:
                self._times.append(time.thread_time() - begin)

    @property
    def is_quick(self) -> bool:
        """Whether its last choices took so little processor time that it needs no thread of its own."""
        return len(self._times) == _NUM_TIMES and max(self._times) < _QUICK


def label_of(name: str, given: str = "") -> str:
    """The name of an agent as people see it: without the command of a program and the folders of a file.

    Args:
        name: the text that loads it.
        given: its own name; that of a program is shown, unless it is the command as well.
    """
    if "process:" not in name:
        return printable(_FOLDERS.sub("", name))
    return printable(given) if given and "process:" not in given else "program"


class Hub:
    """All games of a server.

    Args:
        store: where the games are.
        agents: the names of the agents that a client may seat, as `tienlen_agents.load` reads them.

    Attributes:
        labels: by name, what people see and choose.

    Raises:
        ValueError: a name that `load` does not know.
    """

    def __init__(self, store: Store, agents: Sequence[str] = AGENTS) -> None:
        self.store = store
        self.agents = tuple(dict.fromkeys(agents))
        self._executor = ThreadPoolExecutor(_THREADS, "agent")
        self._live: dict[int, ServedTable] = {}
        self._shared: dict[str, Agent] = {}
        self._networks: dict[str, ShippedNetworks] = {}
        self.labels: dict[str, str] = {}
        for name in self.agents:
            label = first = label_of(name, self._load(name).name)
            number = 1
            while label in self.labels.values():
                number += 1
                label = f"{first} {number}"
            self.labels[name] = label

    def prepare(self) -> None:
        """Let every agent of the first game choose once, so that nothing is compiled while people wait.

        What the others need is compiled when their first table is made: once for an installation.

        Raises:
            ValueError: an agent that cannot play, such as a policy for other observations.
        """
        for game in list(games())[:1]:
            rules = next(iter(game.presets.values()))
            agents = [self._load(name) for name in self.agents]
            agents = [agent for agent in agents if getattr(agent, "plays", game.name) == game.name]
            adviser = self._adviser(rules.name)
            history = history_of([*agents, *([adviser] if adviser else [])])
            session = Session(rules, 0, history_length=history)
            for agent in agents:
                if not isinstance(agent, FallibleAgent):  # a program is started when it is seated
                    choose_cards(agent, session.agent_view())
            if adviser is not None:
                adviser.log_probabilities(session.agent_view())
            session.apply(session.legal[0])
            session.undo()

    def _load(self, name: str) -> Agent:
        """An agent; those that keep facts of a game, such as programs, are made anew for each seat."""
        if name not in self._shared:
            agent = tienlen_agents.load(name)
            agent.reset(secrets.randbits(32))
            if isinstance(agent, FallibleAgent):
                return agent
            self._shared[name] = SharedAgent(agent)
        return self._shared[name]

    def _adviser(self, rules: str) -> ShippedNetworks | None:
        if not can_play(get_rules(rules)):
            return None
        return self._networks.setdefault(rules, ShippedNetworks())

    def create(self, message: Create) -> list[tuple[str, int | None]]:
        """Make a game.

        Returns:
            The token of each seat of a person, and that of observers (seat None).

        Raises:
            MessageError: unknown rules or agents, or a wrong number of seats; nothing has been made.
        """
        if message.rules not in PRESETS:
            raise MessageError("rules", f"rules: {expected_one_of(message.rules, PRESETS)}")
        try:
            rules = get_rules(message.rules, len(message.seats))
        except RulesError as error:
            raise MessageError("seats", str(error)) from None
        if message.num_rounds == 0 and PERSON not in message.seats:
            raise MessageError("seats", "num_rounds: without a person this game has no end")
        names = {label: name for name, label in self.labels.items()} | {PERSON: PERSON}
        if not names.keys() >= set(message.seats):
            raise MessageError("agent", f"agents here: {', '.join((PERSON, *self.labels.values()))}")
        names_of_seats = [names[label] for label in message.seats]
        try:
            check_plays([self._load(n) for n in names_of_seats if n != PERSON], Batch(rules, 1))
        except ValueError as error:
            raise MessageError("agent", str(error)) from None
        seats: list[int | None] = [seat for seat, name in enumerate(message.seats) if name == PERSON]
        tokens = [(secrets.token_urlsafe(24), seat) for seat in [*seats, None]]
        self.store.add(
            message.rules,
            secrets.randbits(64) - (1 << 63),
            names_of_seats,
            tokens,
            whole_game=message.whole_game,
            num_rounds=message.num_rounds if message.whole_game else None,
            pause=message.pause,
        )
        return tokens

    def find(self, token: str) -> tuple[ServedTable, int | None]:
        """The game and the seat of a token; the game is read from the store if it is not in memory.

        Raises:
            MessageError: there is none.
        """
        found = self.store.find(token)
        if found is None:
            raise MessageError("token", "there is no such seat")
        number, seat = found
        table = self._live.pop(number, None) or self._read(number)
        self._live[number] = table  # the last is the one used last
        if len(self._live) > MAX_LIVE:
            self._forget()
        return table, seat

    def _read(self, number: int) -> ServedTable:
        stored = self.store.load(number)
        unknown = [name for name in stored.seats if name != PERSON and name not in self.agents]
        if unknown:
            labels = ", ".join(map(label_of, unknown))
            raise MessageError("agent", f"the server was started without {labels}")
        agents = [None if name == PERSON else self._load(name) for name in stored.seats]
        running = sum(table.num_programs for table in self._live.values() if table.listeners)
        own = sum(isinstance(agent, FallibleAgent) for agent in agents)
        if own and running + own > MAX_PROGRAMS:
            raise MessageError("busy", f"{running} programs play here already: close another table first")
        names = [self.labels.get(name, name) for name in stored.seats]
        game = game_of(get_rules(stored.rules)).name
        stand_ins = [name for name in STAND_INS if name in self.agents]
        stand_in = next((a for a in map(self._load, stand_ins) if getattr(a, "plays", game) == game), None)
        adviser = self._adviser(stored.rules)
        return ServedTable(stored, self.store, names, agents, adviser, self._executor, stand_in)

    def again(self, table: ServedTable, seat: int | None) -> None:
        """Begin another game at a table, with the same seats and links.

        Raises:
            MessageError: an observer asks, or the game is not over.
        """
        if seat is None or not table.session.is_over:
            raise MessageError("again", "players begin another game when this one is over")
        del self._live[table.id]
        table.begin(self.store.load(self.store.again(table.id, secrets.randbits(64) - (1 << 63))))
        self._live[table.id] = table

    def _forget(self) -> None:
        """Remove the game that was not looked at for longest from memory."""
        for number, table in self._live.items():
            if not table.listeners:
                table.stop()
                del self._live[number]
                return

    def close(self) -> None:
        """Stop all agents and close the store."""
        for table in self._live.values():
            table.stop()
        self._executor.shutdown(cancel_futures=True)
        self.store.close()
