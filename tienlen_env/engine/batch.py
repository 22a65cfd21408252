"""The batched engine: B games that advance together, one decision a game and step.

All arrays are NumPy; B games, P players, A actions, O observation length (`Batch.layout`). Which game is
played follows from the rules (`tienlen_env.games.registry`). Tiến lên's scalar `Round`
(`tienlen_env.single.tienlen`) and `Game` stand on the same kernels.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.backends import get_backend
from tienlen_env.errors import IllegalPlayError, TienLenError
from tienlen_env.games.common.cards import FULL_DECK, format_cards
from tienlen_env.games.common.game import AnyRules, Definition, Episode
from tienlen_env.games.registry import game_of, get_rules
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.kernels import action_cards
from tienlen_env.games.tienlen.observe import Piece
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.rules import get_rules as get_tienlen_rules
from tienlen_env.games.tienlen.spec import Reward, build_spec

BackendName = Literal["numba", "python"]
IntArray = npt.NDArray[np.int64]
NO_ACTION = -1


class LegalActions(NamedTuple):
    """The legal actions of several games, one after the other (a ragged array).

    Attributes:
        game: int64 (N,), the index of the game in its batch, ascending.
        action: int64 (N,), action ids, ascending within a game.
        cards: int64 (N,), the card mask that each would play; 0 for the pass.
        start: int64 (B,), where each game's actions begin, for ``np.ufunc.reduceat``.
    """

    game: IntArray
    action: IntArray
    cards: IntArray
    start: IntArray


def cards_to_action(rules: str | Rules, cards: int) -> int:
    """The action id that a set of cards is; 0, the pass, for no cards (RULES.md 7.1).

    Raises:
        InvalidComboError: the cards are no combination of these rules.
    """
    return build_action_table(get_tienlen_rules(rules)).classify(cards)


def action_to_cards(rules: str | Rules, hand: int, action: int) -> int:
    """The cards that an action plays from a hand: its top card and the lowest suits held (RULES.md 7.1).

    Args:
        rules: the variant.
        hand: card mask.
        action: action id; the pass gives 0.

    Raises:
        ValueError: no such action.
        IllegalPlayError: the hand does not hold it.
    """
    table = build_action_table(get_tienlen_rules(rules))
    if not 0 <= action < table.num_actions:
        raise ValueError(f"action {action}: expected 0..{table.num_actions - 1}")
    if not 0 <= hand <= FULL_DECK:
        raise ValueError(f"{hand} is no mask of cards")
    if not table.held(hand)[action]:
        raise IllegalPlayError(f"{table.text(action)} is not in the hand {format_cards(hand)}")
    return int(action_cards(int(hand), build_spec(table.rules)[1].tolist(), int(action)))


class Batch:
    """B games of one variant, dealt from 64-bit keys.

    Args:
        rules: a preset's name, or the rules of any game.
        num_games: B, at least 1.
        num_players: P; None keeps the number in `rules`.
        episode: ``"round"`` a game is one round; ``"game"`` rounds to the target (RULES.md 1.12, 8.9).
        reward: ``"points"``, ``"zero_sum"``, ``"win"`` or, in Tiến lên, ``"cards"``; see the pages
            `tienlen_env.envs.tienlen` and `tienlen_env.envs.thirteens`.
        history: how many of the last plays the observation shows, K; 0 in Thirteens.
        kept: how many are kept for agents that look back, if these are more; with any, so is the record of
            the round (`tienlen_env.games.tienlen.play_summary`). Nothing in Thirteens.
        auto_reset: a game that ends is dealt anew within the step, from its key plus a constant.
        backend: ``"numba"`` or ``"python"``; bit for bit the same.
        threads: threads of the numba loops; worth it from several thousand games on.

    Attributes:
        definition: the game.
        rules: its rules, a `Rules` or a `ThirteensRules`.
        table: their action table.
        state: the game's `State`, live views of every column.
        num_games, num_players, num_actions, observation_size, state_size: B, P, A, O and the length of
            `observe_all`.
        layout: name to `Piece` of the observation.

    Raises:
        RulesError: unknown rules or a number of players that cannot be.
        ValueError: any other setting that is unknown or out of range.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        num_games: int = 1,
        *,
        num_players: int | None = None,
        episode: Episode = "round",
        reward: Reward = "points",
        history: int = 0,
        kept: int = 0,
        auto_reset: bool = False,
        backend: BackendName = "numba",
        threads: int = 1,
    ) -> None:
        if isinstance(num_games, bool) or not isinstance(num_games, int | np.integer) or num_games < 1:
            raise ValueError(f"num_games={num_games!r}: expected 1 or more")
        self.rules: Any = get_rules(rules, num_players)
        self.definition: Definition = game_of(self.rules)
        game = self.definition
        self.table: Any = game.build_table(self.rules)
        self.spec, self.actions = game.spec.build_spec(
            self.rules, episode=episode, reward=reward, auto_reset=auto_reset, history=history, kept=kept
        )
        self.episode: Episode = episode
        self.reward: Reward = reward
        self.history = history
        self.auto_reset = auto_reset
        self.backend: Any = get_backend(backend, threads, game)
        self.num_games = int(num_games)
        self.num_players: int = self.rules.num_players
        self.num_actions: int = self.table.num_actions
        self.observation_size: int = game.observe.observation_size(self.rules, history)
        self.state_size: int = game.observe.state_size(self.rules, history)
        self.layout: dict[str, Piece] = game.observe.observation_layout(self.rules, history)
        self._bind(np.zeros((self.num_games, int(self.spec[game.spec.ROW_SIZE])), np.int64))
        self.state.turn[:] = -1

    def _bind(self, rows: IntArray) -> None:
        self.num_games = len(rows)
        self.rows = rows
        num_words = int(self.spec[self.definition.spec.NUM_WORDS])
        self.state: Any = self.definition.state.State(rows, self.num_players, num_words)
        self._rewards = np.zeros((len(rows), self.num_players), np.float32)
        self._dones = np.zeros(len(rows), np.bool_)
        self._no_mask = np.zeros((0, self.num_actions), np.int8)
        self._no_observation = np.zeros((0, self.observation_size), np.uint8)
        self._no_cards = np.zeros(0, np.int64)
        self._no_draws = np.zeros(0)
        self._draws = np.zeros(len(rows))

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
            ValueError: arguments of another shape or type, or a leader who is no seat.
        """
        self.backend.begin(
            self.rows,
            self.spec,
            self.actions,
            self._games(keys, "keys"),
            self._games(np.broadcast_to(np.asarray(rounds), (self.num_games,)), "rounds"),
            self._leaders(leader),
        )

    def set_hands(
        self,
        hands: npt.ArrayLike,
        leader: npt.ArrayLike = -1,
        *,
        dummy: npt.ArrayLike = 0,
        remainder: npt.ArrayLike = 0,
        starter: npt.ArrayLike = 0,
    ) -> None:
        """Start a round in every game from given hands; scores and the round's number start at 0.

        Args:
            hands: int64 (B, P) card masks, disjoint: in Tiến lên of 1 to 13 cards each; in Thirteens of
                equally many. There the last tricks of a deal are played, as many as a hand has cards, and
                cards that are given nowhere count as shown.
            leader: int64 (B,) or one number: the seat that leads, freely in Tiến lên; -1 for the holder of
                the lowest card, who has the opening duty (RULES.md 1.3), or for eldest by the key 0 (8.2).
            dummy: int64 (B,) or one number: the dummy's hand, in Thirteens with one (8.10).
            remainder: int64 (B,) or one number: what goes with the first trick, in Thirteens (8.7).
            starter: int64 (B,) or one number: the mask of that card of it which was flipped first (8.3).

        Raises:
            TienLenError: cards that cannot lie so, or a leader who is no seat.
        """
        masks = np.asarray(hands)
        if masks.shape != (self.num_games, self.num_players) or masks.dtype.kind not in "iu":
            raise TienLenError(f"hands: expected integers of shape {(self.num_games, self.num_players)}")
        aside = np.empty((self.num_games, 3), np.int64)
        for i, (name, cards) in enumerate((("dummy", dummy), ("remainder", remainder), ("starter", starter))):
            aside[:, i] = self._games(np.broadcast_to(np.asarray(cards), (self.num_games,)), name)
        leaders = self._leaders(leader)
        self.definition.set_hands(
            self.rows,
            self.rules,
            masks.astype(np.int64),  # what does not fit becomes negative
            aside,
            lambda: self.backend.begin_round(self.rows, self.spec, self.actions, leaders),
        )

    # ------------------------------------------------------------ playing

    def step(
        self,
        actions: npt.ArrayLike,
        cards: npt.ArrayLike | None = None,
        *,
        rewards: npt.NDArray[np.float32] | None = None,
        dones: npt.NDArray[np.bool_] | None = None,
        mask: npt.NDArray[np.int8] | None = None,
        observation: npt.NDArray[np.uint8] | None = None,
        draws: npt.NDArray[np.float64] | None = None,
        next_actions: IntArray | None = None,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Play one action in every game.

        Args:
            actions: int64 (B,), a legal action a game; `NO_ACTION` (-1) for games that are over.
            cards: int64 (B,), exact card masks, each from the hand and of its action's shape and top card
                (the latter is the caller's promise); None takes the lowest suits held.
            rewards: float32 (B, P), a buffer for the result; None: a buffer of the batch's own, which the
                next step overwrites. The same for `dones`.
            dones: bool (B,), games that ended in this step.
            mask: int8 (B, A), contiguous, filled with the next legal-action mask if given.
            observation: uint8 (B, O), contiguous, filled with the next player's observation if given.
            draws: float64 (B,), draws in [0, 1) for `next_actions`, where that is given.
            next_actions: int64 (B,), filled with a uniform legal action a game for the next step, as `sample`
                would with these draws; cheaper than a call of its own.

        Returns:
            ``(rewards, dones)``; a seat's reward comes in the step that settles its place.

        Raises:
            IllegalPlayError: an action that is not legal; no game has moved.
            ValueError: an argument of the wrong shape or type.
        """
        ids = self._games(actions, "actions")
        exact = self._no_cards if cards is None else self._games(cards, "cards")
        rewards = self._out(rewards, "rewards", self._rewards)
        dones = self._out(dones, "dones", self._dones)
        mask = self._no_mask if mask is None else self._check_out(mask, "mask", self.num_actions, np.int8)
        if observation is None:
            observation = self._no_observation
        else:
            self._check_out(observation, "observation", self.observation_size, np.uint8)
        if next_actions is None:
            draws, next_actions = self._no_draws, self._no_cards
        else:
            self._out(next_actions, "next_actions", ids)
            draws = self._out(draws, "draws", self._draws)
        refused = self.backend.step(
            self.rows,
            self.spec,
            self.actions,
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
            self._refuse(refused, int(ids[refused]))
        return rewards, dones

    def play_on(self, games: npt.ArrayLike, actions: npt.ArrayLike, rewards: npt.NDArray[np.float32]) -> None:
        """Play one action in some games, and on through all decisions that have a single legal action.

        Afterwards each of them waits for a decision with a choice, or is over.

        Args:
            games: int64 (n,), which games, none of them twice.
            actions: int64 (n,), a legal action for each.
            rewards: float32 (B, P), to which the rewards are added.

        Raises:
            IllegalPlayError: an action that is not legal; no game has moved.
        """
        which, ids = np.asarray(games, np.int64), np.asarray(actions, np.int64)
        anyone = np.zeros(self.num_games, np.int64)  # no seat's decisions are different from the others'
        turns = np.empty(len(which), np.int64)
        refused = self.backend.step_games(
            self.rows, self.spec, self.actions, which, ids, anyone, True, False, rewards, turns
        )
        if refused >= 0:
            self._refuse(int(which[refused]), int(ids[refused]))

    def sample(
        self,
        rng: np.random.Generator,
        out: IntArray | None = None,
        draws: npt.NDArray[np.float64] | None = None,
    ) -> IntArray:
        """A legal action a game, uniformly; `NO_ACTION` for games that are over.

        Args:
            rng: source of the draws.
            out: int64 (B,) to write to, or None.
            draws: float64 (B,) scratch for the draws, or None.

        Returns:
            int64 (B,) action ids.
        """
        out = self._out(out, "out", np.empty(self.num_games, np.int64))
        draws = rng.random(out=self._out(draws, "draws", self._draws))
        self.backend.sample(self.rows, self.spec, draws, out)
        return out

    # ------------------------------------------------------------ looking

    def legal_mask(self, out: npt.NDArray[np.int8] | None = None) -> npt.NDArray[np.int8]:
        """int8 (B, A): 1 = legal for the seat to act; all 0 for games that are over."""
        if out is None:
            out = np.empty((self.num_games, self.num_actions), np.int8)
        self._check_out(out, "out", self.num_actions, np.int8)
        self.backend.write_masks(self.rows, self.spec, out)
        return out

    def num_legal(self) -> IntArray:
        """int64 (B,): number of legal actions."""
        out = np.empty(self.num_games, np.int64)
        self.backend.count_legal(self.rows, self.spec, out)
        return out

    def legal_actions(self) -> LegalActions:
        """All legal actions of all games as a ragged array, with the cards each would play."""
        count = self.num_legal()
        start = np.cumsum(count) - count
        ids, cards = np.empty(count.sum(), np.int64), np.empty(count.sum(), np.int64)
        self.backend.list_legal(self.rows, self.spec, self.actions, start, ids, cards)
        return LegalActions(np.repeat(np.arange(self.num_games), count), ids, cards, start)

    def observe(
        self, seats: npt.ArrayLike | None = None, out: npt.NDArray[np.uint8] | None = None
    ) -> npt.NDArray[np.uint8]:
        """The observation of one seat a game, by default the seat to act.

        Args:
            seats: int64 (B,) or one number; -1 gives zeros.
            out: uint8 (B, O) to write to, or None.

        Returns:
            uint8 (B, O) of 0 and 1, the pieces of `layout`; zeros for games that are over.
        """
        if seats is None:
            seats = self.state.turn
        seats = self._games(np.broadcast_to(np.asarray(seats), (self.num_games,)), "seats")
        if ((seats < -1) | (seats >= self.num_players)).any():
            raise ValueError(f"seats: expected -1..{self.num_players - 1}")
        if out is None:
            out = np.empty((self.num_games, self.observation_size), np.uint8)
        self._check_out(out, "out", self.observation_size, np.uint8)
        self.backend.observe_seats(self.rows, self.spec, self.actions, seats, out)
        return out

    def observe_all(self, out: npt.NDArray[np.uint8] | None = None) -> npt.NDArray[np.uint8]:
        """What a centralised critic may see, absolute seats.

        Returns:
            uint8 (B, `state_size`): the observation of seat 0, the turn (one-hot P), the hands of seats
            1..P-1, and what else the game hides.
        """
        if out is None:
            out = np.empty((self.num_games, self.state_size), np.uint8)
        self._check_out(out, "out", self.state_size, np.uint8)
        self.backend.observe_all(self.rows, self.spec, self.actions, out)
        return out

    def action_to_cards(self, actions: npt.ArrayLike) -> IntArray:
        """int64 (B,): the card masks that these legal actions would play; 0 for those that play none."""
        out = np.empty(self.num_games, np.int64)
        ids = self._games(actions, "actions")
        if ((ids < 0) | (ids >= self.num_actions)).any() or (self.state.turn < 0).any():
            raise ValueError(f"actions: expected 0..{self.num_actions - 1} in games that are not over")
        self.backend.action_cards(self.rows, self.actions, ids, out)
        return out

    def scores(self) -> IntArray:
        """int64 (B, P): points so far, those of a running round included as places settle (copy)."""
        scores: IntArray = self.state.scores.copy()
        return scores

    # ------------------------------------------------------------ copies

    def copy(self) -> Self:
        """An independent batch in the same position."""
        return self.select(np.arange(self.num_games))

    def select(self, games: npt.ArrayLike) -> Self:
        """An independent batch with copies of some games, in the order given (repeats allowed)."""
        rows = self.rows[np.asarray(games)]
        if rows.ndim != 2:
            raise ValueError("games: expected a list of indices or a mask of games")
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._bind(rows)
        return new

    # ------------------------------------------------------------ arguments

    def _refuse(self, game: int, action: int) -> NoReturn:
        turn = int(self.state.turn[game])
        if turn < 0:
            raise IllegalPlayError(
                f"game {game} is over; its action must be {NO_ACTION}, not {action}", game=game, action=action
            )
        known = 0 <= action < self.num_actions
        name = self.table.text(action) if known else f"outside 0..{self.num_actions - 1}"
        raise IllegalPlayError(
            f"game {game}: action {action} ({name}) is not legal for seat {turn}",
            game=game,
            seat=turn,
            action=action,
        )

    def _games(self, values: npt.ArrayLike, name: str) -> IntArray:
        array = np.asarray(values)
        if array.dtype != np.int64 or not array.flags.c_contiguous:
            if array.dtype.kind not in "iu":
                raise ValueError(f"{name}: expected integers, got {array.dtype}")
            array = np.ascontiguousarray(array, np.int64)
        if array.shape != (self.num_games,):
            raise ValueError(f"{name}: expected shape ({self.num_games},), got {array.shape}")
        return array

    def _leaders(self, leader: npt.ArrayLike) -> IntArray:
        leaders = self._games(np.broadcast_to(np.asarray(leader), (self.num_games,)), "leader")
        if ((leaders < -1) | (leaders >= self.num_players)).any():
            raise TienLenError(f"leader: expected a seat below {self.num_players}, or -1")
        return leaders

    def _out(self, out: Any, name: str, default: Any) -> Any:
        return default if out is None else self._check_array(out, name, default.shape, default.dtype)

    def _check_out(self, out: Any, name: str, width: int, dtype: Any) -> Any:
        return self._check_array(out, name, (self.num_games, width), np.dtype(dtype))

    def _check_array(self, out: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == dtype
        if not fits or not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError(f"{name}: expected a contiguous, writeable {dtype} array of shape {shape}")
        return out
