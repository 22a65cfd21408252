"""How a game is shown and spoken about at a table of people: at a terminal, in a browser.

Each game has one `TableWords`, found by its rules (`table_words_of`): the object ``TABLE_WORDS`` of the
module of this package with the game's name, or the one that another package registers with its game
(``games.registry.register(GAME, words=...)``). It contains no rules: the round checks whether a play is
legal (`tienlen_env.single.base.BaseRound`). What `tienlen_env` says of a game is in the game's own
`GameText`, what programs are told is in `GameWords`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from tienlen_agents.words import GameWords, words_of
from tienlen_env.games.common.arrays import ActionFields
from tienlen_env.games.common.game import ActionTable, AnyRules
from tienlen_env.games.registry import ByGame
from tienlen_env.rendering.view import PLACE_TEXT, with_symbol
from tienlen_env.single.base import AnyPlay, AnyRound

COLUMNS: Final = 78

Move = AnyPlay | int | str  # the argument of `BaseRound.play`


class PaymentColumns(NamedTuple):
    """Where a row has the payments of a round: a list of numbers, whose bits are the fields.

    Attributes:
        first: column of the first payment.
        number: column of their number.
        fields: shift and number of bits of ``payer``, ``payee``, ``amount`` and ``cause``; 0: all others.
        causes: the names of the causes.
    """

    first: int
    number: int
    fields: dict[str, tuple[int, int]]
    causes: Sequence[str]


def is_part(actions: ActionFields, action: int, cards: int, selected: int) -> bool:
    """Whether the selected cards are a part of `cards`, and not all of them."""
    return selected & ~cards == 0 and selected != cards


class TableWords(GameWords):
    """The words of one game; this class is for games without their own.

    Attributes:
        help: at a terminal: the valid inputs.
        hint: default agent for suggestions.
        opponent: default agent for the other seats.
        result_column: first of the columns with the results in a record; -1 for the score.
        find_action: ``(spec, actions, cards)``, also compiled for the page: the action of exactly these
            cards, -1 for none; None: each legal action is tried.
        can_extend: ``(actions, action, cards, selected)``: whether more cards can make the action of
            the selected ones; `cards` are those that the action takes by itself. By default: `is_part`.
        reason: ``(row, spec, actions, action, cards)``, compiled likewise: the number in `reasons` of why
            they are refused, action -1 for cards that `find_action` does not know; None: not known.
        reasons: texts, each with its clause; what stands in braces is filled in.
        reason_columns: of the cards that must be played, and of the action on the table, which texts name.
        position: words for the position of a seat, for an empty table, and for an instant win to declare.
    """

    help: str = """\
  7       play number 7 of the list, or type it as it is listed
"""
    hint: str = "random"
    opponent: str = "random"
    result_column: int = -1
    find_action: Callable[..., int] | None = None
    can_extend: Callable[..., bool] = staticmethod(is_part)
    reason: Callable[..., int] | None = None
    reasons: Sequence[tuple[str, str]] = ()
    reason_columns: tuple[int, int] = (0, 0)
    position: tuple[str, str, str] = ("", "", "")

    # ------------------------------------------------------------ at a terminal

    def choices(self, played: AnyRound) -> list[AnyPlay]:
        """The legal plays that have a number, in the order of the list, from 1."""
        return played.legal_plays()

    def kind(self, played: AnyRound, play: AnyPlay) -> str:
        """The heading of a play in the list."""
        return "play"

    def shown(self, played: AnyRound, play: AnyPlay) -> str:
        """The text of a play."""
        return str(play)

    def is_forced_pass(self, played: AnyRound) -> bool:
        """Whether the seat to act can only pass, so that no input is needed."""
        return False

    def read_typed(self, played: AnyRound, typed: str) -> Move:
        """Parse a typed move.

        Args:
            played: the round.
            typed: lower-case text without blanks around it.

        Raises:
            ValueError: it is not a move.
        """
        if typed.isascii() and typed.isdigit():
            plays = self.choices(played)
            if not 0 < int(typed[:9]) <= len(plays):
                raise ValueError(f"{typed[:9]} is not a valid number: the list has {len(plays)} plays")
            return plays[int(typed) - 1]
        return self.parse_typed(played, typed)

    def parse_typed(self, played: AnyRound, typed: str) -> Move:
        """Parse a typed move that is not a number.

        Raises:
            ValueError: it is not a move.
        """
        plays: list[AnyPlay] = played.legal_plays()
        return next((play for play in plays if self.shown(played, play).lower() == typed), typed)

    def listing(self, played: AnyRound) -> Iterator[str]:
        """The legal plays, numbered, as lines."""
        plays = enumerate(self.choices(played), 1)
        for kind, group in groupby(plays, lambda numbered: self.kind(played, numbered[1])):
            yield filled(kind, (f"{number}: {self.shown(played, play)}" for number, play in group))

    def advice(self, played: AnyRound, play: AnyPlay) -> str:
        """A play as a suggestion: ``"play 3♠"``, ``"pass"``, ``"declare"``."""
        return f"play {self.shown(played, play)}"

    def report(self, played: AnyRound, seat: int, names: Sequence[str], play: AnyPlay) -> str:
        """Text for the last play and its effect.

        Args:
            played: the round, after the play.
            seat: the seat that played.
            names: of the seats; ``"you"`` is addressed in the second person.
            play: the play.
        """
        text = f"{subject(names[seat], 'play')} {self.shown(played, play)}"
        place = played.places[seat]
        return text if place is None else f"{text}: {PLACE_TEXT[place]}"

    # ------------------------------------------------------------ in a browser

    def size(self, rules: AnyRules) -> list[str]:
        """The words of a record for the size of the table."""
        return [f"p{rules.num_players}"]

    def record_plays(self, rules: AnyRules, table: ActionTable) -> list[str] | None:
        """The text of each action in records; None: the cards of the play."""
        return [str(action) for action in range(table.num_actions)]

    def named_plays(self, rules: AnyRules, table: ActionTable) -> dict[int, str]:
        """The texts of actions without cards that are not a pass, in a game with `find_action`."""
        return {}

    def shapes(self, table: ActionTable) -> list[str] | None:
        """What `reasons` say of each action: ``"2x3 6 double sequence"``; None where nothing is said."""
        return None

    def no_combination(self, rules: AnyRules) -> str:
        """What is said, after the cards, of cards that are no action; empty where plays are not cards."""
        return ""

    def payment_columns(self, rules: AnyRules, spec: Sequence[int]) -> PaymentColumns | None:
        """Where a row has the payments of its round; None: the rules have none."""
        return None

    def next_leader(self, rules: AnyRules) -> bool:
        """Whether the seat that is first leads the next round; else the deal decides."""
        return False


_OF_GAME: Final[ByGame[TableWords]] = ByGame("table_words", "tienlen_table.words", lambda game: TableWords())


def table_words_of(rules: AnyRules) -> TableWords:
    """The words of the game of `rules`; its registered `words` where they are some for a table."""
    found = words_of(rules)
    return found if isinstance(found, TableWords) else _OF_GAME.of(rules)


def subject(name: str, verb: str) -> str:
    """``"you play"``, ``"greedy plays"``, ``"greedy passes"``."""
    ending = "" if name == "you" else "es" if verb.endswith("s") else "s"
    return f"{name} {verb}{ending}"


def filled(kind: str, items: Iterable[str]) -> str:
    """A paragraph of the list."""
    # No break inside a play: its blanks are non-breaking until the lines are filled.
    text = "   ".join(item.replace(" ", "\u00a0") for item in items)
    text = textwrap.fill(text, COLUMNS, initial_indent=f"  {kind:<16}", subsequent_indent=" " * 18)
    return text.replace("\u00a0", " ")


def symbols(cards: str) -> str:
    """The text of cards as people read it: ``"3s Th"`` as ``"3♠ 10♥"``."""
    return " ".join(map(with_symbol, cards.split()))
