"""What is drawn: views of one moment of a game, and the words that all renderers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from tienlen_env.games.common.cards import NO_CARD
from tienlen_env.rendering.cards import by_suits, cards_of

PLACE_TEXT: Final = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th")
MAX_PLAYERS: Final = len(PLACE_TEXT)


class Centre(NamedTuple):
    """What lies in the middle of the table.

    Attributes:
        cards: ids in drawing order; none on an empty table.
        above: a line over them, e.g. whose they are.
        below: a line under them: what they are.
        labels: a word under each card, or none.
        raised: index of the card that is lifted, -1 for none.
        small: ids of further cards, drawn small.
    """

    cards: tuple[int, ...]
    above: str = ""
    below: str = ""
    labels: tuple[str, ...] = ()
    raised: int = -1
    small: tuple[int, ...] = ()


class View(Protocol):
    """What the renderers need of one moment of any game; seats are absolute."""

    @property
    def num_players(self) -> int:
        """Seats at the table, 2..7."""

    @property
    def names(self) -> tuple[str, ...]:
        """P labels."""

    @property
    def title(self) -> str:
        """Heading."""

    @property
    def turn(self) -> int:
        """Seat to act, -1 when the game is over."""

    @property
    def headline(self) -> str:
        """Whose move it is, or who has won."""

    @property
    def centre(self) -> Centre:
        """The middle of the table."""

    def hand(self, seat: int) -> list[int]:
        """Card ids of a hand in drawing order, `NO_CARD` for backs."""

    def is_idle(self, seat: int) -> bool:
        """Whether a seat is greyed."""

    def badge(self, seat: int) -> str:
        """A word about a seat: its place, ``"to play"``, ``"pass"``; or ``""``."""

    def counts(self, seat: int) -> tuple[str, ...]:
        """Cards, points, ... of a seat."""

    def medal(self, seat: int) -> str:
        """The place of a seat that has no cards left, or ``""``."""

    def front(self, seat: int) -> list[int]:
        """Ids of the cards in front of a seat."""


@dataclass(frozen=True, kw_only=True)
class PlainView:
    """One moment of any game, as far as games share what is drawn; seats absolute.

    Attributes:
        hands: P card masks (see `tienlen_env.rendering.cards`).
        face_up: P flags: the hand is shown; otherwise backs are drawn and only its size is used.
        turn: seat to act, -1 when the game is over.
        places: P places: 0 the first .. P-1; -1 while it is not settled.
        scores: P points in the game.
        names: P labels, e.g. ``"player_0"``.
        title: heading.
        table: ids of the cards on the table, in drawing order.
        owner: seat that played them, -1 for none.
        table_text: a line about the table.

    Raises:
        ValueError: the tuples differ in length, there are not 2..7 seats, or a seat or place does not exist.
    """

    hands: tuple[int, ...]
    face_up: tuple[bool, ...]
    turn: int
    places: tuple[int, ...]
    scores: tuple[int, ...]
    names: tuple[str, ...]
    title: str
    table: tuple[int, ...] = ()
    owner: int = -1
    table_text: str = ""

    def __post_init__(self) -> None:
        players = len(self.hands)
        for field in ("face_up", "places", "scores", "names"):
            length = len(getattr(self, field))
            if length != players:
                raise ValueError(f"{field} has {length} entries, but hands has {players}")
        if not 2 <= players <= MAX_PLAYERS:
            raise ValueError(f"hands has {players} entries; expected 2..{MAX_PLAYERS} players")
        for field, values in {"owner": {self.owner}, "turn": {self.turn}, "places": set(self.places)}.items():
            if not values <= set(range(-1, players)):
                raise ValueError(f"{field}={getattr(self, field)}: expected -1..{players - 1}")

    @property
    def num_players(self) -> int:
        """Seats at the table, 2..7."""
        return len(self.hands)

    def hand(self, seat: int) -> list[int]:
        """Card ids of a hand, ascending, or `NO_CARD` for backs."""
        cards = cards_of(self.hands[seat])
        return cards if self.face_up[seat] else [NO_CARD] * len(cards)

    def is_idle(self, seat: int) -> bool:
        """Whether a seat is greyed: it has its place, and is not to act."""
        return seat != self.turn and self.places[seat] >= 0 and self.turn >= 0

    def badge(self, seat: int) -> str:
        """``"1st"`` and so on, ``"to play"`` or ``""``."""
        if self.places[seat] >= 0:
            return PLACE_TEXT[self.places[seat]]
        return "to play" if seat == self.turn else ""

    def counts(self, seat: int) -> tuple[str, ...]:
        """Cards left and points of a seat: ``("13 cards", "1 point")``."""
        return plural(int(self.hands[seat]).bit_count(), "card"), plural(self.scores[seat], "point")

    def medal(self, seat: int) -> str:
        """The place of a seat that has no cards left, or ``""``."""
        return self.badge(seat) if self.places[seat] >= 0 and not self.hands[seat] else ""

    def front(self, seat: int) -> list[int]:
        """Nothing."""
        return []

    @property
    def headline(self) -> str:
        """Whose move it is, or who has won."""
        if self.turn >= 0:
            return _does(self.names[self.turn], "to play")
        return who_won(self.names, self.scores)

    @property
    def centre(self) -> Centre:
        """The cards on the table, who played them, and the line about them."""
        above = f"{printable(self.names[self.owner])} played" if self.owner >= 0 else "on the table"
        return Centre(self.table, above, self.table_text)


@dataclass(frozen=True, kw_only=True)
class TableView:
    """One moment of a climbing game, where combinations beat the one on the table; seats absolute.

    Attributes:
        hands: P card masks (see `tienlen_env.rendering.cards`).
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
        units: P balances, what each seat got in payments less what it paid; None under rules without them.
        owed: P amounts, what each seat gets (or pays, below 0) for the chops of this trick if it ends now.
        declares: whether the seat to act must declare an instant win.

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
    units: tuple[int, ...] | None = None
    owed: tuple[int, ...] | None = None
    declares: bool = False

    def __post_init__(self) -> None:
        players = len(self.hands)
        for field in ("face_up", "places", "scores", "last_plays", "names", "units", "owed"):
            found = getattr(self, field)
            length = players if found is None else len(found)
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
        """``"1st"`` and so on, ``"to play"``, ``"pass"`` or ``""``."""
        if self.places[seat] >= 0:
            return PLACE_TEXT[self.places[seat]]
        if seat == self.turn:
            return "to play"
        return "pass" if seat in self.passed or self.last_plays[seat] == 0 else ""

    def counts(self, seat: int) -> tuple[str, ...]:
        """Cards left and points of a seat: ``("13 cards", "1 point")``.

        Under rules with payments the balance, and what is owed: ``("13 cards", "+3 units", "owes 2")``.
        """
        cards = plural(self.num_cards(seat), "card")
        if self.units is None:
            return cards, plural(self.scores[seat], "point")
        units = self.units[seat]
        balance = f"{units:+d} unit{'' if abs(units) == 1 else 's'}" if units else "0 units"
        owed = 0 if self.owed is None else self.owed[seat]
        return (cards, balance, f"{'gets' if owed > 0 else 'owes'} {abs(owed)}") if owed else (cards, balance)

    def medal(self, seat: int) -> str:
        """The place of a seat that has no cards left, or ``""``."""
        return self.badge(seat) if self.places[seat] >= 0 and not self.hands[seat] else ""

    def hand(self, seat: int) -> list[int]:
        """Card ids of a hand, weakest first, or `NO_CARD` for backs."""
        return cards_of(self.hands[seat]) if self.face_up[seat] else [NO_CARD] * self.num_cards(seat)

    @property
    def headline(self) -> str:
        """Whose move it is, or who has won."""
        if self.turn >= 0 and self.declares:
            name = printable(self.names[self.turn])
            return f"{name} {'declare' if name == 'you' else 'declares'} an instant win"
        if self.turn >= 0:
            verb = "to play" if self.table_cards else "leads"
            return _does(self.names[self.turn], verb)
        if self.units is None:
            return who_won(self.names, self.scores)
        found = who_won(self.names, self.units)
        return f"{found} {plural(max(self.units), 'unit')}" if found.endswith("wins") else found

    def front(self, seat: int) -> list[int]:
        """Ids of the beaten cards in front of a seat; none if they are the ones on the table."""
        return cards_of(0 if seat == self.owner else self.last_plays[seat] or 0)

    @property
    def centre(self) -> Centre:
        """The cards on the table, who played them and what they are."""
        who = f"{printable(self.names[self.owner])} played" if self.owner >= 0 else "on the table"
        return Centre(tuple(cards_of(self.table_cards)), who, self.table_text)


@dataclass(frozen=True, kw_only=True)
class TrickView:
    """One moment of a game of tricks; seats absolute.

    Attributes:
        hands: P card masks (see `tienlen_env.rendering.cards`).
        face_up: P flags: the hand is shown; otherwise backs are drawn and only its size is used.
        trick: card ids of the trick in the order of play.
        leader: seat that leads it.
        winner: seat that is winning it, -1 before the lead.
        aside: mask of further cards that go with it.
        pile: mask of the trick taken last with what went along, drawn until the next lead.
        note: a line about the trick or the pile, e.g. what was melded.
        turn: seat to act, -1 when the game is over.
        task: what the seat to act does: ``"leads"``, ``"to play"``, ``"melds"``.
        places: P places: 0 the most points .. P-1; -1 while the deal goes on.
        tricks: P tricks taken in this deal.
        points: P points of this deal.
        scores: P points in the game.
        names: P labels.
        title: heading.

    Raises:
        ValueError: the tuples differ in length, there are not 2..7 seats, or a seat does not exist.
    """

    hands: tuple[int, ...]
    face_up: tuple[bool, ...]
    trick: tuple[int, ...]
    leader: int
    winner: int
    aside: int
    pile: int
    note: str
    turn: int
    task: str
    places: tuple[int, ...]
    tricks: tuple[int, ...]
    points: tuple[int, ...]
    scores: tuple[int, ...]
    names: tuple[str, ...]
    title: str

    def __post_init__(self) -> None:
        players = len(self.hands)
        for field in ("face_up", "places", "tricks", "points", "scores", "names"):
            length = len(getattr(self, field))
            if length != players:
                raise ValueError(f"{field} has {length} entries, but hands has {players}")
        if not 2 <= players <= MAX_PLAYERS:
            raise ValueError(f"hands has {players} entries; expected 2..{MAX_PLAYERS} players")
        for field in ("leader", "winner", "turn"):
            if not -1 <= getattr(self, field) < players:
                raise ValueError(f"{field}={getattr(self, field)}: expected -1..{players - 1}")
        if len(self.trick) > players:
            raise ValueError(f"trick has {len(self.trick)} cards; expected at most {players}")

    @property
    def num_players(self) -> int:
        """Seats at the table, 2..7."""
        return len(self.hands)

    def hand(self, seat: int) -> list[int]:
        """Card ids of a hand by suits, or `NO_CARD` for backs."""
        mask = self.hands[seat]
        return by_suits(mask) if self.face_up[seat] else [NO_CARD] * mask.bit_count()

    def is_idle(self, seat: int) -> bool:
        """False: every seat plays to the end."""
        return False

    def badge(self, seat: int) -> str:
        """The place at the end, ``"to play"``, ``"winning"`` or ``""``."""
        if self.turn < 0 and self.places[seat] >= 0:
            return PLACE_TEXT[self.places[seat]]
        if seat == self.turn:
            return "to play"
        return "winning" if seat == self.winner and self.trick else ""

    def counts(self, seat: int) -> tuple[str, ...]:
        """Tricks and points of the deal, and those of the game where it began earlier."""
        counts = (plural(self.tricks[seat], "trick"), plural(self.points[seat], "point"))
        return counts if self.scores == self.points else (*counts, f"{self.scores[seat]} in all")

    def medal(self, seat: int) -> str:
        """The place of a seat once the game is over, or ``""``."""
        return self.badge(seat) if self.turn < 0 and not self.hands[seat] else ""

    def front(self, seat: int) -> list[int]:
        """Nothing: the trick lies in the middle."""
        return []

    @property
    def headline(self) -> str:
        """Whose move it is, or who has won."""
        if self.turn < 0:
            return who_won(self.names, self.scores)
        return _does(self.names[self.turn], self.task)

    @property
    def centre(self) -> Centre:
        """The trick in order with who played each card; before the lead, what was taken last."""
        if not self.trick:
            return Centre((), "", self.note, small=tuple(by_suits(self.aside or self.pile)))
        seats = [(self.leader + i) % self.num_players for i in range(len(self.trick))]
        does = "is winning" if len(self.trick) < self.num_players else "took the trick"
        above = f"{printable(self.names[self.winner])} {does}" if self.winner >= 0 else ""
        raised = seats.index(self.winner) if self.winner in seats else -1
        labels = tuple(printable(self.names[seat]) for seat in seats)
        return Centre(self.trick, above, self.note, labels, raised, tuple(by_suits(self.aside)))


def _does(name: str, task: str) -> str:
    """``"greedy leads"``, ``"greedy to play"``, ``"you lead"``."""
    return f"{printable(name)} {task.removesuffix('s') if name == 'you' else task}"


def who_won(names: tuple[str, ...], scores: tuple[int, ...]) -> str:
    """``"game over · player_0 wins"``, or that it is over."""
    best = [seat for seat, score in enumerate(scores) if score == max(scores)]
    return f"game over · {printable(names[best[0]])} wins" if len(best) == 1 else "game over"


def plural(number: int, noun: str) -> str:
    """``"1 card"``, ``"2 cards"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def printable(text: str) -> str:
    """The text on one line: control characters would break a terminal, and are not allowed in XML."""
    return "".join(c if c.isprintable() else " " for c in text)
