"""One deal of Thirteens at a time, for people and bot writers.

>>> from tienlen_env.single.thirteens import Deal
>>> deal = Deal("thirteens", key=7)
>>> deal.play(deal.legal_plays()[0])
>>> print(deal.trick, "by seat", deal.leader)
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Self

from tienlen_env.engine.batch import BackendName, Batch
from tienlen_env.errors import IllegalPlayError, NotationError, RulesError, TienLenError
from tienlen_env.games.registry import get_rules
from tienlen_env.games.thirteens.cards import CARD_TEXT, parse_cards
from tienlen_env.games.thirteens.explain import describe, why_refused
from tienlen_env.games.thirteens.notation import (
    DealRecord,
    format_record,
    parse_play,
    parse_record,
    play_text,
)
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.rendering import TrickView, render_ansi, render_svg
from tienlen_env.single.painter import TrickMemory
from tienlen_env.single.tienlen import as_key, as_leader, as_round_index


class Deal:
    """One deal, until the hands are empty and all nulls are paid (RULES.md 8.9).

    Args:
        rules: a preset's name or a `ThirteensRules`.
        key: 64-bit deal key; None draws one.
        num_players: 3..7; None keeps the number in `rules`.
        round_index: which deal of the key's game it is.
        leader: the seat that leads; None: eldest by the key (8.2).
        backend: ``"numba"`` or ``"python"``.

    Raises:
        RulesError: unknown rules, or those of another game.
        ValueError: a key or round that does not fit, or a leader who is no seat.
    """

    def __init__(
        self,
        rules: str | ThirteensRules = "thirteens",
        key: int | None = None,
        *,
        num_players: int | None = None,
        round_index: int = 0,
        leader: int | None = None,
        backend: BackendName = "numba",
    ) -> None:
        self._start(rules, num_players, leader, backend)
        self.key: int | None = as_key(key)
        self.round_index = as_round_index(round_index)
        self._batch.deal([self.key], rounds=self.round_index, leader=-1 if leader is None else leader)
        self._given: tuple[tuple[int, ...] | None, int, int, int] = (None, 0, 0, 0)

    def _start(
        self, rules: str | ThirteensRules, num_players: int | None, leader: int | None, backend: BackendName
    ) -> None:
        found = get_rules(rules, num_players)
        if not isinstance(found, ThirteensRules):
            raise RulesError(f"rules={rules!r}: expected a preset of Thirteens or a ThirteensRules")
        self.rules = found
        self.leader = as_leader(leader, found.num_players)
        self._batch = Batch(found, 1, backend=backend)
        self._plays: list[int] = []

    @classmethod
    def from_hands(
        cls,
        rules: str | ThirteensRules,
        hands: Sequence[str | int],
        *,
        dummy: str | int = 0,
        remainder: str | int = 0,
        starter: str | int = 0,
        leader: int | None = None,
        backend: BackendName = "numba",
    ) -> Self:
        """A deal with given hands, one a seat, as text or masks; see `Batch.set_hands`.

        Raises:
            TienLenError: cards that cannot lie so.
            NotationError: text that is no cards.
            ValueError: a leader who is no seat.
        """
        new = object.__new__(cls)
        new._start(rules, len(hands), leader, backend)
        new.key, new.round_index = None, 0
        masks = [
            parse_cards(c) if isinstance(c, str) else index(c) for c in (*hands, dummy, remainder, starter)
        ]
        aside = dict(zip(("dummy", "remainder", "starter"), masks[-3:], strict=True))
        new._batch.set_hands([masks[:-3]], -1 if leader is None else leader, **aside)
        new._given = (tuple(masks[:-3]), *masks[-3:])  # type: ignore[assignment]
        return new

    # ------------------------------------------------------------ looking

    @property
    def turn(self) -> int:
        """The seat to act; -1 when the deal is over."""
        return int(self._batch.state.turn[0])

    @property
    def is_over(self) -> bool:
        """Whether all tricks are played and melded."""
        return self.turn < 0

    @property
    def trick(self) -> tuple[str, ...]:
        """The cards of the trick in the order of play."""
        return tuple(CARD_TEXT[card] for card in self._batch.state.trick_cards[0].tolist() if card >= 0)

    @property
    def last_winner(self) -> int:
        """The seat that took the last trick; -1 before the first."""
        return int(self._batch.state.last_winner[0])

    @property
    def last_pile(self) -> int:
        """The cards of that trick and what went along, as a mask."""
        return int(self._batch.state.last_pile[0])

    @property
    def places(self) -> tuple[int | None, ...]:
        """Each seat's place at the end, equal points sharing the better one; None before."""
        return tuple(None if place < 0 else place for place in self._batch.state.places[0].tolist())

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of this deal so far, a seat each."""
        return tuple(self._batch.state.points[0].tolist())

    @property
    def next_leader(self) -> int | None:
        """Who leads the next deal of the game: None, for the deal passes to the left by itself (8.2)."""
        return None

    def hand(self, seat: int) -> int:
        """The cards in a seat's hand, as a mask.

        Raises:
            ValueError: no such seat.
        """
        if not 0 <= seat < self.rules.num_players:
            raise ValueError(f"seat {seat!r}: expected 0..{self.rules.num_players - 1}")
        return int(self._batch.state.hands[0, seat])

    def legal_plays(self) -> list[str]:
        """What the seat to act may play, in the order of action ids; empty when the deal is over."""
        return [play_text(self.rules, action) for action in self._batch.legal_actions().action.tolist()]

    # ------------------------------------------------------------ playing

    def play(self, play: str | int) -> None:
        """Play a card, a meld or the end of melding, as text or action id.

        Raises:
            NotationError: text that is no play.
            IllegalPlayError: refused here; the message holds the play, the trick, the hand, the clause. The
                deal is unchanged by any of these.
            ValueError: no such action.
        """
        action = parse_play(self.rules, play) if isinstance(play, str) else index(play)
        name = self._batch.table.text(action)
        if self.is_over:
            raise IllegalPlayError(f"{name} refused: the deal is over")
        try:
            self._batch.step([action])
        except IllegalPlayError:
            table, row = self._batch.table, self._batch.rows[0].tolist()
            why = why_refused(table, row, action)
            position = f"seat {self.turn}; {describe(table, row)}"
            raise IllegalPlayError(f"{name} refused: {why} ({position})") from None
        self._plays.append(action)

    # ------------------------------------------------------------ copies, records, pictures

    def copy(self) -> Self:
        """An independent deal in the same position."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._batch, new._plays = self._batch.copy(), self._plays.copy()
        return new

    def record(self) -> str:
        """The deal so far as one line of text (`tienlen_env.games.thirteens.notation`)."""
        points = self.scores if self.is_over else None
        return format_record(
            DealRecord(
                self.rules, self.key, self.round_index, *self._given, self.leader, tuple(self._plays), points
            )
        )

    @classmethod
    def from_record(
        cls, text: str, rules: ThirteensRules | None = None, *, backend: BackendName = "numba"
    ) -> Self:
        """Read a line that `record` wrote and play it through.

        Args:
            text: one line.
            rules: the variant, where the line names it only by a digest.
            backend: ``"numba"`` or ``"python"``.

        Raises:
            NotationError: text that cannot be read, hands that cannot be, a play that the rules refuse, or
                points that the plays do not lead to; it names the column.
        """
        record = parse_record(text, rules)
        if record.hands is None:
            new = cls(
                record.rules,
                record.key,
                round_index=record.round_index,
                leader=record.leader,
                backend=backend,
            )
        else:
            try:
                new = cls.from_hands(
                    record.rules,
                    record.hands,
                    dummy=record.dummy,
                    remainder=record.remainder,
                    starter=record.starter,
                    leader=record.leader,
                    backend=backend,
                )
            except TienLenError as error:
                raise NotationError(str(error), text.index("hands=") + 1) from error
        for action, column in zip(record.plays, record.columns, strict=True):
            try:
                new.play(action)
            except TienLenError as error:
                raise NotationError(str(error), column) from error
        if record.points is not None and (not new.is_over or record.points != new.scores):
            lead_to = new.scores if new.is_over else "no end"
            raise NotationError(
                f"the points say {record.points}, the plays lead to {lead_to}", len(text.rstrip()) + 1
            )
        return new

    def view(self, *, face_up: Sequence[int] | None = None, names: Sequence[str] | None = None) -> TrickView:
        """What to draw.

        Args:
            face_up: seats whose hands are shown; None for all.
            names: of the seats; None for ``"player_0"`` and so on.
        """
        return TrickMemory(self._batch).view(face_up, names)

    def _repr_svg_(self) -> str:
        return render_svg(self.view())

    def __str__(self) -> str:
        return render_ansi(self.view())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.record()}>"
