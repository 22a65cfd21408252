"""A game's functions, called with numbers that refuse what compiled code would not see.

Compiled code checks nothing, so an index that is wrong corrupts memory there. Here rows, settings, masks and
observations are lists that refuse other indices and other values, and whatever goes wrong names its function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from tienlen_env.errors import GameFaultError
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.game import ActionTable, AnyGame, AnyRules
from tienlen_env.games.common.state import ClimbingState

_FEW_DEALS: Final = 64
_MANY_DEALS: Final = 4096  # in which each card of a deck comes up


class GuardedNumbers(list[Any]):
    """Numbers of a kernel, which refuse what compiled code would not see.

    Args:
        name: of the array, for messages.
        items: the numbers.
        kind: int or float.
        is_open: whether they may be written.
    """

    def __init__(self, name: str, items: Sequence[Any], kind: type = int, is_open: bool = True) -> None:
        super().__init__(items)
        self.name, self.kind, self.is_open = name, kind, is_open

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice) or 0 <= i < len(self):
            return super().__getitem__(i)
        raise GameFaultError(f"{self.name}[{i}]: expected an index in 0..{len(self) - 1}")

    def __setitem__(self, i: Any, value: Any) -> None:
        if not (isinstance(i, int) and 0 <= i < len(self)):
            raise GameFaultError(f"{self.name}[{i}]: expected an index in 0..{len(self) - 1}")
        if not self.is_open:
            raise GameFaultError(f"writes {self.name}[{i}]: expected to read it only")
        if not isinstance(value, int if self.kind is int else int | float):
            raise GameFaultError(f"{self.name}[{i}] = {value!r}: expected {self.kind.__name__}")
        if self.kind is int and not -(2**63) <= value < 2**63:
            raise GameFaultError(f"{self.name}[{i}] = {value}: expected 64 bits, signed")
        super().__setitem__(i, value)


class GuardedOutput(dict[int, int]):
    """What an observer writes, by index; it may read nothing of it.

    Args:
        size: items of the observation.
        start: where they begin; what lies before may not be written.
    """

    def __init__(self, size: int, start: int) -> None:
        super().__init__()
        self.size, self.start = size, start
        self.dtype = np.dtype(np.uint8)

    def __getitem__(self, i: Any) -> Any:
        raise GameFaultError(f"reads out[{i}]: expected to write it only")

    def items_written(self) -> list[int]:
        """What was written, each item 0 or 1."""
        for i in self.keys() - range(self.start, self.start + self.size):
            raise GameFaultError(
                f"out of {self.size} items, out[{i - self.start}]: expected an index in 0..{self.size - 1}"
                + f" from start={self.start} on" * (self.start > 0)
            )
        found = [self.get(self.start + i, -1) for i in range(self.size)]
        if not set(found) <= {0, 1}:
            i = next(i for i, item in enumerate(found) if item not in (0, 1))
            need(self.start + i in self, f"out[{i}] of {self.size} items is not written")
            raise GameFaultError(f"out[{i}] is {found[i]}: expected 0 or 1")
        return found


@contextmanager
def calling(function: str, *read_only: GuardedNumbers) -> Iterator[None]:
    """Name the function in whatever goes wrong within it.

    Args:
        function: its name, or a place.
        read_only: numbers that it may not write.
    """
    for numbers in read_only:
        numbers.is_open = False
    try:
        yield
    except GameFaultError as fault:
        raise GameFaultError(f"{function}: {fault}") from fault.__cause__
    except Exception as error:
        raise GameFaultError(f"{function}: raises {type(error).__name__}: {error}") from error
    finally:
        for numbers in read_only:
            numbers.is_open = True


def need(is_right: object, text: str) -> None:
    """Raise `GameFaultError` with this text, unless it is right."""
    if not is_right:
        raise GameFaultError(text)


def same(what: str, found: object, expected: object, when: str = "") -> None:
    """Raise `GameFaultError`, unless something is as expected."""
    if found != expected:
        raise GameFaultError(f"{what} is {found}{when}: expected {expected}")


def check_text(text: Any, is_any: bool = False) -> str:
    """A text of a game, which terminals and pages show; it may be empty where any will do."""
    need(isinstance(text, str), f"{text!r}: expected a text")
    need(text.isprintable(), f"{text!r}: expected printable characters only, because a terminal shows them")
    need(is_any or text.strip(), f"{text!r}: expected a text that is not blank")
    return str(text)


@dataclass(frozen=True, eq=False)
class GuardedVariant:
    """A variant of a game under some settings, whose functions are called with guarded numbers.

    Attributes:
        game: the game.
        rules: the variant.
        settings: those of `build_spec` that are not the defaults.
        table: its actions.
        spec: what the kernels read, never open.
        actions: likewise.
        views: the columns of each view of the game's class of states, but for the rows and the mask.
        labels: for each column that has a name, for example ``{3: "row[score] of seat 1"}``.
    """

    game: AnyGame
    rules: AnyRules
    settings: Mapping[str, Any]
    table: ActionTable
    spec: GuardedNumbers
    actions: GuardedNumbers
    views: Mapping[str, list[int]]
    labels: Mapping[int, str]

    @classmethod
    def of(cls, game: AnyGame, rules: AnyRules, **settings: Any) -> GuardedVariant:
        """The variant of rules and settings that the game accepts."""
        with calling("build_table"):
            table = game.build_table(rules)
            hash(table)
        with calling("build_spec"):
            spec, actions = (array.tolist() for array in game.build_spec(rules, **settings))
        views = columns_of_views(game, rules, spec)
        spec, actions = (
            GuardedNumbers("spec", spec, is_open=False),
            GuardedNumbers("actions", actions, is_open=False),
        )
        return cls(game, rules, settings, table, spec, actions, views, label_columns(game, rules, views))

    def under(self, **settings: Any) -> GuardedVariant:
        """The same variant under other settings."""
        return GuardedVariant.of(self.game, self.rules, **settings)

    def accepts(self, **settings: Any) -> bool:
        """Whether the game has these settings."""
        try:
            self.game.build_spec(self.rules, **settings)
        except ValueError:
            return False
        return True

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.settings.items())

    @property
    def history(self) -> int:
        """Past plays that the observation shows."""
        return int(self.settings.get("history", 0))

    @property
    def num_rounds(self) -> int:
        """Rounds of a game."""
        return int(self.settings.get("num_rounds", 1))

    @property
    def reward(self) -> str:
        """The reward scheme."""
        return str(self.settings.get("reward", "points"))

    @cached_property
    def deck(self) -> Deck:
        """The cards that are dealt."""
        return Deck(self)

    @cached_property
    def trick(self) -> Mapping[str, list[int]]:
        """The views of a climbing game; none of another game."""
        rows = np.zeros((1, self.spec[S.ROW_SIZE]), np.int64)
        state = self.game.state_of(rows, self.rules, self.spec[S.NUM_WORDS])
        return self.views if isinstance(state, ClimbingState) else {}

    @property
    def mask(self) -> range:
        """The columns of the packed mask."""
        return range(self.game.columns.legal, self.game.columns.legal + self.spec[S.NUM_WORDS])

    def label(self, column: int) -> str:
        """How messages call a column of the row."""
        return self.labels.get(column, f"row[{column}]")

    def seats(self, row: Sequence[int], name: str) -> list[int]:
        """The numbers of the seats in one of `Columns`; none if the game has no such column."""
        first = getattr(self.game.columns, name)
        return list(row[first : first + self.rules.num_players]) if first >= 0 else []

    def new_row(self) -> list[int]:
        """A row that has held no game."""
        row = [0] * self.spec[S.ROW_SIZE]
        row[self.game.columns.turn] = -1
        return row

    def begin(
        self, numbers: Sequence[int], key: int, game_round: int = 0, leader: int = -1
    ) -> GuardedNumbers:
        """Begin a game in a row that holds some numbers."""
        row = GuardedNumbers("row", numbers)
        with calling("begin_game"):
            self.game.kernels.begin_game(row, self.spec, key, game_round, leader)
        return row

    def legal(self, row: GuardedNumbers) -> list[int]:
        """Update the mask of the seat to act, and list its actions."""
        num_actions, num_players = self.table.num_actions, self.rules.num_players
        for column in self.mask:
            row[column] = -1  # of the position before
        with calling("update_legal"):
            self.game.kernels.update_legal(row, self.spec, self.actions)
            mask = sum((row[column] & 2**64 - 1) << 64 * word for word, column in enumerate(self.mask))
            need(not mask >> num_actions, f"bit {mask.bit_length() - 1}: there are {num_actions} actions")
            turn = row[self.game.columns.turn]
            need(-1 <= turn < num_players, f"row[turn] is {turn}: expected -1..{num_players - 1}")
            legal = [action for action in range(num_actions) if mask >> action & 1]
            need(bool(legal) == (turn >= 0), f"{len(legal)} legal actions where row[turn] is {turn}")
        return legal

    def cards(self, row: GuardedNumbers, action: int) -> int:
        """The cards that an action plays from the hand of the seat to act."""
        hand = row[self.game.columns.hand + row[self.game.columns.turn]]
        with calling(f"action_cards({self.table.text(action)!r})"):
            cards: int = self.game.kernels.action_cards(hand, self.actions, action)
            need(cards & ~hand == 0, f"{cards:#x} is not in the hand {hand:#x}")
        return cards

    def play(self, row: GuardedNumbers, action: int, cards: int, before: Sequence[float]) -> list[float]:
        """Play, and return the rewards that were added to those before."""
        rewards = GuardedNumbers("rewards", before, float)
        self.game.kernels.play(row, self.spec, self.actions, action, cards, rewards)
        return [after - start for after, start in zip(rewards, before, strict=True)]

    def observe(self, row: GuardedNumbers, seat: int, start: int = 0) -> list[int]:
        """The observation of a seat, written from `start` on."""
        out = GuardedOutput(self.game.observation(self.rules, self.history).size, start)
        with calling("observe", row):
            self.game.kernels.observe(row, self.spec, self.actions, seat, out, start)
            return out.items_written()

    def observe_all(self, row: GuardedNumbers, start: int = 0) -> list[int]:
        """The global observation, written from `start` on."""
        out = GuardedOutput(self.game.global_observation_size(self.rules, self.history), start)
        with calling("observe_all", row):
            self.game.kernels.observe_all(row, self.spec, self.actions, out, start)
            return out.items_written()


def columns_of_views(game: AnyGame, rules: AnyRules, spec: Sequence[int]) -> dict[str, list[int]]:
    """The columns of each view of the game's class of states, but for the rows and the mask."""
    # If every column of a row holds its own index, the views are the indices of their columns.
    rows, found = np.arange(spec[S.ROW_SIZE])[None], {}
    with calling("state"):
        state = game.state_of(rows, rules, spec[S.NUM_WORDS])
        for name, view in vars(state).items():
            if isinstance(view, np.ndarray) and name not in ("rows", "legal"):
                is_live = np.shares_memory(view, rows) or not view.size
                need(is_live, f"state.{name} is a copy: expected a view of the rows")
                found[name] = view.ravel().tolist()
    return found


def label_columns(game: AnyGame, rules: AnyRules, views: Mapping[str, list[int]]) -> dict[int, str]:
    """The name of each column that has one: in `Columns`, or among the views."""
    labels = {getattr(game.columns, name): f"row[{name}]" for name in ("turn", "key", "round")}
    for name in ("hand", "place", "score", "played"):
        if (first := getattr(game.columns, name)) >= 0:
            labels |= {first + seat: f"row[{name}] of seat {seat}" for seat in range(rules.num_players)}
    for name, view in views.items():
        labels |= {column: f"row[{column}] (state.{name})" for column in view if column not in labels}
    return labels


class Deck:
    """The cards of the deals of a variant, as far as they are known.

    Attributes:
        cards: those that came up (mask).
    """

    def __init__(self, variant: GuardedVariant) -> None:
        self._variant, self._num_deals, self.cards = variant, 0, 0
        while self._num_deals < _FEW_DEALS:
            self._deal()

    def _deal(self) -> None:
        for hand in self._variant.seats(
            self._variant.begin(self._variant.new_row(), self._num_deals), "hand"
        ):
            self.cards |= hand
        self._num_deals += 1

    def has(self, cards: int) -> bool:
        """Whether each of some cards comes up in a deal."""
        while cards & ~self.cards and self._num_deals < _MANY_DEALS:
            self._deal()
        return not cards & ~self.cards
