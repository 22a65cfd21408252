"""One round at a time, for people and bot writers; any legal set of cards can be played.

>>> from tienlen_env import Round
>>> r = Round("cardgames", key=7)
>>> r.play("3s")
>>> print(r.table, "by seat", r.owner)
3s by seat 3
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from operator import index
from typing import Any, Self

import numpy as np

from tienlen_env.engine.backends import get_backend
from tienlen_env.engine.batch import BackendName, Batch
from tienlen_env.errors import IllegalPlayError, InvalidComboError, NotationError, TienLenError
from tienlen_env.games.common.cards import FULL_DECK, card_ids, format_cards, parse_cards
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.actions import PASS, ActionTable, build_action_table
from tienlen_env.games.tienlen.explain import why_refused
from tienlen_env.games.tienlen.notation import RoundRecord, format_record, parse_record
from tienlen_env.games.tienlen.rules import Rules, get_rules
from tienlen_env.games.tienlen.spec import build_spec
from tienlen_env.rendering import TableView, render_ansi, render_svg


class Cards(int):
    """A set of cards: an ``int`` mask that prints as cards. ``Cards("3s 3h")`` reads text."""

    __slots__ = ()

    def __new__(cls, cards: int | str = 0) -> Self:
        """Make a set from text or from a mask.

        Raises:
            NotationError: text that is no cards.
            ValueError: a number that is no mask.
            TypeError: neither text nor an integer.
        """
        mask = parse_cards(cards) if isinstance(cards, str) else index(cards)
        if not 0 <= mask <= FULL_DECK:
            raise ValueError(f"{mask} is no mask of cards")
        return super().__new__(cls, mask)

    def __str__(self) -> str:
        return format_cards(self) or "-"

    def __repr__(self) -> str:
        return f"Cards({format_cards(self)!r})"

    def __len__(self) -> int:
        return self.bit_count()

    def __iter__(self) -> Iterator[int]:
        return iter(card_ids(self))


class Play(Cards):
    """A play: its cards (none for a pass) and `action`, the id of the action that they are."""

    action: int


class _Tables:
    """What rounds of one variant and executor share, and the plays already seen."""

    MAX_PLAYS = 1 << 17

    def __init__(self, rules: Rules, backend: BackendName) -> None:
        self.rules = rules
        self.table: ActionTable = build_action_table(rules)
        self.spec, self.actions = build_spec(rules)
        self.backend: Any = get_backend(backend)
        self.plays: dict[int, Play] = {}
        self.start = np.zeros(1, np.int64)
        self.no_mask = np.zeros((0, self.table.num_actions), np.int8)
        self.no_observation = np.zeros((0, 1), np.uint8)
        self.no_draws, self.no_ids = np.zeros(0), np.zeros(0, np.int64)

    def play(self, cards: int, action: int) -> Play:
        """The `Play` of some cards; equal cards give the same object."""
        known = self.plays.get(cards)
        if known is not None:
            return known
        if len(self.plays) >= self.MAX_PLAYS:
            self.plays.clear()
        play = self.plays[cards] = Play(cards)
        play.action = action
        return play


@lru_cache(maxsize=32)
def _tables(rules: Rules, backend: BackendName) -> _Tables:
    return _Tables(rules, backend)


def _is_int(value: Any, start: int, stop: int) -> bool:
    is_int = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_int and bool(start <= value < stop)


def as_key(key: Any) -> int:
    """The signed key of a deal; None draws one.

    Raises:
        ValueError: it does not fit 64 bits.
    """
    key = secrets.randbits(64) if key is None else key
    if not _is_int(key, -(2**63), 2**64):
        raise ValueError(f"key={key!r}: expected an integer of 64 bits")
    return int(key) - (1 << 64) if key >= 1 << 63 else int(key)


def as_round_index(round_index: Any) -> int:
    """The number of a round.

    Raises:
        ValueError: there is no such round.
    """
    if not _is_int(round_index, 0, 2**31):
        raise ValueError(f"round_index={round_index!r}: expected 0 or more")
    return int(round_index)


def as_leader(leader: Any, num_players: int) -> int | None:
    """The seat that is to lead, or None.

    Raises:
        ValueError: there is no such seat.
    """
    if leader is not None and not _is_int(leader, 0, num_players):
        raise ValueError(f"leader={leader!r}: expected a seat 0..{num_players - 1}, or None")
    return None if leader is None else int(leader)


class Round:
    """One round, from the deal until one player holds cards (RULES.md 1.11).

    Args:
        rules: a preset's name or a `Rules`.
        key: 64-bit deal key; None draws one.
        num_players: 2..4; None keeps the number in `rules`.
        round_index: which round of the key's game is dealt.
        leader: the seat that leads freely (a later round, 1.4); None: the holder of the opening card leads
            with it (1.3).
        backend: ``"numba"`` or ``"python"``.

    Raises:
        RulesError: unknown rules.
        ValueError: a key or round that does not fit, or a leader who is no seat.
    """

    def __init__(
        self,
        rules: str | Rules = "cardgames",
        key: int | None = None,
        *,
        num_players: int | None = None,
        round_index: int = 0,
        leader: int | None = None,
        backend: BackendName = "numba",
    ) -> None:
        self.rules = get_rules(rules, num_players)
        self.key: int | None = as_key(key)
        self.round_index = as_round_index(round_index)
        self._start(backend, leader)
        tables = self._tables
        tables.backend.begin(
            self._rows,
            tables.spec,
            tables.actions,
            np.array([self.key]),
            np.array([round_index]),
            self._leaders,
        )
        self._hands = tuple(self._rows[0, R.HAND : R.HAND + self.rules.num_players].tolist())

    def _start(self, backend: BackendName, leader: int | None) -> None:
        self.leader = as_leader(leader, self.rules.num_players)
        self._backend_name: BackendName = backend
        self._tables = tables = _tables(self.rules, backend)
        self._leaders = np.array([-1 if leader is None else leader], np.int64)
        self._rows = np.zeros((1, int(tables.spec[S.ROW_SIZE])), np.int64)
        self._plays: list[int] = []
        self._buffers()

    def _buffers(self) -> None:
        size = self._tables.table.num_actions
        self._ids, self._cards = np.empty(size, np.int64), np.empty(size, np.int64)
        self._id, self._mask = np.empty(1, np.int64), np.empty(1, np.int64)
        self._rewards = np.zeros((1, self.rules.num_players), np.float32)
        self._done = np.zeros(1, np.bool_)

    @classmethod
    def from_hands(
        cls,
        rules: str | Rules,
        hands: Sequence[str | int],
        *,
        leader: int | None = None,
        backend: BackendName = "numba",
    ) -> Self:
        """A round with given hands, one a seat, as text or masks; 1 to 13 cards each.

        Raises:
            TienLenError: hands that cannot be, or a leader who is no seat.
            NotationError: text that is no cards.
        """
        if isinstance(hands, str) or not 2 <= len(hands) <= 4:
            raise TienLenError("hands: expected one a player, 2 to 4")
        masks = [int(Cards(h)) for h in hands]
        new = object.__new__(cls)
        new.rules = get_rules(rules, len(masks))
        new.key, new.round_index = None, 0
        new._start(backend, leader)
        batch = Batch(new.rules, 1, backend=backend)
        batch.set_hands(np.array([masks]), new._leaders)
        new._rows[:] = batch.rows
        new._hands = tuple(masks)
        return new

    # ------------------------------------------------------------ looking

    @property
    def turn(self) -> int:
        """The seat to act; -1 when the round is over."""
        return int(self._rows.item(R.TURN))

    @property
    def is_over(self) -> bool:
        """Whether every place is settled."""
        return self.turn < 0

    @property
    def table(self) -> Play | None:
        """The combination on the table; None when the seat to act leads."""
        action = self._rows.item(R.TABLE)
        return self._tables.play(self._rows.item(R.TABLE_CARDS), action) if action else None

    @property
    def owner(self) -> int:
        """The seat that played the table; -1 when it is empty."""
        return int(self._rows.item(R.OWNER))

    @property
    def passed(self) -> frozenset[int]:
        """Seats that have passed in this trick, those knocked out of it included."""
        mask = self._rows.item(R.PASSED)
        return frozenset(s for s in range(self.rules.num_players) if mask >> s & 1)

    @property
    def places(self) -> tuple[int | None, ...]:
        """Each seat's place, 0 for the first out; None while it is in."""
        found = self._rows[0, R.PLACE : R.PLACE + self.rules.num_players].tolist()
        return tuple(None if p < 0 else p for p in found)

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of this round so far, a seat each (RULES.md 1.11)."""
        return tuple(self._rows[0, R.SCORE : R.SCORE + self.rules.num_players].tolist())

    @property
    def opening_card(self) -> Cards:
        """The card that the play must contain, if it must (1.3); else no card."""
        return Cards(self._rows.item(R.DUTY))

    @property
    def next_leader(self) -> int | None:
        """Who leads the next round of the game, when this one is over: None, or the winner (1.4)."""
        return None if self.rules.opening == "every" else self.places.index(0)

    def hand(self, seat: int) -> Cards:
        """The cards in a seat's hand.

        Raises:
            ValueError: no such seat.
        """
        self._check_seat(seat)
        return Cards(self._rows.item(R.HAND + seat))

    def played(self, seat: int) -> Cards:
        """The cards that a seat has played in this round."""
        self._check_seat(seat)
        return Cards(self._rows.item(R.PLAYED + seat))

    def legal_plays(self, *, exact: bool = False) -> list[Play]:
        """What the seat to act may play, a pass included where allowed; empty when the round is over.

        Args:
            exact: False: one play an action of the table, with the lowest inner suits (at most 79 for
                `cardgames`). True: every legal set of cards (at most 486); slow, for looking.

        Returns:
            Plays in order of action ids; each may be given to `play`.
        """
        tables = self._tables
        count = tables.backend.list_legal(
            self._rows, tables.spec, tables.actions, tables.start, self._ids, self._cards
        )
        masks, known = self._cards[:count].tolist(), tables.plays
        try:
            plays = [known[m] for m in masks]
        except KeyError:
            plays = [tables.play(m, a) for m, a in zip(masks, self._ids[:count].tolist(), strict=True)]
        return self._exact_plays(plays) if exact else plays

    def _exact_plays(self, plays: list[Play]) -> list[Play]:
        """Every choice of inner cards of the table's plays: combinations a rank, with the top fixed."""
        hand, duty, table = (
            int(self.hand(self.turn)) if self.turn >= 0 else 0,
            self.opening_card,
            self._tables,
        )
        found: list[Play] = []
        for play in plays:
            if play.action == PASS:
                found.append(play)
                continue
            width, length = table.table.shape(play.action)
            top = int(table.table.top[play.action])
            below_top = [c for c in card_ids(hand) if c >> 2 == top >> 2 and c < top]
            ranks = [list(combinations(below_top, width - 1))]
            for rank in range((top >> 2) - length + 1, top >> 2):
                ranks.append(list(combinations([c for c in card_ids(hand) if c >> 2 == rank], width)))
            for choice in product(*ranks):
                cards = sum(1 << c for part in choice for c in part) | 1 << top
                if (not duty or cards & duty) and table.table.classify(cards) == play.action:
                    found.append(table.play(cards, play.action))
        return found

    # ------------------------------------------------------------ playing

    def play(self, cards: str | int) -> None:
        """Play a combination: text like ``"3s 3h"``, a mask, a `Cards` or one of `legal_plays`; 0 passes.

        Raises:
            NotationError: text that is no cards.
            InvalidComboError: no combination of these rules.
            IllegalPlayError: refused here; the message holds the play, the table, the hand, the clause.
                The round is unchanged by any of these.
        """
        tables = self._tables
        if type(cards) is not Play or tables.plays.get(cards) is not cards:
            cards = Cards(cards)
            try:
                cards = tables.play(int(cards), tables.table.classify(cards))
            except InvalidComboError as error:
                raise InvalidComboError(f"{error} ({self._position()})") from None
        self._id[0] = cards.action
        self._mask[0] = cards
        refused = tables.backend.step(
            self._rows,
            tables.spec,
            tables.actions,
            self._id,
            self._mask,
            self._rewards,
            self._done,
            tables.no_mask,
            tables.no_observation,
            tables.no_draws,
            tables.no_ids,
        )
        if refused >= 0:
            raise IllegalPlayError(self._refusal(cards))
        self._plays.append(int(cards))

    def pass_(self) -> None:
        """Pass.

        Raises:
            IllegalPlayError: a leader may not pass (RULES.md 1.8), or the round is over.
        """
        self.play(0)

    def play_action(self, action: int) -> None:
        """Play an action of the table with the lowest inner suits held (RULES.md 7.1).

        Raises:
            IllegalPlayError: it is not legal here.
            ValueError: no such action.
        """
        table = self._tables.table
        if not _is_int(action, 0, table.num_actions):
            raise ValueError(f"action {action!r}: expected 0..{table.num_actions - 1}")
        for play in self.legal_plays():
            if play.action == action:
                return self.play(play)
        raise IllegalPlayError(f"{table.text(action)} is not legal here ({self._position()})")

    def _position(self) -> str:
        if self.is_over:
            return "the round is over"
        table = f"{self._tables.table.text(self.table.action)}" if self.table else "empty"
        return f"seat {self.turn}; table: {table}; hand: {self.hand(self.turn)}"

    def _refusal(self, play: Play) -> str:
        """Why a play is refused, with the clause of RULES.md that it breaks."""
        why = why_refused(self._tables.table, self._rows[0].tolist(), play.action, int(play))
        return f"{play if play else 'pass'} refused: {why} ({self._position()})"

    # ------------------------------------------------------------ copies, records, pictures

    def copy(self) -> Self:
        """An independent round in the same position."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._rows = self._rows.copy()
        new._plays = self._plays.copy()
        new._buffers()
        return new

    def record(self) -> str:
        """The round so far as one line of text (`tienlen_env.games.tienlen.notation`)."""
        hands = self._hands if self.key is None else None
        places = tuple(p for p in self.places if p is not None) if self.is_over else None
        return format_record(
            RoundRecord(
                self.rules, self.key, self.round_index, hands, self.leader, tuple(self._plays), places
            )
        )

    @classmethod
    def from_record(cls, text: str, rules: Rules | None = None, *, backend: BackendName = "numba") -> Self:
        """Read a line that `record` wrote and play it through.

        Args:
            text: one line.
            rules: the variant, where the line names it only by a digest.
            backend: ``"numba"`` or ``"python"``.

        Raises:
            NotationError: text that cannot be read, a play that the rules refuse, or places that the plays
                do not lead to; it names the column.
        """
        record = parse_record(text, rules)
        if record.hands is not None:
            new = cls.from_hands(record.rules, record.hands, leader=record.leader, backend=backend)
        else:
            new = cls(
                record.rules,
                record.key,
                round_index=record.round_index,
                leader=record.leader,
                backend=backend,
            )
        for play, column in zip(record.plays, record.columns, strict=True):
            try:
                new.play(play)
            except TienLenError as error:
                raise NotationError(str(error), column) from error
        if record.places is not None and record.places != new.places:
            raise NotationError(
                f"the places say {record.places}, the plays lead to {new.places}", len(text.rstrip()) + 1
            )
        return new

    def view(
        self,
        *,
        face_up: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        title: str | None = None,
    ) -> TableView:
        """What to draw.

        Args:
            face_up: seats whose hands are shown; None for all.
            names: of the seats; None for ``"player_0"`` and so on.
            title: heading; None for the rules and the round.
        """
        num_players = self.rules.num_players
        shown = range(num_players) if face_up is None else face_up
        return TableView(
            hands=tuple(int(self.hand(s)) for s in range(num_players)),
            face_up=tuple(s in shown for s in range(num_players)),
            table_cards=int(self.table or 0),
            table_text=self._tables.table.text(self.table.action) if self.table else "",
            owner=self.owner,
            turn=self.turn,
            passed=self.passed,
            places=tuple(-1 if p is None else p for p in self.places),
            scores=self.scores,
            last_plays=tuple(self._trick()),
            names=tuple(names or (f"player_{s}" for s in range(num_players))),
            title=title or f"{self.rules.name} · round {self.round_index + 1}",
        )

    def _trick(self) -> list[int | None]:
        """What each seat did last in this trick: cards, 0 for a pass, None for nothing yet."""
        if self.key is None:
            replay = Round.from_hands(self.rules, self._hands, leader=self.leader)
        else:
            replay = Round(self.rules, self.key, round_index=self.round_index, leader=self.leader)
        trick: list[int | None] = [None] * self.rules.num_players
        for play in self._plays:
            trick[replay.turn] = play
            replay.play(play)
            if replay.table is None:
                trick = [None] * self.rules.num_players
        return trick

    def _repr_svg_(self) -> str:
        return render_svg(self.view())

    def __str__(self) -> str:
        return render_ansi(self.view())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.record()}>"

    def _check_seat(self, seat: int) -> None:
        if not 0 <= seat < self.rules.num_players:
            raise ValueError(f"seat {seat!r}: expected 0..{self.rules.num_players - 1}")
