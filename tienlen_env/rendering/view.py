"""What is drawn: views of one moment of a game, and the words that all renderers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from tienlen_env.games.common.cards import SUIT_SYMBOLS, SUIT_TEXT, format_cards
from tienlen_env.texts import printable

PLACE_TEXT: Final = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th")
MAX_PLAYERS: Final = len(PLACE_TEXT)
BACK: Final = ""  # in place of the text of a card whose face is hidden


class Centre(NamedTuple):
    """What lies in the middle of the table.

    Attributes:
        cards: texts in drawing order; none on an empty table.
        above: a line over them, e.g. whose they are.
        below: a line under them: what they are.
        labels: a word under each card, or none.
        raised: index of the card that is lifted, -1 for none.
        small: texts of further cards, drawn small.
    """

    cards: tuple[str, ...]
    above: str = ""
    below: str = ""
    labels: tuple[str, ...] = ()
    raised: int = -1
    small: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlainView:
    """One moment of any game, as far as games share what is drawn; seats absolute.

    Attributes:
        hands: P card masks.
        face_up: P flags: the hand is shown; otherwise backs are drawn and only its size is used.
        turn: seat to act, -1 when the game is over.
        places: P places: 0 the first .. P-1; -1 while it is not settled.
        scores: P points in the game.
        names: P labels, e.g. ``"player_0"``.
        title: heading.
        table_cards: mask of the cards on the table, 0 when it is empty.
        owner: seat that played them, -1 for none.
        table_text: what they are, e.g. ``"pair 5h"``; ``""`` when the table is empty.
        format_cards: the texts of the cards of a mask, divided by blanks (`GameText.format_cards`). A text is
            a rank and then a suit of ``scdh``, or the name of a card without a suit.

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
    table_cards: int = 0
    owner: int = -1
    table_text: str = ""
    format_cards: Callable[[int], str] = format_cards

    def __post_init__(self) -> None:
        players = len(self.hands)
        for field, value in vars(self).items():
            if isinstance(value, tuple) and field != "trick" and len(value) != players:
                raise ValueError(f"{field} has {len(value)} entries, but hands has {players}")
        if not 2 <= players <= MAX_PLAYERS:
            raise ValueError(f"hands has {players} entries; expected 2..{MAX_PLAYERS} players")
        for field, values in {"owner": {self.owner}, "turn": {self.turn}, "places": set(self.places)}.items():
            if not values <= set(range(-1, players)):
                raise ValueError(f"{field}={getattr(self, field)}: expected -1..{players - 1}")

    @property
    def num_players(self) -> int:
        """Seats at the table, 2..7."""
        return len(self.hands)

    def cards(self, mask: int) -> list[str]:
        """The texts of the cards of a mask, in the game's order."""
        return self.format_cards(mask).split()

    def hand(self, seat: int) -> list[str]:
        """The texts of a hand in drawing order, `BACK` for each hidden card."""
        hand = int(self.hands[seat])
        return self.cards(hand) if self.face_up[seat] else [BACK] * hand.bit_count()

    def is_idle(self, seat: int) -> bool:
        """Whether a seat is greyed: it has its place, and is not to act."""
        return seat != self.turn and self.places[seat] >= 0 and self.turn >= 0

    def badge(self, seat: int) -> str:
        """A word about a seat: its place, ``"to play"``, ``"pass"``; or ``""``."""
        if self.places[seat] >= 0:
            return PLACE_TEXT[self.places[seat]]
        return "to play" if seat == self.turn else ""

    def counts(self, seat: int) -> tuple[str, ...]:
        """Cards left and points of a seat: ``("13 cards", "1 point")``."""
        return plural(int(self.hands[seat]).bit_count(), "card"), plural(self.scores[seat], "point")

    def medal(self, seat: int) -> str:
        """The place of a seat that has no cards left, or ``""``."""
        return self.badge(seat) if self.places[seat] >= 0 and not self.hands[seat] else ""

    def front(self, seat: int) -> list[str]:
        """The texts of the cards in front of a seat."""
        return []

    @property
    def headline(self) -> str:
        """Whose move it is, or who has won."""
        return who_won(self.names, self.scores) if self.turn < 0 else self._task("to play")

    def _task(self, task: str) -> str:
        """``"greedy leads"``, ``"greedy to play"``, ``"you lead"``."""
        name, (verb, *rest) = self.names[self.turn], task.split()
        return " ".join([printable(name), verb.removesuffix("s") if name == "you" else verb, *rest])

    @property
    def centre(self) -> Centre:
        """The middle of the table: the cards on it, who played them, what they are."""
        above = f"{printable(self.names[self.owner])} played" if self.owner >= 0 else "on the table"
        return Centre(tuple(self.cards(self.table_cards)), above, self.table_text)


@dataclass(frozen=True, kw_only=True)
class TableView(PlainView):
    """One moment of a game whose combinations beat the one on the table; seats absolute.

    Attributes:
        passed: seats that passed in this trick.
        last_plays: P cards that each seat played last in this trick: a mask, 0 passed, None nothing yet.
        units: P balances, what each seat got in payments less what it paid; None under rules without them.
        owed: P amounts, what each seat gets (or pays, below 0) for the chops of this trick if it ends now.
        declares: whether the seat to act must declare an instant win.

    Raises:
        ValueError: the tuples differ in length, there are not 2..7 seats, or a seat or place does not exist.
    """

    passed: frozenset[int]
    last_plays: tuple[int | None, ...]
    units: tuple[int, ...] | None = None
    owed: tuple[int, ...] | None = None
    declares: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.passed <= set(range(self.num_players)):
            raise ValueError(f"passed={sorted(self.passed)}: expected seats 0..{self.num_players - 1}")

    def is_idle(self, seat: int) -> bool:
        """Whether a seat is greyed: it passed or is out, and is not to act nevertheless."""
        return seat != self.turn and (seat in self.passed or self.places[seat] >= 0)

    def badge(self, seat: int) -> str:
        """See `PlainView.badge`."""
        has_passed = seat in self.passed or self.last_plays[seat] == 0
        return super().badge(seat) or ("pass" if has_passed else "")

    def counts(self, seat: int) -> tuple[str, ...]:
        """See `PlainView.counts`.

        Under rules with payments the balance, and what is owed: ``("13 cards", "+3 units", "owes 2")``.
        """
        if self.units is None:
            return super().counts(seat)
        units = self.units[seat]
        balance = f"{units:+d} unit{'' if abs(units) == 1 else 's'}" if units else "0 units"
        found = (plural(int(self.hands[seat]).bit_count(), "card"), balance)
        owed = 0 if self.owed is None else self.owed[seat]
        return (*found, f"{'gets' if owed > 0 else 'owes'} {abs(owed)}") if owed else found

    @property
    def headline(self) -> str:
        """See `PlainView.headline`."""
        if self.turn >= 0:
            return self._task(
                "declares an instant win" if self.declares else "to play" if self.table_cards else "leads"
            )
        if self.units is None:
            return super().headline
        found = who_won(self.names, self.units)
        return f"{found} {plural(max(self.units), 'unit')}" if found.endswith("wins") else found

    def front(self, seat: int) -> list[str]:
        """The beaten cards in front of a seat; none if they are the ones on the table."""
        return self.cards(0 if seat == self.owner else self.last_plays[seat] or 0)


@dataclass(frozen=True, kw_only=True)
class TrickView(PlainView):
    """One moment of a game of tricks; seats absolute.

    Attributes:
        trick: card ids of the trick in the order of play.
        leader: seat that leads it.
        winner: seat that is winning it, -1 before the lead.
        aside: mask of further cards that go with it.
        pile: mask of the trick taken last with what went along, drawn until the next lead.
        task: what the seat to act does: ``"leads"``, ``"to play"``, ``"melds"``.
        tricks: P tricks taken in this deal.
        points: P points of this deal.

    Raises:
        ValueError: the tuples differ in length, there are not 2..7 seats, or a seat does not exist.
    """

    trick: tuple[int, ...]
    leader: int
    winner: int
    aside: int
    pile: int
    task: str
    tricks: tuple[int, ...]
    points: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("leader", "winner"):
            if not -1 <= getattr(self, field) < self.num_players:
                raise ValueError(f"{field}={getattr(self, field)}: expected -1..{self.num_players - 1}")
        if len(self.trick) > self.num_players:
            raise ValueError(f"trick has {len(self.trick)} cards; expected at most {self.num_players}")

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

    @property
    def headline(self) -> str:
        """See `PlainView.headline`."""
        return super().headline if self.turn < 0 else self._task(self.task)

    @property
    def centre(self) -> Centre:
        """The trick in order with who played each card; before the lead, what was taken last."""
        aside = tuple(self.cards(self.aside or (0 if self.trick else self.pile)))
        if not self.trick:
            return Centre((), "", self.table_text, small=aside)
        seats = [(self.leader + i) % self.num_players for i in range(len(self.trick))]
        does = "is winning" if len(self.trick) < self.num_players else "took the trick"
        above = f"{printable(self.names[self.winner])} {does}" if self.winner >= 0 else ""
        raised = seats.index(self.winner) if self.winner in seats else -1
        labels = tuple(printable(self.names[seat]) for seat in seats)
        trick = tuple(self.format_cards(1 << card) for card in self.trick)
        return Centre(trick, above, self.table_text, labels, raised, aside)


def face(text: str) -> tuple[str, int]:
    """The rank, ``"10"`` for T, and the suit of a card's text; the suit is -1 for a card without one."""
    rank, suit = text[:-1], text[-1:]
    if not rank or suit not in SUIT_TEXT:
        return text, -1
    return "10" if rank == "T" else rank, SUIT_TEXT.index(suit)


def with_symbol(text: str) -> str:
    """A card as people read it: ``"10♥"``; ``"Jo"`` for the jokers ``"*1"`` and ``"*2"``."""
    rank, suit = face(text)
    return f"{rank}{SUIT_SYMBOLS[suit]}" if suit >= 0 else "Jo" if text.startswith("*") else text


def who_won(names: tuple[str, ...], scores: tuple[int, ...]) -> str:
    """``"game over · player_0 wins"``, or that it is over."""
    best = [seat for seat, score in enumerate(scores) if score == max(scores)]
    return f"game over · {printable(names[best[0]])} wins" if len(best) == 1 else "game over"


def plural(number: int, noun: str) -> str:
    """``"1 card"``, ``"2 cards"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
