"""`BaseRound`: one round of any game, one play at a time, for people and programs.

`Round` (Tiến lên) and `ThirteensRound` (Thirteens) are subclasses; a game without its own class uses
`BaseRound` itself. All have the same methods:

| name | meaning |
|---|---|
| ``turn``, ``is_over`` | the seat to act, -1 at the end; whether the round is over |
| ``legal_plays()``, ``legal_actions()`` | the legal plays of the seat to act, as plays or as action ids |
| ``play(move)``, ``pass_()``, ``undo()`` | a move is a play, an action id (int), or text |
| ``hand(seat)``, ``places``, ``scores`` | cards (mask), results |
| ``payments()``, ``balances`` | who paid whom, and for what; units got less units paid |
| ``record()``, ``from_record(line)`` | write the round as one line of text, and read it |
| ``view()`` | the data of a picture |
| ``copy()`` | an independent round; `copy.deepcopy` and `pickle` work, too |
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from operator import index
from typing import Any, ClassVar, Final, Generic, Protocol, Self, TypeAlias, TypeVar, cast

import numpy as np

from tienlen_env import rendering
from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_index, as_key
from tienlen_env.engine.view import View
from tienlen_env.errors import IllegalPlayError, NotationError, TienLenError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import AnyGame, AnyRules, Payment, Refusal
from tienlen_env.games.common.notation import Notation, Record, Recorded
from tienlen_env.games.common.state import GameState
from tienlen_env.games.registry import PRESETS, ByGame, check_game, games, get_rules
from tienlen_env.rendering import PlainView, for_stream, render_ansi
from tienlen_env.single.painter import Painter, seat_names

Facts = dict[str, Json]
REFUSED: Final = "{play} refused: {why} ({position})"
POSITION: Final = "seat {seat}; {words}"
OVER: Final = "the {unit} is over"


class AnyPlay(Protocol):
    """A play of any game; its ``str`` is the text that `BaseRound.play` reads."""

    @property
    def action(self) -> int:
        """The action id."""

    @property
    def cards(self) -> int:
        """The cards that it plays, as a mask; 0 for none."""


class TextPlay(str):
    """A play as text, for games where an action stands for one set of cards.

    Attributes:
        action: the action id.
        cards: the cards that it plays, as a mask; 0 for none.
    """

    action: int
    cards: int

    def __new__(cls, text: str, action: int, cards: int) -> Self:
        """Make a play from its text, action id and cards."""
        new = super().__new__(cls, text)
        new.action, new.cards = action, cards
        return new

    def __getnewargs__(self) -> tuple[str, int, int]:  # type: ignore[override]
        return str(self), self.action, self.cards


RulesT = TypeVar("RulesT", bound=AnyRules)
PlayT = TypeVar("PlayT", bound=AnyPlay)


@lru_cache(maxsize=64, typed=True)
def _share(
    rules: str | AnyRules, num_players: int | None, backend: BackendName
) -> tuple[Batch, dict[Any, Any]]:
    """What all rounds with the same rules and backend share.

    Returns:
        A batch of one game, which is never played: each round starts with a copy of it. And the play objects,
        by cards (`Round`) or by action id and cards.
    """
    return Batch(rules, 1, num_players=num_players, backend=backend), {}


_DEAL: Final = ("key", "round_index", "leader", "_hands", "_extra_cards", "_first_row")  # how it was dealt


class BaseRound(Generic[RulesT, PlayT]):
    """One round of any game.

    Args:
        rules: a preset's name or the rules of any game; left out: `default_rules`.
        key: 64-bit deal key; None draws one.
        num_players: P; None keeps the number in `rules`.
        round_index: which round of the key's game is dealt.
        leader: the seat that leads; None: as the rules say for the first round.
        backend: ``"native"``, ``"numba"`` or ``"python"``.

    Attributes:
        rules: the rules.
        backend: name of the backend that plays.
        key: the deal key (signed), or None if the hands were given.
        round_index: which round of the key's game this is.
        leader: the seat that leads, or None.

    Raises:
        RulesError: unknown rules, or those of another game.
        ValueError: a key or round that does not fit, or an invalid seat.
    """

    game_name: ClassVar[str] = ""  # the only game of a subclass; "" for any
    default_rules: ClassVar[str] = "cardgames"
    notation: ClassVar[Notation | None] = None  # of its records; None: with action ids and scores
    _int_hint: ClassVar[str] = ""

    rules: RulesT
    backend: BackendName
    key: int | None
    round_index: int
    leader: int | None
    _state: GameState

    def __init__(
        self,
        rules: str | RulesT = "",
        key: int | None = None,
        *,
        num_players: int | None = None,
        round_index: int = 0,
        leader: int | None = None,
        backend: BackendName = "native",
    ) -> None:
        self._begin(rules or self.default_rules, num_players, leader, backend)
        self.key = as_key(secrets.randbits(64) if key is None else key)
        if not _is_int(round_index, 0, 2**31):
            raise ValueError(f"round_index={round_index!r}: expected 0 or more")
        self.round_index = int(round_index)
        self._deal()

    def _begin(
        self, rules: str | RulesT, num_players: int | None, leader: int | None, backend: BackendName
    ) -> None:
        try:
            batch, self._known = _share(rules, num_players, backend)
        except TypeError:  # not hashable
            get_rules(rules, num_players)
            raise
        if self.game_name:
            check_game(batch.rules, self.game_name)
        if leader is not None and not _is_int(leader, 0, batch.num_players):
            raise ValueError(f"leader={leader!r}: expected a seat 0..{batch.num_players - 1}, or None")
        self.backend = backend
        self.rules = cast(RulesT, batch.rules)
        self.leader = None if leader is None else int(leader)
        self._hands: tuple[int, ...] | None = None
        self._first_row: list[int] | None = None
        self._extra_cards: dict[str, int] = {}
        self._plays: list[PlayT] = []
        self._bind(batch.copy())

    def _bind(self, batch: Batch) -> None:
        """Take a batch of one game, and bind the loops to it: a round counts microseconds."""
        self._batch = batch
        self._state = batch.state
        self._action = np.empty(1, np.int64)  # to play, and its cards
        self._cards = np.empty(1, np.int64)
        self._ids, self._masks = np.empty((2, batch.num_actions), np.int64)  # what is legal, and the cards
        loops, arrays = batch.loops, batch.kernel_arrays
        self._list_legal = partial(loops.list_legal, *arrays, np.zeros(1, np.int64), self._ids, self._masks)
        self._step = partial(
            loops.step,
            *(*arrays, self._action, self._cards, batch._rewards, batch._dones),
            *(batch._no_mask, batch._no_observation, batch._no_draws, batch._no_cards),
        )

    def _deal(self) -> None:
        leader = -1 if self.leader is None else self.leader
        if self._hands is not None:
            self._batch.set_hands([self._hands], leader, **self._extra_cards)
        elif self._first_row is not None:
            self._rows[0] = self._first_row
        else:
            keys, rounds, leaders = np.array([[self.key], [self.round_index], [leader]])
            self._batch.loops.begin(*self._batch.kernel_arrays, keys, rounds, leaders)
            self._batch.forget_payments()

    @property
    def row(self) -> IntArray:
        """int64 (ROW,): the state with all hands (copy)."""
        row: IntArray = self._rows[0].copy()
        return row

    @property
    def _rows(self) -> IntArray:
        """int64 (1, ROW): the state."""
        return self._batch.state.rows

    @classmethod
    def from_hands(
        cls,
        rules: str | RulesT,
        hands: Sequence[str | int],
        *,
        leader: int | None = None,
        backend: BackendName = "native",
        **extra_cards: str | int,
    ) -> Self:
        """A round with given hands.

        Args:
            rules: a preset's name or rules.
            hands: one per seat, as text or masks.
            leader: the seat that leads; None: see `Batch.set_hands`.
            backend: ``"native"``, ``"numba"`` or ``"python"``.
            extra_cards: other cards that `Batch.set_hands` takes, as text or masks: in Thirteens ``dummy``,
                ``remainder`` and ``starter``.

        Raises:
            TienLenError: an impossible card distribution.
            NotationError: text that does not name cards.
            ValueError: an invalid seat.
        """
        if isinstance(hands, str):
            raise TienLenError("hands: expected one a player")
        new = object.__new__(cls)
        new._begin(rules, len(hands), leader, backend)
        new.key, new.round_index = None, 0
        new._hands = tuple(new._read_cards(cards) for cards in hands)
        new._extra_cards = {name: new._read_cards(cards) for name, cards in extra_cards.items()}
        new._deal()
        return new

    @classmethod
    def from_view(cls, view: View, decision: int) -> Self:
        """A round that begins in the position of a decision, with the information of its player.

        The other hands hold arbitrary cards, in the right number. The round has no record.

        Args:
            view: n decisions.
            decision: which of them, 0..n-1.

        Raises:
            ValueError: there is no such decision.
        """
        decision = as_index(decision, len(view), "decision")
        new = object.__new__(cls)
        new._begin(cast(RulesT, view.rules), None, None, "native")
        seen, _ = view.select([decision]).without_hidden().source
        new._rows[0] = seen.state.rows[0, : new._rows.shape[1]]  # without the history
        new.key, new.round_index = None, int(new._state.round[0])
        new._first_row = new._rows[0].tolist()
        return new

    def _read_cards(self, cards: str | int) -> int:
        return self._batch.game.text.parse_cards(cards) if isinstance(cards, str) else index(cards)

    # ------------------------------------------------------------ the position

    @property
    def num_players(self) -> int:
        """P."""
        return self._batch.num_players

    @property
    def turn(self) -> int:
        """The seat to act; -1 when the round is over."""
        return self._state.turn.item()

    @property
    def is_over(self) -> bool:
        """Whether the round is over."""
        return self.turn < 0

    @property
    def places(self) -> tuple[int | None, ...]:
        """Each seat's place, 0 for the best; None while it is open."""
        return tuple(None if place < 0 else place for place in self._state.places[0].tolist())

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of this round so far, by seat."""
        return tuple(self._state.scores[0].tolist())

    @property
    def balances(self) -> tuple[int, ...]:
        """Units that each seat got in this round, less those that it paid; 0 under rules without payments."""
        return tuple(self._batch.balances[0].tolist())

    def payments(self) -> list[Payment]:
        """What has been paid in this round (`Batch.payments`); empty under rules without payments."""
        return self._batch.payments()

    def payment_texts(self, names: Sequence[str] | None = None) -> list[str]:
        """`payments` in words: ``"seat 3 pays seat 0 2 units: place"``.

        Args:
            names: P names of the seats; None for ``"seat 0"`` and so on.

        Raises:
            ValueError: not P names.
        """
        who, causes = seat_names(self.num_players, names, "seat "), self._batch.game.text.causes
        lines = []
        for payer, payee, amount, cause in self.payments():
            pays = "pay" if who[payer] == "you" else "pays"
            units = "1 unit" if amount == 1 else f"{amount} units"
            lines.append(f"{who[payer]} {pays} {who[payee]} {units}: {causes.get(cause, cause)}")
        return lines

    @property
    def next_leader(self) -> int | None:
        """The seat that leads the next round of the game; None: the deal of that round decides."""
        return None

    @property
    def plays(self) -> tuple[PlayT, ...]:
        """All plays so far, in order."""
        return tuple(self._plays)

    def hand(self, seat: int) -> int:
        """The cards in a seat's hand, as a mask.

        Raises:
            ValueError: an invalid seat.
        """
        self._check_seat(seat)
        return int(self._state.hands[0, seat])

    def _check_seat(self, seat: int) -> None:
        if not 0 <= index(seat) < self.num_players:
            raise ValueError(f"seat {seat!r}: expected 0..{self.num_players - 1}")

    def legal_plays(self, *, exact: bool = False) -> list[PlayT]:
        """The legal plays of the seat to act, in the order of action ids; empty when the round is over.

        Args:
            exact: True: every legal set of cards, in games where one action stands for several.
        """
        count = self._list_legal()
        legal = zip(self._ids[:count].tolist(), self._masks[:count].tolist(), strict=True)
        return [self.play_of(action, cards) for action, cards in legal]

    def legal_actions(self) -> list[int]:
        """The ids of the legal actions, ascending; empty when the round is over."""
        ids: list[int] = self._ids[: self._list_legal()].tolist()
        return ids

    def play_of(self, action: int, cards: int) -> PlayT:
        """The play of an action with its cards (mask)."""
        play = self._known.get((action, cards))
        if play is None:
            batch = self._batch
            text = batch.game.text.play_text(batch.action_table, action, cards)
            play = self._known[action, cards] = TextPlay(text, action, cards)
        return cast(PlayT, play)

    # ------------------------------------------------------------ playing

    def play(self, move: PlayT | int | str) -> None:
        """Play for the seat to act.

        Args:
            move: one of `legal_plays`, a `play_of` an action with other legal cards, an action id, or text.

        Raises:
            TienLenError: text that does not name a play.
            IllegalPlayError: the play is not legal; the message has the play, the table, the hand and the
                clause. Errors leave the round unchanged.
        """
        play = self._read(move)
        self._action[0], self._cards[0] = play.action, play.cards
        if self._step() >= 0:
            raise self._refusal(play)
        self._plays.append(play)

    def _read(self, move: PlayT | int | str) -> PlayT:
        """Convert a move to a play."""
        if isinstance(move, TextPlay) and self._known.get((move.action, move.cards)) is move:
            return cast(PlayT, move)
        action = self._parse(move) if isinstance(move, str) else self._checked(cast(int, move))
        return self.play_of(action, self._action_cards(action))

    def _parse(self, text: str) -> int:
        """The action id of a text.

        Raises:
            TienLenError: the text is not the name of an action.
        """
        return self._batch.text_to_action(text)

    def _action_cards(self, action: int) -> int:
        """The cards of a legal action; 0 if it is not legal."""
        found = np.flatnonzero(self._ids[: self._list_legal()] == action)
        return int(self._masks[found[0]]) if len(found) else 0

    def _checked(self, action: int) -> int:
        """Check an action id.

        Raises:
            IllegalPlayError: not an action of the rules.
            TypeError: it is not an integer.
        """
        if isinstance(action, bool):
            raise TypeError(f"{action!r}: expected a play, an action id or text")
        number = index(action)
        if not 0 <= number < self._batch.num_actions:
            raise self._error(
                f"action {number}: expected 0..{self._batch.num_actions - 1}{self._int_hint}", number
            )
        return number

    def pass_(self) -> None:
        """Pass: play the action with the name ``"pass"``.

        Raises:
            IllegalPlayError: a pass is not legal here, or the game has none.
        """
        try:
            action = self._batch.text_to_action("pass")
        except ValueError:
            raise self._error(f"the game {self._batch.game.name!r} has no pass", None) from None
        self.play(action)

    def undo(self) -> PlayT:
        """Take the last play back.

        Returns:
            The play.

        Raises:
            TienLenError: nothing has been played.
        """
        if not self._plays:
            raise TienLenError("there is nothing to undo: nothing has been played")
        *before, last = self._plays
        self._deal()
        self._plays = []
        for play in before:
            self.play(play)
        return last

    # ------------------------------------------------------------ refusals

    @property
    def position(self) -> str:
        """The position of the seat to act in a few words."""
        if self.is_over:
            return OVER.format(unit=self._batch.game.text.unit)
        batch = self._batch
        words = batch.game.text.describe(batch.action_table, self._rows[0].tolist())
        return POSITION.format(seat=self.turn, words=words)

    def _why_refused(self, action: int, cards: int | None) -> Refusal:
        """The reason why a play is not legal, with its clause of RULES.md."""
        batch = self._batch
        return batch.game.text.why_refused(batch.action_table, self._rows[0].tolist(), action, cards)

    def _refusal(self, play: PlayT) -> IllegalPlayError:
        own = self._action_cards(play.action)
        why = self._why_refused(play.action, None if play.cards == own else play.cards)
        text = self._batch.action_to_text(play.action)
        words = REFUSED.format(play=text, why=why, position=self.position)
        return self._error(words, play.action, why.clause)

    def _error(self, message: str, action: int | None, clause: str = "") -> IllegalPlayError:
        seat = None if self.is_over else self.turn
        return IllegalPlayError(message, seat=seat, action=action, clause=clause)

    # ------------------------------------------------------------ copies

    def copy(self) -> Self:
        """An independent round in the same position."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._plays = self._plays.copy()
        new._bind(self._batch.copy())
        return new

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "rules": self.rules,
            "backend": self.backend,
            "deal": {name: getattr(self, name) for name in _DEAL},
            "plays": [(play.action, play.cards) for play in self._plays],
            "row": self._rows[0].tolist(),
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._begin(state["rules"], None, None, state["backend"])
        self.__dict__.update(state["deal"])
        self._plays = [self.play_of(*play) for play in state["plays"]]
        self._rows[0] = state["row"]

    # ------------------------------------------------------------ records

    @property
    def content(self) -> Record:
        """What `record` writes: the rules, the deal, the plays and, at the end, the results.

        Raises:
            TienLenError: the round was made by `from_view`.
        """
        if self._first_row is not None:
            raise TienLenError("a round that one player sees has no record: its deal is not known")
        return Record(
            self.rules,
            self.key,
            self.round_index,
            self._hands,
            self.leader,
            tuple(map(self._recorded, self._plays)),
            self._results if self.is_over else None,
            self._extra_cards,
        )

    def record(self) -> str:
        """The round so far as one line of text (`tienlen_env.games.common.notation`).

        Raises:
            TienLenError: the round was made by `from_view`.
        """
        return (self.notation or plain_notation(self._batch.game)).format(self.content)

    @classmethod
    def from_record(cls, text: str, rules: RulesT | None = None, *, backend: BackendName = "native") -> Self:
        """Read a line that `record` wrote and play it through.

        Args:
            text: one line.
            rules: the variant, needed if the line has only its digest.
            backend: ``"native"``, ``"numba"`` or ``"python"``.

        Raises:
            NotationError: text that cannot be read, an impossible deal, an illegal play, or results that do
                not follow from the plays; the message has the column.
        """
        found = (cls.notation or plain_notation(game_of_line(text))).parse(text, rules)
        variant, settings = cast(RulesT, found.rules), {"leader": found.leader, "backend": backend}
        try:
            if found.hands is not None:
                new = cls.from_hands(variant, found.hands, **settings, **found.extra)  # type: ignore[arg-type]
            else:
                new = cls(variant, found.key, round_index=found.round_index, **settings)  # type: ignore[arg-type]
        except ValueError as error:
            raise NotationError(str(error), text.find("hands=") + 1 or 1) from error
        for play, column in zip(found.plays, found.columns, strict=True):
            try:
                new.play(new._move_of(play))
            except TienLenError as error:
                raise NotationError(str(error), column) from error
        results = new._results if new.is_over else "no end"
        if found.results not in (None, results):
            raise NotationError(
                f"the line says {found.results}, the plays lead to {results}", len(text.rstrip()) + 1
            )
        return new

    @property
    def _results(self) -> tuple[int, ...]:
        """Each seat's result in a record, at the end."""
        return self.scores

    def _recorded(self, play: PlayT) -> Recorded:
        """A play in a `Record`."""
        return (play.action, play.cards) if self._batch.game.has_card_choice else play.action

    def _move_of(self, recorded: Recorded) -> PlayT | int | str:
        """The move for `play` that a `Record` has."""
        if not isinstance(recorded, tuple):
            return recorded
        action, cards = recorded
        return self.play_of(self._checked(action), cards)

    # ------------------------------------------------------------ text and pictures

    def view(
        self,
        *,
        face_up: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        title: str | None = None,
        scores: Sequence[int] | None = None,
    ) -> PlainView:
        """The data of a picture.

        Args:
            face_up: seats whose hands are shown; None for all.
            names: of the seats; None for ``"player_0"`` and so on.
            title: heading; None for the rules and the round.
            scores: P points in the game; None for those of the round.
        """
        again = self.copy()
        again._deal()
        painter = Painter(again._batch)
        for play in self._plays:
            seat = again.turn
            again.play(play)
            painter.record_play(seat)
        view = painter.view(face_up, names)
        if title is not None:
            view = replace(view, title=title)
        return view if scores is None else replace(view, scores=tuple(scores))

    def _repr_svg_(self) -> str:
        return rendering.render_svg(self.view())

    def __str__(self) -> str:
        """The table as text, with colours if standard output is a terminal (see `rendering.for_stream`)."""
        return for_stream(render_ansi(self.view()), sys.stdout)

    def __repr__(self) -> str:
        text = self.position if self._first_row is not None else self.record()
        return f"<{type(self).__name__} {text}>"


AnyRound: TypeAlias = BaseRound[Any, Any]
ROUNDS: Final[ByGame[type[AnyRound]]] = ByGame("round", "tienlen_env.single", lambda game: BaseRound)


def round_type(rules: AnyRules) -> type[AnyRound]:
    """The class of rounds under given rules.

    Raises:
        RulesError: the rules belong to no registered game.
    """
    return ROUNDS.of(rules)


def plain_notation(game: AnyGame) -> Notation:
    """The format of records of a game without its own."""
    return Notation(game.name, get_rules, game.text, PRESETS, game.extra_hands)


def game_of_line(line: str) -> AnyGame:
    """The game of a record: the line begins with its name.

    Raises:
        NotationError: no registered game has it.
    """
    if not isinstance(line, str):
        raise NotationError(f"expected text, got {type(line).__name__}", 1)
    name = line.lstrip().partition("/")[0]
    for game in games():
        if game.name == name:
            return game
    formats = ", ".join(f"{game.name}/1" for game in games())
    raise NotationError(f"{line.split(' ')[0][:40]!r}: expected one of the formats {formats}", 1)


def _is_int(value: object, start: int, stop: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return bool(start <= value < stop)
