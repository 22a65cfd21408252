"""The one loop that plays rounds: it asks who waits, step by step, until no game waits.

    loop = RoundLoop(batch, agents, seats)
    for waiting in loop:
        loop.play(waiting.games, loop.answers(waiting))

Arena, rollouts, data sets and searches are bodies of this loop; they differ in what they record of a step.
Whoever asks an agent about a game that goes on does so here, or by `tienlen_env.engine.agent.choose` and
`choose_cards`, which check its answer. An agent that contains another passes on its answer, which is checked
then; who measures time or compiles ignores it. `tests/project/test_round_loop.py` lists the other loops:
tables with people (`Session`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.agent import Agent, choose
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.engine.view import View
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.common.arrays import IntArray, RewardArray


class Waiting(NamedTuple):
    """The decisions of a step.

    Attributes:
        games: int64 (n,), the games that wait, ascending.
        who: int64 (n,), the index of the agent that each waits for.
    """

    games: IntArray
    who: IntArray


class RoundLoop:
    """Games with an agent in each seat; an iteration gives the decisions that wait, until no game waits.

    The body of the loop must play all of them, once. Only the turns are read from the batch, so the body may
    do anything else with it.

    Args:
        batch: the games, dealt.
        agents: E agents, which are not reset. None: the body answers, or the first legal action is played.
        seats: int (B, P) or (P,), the agent in each seat, as indices into `agents`, not copied; bool for two.
        skip_forced: also play all decisions with one legal action that follow a play.
        copy: agents get copies of the states, and may keep their views; see `View`.

    Attributes:
        actions: int64 (B,), what was played last; -1 for games that did not wait. Without `skip_forced`.
        cards: int64 (B,), its exact cards; None if all actions played their lowest suits.
        rewards: float32 (B, P), the rewards of the last step.

    Raises:
        ValueError: seats of another shape, or with invalid indices.
        TienLenError: while it runs: a round does not end (`Game.max_decisions`).
    """

    def __init__(
        self,
        batch: Batch,
        agents: Sequence[Agent | None],
        seats: npt.ArrayLike,
        *,
        skip_forced: bool = False,
        copy: bool = True,
    ) -> None:
        self.batch, self.agents = batch, agents
        found, shape = np.asarray(seats), (batch.num_games, batch.num_players)
        if found.dtype == np.bool_:
            found = found.astype(np.int64)
        if found.shape not in (shape, shape[1:]) or ((found < 0) | (found >= len(agents))).any():
            raise ValueError(f"seats: expected {shape} indices of {len(agents)} agents")
        self._seats = np.broadcast_to(found, shape)
        self._skip_forced, self._copy = skip_forced, copy
        self._most = batch.game.max_decisions(batch.rules)
        self.actions = np.full(batch.num_games, NO_ACTION)
        self.cards: IntArray | None = None
        self.rewards: RewardArray = np.zeros(shape, np.float32)

    def __iter__(self) -> Iterator[Waiting]:
        for step in count(1):
            waiting = self.waiting()
            if not len(waiting.games):
                return
            if step > self._most:
                self._refuse(step)
            yield waiting

    def run(self) -> None:
        """Let the agents play until no game waits: the loop above without a body, in less time."""
        waiting, step = self.waiting(), 1
        while len(waiting[0]):
            if step > self._most:
                self._refuse(step)
            self.play(waiting[0], self.answers(waiting))
            waiting, step = self.waiting(), step + 1

    def _refuse(self, step: int) -> None:
        names = ", ".join(repr(agent.name) for agent in self.agents if agent is not None)
        self.batch.game.check_decisions(self.batch.rules, step, names)

    def waiting(self) -> Waiting:
        """The decisions of the next step; no games: the loop ends."""
        turn = self.batch.turn
        games = np.flatnonzero(turn >= 0)
        return Waiting(games, self._seats[games, turn[games]])

    def by_agent(self, waiting: Waiting) -> Iterator[tuple[int, IntArray]]:
        """For each agent that a game waits for its index, ascending, and int64 (m,), these games."""
        for index in range(len(self.agents)):
            mine = waiting.games[waiting.who == index]
            if mine.size:
                yield index, mine

    def answers(self, waiting: Waiting) -> IntArray:
        """int64 (n,): the actions of all agents, one question for each agent; see `ask`."""
        games, who = waiting
        if len(games) == 1 or np.count_nonzero(who == who[0]) == len(games):
            return self.ask(who[0], games)
        actions = np.empty(len(games), np.int64)
        for index in range(len(self.agents)):
            mine = np.flatnonzero(who == index)
            if mine.size:
                actions[mine] = self.ask(index, games[mine])
        return actions

    def ask(self, index: int, games: IntArray) -> IntArray:
        """int64 (n,): the actions of an agent in some games; the first legal ones if it is None.

        Raises:
            AnswerError: its answer is not an action for each game.
            AgentError: it tried to end the program.
        """
        agent = self.agents[index]
        if agent is None:
            return self.batch.first_legal(games)
        return choose(agent, View(self.batch, games, copy=self._copy))

    def play(self, games: IntArray, actions: IntArray, cards: IntArray | None = None) -> None:
        """Play an action in each game that waits.

        Args:
            games: int64 (n,), the games.
            actions: int64 (n,), a legal action for each.
            cards: int64 (n,), exact card masks, without `skip_forced`; None: the lowest suits.

        Raises:
            IllegalPlayError: an action or cards that are not legal; it names the agent, no game has moved.
        """
        try:
            self._advance(games, actions, cards)
        except IllegalPlayError as error:
            agent = self.agents[int(self._seats[error.game, self.batch.turn[error.game]])]
            if agent is None:
                raise
            raise error.worded(f"agent {agent.name!r} played against the rules: {error}") from error

    def _advance(self, games: IntArray, actions: IntArray, cards: IntArray | None) -> None:
        if self._skip_forced:
            self.rewards.fill(0)
            self.batch.step_games(games, actions, self.rewards)
            return
        self.actions.fill(NO_ACTION)
        self.actions[games] = actions
        if cards is not None:
            self.cards = np.zeros(len(self.actions), np.int64) if self.cards is None else self.cards
            self.cards[games] = cards
        self.rewards, _ = self.batch.step(self.actions, None if cards is None else self.cards)
