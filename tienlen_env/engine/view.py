"""What an agent may see of the decisions that wait for it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.batch import Batch, LegalActions
from tienlen_env.engine.checks import as_indices, as_integers, owned
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import ByteArray, IntArray, MaskArray
from tienlen_env.games.common.cards import FULL_DECK
from tienlen_env.games.common.game import ActionTable, AnyRules
from tienlen_env.games.common.state import HISTORY_SEAT_SHIFT, ClimbingState, GameState


class View:
    """n decisions of one variant, each seen by the player who must take it.

    Everything is computed when first read. Seats are relative to the player to move: 0 is that player,
    1 the next, ...; card sets are int64 masks (`tienlen_env.games.common.cards`). Properties of climbing
    games raise `WrongGameError` in other games; `public_state` has all public information of any game.

    Args:
        batch: the games.
        games: int64 (n,), which of them, or bool (B,), a mask; None for all.
        copy: copy their states, so that the view stays valid when the batch is stepped. False: nothing is
            copied before it is needed, and the view is valid only until the batch is stepped; `games` are
            then indices in 0..B-1.

    Raises:
        ValueError: games of another shape or type, or out of range.
    """

    def __init__(self, batch: Batch, games: npt.ArrayLike | None = None, *, copy: bool = True) -> None:
        self._selected: Batch | None = None
        if copy:
            self._selected = batch.copy() if games is None else batch.select(games)
            self._source = self._selected, np.arange(self._selected.num_games)
        else:
            indices = np.arange(batch.num_games) if games is None else as_indices(games, batch.num_games)
            self._source = batch, indices
        source, indices = self._source
        self._seat: IntArray = source.kernel_arrays.rows[indices, source.game.columns.turn]
        self._games = games
        self.rules: AnyRules = batch.rules
        self.action_table: ActionTable = batch.action_table

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(owned(state))

    @property
    def _batch(self) -> Batch:
        """A batch of the view's decisions alone."""
        if self._selected is None:
            batch, games = self._source
            self._selected = batch if self._games is None else batch.select(games)
        return self._selected

    @property
    def source(self) -> tuple[Batch, IntArray]:
        """The decisions as they lie in memory, for compiled code.

        A batch, and int64 (n,) indices of its games. Rows include hidden cards. Callers must use only the
        hand sizes of other seats, and nothing else of the hidden columns.

        Raises:
            ValueError: a game is over, so that no decision waits there.
        """
        self._check_waiting()
        return self._source

    def _check_waiting(self) -> None:
        """Refuse games that are over: their "player to move" is the seat -1.

        Raises:
            ValueError: a game is over.
        """
        if self._seat.size and self._seat.min() < 0:
            game = self.games[self._seat.argmin()]
            raise ValueError(f"game {game} is over or not dealt; no decision waits there")

    def select(self, decisions: npt.ArrayLike) -> View:
        """The view of some of its decisions, by index.

        Args:
            decisions: integers (m,), each in 0..n-1.

        Raises:
            ValueError: another shape or type, or out of range.
        """
        batch, games = self._source
        which = as_indices(decisions, len(self))
        some = View(batch, games[which])
        some._games = self.games[which]
        return some

    def without_hidden(self) -> View:
        """The same decisions with nothing in memory that their players cannot see.

        The other hands hold arbitrary cards, in the right number; other hidden columns are 0.
        """
        rows, num_players = self.public_rows.copy(), self.rules.num_players
        hand = self._batch.game.columns.hand
        for offset in range(1, num_players):
            seats = (self._seat + offset) % num_players
            rows[np.arange(len(rows)), hand + seats] = (1 << self.num_cards_left[:, offset]) - 1
        view = View(self._batch._with_rows(rows), copy=False)
        view._games = self.games
        return view

    def showing(self, history: int) -> View:
        """The same decisions with observations that show more past plays; valid as long as this view.

        Raises:
            ValueError: the batch stores fewer plays.
        """
        batch, games = self._source
        other = batch.showing(history)
        if other is batch:
            return self
        view = View(other, games, copy=False)
        view._games = self.games
        return view

    def __len__(self) -> int:
        return len(self._seat)

    @property
    def games(self) -> IntArray:
        """int64 (n,): the index of each decision's game in the batch; for agents that remember games."""
        every: IntArray = np.arange(len(self)) if self._games is None else np.array(self._games)
        return np.flatnonzero(every) if every.dtype == np.bool_ else every.astype(np.int64)

    @property
    def seat(self) -> IntArray:
        """int64 (n,): the absolute seat to move."""
        return self._seat.copy()

    @cached_property
    def _relative(self) -> IntArray:
        seats = np.arange(self.rules.num_players)
        return (self._seat[:, None] + seats) % self.rules.num_players

    @property
    def _climbing(self) -> ClimbingState:
        """The state, for what only climbing games have."""
        state = self._batch.state
        if not isinstance(state, ClimbingState):
            raise WrongGameError(f"this agent plays climbing games, not the {self.rules.name} rules")
        return state

    @cached_property
    def observation(self) -> ByteArray:
        """uint8 (n, O): the flat observation, pieces as in `Batch.layout`."""
        return self._batch.observe()

    @cached_property
    def action_mask(self) -> MaskArray:
        """int8 (n, A): 1 = legal."""
        return self._batch.action_mask()

    @cached_property
    def num_legal(self) -> IntArray:
        """int64 (n,): number of legal actions."""
        return self._batch.count_legal()

    @cached_property
    def legal_actions(self) -> LegalActions:
        """All legal actions, ragged, with the cards each would play.

        Raises:
            ValueError: a game is over, so that no decision waits there.
        """
        self._check_waiting()
        return self._batch.list_legal()

    @cached_property
    def public_rows(self) -> IntArray:
        """int64 (n, ROW): the states (absolute seats) with hidden columns set to 0.

        Hidden are the other hands, the key of the deal and the other hidden cards of the game
        (``batch.game.columns.hidden``); a search fills them in.
        """
        columns = self._batch.game.columns
        rows = self._batch.kernel_arrays.rows.copy()
        rows[:, columns.hidden] = 0
        rows[np.arange(len(rows)), columns.hand + self._seat] = self.hand
        return rows

    @cached_property
    def public_state(self) -> GameState:
        """`public_rows` with the game's named views of the columns; absolute seats."""
        return self._batch.state_of(self.public_rows)

    @cached_property
    def hand(self) -> IntArray:
        """int64 (n,): own cards.

        Raises:
            ValueError: a game is over, so that no decision waits there.
        """
        self._check_waiting()
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
        """The last K plays and passes of the round, newest first; the batch stores K (climbing games).

        Returns:
            ``(cards, seats)``: int64 (n, K) card masks, 0 for a pass; int64 (n, K) relative seats, -1 before
            the first play.
        """
        events = self._climbing.history
        who = events >> HISTORY_SEAT_SHIFT
        seats = np.where(who == 0, -1, (who - 1 - self._seat[:, None]) % self.rules.num_players)
        return events & FULL_DECK, seats

    @property
    def table_action(self) -> IntArray:
        """int64 (n,): action id on the table, 0 when the player leads; of a climbing game."""
        return self._climbing.table.copy()

    @property
    def table_cards(self) -> IntArray:
        """int64 (n,): its cards; of a climbing game."""
        return self._climbing.table_cards.copy()

    @cached_property
    def table_owner(self) -> IntArray:
        """int64 (n,): relative seat that played it, -1 when the player leads; of a climbing game."""
        owner = self._climbing.owner
        relative = (owner - self._seat) % self.rules.num_players
        return np.where(owner < 0, -1, relative)

    def cards_of(self, actions: IntArray) -> IntArray:
        """int64 (n,): the cards that actions (n,) play, with the lowest suits; 0 for none or not legal.

        Raises:
            ValueError: actions of another shape or type.
        """
        actions = as_integers(actions, "actions", len(self))
        legal, num_actions = self.legal_actions, self._batch.num_actions
        listed = legal.game * num_actions + legal.action  # ascending, as both parts are
        wanted = np.arange(len(self)) * num_actions + actions
        at = np.minimum(np.searchsorted(listed, wanted), max(len(listed) - 1, 0))
        if not len(listed):
            return np.zeros(len(self), np.int64)
        found = (listed[at] == wanted) & (legal.game[at] == np.arange(len(self)))
        return np.where(found, legal.cards[at], 0)

    def sample(self, rng: np.random.Generator) -> IntArray:
        """int64 (n,): one uniform legal action per decision."""
        return self._batch.sample(rng)
