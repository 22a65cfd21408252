"""The batched engine: B games that advance together, one decision per game and step.

All arrays are NumPy; B games, P players, A actions, O observation length (`Batch.layout`). The type of
the rules determines the game (`tienlen_env.games.registry`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final, NamedTuple, NoReturn, Self, cast, get_args

import numpy as np
import numpy.typing as npt

from tienlen_env.doors import Door
from tienlen_env.engine.backends import BackendName, get_backend
from tienlen_env.engine.backends.python import Loops
from tienlen_env.engine.checks import (
    Buffer,
    as_distinct_indices,
    as_indices,
    as_integer,
    as_integers,
    buffer,
    check_buffer,
    check_items,
)
from tienlen_env.engine.variant import (
    NO_ACTION as NO_ACTION,
    KernelArrays,
    Settings,
    Variant,
    VariantBatch,
    filled,
)
from tienlen_env.errors import TienLenError, unexpected_keyword
from tienlen_env.games.common.arrays import (
    AnyArray,
    BoolArray,
    ByteArray,
    ByteOutput,
    FloatArray,
    IntArray,
    MaskArray,
    MaskOutput,
    RewardArray,
)
from tienlen_env.games.common.game import AnyRules, Payment
from tienlen_env.games.common.spec import Episode
from tienlen_env.games.common.state import GameState

# Backends of other packages: called with the arguments of `Batch`.
BACKENDS: Final = Door[Callable[..., object]]("tienlen.backends", "backend", get_args(BackendName))


class LegalActions(NamedTuple):
    """The legal actions of several games, one after the other (a ragged array).

    Attributes:
        game: int64 (N,), the index of the game in its batch, ascending.
        action: int64 (N,), action ids, ascending within a game.
        cards: int64 (N,), the card mask that each would play; 0 for none.
        start: int64 (B,), where each game's actions begin, for ``np.ufunc.reduceat``.
    """

    game: IntArray
    action: IntArray
    cards: IntArray
    start: IntArray


class Batch(VariantBatch):
    """B games of one variant, dealt from 64-bit keys.

    A batch can be pickled and deep-copied; it alone owns the states of its games.

    Args:
        rules: a preset's name, or the rules of any game.
        num_games: B, at least 1.
        num_players: P; None: as in the rules.
        episode: ``"round"`` a game is one round; ``"game"`` rounds to the target (RULES.md 1.12, 8.9), or
            `num_rounds`.
        reward: ``"points"``, ``"zero_sum"``, ``"win"``, or another of ``game.rewards``; see the pages
            `tienlen_env.envs.tienlen` and `tienlen_env.envs.thirteens`.
        history: number of past plays that the observation shows, K; 0 in a game without history.
        history_length: number of past plays that the state stores for agents; at least `history`. If it is
            above 0, Tiến lên stores its play summary, too. A game without history ignores it.
        auto_reset: a game that ends is dealt anew within the step, from its key plus a constant.
        num_rounds: rounds of a game (6.5); 0: without an end; None: as the rules say.
        backend: ``"native"``, ``"numba"`` or ``"python"``; bit for bit the same. The backend of another
            package (`BACKENDS`) gives a batch of its own class, for example with its games on a GPU.
        threads: threads of the numba loops; they help for num_games of several thousand and more.

    Attributes:
        game: the game.
        rules: its rules.
        action_table: the actions of the rules.
        num_games: B.
        num_players: P.
        num_actions: A.
        observation_size: O.
        global_observation_size: G, the length of `global_observation`.
        packed_mask_size: ceil(A / 64), words of a packed mask (`tienlen_env.engine.packed`).
        packed_observation_size: ceil(O / 64).
        packed_global_observation_size: ceil(G / 64).
        layout: name to `Piece` of the observation.
        loops: the backend, the fast way for callers that make many small steps: a checked step of one game
            spends most of its time on the checks. The first arguments are those of `kernel_arrays`. Only an
            illegal action is refused: any other wrong argument corrupts memory.

    Raises:
        RulesError: unknown rules or an impossible number of players.
        ValueError: any other setting out of range.
    """

    def __new__(cls, *args: object, **settings: object) -> Self:
        """A batch on the host; with the backend of another package what that makes, which is no subclass."""
        backend = settings.get("backend", "native")
        if isinstance(backend, str) and backend not in BACKENDS.built_in:
            return cast(Self, BACKENDS.load(backend)(*args, **settings))
        return object.__new__(cls)

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        num_games: int = 1,
        *,
        num_players: int | None = None,
        episode: Episode = "round",
        reward: str = "points",
        history: int = 0,
        history_length: int = 0,
        auto_reset: bool = False,
        num_rounds: int | None = None,
        backend: str = "native",
        threads: int = 1,
    ) -> None:
        settings = Settings(episode, reward, history, history_length, auto_reset, num_rounds)
        super().__init__(Variant(rules, num_players, settings), num_games)
        self._run_by(cast(BackendName, backend), threads)
        self._bind(self.variant.new_rows(self.num_games))

    def _run_by(self, backend: BackendName, threads: int) -> None:
        """Choose the backend, and make the arrays that mean "not wanted"."""
        self._runs = backend, threads
        self.loops: Loops = get_backend(backend, self.game, threads)
        self._spec, self._actions = self.variant.spec, self.variant.actions
        self._no_mask: MaskOutput = np.zeros((0, self.num_actions), np.int8)
        self._no_observation: ByteOutput = np.zeros((0, self.observation_size), np.uint8)
        self._no_cards = np.zeros(0, np.int64)
        self._no_draws = np.zeros(0)

    def _bind(self, rows: IntArray) -> None:
        self._rows = rows
        self.num_games = len(rows)
        for name in ("state", "_rewards", "_dones", "_draws"):  # of other rows
            self.__dict__.pop(name, None)

    @classmethod
    def _of(cls, variant: Variant, rows: IntArray, backend: BackendName = "native", threads: int = 1) -> Self:
        """A batch that owns rows of a variant, int64 (B, ROW), contiguous."""
        new = object.__new__(cls)
        new._adopt(variant, len(rows))
        new._run_by(backend, threads)
        new._bind(rows)
        return new

    @cached_property
    def _rewards(self) -> RewardArray:
        return np.zeros((self.num_games, self.num_players), np.float32)

    @cached_property
    def _dones(self) -> BoolArray:
        return np.zeros(self.num_games, np.bool_)

    @cached_property
    def _draws(self) -> FloatArray:
        return np.zeros(self.num_games)

    @cached_property
    def state(self) -> GameState:
        """Named live views of every column."""
        return self.variant.state(self._rows)

    @property
    def turn(self) -> IntArray:
        """int64 (B,): the seat to act, -1 in a game that is over; a live view."""
        return self.state.turn

    def state_of(self, rows: IntArray) -> GameState:
        """Named live views of the columns of rows of this variant, int64 (n, ROW).

        Raises:
            ValueError: rows of another shape.
        """
        if getattr(rows, "ndim", 0) != 2 or rows.shape[1] != self.variant.row_size:
            raise ValueError(f"rows: expected an int64 array of shape (n, {self.variant.row_size})")
        return self.variant.state(rows)

    # ------------------------------------------------------------ starting

    def reset(self, seed: int | np.random.Generator | None = None) -> None:
        """Start every game with a deal drawn from a seed or generator; None takes fresh entropy."""
        rng = np.random.default_rng(seed)
        self.deal(rng.integers(-(2**63), 2**63, self.num_games, np.int64))

    def deal(self, keys: npt.ArrayLike, *, rounds: npt.ArrayLike = 0, leader: npt.ArrayLike = -1) -> None:
        """Start every game from its key; the deal is a pure function of the key and the round.

        Args:
            keys: int64 (B,).
            rounds: int64 (B,) or one number: which round of the key's game is dealt.
            leader: int64 (B,) or one number: the seat that leads, freely in Tiến lên; -1 for the holder of
                the opening card, who has the opening duty (RULES.md 1.3), or for eldest by the key (8.2).

        Raises:
            ValueError: arguments of another shape or type, or an invalid seat as leader.
        """
        self.loops.begin(
            *self.kernel_arrays,
            self._for_games(keys, "keys"),
            self._spread(rounds, "rounds"),
            self._leaders(leader),
        )
        self.forget_payments()

    def deal_games(self, games: npt.ArrayLike, keys: npt.ArrayLike) -> None:
        """Start some games anew, each from its key; the others do not change.

        Args:
            games: integers (n,), each in 0..B-1, none twice.
            keys: int64 (n,).

        Raises:
            ValueError: arguments of another shape or type, or games out of range or twice.
        """
        which = as_distinct_indices(games, self.num_games)
        each = as_integers(keys, "keys", len(which))
        rows = np.zeros((len(which), self._rows.shape[1]), np.int64)
        first, by_rules = np.zeros(len(which), np.int64), np.full(len(which), -1, np.int64)
        self.loops.begin(rows, self._spec, self._actions, each, first, by_rules)
        self._rows[which] = rows

    def set_hands(
        self, hands: npt.ArrayLike, leader: npt.ArrayLike = -1, **extra_hands: npt.ArrayLike
    ) -> None:
        """Start a round in every game from given hands; scores and the round's number start at 0.

        Args:
            hands: int64 (B, P) card masks, disjoint: in Tiến lên of 1 to 13 cards each; in Thirteens of
                equally many. There each hand has as many cards as there are tricks left in the deal, and
                cards that are not given count as shown.
            leader: int64 (B,) or one number: the seat that leads, freely in Tiến lên; -1 for the holder of
                the lowest card, who has the opening duty (RULES.md 1.3), or for eldest by the key 0 (8.2).
            extra_hands: int64 (B,) or one number each, further card masks that the game takes
                (``game.extra_hands``), 0 if left out. In Thirteens ``dummy`` (8.10), ``remainder``, the
                cards that go with the first trick (8.7), and ``starter``, the first of them (8.3).

        Raises:
            TienLenError: an impossible card distribution, or an invalid seat as leader.
            ValueError: a game without given hands.
            TypeError: a set of cards that the game does not have.
        """
        game = self.game
        masks = np.asarray(hands)
        if masks.shape != (self.num_games, self.num_players) or masks.dtype.kind not in "iu":
            raise TienLenError(f"hands: expected integers of shape {(self.num_games, self.num_players)}")
        if game.set_hands is None:
            raise ValueError(f"{game.name}: rounds cannot start from given hands")
        if unknown := set(extra_hands) - set(game.extra_hands):
            known, what = game.extra_hands or ("none",), f"cards that {game.name} has:"
            raise unexpected_keyword("set_hands", min(unknown), known, what)
        extra = {
            name: self._for_games(np.broadcast_to(np.asarray(extra_hands.get(name, 0)), self.num_games), name)
            for name in game.extra_hands
        }
        leaders = self._leaders(leader)
        game.set_hands(
            self._rows,
            self.rules,
            masks.astype(np.int64),  # what does not fit becomes negative
            extra,
            lambda: self.loops.begin_round(self._rows, self._spec, self._actions, leaders),
        )

    # ------------------------------------------------------------ playing

    def step(
        self,
        actions: npt.ArrayLike,
        cards: npt.ArrayLike | None = None,
        *,
        rewards: RewardArray | None = None,
        dones: BoolArray | None = None,
        mask: MaskOutput | None = None,
        observation: ByteOutput | None = None,
        draws: FloatArray | None = None,
        next_actions: IntArray | None = None,
    ) -> tuple[RewardArray, BoolArray]:
        """Play one action in every game.

        Args:
            actions: int64 (B,), one legal action per game; `NO_ACTION` (-1) for games that are over.
            cards: int64 (B,), exact card masks, each of them a legal play of its action; 0 for an action that
                plays no cards, and not read where a game is over. None takes the lowest suits held.
            rewards: float32 (B, P), a buffer for the result; None: a buffer of the batch's own, which the
                next step overwrites. The same for `dones`.
            dones: bool (B,), games that ended in this step.
            mask: int8 (B, A), or packed int64 (B, ceil(A / 64)), contiguous, filled with the next mask of
                legal actions if given.
            observation: uint8 (B, O), or packed int64 (B, ceil(O / 64)), contiguous, filled with the next
                player's observation if given.
            draws: float64 (B,), draws in [0, 1) for `next_actions`, where that is given.
            next_actions: int64 (B,), filled with one uniform legal action per game for the next step, as by
                `sample` with `draws`; cheaper than a separate call.

        Returns:
            ``(rewards, dones)``; a seat gets its reward in the step when its place becomes certain.

        Raises:
            IllegalPlayError: an action that is not legal, or not with its cards; no game has moved.
            ValueError: an argument of the wrong shape or type.
        """
        ids = self._for_games(actions, "actions")
        exact = self._no_cards if cards is None else self._for_games(cards, "cards")
        rewards = self._rewards if rewards is None else self._like(rewards, "rewards", self._rewards)
        dones = self._dones if dones is None else self._like(dones, "dones", self._dones)
        if mask is None:
            mask = self._no_mask
        else:
            mask = check_items(mask, "mask", (self.num_games,), self.num_actions, np.int8)
        if observation is None:
            observation = self._no_observation
        else:
            rows, size = (self.num_games,), self.observation_size
            observation = check_items(observation, "observation", rows, size, np.uint8)
        if next_actions is None:
            draws, next_actions = self._no_draws, self._no_cards
        else:
            next_actions = self._like(next_actions, "next_actions", ids)
            draws = self._draws if draws is None else self._like(draws, "draws", self._draws)
            if not ((draws >= 0) & (draws < 1)).all():
                raise ValueError("draws: expected numbers in [0, 1)")
        refused = self.loops.step(
            *self.kernel_arrays,
            ids,
            exact,
            rewards,
            dones,
            mask,
            observation,
            draws,
            next_actions,
        )
        if refused >= 0:
            self._refuse(refused, int(ids[refused]), None if cards is None else int(exact[refused]))
        return rewards, dones

    def step_games(self, games: npt.ArrayLike, actions: npt.ArrayLike, rewards: RewardArray) -> IntArray:
        """Play one action in some games, then all following decisions with a single legal action.

        Args:
            games: integers (n,), each in 0..B-1, none twice.
            actions: integers (n,), a legal action for each.
            rewards: float32 (B, P), contiguous; the rewards are added to it.

        Returns:
            int64 (n,): the seat that is to move, `Turn.OVER` for games that are over.

        Raises:
            IllegalPlayError: an action that is not legal; no game has moved.
            ValueError: an argument of the wrong shape or type, or games out of range or twice.
        """
        which = as_distinct_indices(games, self.num_games)
        ids = as_integers(actions, "actions", len(which))
        rewards = check_buffer(rewards, "rewards", (self.num_games, self.num_players), np.float32)
        turns = np.empty(len(which), np.int64)
        no_seats = np.full(self.num_games, -1, np.int64)
        refused = self.loops.step_games(
            *self.kernel_arrays, which, ids, no_seats, True, False, rewards, turns
        )
        if refused >= 0:
            self._refuse(int(which[refused]), int(ids[refused]))
        return turns

    def sample(
        self, rng: np.random.Generator, out: IntArray | None = None, draws: FloatArray | None = None
    ) -> IntArray:
        """One uniform legal action per game; `NO_ACTION` for games that are over.

        Args:
            rng: source of the draws.
            out: int64 (B,) to write to, or None.
            draws: float64 (B,) scratch for the draws, or None.

        Returns:
            int64 (B,) action ids.
        """
        out = buffer(out, "out", (self.num_games,), np.int64)
        draws = self._draws if draws is None else self._like(draws, "draws", self._draws)
        rng.random(out=draws)
        self.loops.sample(self._rows, self._spec, draws, out)
        return out

    # ------------------------------------------------------------ observations

    def action_mask(self, out: MaskArray | None = None) -> MaskArray:
        """int8 (B, A): 1 = legal for the seat to act; all 0 for games that are over."""
        out = buffer(out, "out", (self.num_games, self.num_actions), np.int8)
        self.loops.write_masks(self._rows, self._spec, out)
        return out

    def packed_mask(self, out: IntArray | None = None) -> IntArray:
        """int64 (B, ceil(A / 64)): `action_mask` in packed form."""
        out = buffer(out, "out", (self.num_games, self.packed_mask_size), np.int64)
        self.loops.write_masks(self._rows, self._spec, out)
        return out

    def count_legal(self) -> IntArray:
        """int64 (B,): number of legal actions."""
        out = np.empty(self.num_games, np.int64)
        self.loops.count_legal(self._rows, self._spec, out)
        return out

    def list_legal(self) -> LegalActions:
        """All legal actions of all games as a ragged array, with the cards each would play."""
        count = self.count_legal()
        start = np.cumsum(count) - count
        ids, cards = np.empty(count.sum(), np.int64), np.empty(count.sum(), np.int64)
        self.loops.list_legal(self._rows, self._spec, self._actions, start, ids, cards)
        return LegalActions(np.repeat(np.arange(self.num_games), count), ids, cards, start)

    def first_legal(self, games: npt.ArrayLike) -> IntArray:
        """int64 (n,): the first legal action of some games; `NO_ACTION` for those that are over.

        Args:
            games: integers (n,), each in 0..B-1.

        Raises:
            ValueError: another shape or type, or games out of range.
        """
        rows = self._rows[as_indices(games, self.num_games)]
        out = np.empty(len(rows), np.int64)
        self.loops.sample(rows, self._spec, np.zeros(len(rows)), out)
        return out

    def observe(
        self,
        seats: npt.ArrayLike | None = None,
        out: ByteArray | None = None,
        games: npt.ArrayLike | None = None,
    ) -> ByteArray:
        """The observation of one seat per game, by default the seat to act.

        Args:
            seats: int64 (B,) or one number; -1 gives zeros. With `games`, int64 (n,) or one number.
            out: uint8 (B, O) to write to, or None. With `games`, uint8 (n, O).
            games: integers (n,), each in 0..B-1, which games; None for all.

        Returns:
            uint8 (B, O) or (n, O) of 0 and 1, the pieces of `layout`; zeros for games that are over.

        Raises:
            ValueError: an argument of the wrong shape or type, or out of range.
        """
        rows, checked = self._observers(seats, games)
        out = buffer(out, "out", (len(rows), self.observation_size), np.uint8)
        self.loops.observe_seats(rows, self._spec, self._actions, checked, out)
        return out

    def packed_observation(
        self,
        seats: npt.ArrayLike | None = None,
        out: IntArray | None = None,
        games: npt.ArrayLike | None = None,
    ) -> IntArray:
        """int64 (B, ceil(O / 64)) or (n, ceil(O / 64)): `observe` in packed form."""
        rows, checked = self._observers(seats, games)
        out = buffer(out, "out", (len(rows), self.packed_observation_size), np.int64)
        self.loops.observe_seats(rows, self._spec, self._actions, checked, out)
        return out

    def _observers(
        self, seats: npt.ArrayLike | None, games: npt.ArrayLike | None
    ) -> tuple[IntArray, IntArray]:
        """The rows of some games, and a seat for each; see `observe`."""
        if games is None:
            rows, turn = self._rows, self.state.turn
        else:
            which = as_indices(games, self.num_games)
            rows, turn = self._rows[which], self.state.turn[which]
        if type(seats) is int and -1 <= seats < self.num_players:
            checked = filled(len(rows), seats)
        elif seats is None:
            checked = np.ascontiguousarray(turn)
        else:
            given = np.asarray(seats)
            if given.shape != turn.shape:
                given = np.broadcast_to(given, turn.shape)
            checked = self._seats(given, len(rows))
        return rows, checked

    def global_observation(self, out: ByteArray | None = None) -> ByteArray:
        """The global observation, for centralised critics; absolute seats.

        Returns:
            uint8 (B, G): the observation of seat 0, the turn (one-hot P), the hands of seats 1..P-1, and the
            other hidden cards of the game.
        """
        out = buffer(out, "out", (self.num_games, self.global_observation_size), np.uint8)
        self.loops.observe_all(self._rows, self._spec, self._actions, out)
        return out

    def packed_global_observation(self, out: IntArray | None = None) -> IntArray:
        """int64 (B, ceil(G / 64)): `global_observation` in packed form."""
        out = buffer(out, "out", (self.num_games, self.packed_global_observation_size), np.int64)
        self.loops.observe_all(self._rows, self._spec, self._actions, out)
        return out

    def action_to_cards(self, actions: npt.ArrayLike) -> IntArray:
        """int64 (B,): the card masks that these legal actions would play; 0 for those that play none."""
        out = np.empty(self.num_games, np.int64)
        ids = self._for_games(actions, "actions")
        if ((ids < 0) | (ids >= self.num_actions)).any() or (self.state.turn < 0).any():
            raise ValueError(f"actions: expected 0..{self.num_actions - 1} in games that are not over")
        self.loops.action_cards(self._rows, self._actions, ids, out)
        return out

    @property
    def scores(self) -> IntArray:
        """int64 (B, P): points so far, those of a running round included as places settle (copy)."""
        return self.state.scores.copy()

    def payments(self, game: int = 0) -> list[Payment]:
        """The payments booked in the round that runs, or in the one that ended in the last step.

        A chop is booked when its trick is cleared, all others when the round ends. With ``auto_reset``, and
        between the rounds of a game, they are those of the round that ended until something is played.

        Args:
            game: which game, 0..B-1.

        Returns:
            Payments in units of the rules, the chops first; empty in a game or variant without payments.

        Raises:
            ValueError: not a game of this batch.
        """
        reader = self.variant.payments
        return [] if reader is None else reader.booked(self._row_list(game), self._spec)

    def owed(self, game: int = 0) -> list[Payment]:
        """What would be paid for chops if the trick ended now, as for `payments`; it is not booked yet."""
        reader = self.variant.payments
        return [] if reader is None else reader.owed(self._row_list(game), self._spec)

    @property
    def balances(self) -> IntArray:
        """int64 (B, P): units that each seat got in this game, less those that it paid (copy).

        0 in a game or variant without payments. Each row sums to 0.
        """
        reader = self.variant.payments
        if reader is None:
            return np.zeros((self.num_games, self.num_players), np.int64)
        first = reader.balances(self._spec)
        return self._rows[:, first : first + self.num_players].copy()

    def forget_payments(self) -> None:
        """Forget the payments of rounds that ended, where a new one has just begun in every game."""
        if (reader := self.variant.payments) is not None:
            reader.forget(self._rows, self._spec)

    def _row_list(self, game: int) -> list[int]:
        row: list[int] = self._rows[as_indices([game], self.num_games)[0]].tolist()
        return row

    @property
    def kernel_arrays(self) -> KernelArrays:
        """The states and the variant as compiled agents read them; the rows are live."""
        return KernelArrays(self._rows, self._spec, self._actions)

    # ------------------------------------------------------------ copies

    def copy(self) -> Self:
        """An independent batch in the same position."""
        return self._with_rows(self._rows.copy())

    def select(self, games: npt.ArrayLike) -> Self:
        """An independent batch with copies of some games, in the order given (repeats allowed).

        Args:
            games: integers (n,), -1 for the last game and so on; or bool (B,), a mask.

        Raises:
            ValueError: something else, or games out of range.
        """
        which = np.asarray(games)
        if which.dtype != np.bool_:
            which = as_integers(which, "games")
        try:
            rows = self._rows[which]
        except IndexError as error:
            raise ValueError(f"games: {error}") from None
        if rows.ndim != 2:
            raise ValueError("games: expected a list of indices or a mask of games")
        return self._with_rows(rows)

    def with_history_length(self, history_length: int) -> Self:
        """A batch in the same positions that stores at least `history_length` plays; this one if it does.

        The plays made so far are known only as far as this batch has stored them.

        Raises:
            ValueError: not an integer.
        """
        settings = self.variant.settings
        wanted = max(as_integer(history_length, "history_length"), settings.history_length)
        longer = Variant(self.rules, None, settings._replace(history_length=wanted))
        width = self.variant.row_size
        if longer.row_size <= width:
            return self
        rows = longer.new_rows(self.num_games)
        rows[:, :width] = self._rows  # the history ends the row, the newest play first
        return self._of(longer, rows, *self._runs)

    def showing(self, history: int) -> Self:
        """The same games, which are not copied, with observations that show this many past plays.

        A policy reads what it was trained on, whatever the environment shows to its opponent.

        Raises:
            ValueError: this batch stores fewer plays.
        """
        if history == self.history:
            return self
        stored = max(self.history, self.variant.settings.history_length)
        if not 0 <= history <= stored:
            raise ValueError(
                f"history={history!r}: expected 0..{stored}, the number of plays that the batch stores"
            )
        return self._of(self.variant.showing(history), self._rows, *self._runs)

    def _with_rows(self, rows: IntArray) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._bind(rows)
        return new

    def __getstate__(self) -> tuple[Variant, tuple[BackendName, int], IntArray]:
        return self.variant, self._runs, self._rows

    def __setstate__(self, state: tuple[Variant, tuple[BackendName, int], IntArray]) -> None:
        variant, runs, rows = state
        self._adopt(variant, len(rows))
        self._run_by(*runs)
        self._bind(np.array(rows))

    # ------------------------------------------------------------ arguments

    def _refuse(self, game: int, action: int, cards: int | None = None) -> NoReturn:
        raise self.variant.refusal(self._rows[game], game, action, cards)

    def _like(self, buffer: Buffer, name: str, example: AnyArray) -> Buffer:
        return check_buffer(buffer, name, example.shape, example.dtype)
