"""A variant: rules with the settings of a batch, and all that follows from them. NumPy only.

`Variant` has tables, sizes and texts; `VariantBatch` is what batches on the host and on a device share.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.backends.per_game import card_check
from tienlen_env.engine.checks import as_index, as_integers
from tienlen_env.errors import IllegalPlayError, TienLenError
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import ActionFields, IntArray, Spec
from tienlen_env.games.common.cards import describe_cards
from tienlen_env.games.common.game import ActionTable, AnyGame, AnyRules, Layout, PaymentReader, Refusal
from tienlen_env.games.common.spec import Episode, num_words
from tienlen_env.games.common.state import GameState
from tienlen_env.games.registry import game_of, get_rules, has_payments

NO_ACTION = -1


class Settings(NamedTuple):
    """How games are played, rewarded and observed; see `tienlen_env.engine.batch.Batch`."""

    episode: Episode = "round"
    reward: str = "points"
    history: int = 0
    history_length: int = 0
    auto_reset: bool = False
    num_rounds: int | None = None


class KernelArrays(NamedTuple):
    """A batch as compiled code reads it.

    Attributes:
        rows: int64 (B, ROW), the states, hidden cards included; live.
        spec: int64 (S,), the variant.
        actions: int64 (A * F,), its action table.
    """

    rows: IntArray
    spec: IntArray
    actions: IntArray


class Variant:
    """The rules and settings of a batch as data.

    Args:
        rules: a preset's name, or the rules of any game.
        num_players: P; None: as in the rules.
        settings: how games are played, rewarded and observed.

    Attributes:
        rules: the rules.
        settings: the settings.
        game: the game.
        action_table: the actions of the rules.
        spec: int64 (S,), read-only, rules and settings for kernels.
        actions: int64 (A * F,), read-only, the action table for kernels.
        layout: name to `Piece` of the observation.
        row_size: ROW.

    Raises:
        RulesError: unknown rules or an impossible number of players.
        ValueError: a setting out of range.
    """

    def __init__(
        self, rules: str | AnyRules, num_players: int | None = None, settings: Settings | None = None
    ) -> None:
        self.settings = chosen = Settings() if settings is None else settings
        if not isinstance(chosen.auto_reset, bool | np.bool_):
            raise ValueError(f"auto_reset={chosen.auto_reset!r}: expected True or False")
        self.rules: AnyRules = get_rules(rules, num_players)
        self.game: AnyGame = game_of(self.rules)
        self.action_table: ActionTable = self.game.build_table(self.rules)
        self.spec, self.actions = self.game.build_spec(
            self.rules,
            num_rounds=S.rounds_of(chosen.episode, chosen.num_rounds, self.rules.target),
            reward=chosen.reward,
            auto_reset=chosen.auto_reset,
            history=chosen.history,
            history_length=chosen.history_length,
        )
        self.layout: Layout = self.game.observation(self.rules, chosen.history)
        self.row_size = int(self.spec[S.ROW_SIZE])
        self._showing: dict[int, Variant] = {}

    def __reduce__(self) -> tuple[type[Variant], tuple[AnyRules, None, Settings]]:
        return Variant, (self.rules, None, self.settings)

    def showing(self, history: int) -> Variant:
        """The same rows, seen by observations with this many past plays, no more than are stored."""
        if history not in self._showing:
            stored = max(self.settings[2:4])
            settings = self.settings._replace(history=history, history_length=stored)
            self._showing[history] = Variant(self.rules, None, settings)
        return self._showing[history]

    def new_rows(self, num_games: int) -> IntArray:
        """int64 (n, ROW): games that have not been dealt."""
        rows = np.zeros((num_games, self.row_size), np.int64)
        rows[:, self.game.columns.turn] = -1
        return rows

    def state(self, rows: IntArray) -> GameState:
        """Named live views of the columns of rows of this variant, int64 (n, ROW)."""
        return self.game.state_of(rows, self.rules, int(self.spec[S.NUM_WORDS]))

    @cached_property
    def payments(self) -> PaymentReader[AnyRules] | None:
        """The game's reader of payments; None for variants without them."""
        return self.game.payments if has_payments(self.rules) else None

    @cached_property
    def _numbers(self) -> tuple[Spec, ActionFields]:
        """`spec` and `actions` as lists, which plain Python reads faster than arrays."""
        return self.spec.tolist(), self.actions.tolist()

    def judge(self, row: IntArray, action: int, cards: int) -> Refusal | None:
        """Why the seat to act may not play an action with exactly these cards; None if it may.

        Args:
            row: int64 (ROW,), a game that is not over.
            action: any number.
            cards: any number.
        """
        state, (spec, actions) = row.tolist(), self._numbers
        if not card_check(self.game)(state, spec, actions, action, cards):
            return None
        table = self.action_table
        if not 0 <= action < table.num_actions:
            return Refusal(f"action {action}: expected 0..{table.num_actions - 1}")
        return self.game.text.why_refused(table, state, action, cards)

    def refusal(self, row: IntArray, game: int, action: int, cards: int | None = None) -> IllegalPlayError:
        """The error of an action that is not legal, or not with its cards.

        Args:
            row: int64 (ROW,), the game.
            game: its index, for the message.
            action: any number.
            cards: any number; None: the lowest suits held.
        """
        turn, table = int(row[self.game.columns.turn]), self.action_table
        if turn < 0:
            if np.count_nonzero(row) == 1:  # all of a row but its turn is 0 at first
                message = f"game {game} has not been dealt; call reset()"
            else:
                message = f"game {game} is over; its action must be {NO_ACTION}, not {action}"
            return IllegalPlayError(message, game=game, action=action)
        if not 0 <= action < table.num_actions:
            return IllegalPlayError(
                f"game {game}: action {action} (outside 0..{table.num_actions - 1}) is not legal "
                f"for seat {turn}",
                game=game,
                seat=turn,
                action=action,
            )
        why = self.game.text.why_refused(table, row.tolist(), action, cards)
        played = "" if cards is None else f" with {describe_cards(cards, self.game.text.format_cards)}"
        return IllegalPlayError(
            f"game {game}: action {action} ({table.text(action)}){played} is not legal "
            f"for seat {turn}: {why}",
            game=game,
            seat=turn,
            action=action,
            cards=cards,
            clause=why.clause,
        )


class VariantBatch:
    """What batches on the host and on a device share: the variant, its sizes and texts, checks of arguments.

    Attributes: see `tienlen_env.engine.batch.Batch`.
    """

    def __init__(self, variant: Variant, num_games: int) -> None:
        if isinstance(num_games, bool) or not isinstance(num_games, int | np.integer) or num_games < 1:
            raise ValueError(f"num_games={num_games!r}: expected 1 or more")
        self._adopt(variant, int(num_games))

    def _adopt(self, variant: Variant, num_games: int) -> None:
        self.variant = variant
        self.rules, self.game, self.action_table = variant.rules, variant.game, variant.action_table
        self.layout = variant.layout
        self.episode, self.reward, self.history, _, self.auto_reset, self.num_rounds = variant.settings
        self.num_games = num_games
        self.num_players: int = variant.rules.num_players
        self.num_actions: int = variant.action_table.num_actions
        self.observation_size: int = variant.layout.size
        self.global_observation_size: int = variant.game.global_observation_size(self.rules, self.history)
        self.packed_mask_size = num_words(self.num_actions)
        self.packed_observation_size = num_words(self.observation_size)
        self.packed_global_observation_size = num_words(self.global_observation_size)

    @property
    def has_payments(self) -> bool:
        """Whether this variant has payments."""
        return self.variant.payments is not None

    def action_to_text(self, action: int) -> str:
        """The name of an action id.

        Raises:
            ValueError: not an action id.
        """
        return self.action_table.text(as_index(action, self.num_actions, "action"))

    def text_to_action(self, text: str) -> int:
        """The action id of a name that `action_to_text` gives.

        Raises:
            TienLenError: not the name of an action.
        """
        return self.game.text.parse_action(self.action_table, text)

    def _for_games(self, values: npt.ArrayLike, name: str) -> IntArray:
        return as_integers(values, name, self.num_games)

    def _seats(self, seats: npt.ArrayLike, num_games: int | None = None) -> IntArray:
        array = as_integers(seats, "seats", self.num_games if num_games is None else num_games)
        # Seen as unsigned, negative numbers are the largest.
        if array.size and (array + 1).view(np.uint64).max() > self.num_players:
            raise ValueError(f"seats: expected -1..{self.num_players - 1}")
        return array

    def _spread(self, values: npt.ArrayLike, name: str) -> IntArray:
        if type(values) is int and -(2**63) <= values < 2**63:
            return filled(self.num_games, values)
        return self._for_games(np.broadcast_to(np.asarray(values), (self.num_games,)), name)

    def _leaders(self, leader: npt.ArrayLike) -> IntArray:
        if type(leader) is int and -1 <= leader < self.num_players:
            return filled(self.num_games, leader)
        leaders = self._spread(leader, "leader")
        if ((leaders < -1) | (leaders >= self.num_players)).any():
            raise TienLenError(f"leader: expected a seat below {self.num_players}, or -1")
        return leaders


def filled(length: int, number: int) -> IntArray:
    """`np.full`, for callers that count microseconds."""
    out = np.empty(length, np.int64)
    out.fill(number)
    return out
