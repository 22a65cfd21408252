"""What an agent is, and what it may see.

Agents decide for many games at once: a `View` holds n decisions that wait, and `Agent.act` answers with n
action ids. A `View` gives only what the player to move knows, so an agent cannot look at other hands.

Three extensions are optional: a `CardAgent` chooses the very cards of its plays; a `FallibleAgent` (another
program) may fail to answer and reports it; a `ScoringAgent` says how likely it is to take each action, which
lets a search stand on it. `choose_cards` asks any agent, card by card.

An agent that looks back over the round has an attribute ``history``, the number of plays and passes that it
wants to see (`View.last_plays`); `history_of` tells how many a batch must keep. Where a batch keeps fewer,
the agent must do with those.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from tienlen_env.core.cards import FULL_DECK
from tienlen_env.core.definition import TIENLEN
from tienlen_env.engine import Batch, LegalActions
from tienlen_env.errors import WrongGameError

IntArray = npt.NDArray[np.int64]


class View:
    """n decisions of one variant, each seen by the player who must take it.

    Everything is computed when first asked for. Seats are relative to the player to move: 0 is that player,
    1 the next, ...; card sets are int64 masks (`tienlen_env.core.cards`). What is said to be of Tiến lên
    raises `WrongGameError` in another game; all that is public is in `public_state`, whatever the game.

    Args:
        batch: the games.
        games: int64 (n,), which of them, or bool (B,), a mask; None for all. Their state is copied.

    Raises:
        ValueError: games of another shape or type, or that are not there.
    """

    def __init__(self, batch: Batch, games: npt.ArrayLike | None = None) -> None:
        copy = batch.copy() if games is None else batch.select(games)
        self._look_at(copy, np.arange(copy.num_games), games)
        self._batch = copy

    @classmethod
    def in_place(cls, batch: Batch, games: IntArray) -> Self:
        """A view for agents that are asked before the batch moves: it copies nothing until that is needed.

        Args:
            batch: the games.
            games: int64 (n,), which of them, each in 0..B-1.

        Raises:
            ValueError: games of another shape or type, or that are not there.
        """
        games = batch._indices(games)
        view = cls.__new__(cls)
        view._look_at(batch, games, games)
        return view

    def _look_at(self, batch: Batch, indices: IntArray, games: npt.ArrayLike | None) -> None:
        self._source = batch, indices
        self._seat: IntArray = batch.state.turn[indices]
        self._games = games
        self.rules: Any = batch.rules
        self.table: Any = batch.table

    def __len__(self) -> int:
        return len(self._seat)

    @cached_property
    def _batch(self) -> Batch:
        batch, games = self._source
        return batch.select(games)

    @property
    def source(self) -> tuple[Batch, IntArray]:
        """The decisions as they lie in memory, for compiled code: a batch and int64 (n,), which of its games.

        The rows are whole: whoever reads them takes of the other hands no more than their numbers of cards,
        and nothing of what else is hidden.
        """
        return self._source

    def select(self, decisions: npt.ArrayLike) -> View:
        """The view of some of these decisions, by their indices."""
        batch, games = self._source
        some = View(batch, games[np.asarray(decisions)])
        some._games = self.games[np.asarray(decisions)]
        return some

    @property
    def games(self) -> IntArray:
        """int64 (n,): each decision's game, as an index into the batch; for agents that remember games."""
        every: IntArray = np.arange(len(self)) if self._games is None else np.array(self._games)
        return np.flatnonzero(every) if every.dtype == np.bool_ else every.astype(np.int64)

    @property
    def seat(self) -> IntArray:
        """int64 (n,): the absolute seat to move."""
        return self._seat.copy()

    @cached_property
    def _relative(self) -> IntArray:
        seats = np.arange(self.rules.num_players)
        relative: IntArray = (self._seat[:, None] + seats) % self.rules.num_players
        return relative

    @property
    def _tienlen(self) -> Any:
        """The state, for what only Tiến lên has."""
        if self._batch.definition is not TIENLEN:
            raise WrongGameError(f"this agent plays Tiến lên, not the {self.rules.name} rules")
        return self._batch.state

    @cached_property
    def observation(self) -> npt.NDArray[np.uint8]:
        """uint8 (n, O): the flat observation, pieces as in `Batch.layout`."""
        return self._batch.observe()

    @cached_property
    def action_mask(self) -> npt.NDArray[np.int8]:
        """int8 (n, A): 1 = legal."""
        return self._batch.legal_mask()

    @cached_property
    def num_legal(self) -> IntArray:
        """int64 (n,): number of legal actions."""
        return self._batch.num_legal()

    @cached_property
    def legal_actions(self) -> LegalActions:
        """All legal actions, ragged, with the cards each would play."""
        return self._batch.legal_actions()

    @cached_property
    def public_rows(self) -> IntArray:
        """int64 (n, ROW): the states (absolute seats), what is hidden being 0.

        Hidden are the other hands, the key of the deal and what else nobody may know (``HIDDEN`` in
        `tienlen_env.core.state` and `tienlen_env.thirteens.state`); a search fills them in.
        """
        columns = self._batch.definition.state
        rows = self._batch.rows.copy()
        rows[:, columns.HIDDEN] = 0
        rows[np.arange(len(rows)), columns.HAND + self._seat] = self.hand
        return rows

    @cached_property
    def public_state(self) -> Any:
        """`public_rows` as the game's `State`: named views, absolute seats."""
        state = self._batch.state
        return type(state)(self.public_rows, state.num_players, state.num_words)

    @cached_property
    def hand(self) -> IntArray:
        """int64 (n,): own cards."""
        return np.take_along_axis(self._batch.state.hands, self._seat[:, None], axis=1)[:, 0]

    @cached_property
    def played(self) -> IntArray:
        """int64 (n, P): cards played this round, relative seats."""
        return np.take_along_axis(self._batch.state.played, self._relative, axis=1)

    @cached_property
    def num_cards_left(self) -> IntArray:
        """int64 (n, P): cards in each hand, relative seats."""
        return np.take_along_axis(self._batch.state.num_cards_left, self._relative, axis=1)

    @cached_property
    def scores(self) -> IntArray:
        """int64 (n, P): points in the game, relative seats."""
        return np.take_along_axis(self._batch.state.scores, self._relative, axis=1)

    @cached_property
    def places(self) -> IntArray:
        """int64 (n, P): places settled this round, -1 before; relative seats."""
        return np.take_along_axis(self._batch.state.places, self._relative, axis=1)

    @cached_property
    def last_plays(self) -> tuple[IntArray, IntArray]:
        """The last K plays and passes of the round, newest first, K being what the batch keeps.

        Returns:
            ``(cards, seats)``: int64 (n, K) card masks, 0 for a pass; int64 (n, K) relative seats, -1 where
            there was nothing yet.
        """
        events = self._batch.state.history
        who = events >> TIENLEN.state.HISTORY_SEAT_SHIFT
        seats = np.where(who == 0, -1, (who - 1 - self._seat[:, None]) % self.rules.num_players)
        return events & FULL_DECK, seats

    @property
    def table_action(self) -> IntArray:
        """int64 (n,): action id on the table, 0 when the player leads; of Tiến lên."""
        table: IntArray = self._tienlen.table.copy()
        return table

    @property
    def table_cards(self) -> IntArray:
        """int64 (n,): its cards; of Tiến lên."""
        cards: IntArray = self._tienlen.table_cards.copy()
        return cards

    @cached_property
    def table_owner(self) -> IntArray:
        """int64 (n,): relative seat that played it, -1 when the player leads; of Tiến lên."""
        owner = self._tienlen.owner
        relative = (owner - self._seat) % self.rules.num_players
        return np.where(owner < 0, -1, relative)

    @cached_property
    def passed_mask(self) -> npt.NDArray[np.bool_]:
        """bool (n, P): who has passed in this trick, relative seats; of Tiến lên."""
        passed: npt.NDArray[np.bool_] = (self._tienlen.passed[:, None] >> self._relative) & 1 == 1
        return passed

    def cards_of(self, actions: IntArray) -> IntArray:
        """int64 (n,): the cards that actions (n,) play, with the lowest suits; 0 for none or not legal."""
        legal, num_actions = self.legal_actions, self._batch.num_actions
        listed = legal.game * num_actions + legal.action  # ascending, as both parts are
        wanted = np.arange(len(self)) * num_actions + actions
        at = np.minimum(np.searchsorted(listed, wanted), max(len(listed) - 1, 0))
        found = (listed[at] == wanted) & (legal.game[at] == np.arange(len(self)))
        return np.where(found, legal.cards[at], 0)

    def sample(self, rng: np.random.Generator) -> IntArray:
        """int64 (n,): a legal action a decision, uniformly."""
        return self._batch.sample(rng)


@runtime_checkable
class Agent(Protocol):
    """A player of many games at once.

    One that plays a single game says so by a class attribute ``plays``: ``"tienlen"``, ``"thirteens"``.

    Attributes:
        name: what tables and plots call it.
    """

    name: str

    def reset(self, seed: int) -> None:
        """Start afresh: forget everything and draw any randomness from this seed."""

    def act(self, view: View) -> IntArray:
        """Choose an action for each of n waiting decisions.

        Args:
            view: what the players to move can see.

        Returns:
            int64 (n,), a legal action id each.
        """


@runtime_checkable
class CardAgent(Agent, Protocol):
    """An agent that chooses its cards one by one, which the action table cannot express (RULES.md 7.2)."""

    def act_cards(self, view: View) -> tuple[IntArray, IntArray]:
        """Choose a play for each of n waiting decisions.

        Args:
            view: what the players to move can see.

        Returns:
            int64 (n,), legal action ids; and int64 (n,), the masks of cards that are these actions.
        """


class Forfeit(NamedTuple):
    """A round in which an agent failed to answer as it must.

    Attributes:
        game: index of the game in its batch.
        seat: absolute.
        reason: a few words, the same for all failures of a kind.
        detail: what happened this time.
    """

    game: int
    seat: int
    reason: str
    detail: str


@runtime_checkable
class FallibleAgent(Agent, Protocol):
    """An agent that may fail to answer, and then plays the round out by a simple rule."""

    def take_forfeits(self) -> list[Forfeit]:
        """The rounds that it has forfeited since this was last called."""


def check_plays(agents: Iterable[Agent], batch: Batch) -> None:
    """Refuse agents that say by an attribute ``plays`` that they play one game only, and not this one.

    Raises:
        WrongGameError: it names the agent.
    """
    for agent in agents:
        game = getattr(agent, "plays", batch.definition.name)
        if game != batch.definition.name:
            raise WrongGameError(f"agent {agent.name!r} plays {game}, not {batch.definition.name}")


@runtime_checkable
class ScoringAgent(Agent, Protocol):
    """An agent that knows how likely it is to take each action, such as a policy network."""

    def log_probabilities(self, view: View) -> npt.NDArray[np.float32]:
        """How likely it is to take each action.

        Args:
            view: what the players to move can see.

        Returns:
            float32 (N,), natural logarithms, one for each of `View.legal_actions`, in their order; the
            probabilities of a decision add up to 1.
        """


def history_of(agents: Iterable[Agent]) -> int:
    """How many plays a batch must keep for these agents: the most that one asks for."""
    return max([0, *(int(getattr(agent, "history", 0)) for agent in agents)])


def choose_cards(agent: Agent, view: View) -> tuple[IntArray, IntArray]:
    """What an agent plays, card by card; see `CardAgent.act_cards`."""
    if isinstance(agent, CardAgent):
        return agent.act_cards(view)
    actions = agent.act(view)
    return actions, view.cards_of(actions)


class RandomAgent:
    """Uniform over the legal actions, the pass included."""

    name = "random"

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on."""
        self._rng = np.random.default_rng(seed)

    def act(self, view: View) -> IntArray:
        """Choose uniformly (see `Agent.act`)."""
        return view.sample(self._rng)
