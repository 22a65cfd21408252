"""One deal of Thirteens at a time, for people and programs.

>>> from tienlen_env.single.thirteens import Deal
>>> deal = Deal("thirteens", key=7)
>>> deal.play(deal.legal_plays()[0])
>>> print(deal.trick, "by seat", deal.leader)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_indices
from tienlen_env.errors import NotationError, TienLenError
from tienlen_env.games.thirteens.cards import CARD_TEXT, format_cards
from tienlen_env.games.thirteens.explain import SUIT_NAME
from tienlen_env.games.thirteens.melds import pack
from tienlen_env.games.thirteens.notation import (
    DealRecord,
    format_record,
    parse_play,
    parse_record,
    play_text,
)
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.thirteens.state import State
from tienlen_env.rendering import TrickView
from tienlen_env.single.base import BasePainter, BaseRound, Facts, TextPlay, seat_names, title_of


def trick_view(
    batch: Batch,
    game: int = 0,
    *,
    face_up: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
) -> TrickView:
    """The picture of a game of Thirteens, from its state.

    Args:
        batch: the games.
        game: which of them.
        face_up: seats whose hands are shown; None for all.
        names: P labels; None for ``"player_0"`` and so on.
    """
    state = cast(State, batch.state)
    seats = range(batch.num_players)
    names = seat_names(batch.num_players, names)
    trick = tuple(card for card in state.trick_cards[game].tolist() if card >= 0)
    pile, last_winner = int(state.pile[game]), int(state.last_winner[game])
    turn, aside = int(state.turn[game]), int(state.aside[game])
    note = ""
    if pile:
        note = f"to meld: {melds_text(pile)}"
    elif trick:
        note = "goes to the winner of the trick" if aside else ""
    elif aside:
        suit = starter_suit(int(state.follow[game]))
        note = f"starter suit: {suit}" if suit else "set aside"
    elif last_winner >= 0:
        note = f"{names[last_winner]} took {melds_text(int(state.last_pile[game]))}"
    return TrickView(
        hands=tuple(state.hands[game].tolist()),
        face_up=tuple(face_up is None or seat in face_up for seat in seats),
        trick=trick,
        leader=int(state.leader[game]),
        winner=int(state.winner[game]),
        aside=aside,
        pile=pile or int(state.last_pile[game]),
        note=note,
        turn=turn,
        task="melds" if pile else "to play" if trick else "leads",
        places=tuple(state.places[game].tolist()),
        tricks=tuple(state.tricks[game].tolist()),
        points=tuple(state.points[game].tolist()),
        scores=tuple(state.scores[game].tolist()),
        names=names,
        title=title_of(batch, game, "deal"),
    )


def starter_suit(follow: int) -> str:
    """The suit that must be led or followed, as text; ``""`` for none.

    Args:
        follow: mask of the cards of that suit, 0 for none.
    """
    return SUIT_NAME[(follow & -follow).bit_length() - 1 & 3] if follow else ""


def melds_text(pile: int) -> str:
    """The melds with the most points in a pile, as text: ``"K, Q+A and 5 5"``."""
    melds = [str(meld).removeprefix("meld ").replace("T", "10") for meld, _ in pack(pile)]
    if not melds:
        return "nothing to meld"
    return " and ".join(filter(None, (", ".join(melds[:-1]), melds[-1])))


class ThirteensPainter(BasePainter):
    """Draws a game of Thirteens."""

    def view(self, face_up: Sequence[int] | None = None, names: Sequence[str] | None = None) -> TrickView:
        """See `BasePainter.view`."""
        return trick_view(self._batch, self._game, face_up=face_up, names=names)


class Deal(BaseRound[ThirteensRules, TextPlay]):
    """One deal of Thirteens, until the hands are empty and all nulls are paid (RULES.md 8.9).

    Args:
        rules: a preset's name or a `ThirteensRules`.
        key: 64-bit deal key; None draws one.
        num_players: 3..7; None keeps the number in `rules`.
        round_index: which deal of the key's game it is.
        leader: the seat that leads; None: eldest by the key (8.2).
        backend: ``"numba"`` or ``"python"``.

    Raises:
        RulesError: unknown rules, or those of another game.
        ValueError: a key or round that does not fit, or an invalid seat.
    """

    game_name: ClassVar[str] = "thirteens"
    unit: ClassVar[str] = "deal"
    painter: ClassVar[type[BasePainter]] = ThirteensPainter
    _state: State

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
        super().__init__(
            rules, key, num_players=num_players, round_index=round_index, leader=leader, backend=backend
        )

    def _bind(self, batch: Batch) -> None:
        super()._bind(batch)
        self._state = cast(State, batch.state)

    # ------------------------------------------------------------ the position

    @property
    def trick(self) -> tuple[str, ...]:
        """The cards of the trick in the order of play."""
        return tuple(CARD_TEXT[card] for card in self._state.trick_cards[0].tolist() if card >= 0)

    @property
    def last_winner(self) -> int:
        """The seat that took the last trick; -1 before the first."""
        return int(self._state.last_winner[0])

    @property
    def last_pile(self) -> int:
        """The cards of the last trick, with the cards beside it, as a mask."""
        return int(self._state.last_pile[0])

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of this deal so far, by seat."""
        return tuple(self._state.points[0].tolist())

    # ------------------------------------------------------------ playing

    def _action_cards(self, action: int) -> int:
        return 1 << action if action < self.rules.num_cards else 0

    def _parse(self, text: str) -> int:
        return parse_play(self.rules, text)

    def pass_(self) -> None:
        """See `BaseRound.pass_`: Thirteens has no pass (RULES.md 8.5).

        Raises:
            IllegalPlayError: always.
        """
        raise self._error(
            "pass refused: Thirteens has no pass, a card is played in each turn, 8.5", None, "8.5"
        )

    # ------------------------------------------------------------ records, text, pictures

    def record(self) -> str:
        """The deal so far as one line of text (`tienlen_env.games.thirteens.notation`)."""
        self._check_recordable()
        aside = self._aside
        return format_record(
            DealRecord(
                self.rules,
                self.key,
                self.round_index,
                self._hands,
                aside.get("dummy", 0),
                aside.get("remainder", 0),
                aside.get("starter", 0),
                self.leader,
                tuple(play.action for play in self._plays),
                self.scores if self.is_over else None,
            )
        )

    @classmethod
    def from_record(
        cls, text: str, rules: ThirteensRules | None = None, *, backend: BackendName = "numba"
    ) -> Self:
        """Read a line that `record` wrote and play it through.

        Args:
            text: one line.
            rules: the variant, needed if the line has only its digest.
            backend: ``"numba"`` or ``"python"``.

        Raises:
            NotationError: text that cannot be read, an impossible card distribution, an illegal play, or
                points that do not follow from the plays; the message has the column.
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
            aside = {name: getattr(record, name) for name in ("dummy", "remainder", "starter")}
            try:
                new = cls.from_hands(
                    record.rules, record.hands, leader=record.leader, backend=backend, **aside
                )
            except TienLenError as error:
                raise NotationError(str(error), text.index("hands=") + 1) from error
        new._replay(record.plays, record.columns)
        if record.points is not None and (not new.is_over or record.points != new.scores):
            lead_to = new.scores if new.is_over else "no end"
            raise NotationError(
                f"the points say {record.points}, the plays lead to {lead_to}", len(text.rstrip()) + 1
            )
        return new

    @classmethod
    def play_text(cls, batch: Batch, action: int, cards: int) -> str:
        """The text of a play: ``"Kd"``, ``"6+5+2"``, ``"5&5"``, ``"end"``."""
        return play_text(cast(ThirteensRules, batch.rules), action)

    @classmethod
    def public_facts(
        cls, batch: Batch, games: Sequence[int], legal_cards: Sequence[Sequence[int]]
    ) -> list[Facts]:
        """See `BaseRound.public_facts`.

        ``trick`` has the cards in the order of play, ``leader`` the seat that led it, ``winner`` the seat
        that is winning it, ``aside`` the cards beside it. ``pile`` has the cards to meld. ``last_winner``
        took ``last_pile``. ``tricks`` and ``points`` are those of this deal. ``starter`` is the suit that
        must be led, in the first trick.
        """
        state = cast(State, batch.state)
        found: list[Facts] = []
        for game in as_indices(games, batch.num_games).tolist():
            trick = [CARD_TEXT[card] for card in state.trick_cards[game].tolist() if card >= 0]
            pile, last_winner = int(state.pile[game]), int(state.last_winner[game])
            winner, aside = int(state.winner[game]), int(state.aside[game])
            facts: Facts = {
                "trick": " ".join(trick),
                "leader": int(state.leader[game]),
                "winner": None if winner < 0 else winner,
                "aside": format_cards(aside),
                "starter": "" if trick or pile else starter_suit(int(state.follow[game])),
                "pile": format_cards(pile),
                "last_winner": None if last_winner < 0 else last_winner,
                "last_pile": format_cards(int(state.last_pile[game])),
                "tricks": state.tricks[game].tolist(),
                "points": state.points[game].tolist(),
            }
            found.append(facts)
        return found

    def _view(self, face_up: Sequence[int] | None, names: Sequence[str] | None) -> TrickView:
        return trick_view(self._batch, face_up=face_up, names=names)


ROUND = Deal
