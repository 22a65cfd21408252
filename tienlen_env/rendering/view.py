"""What is drawn, and the words that every way of drawing it shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PLACE_TEXT: Final = ("1st", "2nd", "3rd", "4th")


@dataclass(frozen=True, kw_only=True)
class TableView:
    """What is drawn: one moment of one game, seats absolute.

    Attributes:
        hands: P card masks (bit card_id, see `tienlen_env.core.cards`).
        face_up: P flags: the hand is shown; otherwise backs are drawn and only its size is used.
        table_cards: mask of the cards on the table, 0 when it is empty.
        table_text: what they are, e.g. ``"pair 5h"``; ``""`` when the table is empty.
        owner: seat that played them, -1 when the table is empty.
        turn: seat to act, -1 when the game is over.
        passed: seats that passed in this trick.
        places: P places: 0 went out first .. P-1; -1 still in.
        scores: P points in the game.
        last_plays: P cards that each seat played last in this trick: a mask, 0 passed, None nothing yet.
        names: P labels, e.g. ``"player_0"``.
        title: e.g. ``"cardgames · round 1"``.

    Raises:
        ValueError: the tuples differ in length, there are not 2..4 seats, or a seat or place does not exist.
    """

    hands: tuple[int, ...]
    face_up: tuple[bool, ...]
    table_cards: int
    table_text: str
    owner: int
    turn: int
    passed: frozenset[int]
    places: tuple[int, ...]
    scores: tuple[int, ...]
    last_plays: tuple[int | None, ...]
    names: tuple[str, ...]
    title: str

    def __post_init__(self) -> None:
        players = len(self.hands)
        for field in ("face_up", "places", "scores", "last_plays", "names"):
            length = len(getattr(self, field))
            if length != players:
                raise ValueError(f"{field} has {length} entries, but hands has {players}")
        if not 2 <= players <= 4:
            raise ValueError(f"hands has {players} entries; expected 2..4 players")
        seats = {"owner": {self.owner}, "turn": {self.turn}, "places": set(self.places)}
        for field, values in seats.items():
            if not values <= set(range(-1, players)):
                raise ValueError(f"{field}={getattr(self, field)}: expected -1..{players - 1}")
        if not self.passed <= set(range(players)):
            raise ValueError(f"passed={sorted(self.passed)}: expected seats 0..{players - 1}")

    @property
    def num_players(self) -> int:
        """Seats at the table, 2..4."""
        return len(self.hands)

    def num_cards(self, seat: int) -> int:
        """Cards left in a seat's hand."""
        return int(self.hands[seat]).bit_count()

    def is_idle(self, seat: int) -> bool:
        """Whether a seat is greyed: it passed or is out, and is not asked to act nevertheless."""
        return seat != self.turn and (seat in self.passed or self.places[seat] >= 0)

    def badge(self, seat: int) -> str:
        """The one thing to know of a seat: ``"1st"``, ``"to play"``, ``"pass"`` or ``""``."""
        if self.places[seat] >= 0:
            return PLACE_TEXT[self.places[seat]]
        if seat == self.turn:
            return "to play"
        return "pass" if seat in self.passed or self.last_plays[seat] == 0 else ""

    def counts(self, seat: int) -> str:
        """Cards left and points of a seat: ``"13 cards · 1 point"``."""
        return f"{plural(self.num_cards(seat), 'card')} · {plural(self.scores[seat], 'point')}"

    @property
    def headline(self) -> str:
        """Whose move it is, or who has won."""
        if self.turn >= 0:
            verb = "to play" if self.table_cards else "leads"
            return f"{printable(self.names[self.turn])} {verb}"
        best = [seat for seat, score in enumerate(self.scores) if score == max(self.scores)]
        return f"game over · {printable(self.names[best[0]])} wins" if len(best) == 1 else "game over"

    def earlier_play(self, seat: int) -> int:
        """Mask of the beaten cards in front of a seat; 0 if none, or if they are the ones on the table."""
        return 0 if seat == self.owner else self.last_plays[seat] or 0


def plural(number: int, noun: str) -> str:
    """``"1 card"``, ``"2 cards"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def printable(text: str) -> str:
    """The text on one line: control characters would break a terminal, and are not allowed in XML."""
    return "".join(c if c.isprintable() else " " for c in text)
