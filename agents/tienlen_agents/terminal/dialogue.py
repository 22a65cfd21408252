"""Terminal output and input of a game: texts for a person, and the parser for typed moves.

Each game has a `Dialogue`, found by its rules (`dialogue_of`): the object ``DIALOGUE`` of the module of this
package with the game's name, or one that another package registers. A dialogue contains no rules: the round
checks whether a move is legal (`tienlen_env.single.base.BaseRound`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from tienlen_env.games.common.cards import NUM_CARDS, RANK_TEXT, SUIT_SYMBOLS, card_ids
from tienlen_env.games.common.game import AnyRules
from tienlen_env.rendering.view import PLACE_TEXT
from tienlen_env.single.base import AnyRound, Play
from tienlen_env.single.by_game import ByGame

COLUMNS: Final = 78

Move = Play | int | str  # the argument of `BaseRound.play`


class Dialogue:
    """The texts of a game; this class is for games without their own.

    Attributes:
        help: the valid inputs.
        hint: default agent for suggestions.
        opponent: default agent for the other seats.
        unit: word for one round, such as "round" or "deal".
    """

    help: str = """\
  7       play number 7 of the list, or type it as it is listed
"""
    hint: str = "random"
    opponent: str = "random"
    unit: str = "round"

    def choices(self, played: AnyRound) -> list[Play]:
        """The legal plays that have a number, in the order of the list, from 1."""
        return played.legal_plays()

    def kind(self, played: AnyRound, play: Play) -> str:
        """The heading of a play in the list."""
        return "play"

    def words(self, played: AnyRound, play: Play) -> str:
        """The text of a play."""
        return str(play)

    def is_forced_pass(self, played: AnyRound) -> bool:
        """Whether the seat to act can only pass, so that no input is needed."""
        return False

    def read(self, played: AnyRound, typed: str) -> Move:
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
        return self.parse(played, typed)

    def parse(self, played: AnyRound, typed: str) -> Move:
        """Parse a typed move that is not a number.

        Raises:
            ValueError: it is not a move.
        """
        plays: list[Play] = played.legal_plays()
        return next((play for play in plays if self.words(played, play).lower() == typed), typed)

    def listing(self, played: AnyRound) -> Iterator[str]:
        """The legal plays, numbered, as lines."""
        plays = enumerate(self.choices(played), 1)
        for kind, group in groupby(plays, lambda numbered: self.kind(played, numbered[1])):
            yield filled(kind, (f"{number}: {self.words(played, play)}" for number, play in group))

    def advice(self, played: AnyRound, play: Play) -> str:
        """A play as a suggestion: ``"play 3♠"``, ``"pass"``."""
        return f"play {self.words(played, play)}"

    def report(self, played: AnyRound, seat: int, names: Sequence[str], play: Play) -> str:
        """Text for the last play and its effect.

        Args:
            played: the round, after the play.
            seat: the seat that played.
            names: of the seats; ``"you"`` is addressed in the second person.
            play: the play.
        """
        text = f"{subject(names[seat], 'play')} {self.words(played, play)}"
        place = played.places[seat]
        return text if place is None else f"{text}: {PLACE_TEXT[place]}"


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


def symbols(cards: int) -> str:
    """Text of cards (mask), ``"3♠ 10♥"``."""
    ids = card_ids(cards & (1 << NUM_CARDS) - 1)
    return " ".join(RANK_TEXT[c >> 2].replace("T", "10") + SUIT_SYMBOLS[c & 3] for c in ids)


_DIALOGUES: Final[ByGame[Dialogue]] = ByGame("tienlen_agents.terminal", "DIALOGUE", Dialogue())


def register_dialogue(game: str, dialogue: Dialogue) -> None:
    """Set the texts of a game, by the game's name."""
    _DIALOGUES.register(game, dialogue)


def dialogue_of(rules: AnyRules) -> Dialogue:
    """The texts of the game of `rules`."""
    return _DIALOGUES.of(rules)
