"""One round of Tiến lên at a time, for people and programs; any legal set of cards can be played.

>>> from tienlen_env import Round
>>> r = Round("cardgames", key=7)
>>> r.play("3s")
>>> print(r.table, "by seat", r.owner)
3s by seat 3
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import combinations, product
from operator import and_, index
from typing import ClassVar, Final, Self, cast

from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_index, as_indices
from tienlen_env.errors import IllegalPlayError, InvalidComboError, NotationError
from tienlen_env.games.common.cards import FULL_DECK, card_ids, format_cards, parse_cards
from tienlen_env.games.tienlen.actions import PASS, ActionTable
from tienlen_env.games.tienlen.notation import (
    DECLARE_TEXT,
    DECLARED,
    RoundRecord,
    format_record,
    parse_record,
)
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.state import State
from tienlen_env.rendering import TableView
from tienlen_env.single.base import BasePainter, BaseRound, Facts, Json, seat_names, title_of

MAX_KNOWN_PLAYS = 1 << 17
_text = lru_cache(maxsize=1 << 16)(format_cards)


class Cards(int):
    """A set of cards: an ``int`` mask that prints as cards. ``Cards("3s 3h")`` reads text."""

    __slots__ = ()

    def __new__(cls, cards: int | str = 0) -> Self:
        """Make a set from text or from a mask.

        Raises:
            NotationError: text that does not name cards.
            ValueError: a number that is not a mask.
            TypeError: neither text nor an integer.
        """
        mask = parse_cards(cards) if isinstance(cards, str) else index(cards)
        if not 0 <= mask <= FULL_DECK:
            raise ValueError(f"{mask} is not a valid mask of cards")
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
    """A play: its cards (none for a pass or the declaration of an instant win) and `action`, their id."""

    action: int
    table: ActionTable | None = None  # the table of `action`; None: unknown

    @property
    def is_declaration(self) -> bool:
        """Whether this is the declaration of an instant win (RULES.md 4.12)."""
        return not self and self.action != PASS

    def __str__(self) -> str:
        return DECLARE_TEXT if self.is_declaration else super().__str__()

    def __repr__(self) -> str:
        return f"Play({DECLARE_TEXT!r})" if self.is_declaration else super().__repr__()

    def __reduce__(self) -> tuple[Callable[[int, int], Play], tuple[int, int]]:
        return _make_play, (int(self), self.action)

    @property
    def cards(self) -> int:
        """The cards as a mask."""
        return int(self)


def _make_play(cards: int, action: int, table: ActionTable | None = None) -> Play:
    play = Play(cards)
    play.action = action
    if table is not None:
        play.table = table
    return play


CAUSE_TEXTS: Final = {
    "chop": "chopped",
    "place": "place",
    "cong": "no card played (cóng)",
    "held_twos": "2s in hand (thối)",
    "held_bombs": "bombs in hand (thối)",
    "cards": "cards in hand",
    "instant": "instant win (tới trắng)",
    "last_two": "ending on a 2",
    "last_three": "the last 3♠",
}


def table_view(
    batch: Batch,
    game: int = 0,
    *,
    face_up: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    last_plays: Sequence[int | None] | None = None,
) -> TableView:
    """The picture of a game of Tiến lên.

    Args:
        batch: the games.
        game: which of them.
        face_up: seats whose hands are shown; None for all.
        names: P labels; None for ``"player_0"`` and so on.
        last_plays: P masks, the last play of each seat in this trick: cards, 0 for a pass, None for no play;
            None: only the facts of the state, the seats that have passed and the table.
    """
    state, num_players = cast(State, batch.state), batch.num_players
    seats = range(num_players)
    owner, passed = int(state.owner[game]), int(state.passed[game] & state.live[game])
    shown = list(last_plays or (None,) * num_players)
    for seat in seats:
        if seat == owner:
            shown[seat] = int(state.table_cards[game])
        elif shown[seat] is None and passed >> seat & 1:
            shown[seat] = 0
    net = [0] * num_players
    for payment in batch.owed(game):
        net[payment.payer] -= payment.amount
        net[payment.payee] += payment.amount
    return TableView(
        hands=tuple(state.hands[game].tolist()),
        face_up=tuple(face_up is None or seat in face_up for seat in seats),
        table_cards=int(state.table_cards[game]),
        table_text="" if owner < 0 else batch.action_to_text(int(state.table[game])),
        owner=owner,
        turn=int(state.turn[game]),
        passed=frozenset(seat for seat in seats if passed >> seat & 1),
        places=tuple(state.places[game].tolist()),
        scores=tuple(state.scores[game].tolist()),
        last_plays=tuple(shown),
        names=seat_names(num_players, names),
        title=title_of(batch, game),
        units=tuple(batch.balances()[game].tolist()) if batch.has_payments else None,
        owed=tuple(net) if batch.has_payments else None,
        declares=bool(state.must_declare[game]),
    )


def required_cards(masks: Sequence[int]) -> int:
    """The cards that all legal plays of a leader contain (RULES.md 1.3), as a mask; 0 for no plays."""
    return reduce(and_, masks) if masks else 0


class TienLenPainter(BasePainter):
    """Draws a game of Tiến lên; stores the plays of the trick, because the state has only a part of them.

    Args:
        batch: the games.
        game: which of them.
    """

    def __init__(self, batch: Batch, game: int = 0) -> None:
        super().__init__(batch, game)
        self.reset()

    def reset(self) -> None:
        """Start a new game, with no plays in the trick."""
        self._before = self._played()
        self._last_plays: list[int | None] = [None] * self._batch.num_players

    def _played(self) -> list[int]:
        played: list[int] = self._batch.state.played[self._game].tolist()
        return played

    def record_play(self, seat: int) -> None:
        """Record a play or a pass of a seat."""
        seat = as_index(seat, self._batch.num_players, "seat")
        played = self._played()
        if cast(State, self._batch.state).owner[self._game] < 0:
            self._last_plays = [None] * self._batch.num_players
        else:
            self._last_plays[seat] = played[seat] & ~self._before[seat]
        self._before = played

    def view(self, face_up: Sequence[int] | None = None, names: Sequence[str] | None = None) -> TableView:
        """See `BasePainter.view`."""
        return table_view(self._batch, self._game, face_up=face_up, names=names, last_plays=self._last_plays)


class Round(BaseRound[Rules, Play]):
    """One round of Tiến lên, from the deal until one player holds cards (RULES.md 1.11).

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
        ValueError: a key or round that does not fit, or an invalid seat.
    """

    _state: State
    game_name: ClassVar[str] = "tienlen"
    has_card_choice: ClassVar[bool] = True
    painter: ClassVar[type[BasePainter]] = TienLenPainter
    cause_texts: ClassVar[Mapping[str, str]] = CAUSE_TEXTS
    _about_ints: ClassVar[str] = "; an int is an action id, a mask of cards is Cards(mask)"

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
        super().__init__(
            rules, key, num_players=num_players, round_index=round_index, leader=leader, backend=backend
        )

    def _bind(self, batch: Batch) -> None:
        super()._bind(batch)
        self._table = cast(ActionTable, batch.action_table)
        self._state = cast(State, batch.state)

    def _read_cards(self, cards: str | int) -> int:
        return int(Cards(cards))

    # ------------------------------------------------------------ the position

    @property
    def table(self) -> Play | None:
        """The combination on the table; None when the seat to act leads."""
        action = self._state.table.item()
        return self.play_of(action, self._state.table_cards.item()) if action else None

    @property
    def owner(self) -> int:
        """The seat that played the combination on the table; -1 when the table is empty."""
        return int(self._state.owner.item())

    @property
    def passed(self) -> frozenset[int]:
        """Seats that have passed in this trick or were knocked out of it; none that is out of the round."""
        mask = self._state.passed.item() & self._state.live.item()
        return frozenset(s for s in range(self.num_players) if mask >> s & 1)

    @property
    def opening_card(self) -> Cards:
        """The card that the play must contain (1.3); empty if there is none."""
        return Cards(self._state.required_card.item())

    @property
    def next_leader(self) -> int | None:
        """The seat that leads the next round: the winner (1.4), or None if the opening card decides."""
        return None if self.rules.opening == "every" else self.places.index(0)

    def hand(self, seat: int) -> Cards:
        """The cards in a seat's hand.

        Raises:
            ValueError: an invalid seat.
        """
        return Cards(super().hand(seat))

    def played(self, seat: int) -> Cards:
        """The cards that a seat has played in this round.

        Raises:
            ValueError: an invalid seat.
        """
        self._check_seat(seat)
        return Cards(self._state.played[0, seat].item())

    def legal_plays(self, *, exact: bool = False) -> list[Play]:
        """The legal plays of the seat to act, with the pass if it is legal; empty when the round is over.

        Args:
            exact: False: one play per action of the action table, with the lowest inner suits (at most 79 for
                `cardgames`). True: every legal set of cards (at most 486); slow.

        Returns:
            Plays in order of action ids, for `play`.
        """
        one, known = self._one, self._shared.known
        count = one.list_legal()
        masks = one.masks[:count].tolist()
        try:
            # No cards are the pass, but for a declaration, which is the only legal action.
            plays = [known[m] for m in (masks if count > 1 else ())]
            if count == 1:
                plays = [self.play_of(one.ids[0].item(), masks[0])]
        except KeyError:
            ids = one.ids[:count].tolist()
            plays = [self.play_of(a, m) for a, m in zip(ids, masks, strict=True)]
        return self._exact_plays(plays) if exact else plays

    def _exact_plays(self, plays: list[Play]) -> list[Play]:
        """Every choice of inner cards of the table's plays: combinations a rank, with the top fixed."""
        seat, table = self.current_seat, self._table
        if table.cards is not None:
            return plays  # an action is a set of cards
        hand, duty = int(self.hand(seat)) if seat >= 0 else 0, self.opening_card
        found: list[Play] = []
        for play in plays:
            if not play:
                found.append(play)
                continue
            width, length = table.shape(play.action)
            top = int(table.top[play.action])
            below_top = [c for c in card_ids(hand) if c >> 2 == top >> 2 and c < top]
            ranks = [list(combinations(below_top, width - 1))]
            for rank in range((top >> 2) - length + 1, top >> 2):
                ranks.append(list(combinations([c for c in card_ids(hand) if c >> 2 == rank], width)))
            for choice in product(*ranks):
                cards = sum(1 << c for part in choice for c in part) | 1 << top
                if (not duty or cards & duty) and table.classify(cards) == play.action:
                    found.append(self.play_of(play.action, cards))
        return found

    def play_of(self, action: int, cards: int) -> Play:
        """The `Play` of some cards; equal cards give the same object.

        Args:
            action: the action id.
            cards: its cards, a mask; 0 for the pass and for the declaration of an instant win.

        Raises:
            InvalidComboError: the cards are not this action. (All rounds share these objects, so a wrong one
                would be offered as a legal play elsewhere.)
        """
        known, is_declaration = self._shared.known, action == self._table.declare
        key = DECLARED if is_declaration else cards
        play: Play | None = known.get(key)
        if play is None and (is_declaration or self._table.classify(cards) == action):
            if len(known) >= MAX_KNOWN_PLAYS:
                known.clear()
            play = known[key] = _make_play(cards, action, self._table)
        if play is None or play.action != action:
            raise InvalidComboError(f"action {action} does not have the cards {_text(cards)}")
        return play

    # ------------------------------------------------------------ playing

    def play(self, move: Play | Cards | int | str) -> None:
        """Play a combination for the seat to act.

        Args:
            move: text like ``"3s 3h"``, a `Cards`, one of `legal_plays`, or an action id (int), which plays
                the lowest inner suits held (RULES.md 7.1); no cards and the action 0 are the pass,
                ``"declare"`` is the declaration of an instant win. A mask of cards is ``Cards(mask)``.

        Raises:
            NotationError: text that does not name cards.
            InvalidComboError: the cards are not a valid combination of the rules.
            IllegalPlayError: the play is not legal; the message has the play, the table, the hand and the
                clause. Errors leave the round unchanged.
        """
        if type(move) is not Play or move.table is not self._table:
            move = self._read(move)
        one = self._one
        one.action[0] = move.action
        one.cards[0] = move
        if one.step() >= 0:
            raise self._refusal(move)
        self._plays.append(move)

    def _read(self, move: Play | Cards | int | str) -> Play:
        if not isinstance(move, Cards | str):
            return self._of_action(self._checked(move))
        declare = self._table.declare
        if isinstance(move, str) and move.strip().lower() == DECLARE_TEXT and declare is not None:
            return self.play_of(declare, 0)
        if isinstance(move, Play) and move.is_declaration:
            return self._of_action(self._checked(move.action))
        cards = Cards(move)
        try:
            return self.play_of(self._table.classify(int(cards)), int(cards))
        except InvalidComboError as error:
            raise InvalidComboError(f"{error} ({self.position})") from None

    def _of_action(self, action: int) -> Play:
        """The play of an action, with the lowest inner suits held.

        Raises:
            IllegalPlayError: it is not legal here.
        """
        for play in self.legal_plays():
            if play.action == action:
                return play
        text, why = self._table.text(action), self._why_refused(action, None)
        raise self._error(
            f"action {action} ({text}) is not legal here: {why} ({self.position}){self._about_ints}",
            action,
            why.clause,
        )

    def pass_(self) -> None:
        """Pass.

        Raises:
            IllegalPlayError: a leader may not pass (RULES.md 1.8), or the round is over.
        """
        self.play(PASS_PLAY)

    def _refusal(self, play: Play) -> IllegalPlayError:
        why = self._why_refused(play.action, int(play))
        return self._error(
            f"{'pass' if play.action == PASS else play} refused: {why} ({self.position})",
            play.action,
            why.clause,
        )

    # ------------------------------------------------------------ records, text, pictures

    def record(self) -> str:
        """The round so far as one line of text (`tienlen_env.games.tienlen.notation`)."""
        self._check_recordable()
        places = tuple(p for p in self.places if p is not None) if self.is_over else None
        plays = tuple(DECLARED if play.is_declaration else int(play) for play in self._plays)
        return format_record(
            RoundRecord(self.rules, self.key, self.round_index, self._hands, self.leader, plays, places)
        )

    @classmethod
    def from_record(cls, text: str, rules: Rules | None = None, *, backend: BackendName = "numba") -> Self:
        """Read a line that `record` wrote and play it through.

        Args:
            text: one line.
            rules: the variant, needed if the line has only its digest.
            backend: ``"numba"`` or ``"python"``.

        Raises:
            NotationError: text that cannot be read, an illegal play, or places that do not follow from the
                plays; the message has the column.
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
        plays = (DECLARE_TEXT if play == DECLARED else Cards(play) for play in record.plays)
        new._replay(plays, record.columns)
        if record.places is not None and record.places != new.places:
            raise NotationError(
                f"the places say {record.places}, the plays lead to {new.places}", len(text.rstrip()) + 1
            )
        return new

    @classmethod
    def play_text(cls, batch: Batch, action: int, cards: int) -> str:
        """The text of a play: its cards; ``""`` for the pass, ``"declare"`` for an instant win."""
        return _text(cards) or (DECLARE_TEXT if action else "")

    @classmethod
    def play_texts(cls, batch: Batch, actions: Sequence[int], cards: Sequence[int]) -> list[Json]:
        """`play_text` of several plays.

        Raises:
            ValueError: not as many actions as card masks.
        """
        if len(actions) != len(cards):
            raise ValueError(f"actions: expected {len(cards)}, one for each set of cards, not {len(actions)}")
        texts: list[Json] = list(map(_text, cards))
        if len(texts) == 1 and not texts[0] and any(actions):
            return [DECLARE_TEXT]  # the only legal action
        return texts

    @classmethod
    def cards_text(cls, batch: Batch, cards: int) -> str:
        """The text of a set of cards, given as a mask."""
        return _text(cards)

    @classmethod
    def public_facts(
        cls, batch: Batch, games: Sequence[int], legal_cards: Sequence[Sequence[int]]
    ) -> list[Facts]:
        """See `BaseRound.public_facts`: ``table``, ``owner``, ``must``, ``passed``, ``played``."""
        which = as_indices(games, batch.num_games)
        state, everyone = cast(State, batch.state), range(batch.num_players)
        columns = (state.table_cards, state.owner, state.passed & state.live, state.played)
        rows = zip(*(column[which].tolist() for column in columns), legal_cards, strict=True)
        return [
            {
                "table": _text(table),
                "owner": None if owner < 0 else owner,
                "must": _text(required_cards(masks) if owner < 0 else 0),
                "passed": [seat for seat in everyone if passed >> seat & 1],
                "played": [_text(cards) for cards in played],
            }
            for table, owner, passed, played, masks in rows
        ]

    def _view(self, face_up: Sequence[int] | None, names: Sequence[str] | None) -> TableView:
        return table_view(self._batch, face_up=face_up, names=names, last_plays=self._trick())

    def _trick(self) -> list[int | None]:
        """The last play of each seat in this trick: cards, 0 for a pass, None for no play."""
        trick: list[int | None] = [None] * self.num_players
        if not self._plays:
            return trick
        replay = self.copy()
        replay._deal()
        for play in self._plays:
            trick[replay.current_seat] = int(play)
            replay.play(play)
            if replay.table is None:
                trick = [None] * self.num_players
        return trick


PASS_PLAY = _make_play(0, PASS)
ROUND = Round
