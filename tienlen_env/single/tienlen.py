"""One round of Tiến lên at a time, for people and programs; any legal set of cards can be played.

>>> from tienlen_env import Round
>>> r = Round("cardgames", key=7)
>>> r.play("3s")
>>> print(r.table, "by seat", r.owner)
3s by seat 3
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, product
from operator import index
from typing import Any, ClassVar, Self, cast

from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, InvalidComboError
from tienlen_env.games.common.cards import FULL_DECK, card_ids, format_cards, parse_cards
from tienlen_env.games.common.notation import Recorded
from tienlen_env.games.tienlen.actions import PASS, TienlenActionTable
from tienlen_env.games.tienlen.notation import DECLARE_TEXT, DECLARED, NOTATION, PASS_TEXT
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.state import TienlenState
from tienlen_env.rendering import TableView
from tienlen_env.single import painter
from tienlen_env.single.base import REFUSED, BaseRound

MAX_KNOWN_PLAYS = 1 << 17


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
        return format_cards(self) or PASS_TEXT

    def __repr__(self) -> str:
        return f"Cards({format_cards(self)!r})"

    def __len__(self) -> int:
        return self.bit_count()

    def __iter__(self) -> Iterator[int]:
        return iter(card_ids(self))


class Play(Cards):
    """A play: its cards (none for a pass or the declaration of an instant win) and `action`, their id."""

    action: int
    table: TienlenActionTable | None = None  # the table of `action`; None: unknown

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


def _make_play(cards: int, action: int, table: TienlenActionTable | None = None) -> Play:
    play = Play(cards)
    play.action = action
    if table is not None:
        play.table = table
    return play


def picture(batch: Batch, game: int = 0, **settings: Any) -> TableView:
    """The picture of a game of Tiến lên; arguments as of `tienlen_env.single.painter.picture`."""
    view = cast(TableView, painter.picture(batch, game, **settings))
    is_seen = view.turn >= 0 and view.face_up[view.turn]  # who must declare is known by the hand alone
    return replace(view, declares=is_seen and bool(cast(TienlenState, batch.state).must_declare[game]))


class Round(BaseRound[Rules, Play]):
    """One round of Tiến lên, from the deal until one player holds cards (RULES.md 1.11).

    Args:
        rules: a preset's name or a `Rules`.
        key: 64-bit deal key; None draws one.
        num_players: 2..4; None keeps the number in `rules`.
        round_index: which round of the key's game is dealt.
        leader: the seat that leads freely (a later round, 1.4); None: the holder of the opening card leads
            with it (1.3).
        backend: ``"native"``, ``"numba"`` or ``"python"``.

    Raises:
        RulesError: unknown rules.
        ValueError: a key or round that does not fit, or an invalid seat.
    """

    _state: TienlenState
    game_name: ClassVar[str] = "tienlen"
    notation = NOTATION
    _int_hint: ClassVar[str] = "; an int is an action id, a mask of cards is Cards(mask)"

    def _bind(self, batch: Batch) -> None:
        super()._bind(batch)
        self._table = cast(TienlenActionTable, batch.action_table)

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
        known, count = self._known, self._list_legal()
        masks = self._masks[:count].tolist()
        try:
            # No cards are the pass, but for a declaration, which is the only legal action.
            plays = [known[m] for m in (masks if count > 1 else ())]
            if count == 1:
                plays = [self.play_of(self._ids[0].item(), masks[0])]
        except KeyError:
            ids = self._ids[:count].tolist()
            plays = [self.play_of(a, m) for a, m in zip(ids, masks, strict=True)]
        return self._exact_plays(plays) if exact else plays

    def _exact_plays(self, plays: list[Play]) -> list[Play]:
        """Every choice of inner cards of the table's plays: combinations a rank, with the top fixed."""
        seat, table = self.turn, self._table
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
        known, is_declaration = self._known, action == self._table.declare
        key = DECLARED if is_declaration else cards
        play: Play | None = known.get(key)
        if play is None and (is_declaration or self._table.classify(cards) == action):
            if len(known) >= MAX_KNOWN_PLAYS:
                known.clear()
            play = known[key] = _make_play(cards, action, self._table)
        if play is None or play.action != action:
            raise InvalidComboError(f"action {action} does not have the cards {format_cards(cards)}")
        return play

    # ------------------------------------------------------------ playing

    def play(self, move: Play | Cards | int | str) -> None:
        """Play a combination for the seat to act.

        Args:
            move: text like ``"3s 3h"``, a `Cards`, one of `legal_plays`, or an action id (int), which plays
                the lowest inner suits held (RULES.md 7.1); no cards, ``"-"`` and the action 0 are the pass,
                ``"declare"`` is the declaration of an instant win. A mask of cards is ``Cards(mask)``.

        Raises:
            NotationError: text that does not name cards.
            InvalidComboError: the cards are not a valid combination of the rules.
            IllegalPlayError: the play is not legal; the message has the play, the table, the hand and the
                clause. Errors leave the round unchanged.
        """
        if type(move) is not Play or move.table is not self._table:
            move = self._read(move)
        self._action[0] = move.action
        self._cards[0] = move
        if self._step() >= 0:
            raise self._refusal(move)
        self._plays.append(move)

    def _read(self, move: Play | Cards | int | str) -> Play:
        if not isinstance(move, Cards | str):
            return self._of_action(self._checked(move))
        declare = self._table.declare
        if isinstance(move, str):
            word = move.strip().lower()
            if word in (PASS_TEXT, "pass"):
                return PASS_PLAY
            if word == DECLARE_TEXT and declare is not None:
                return self.play_of(declare, 0)
        if isinstance(move, Play) and move.is_declaration:
            return self._of_action(self._checked(move.action))
        cards = Cards(move) if isinstance(move, str) else move
        if (known := self._known.get(cards)) is not None:
            return cast(Play, known)
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
            f"action {action} ({text}) is not legal here: {why} ({self.position}){self._int_hint}",
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
        text = "pass" if play.action == PASS else play
        words = REFUSED.format(play=text, why=why, position=self.position)
        return self._error(words, play.action, why.clause)

    # ------------------------------------------------------------ records

    @property
    def _results(self) -> tuple[int, ...]:
        return tuple(self._state.places[0].tolist())

    def _recorded(self, play: Play) -> int:
        return DECLARED if play.is_declaration else int(play)

    def _move_of(self, recorded: Recorded) -> Cards | str:
        assert isinstance(recorded, int)
        return DECLARE_TEXT if recorded == DECLARED else Cards(recorded)


PASS_PLAY = _make_play(0, PASS)
ROUND = Round
PICTURE = picture
