"""The errors that bad input raises; the types are all ``ValueError`` and leave the game as it was."""

from __future__ import annotations

from collections.abc import Iterable


def expected_one_of(name: object, known: Iterable[str], other: str = "", what: str = "one of") -> str:
    """The end of a refusal of an unknown name: what is known, and the name that was meant if one is near.

    >>> expected_one_of("ray", ())
    'there is none here'

    >>> expected_one_of("norht", ("south", "north"), ", or a Rules")
    "expected one of south, north, or a Rules; did you mean 'north'?"
    """
    if not (names := tuple(known)):
        return "there is none here"
    return f"expected {what} {', '.join(names)}{other}{did_you_mean(name, names)}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a refusal: the known name that is near to an unknown one; ``""`` if none is."""
    from difflib import get_close_matches  # of use in refusals only

    near = get_close_matches(str(name)[:100], tuple(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_word(
    setting: str, word: object, known: Iterable[str], other: str = "", error: type[ValueError] = ValueError
) -> None:
    """Refuse a word that a setting does not have.

    Args:
        setting: its name.
        word: the value.
        known: the words that it may be.
        other: what else is accepted, for the message: ``", or None"``.
        error: the type of the refusal.

    Raises:
        ValueError: the value is none of the words. The message names the setting and the word that was meant.
    """
    names = tuple(known)
    if not (isinstance(word, str) and word in names):
        raise error(f"{setting}={word!r}: {expected_one_of(word, names, other)}")


def unexpected_keyword(function: str, name: str, known: Iterable[str], what: str = "one of") -> TypeError:
    """The error of an unknown keyword: Python's own words, which other libraries look for, then ours."""
    expected = expected_one_of(name, known, what=what)
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}: {expected}")


class TienLenError(ValueError):
    """Base of the project's errors."""


class RulesError(TienLenError):
    """A field of the rules has an unknown value, or fields exclude one another; the message names it."""


class InvalidComboError(TienLenError):
    """The cards are not a combination of the rules (RULES.md 1.5, 3.2)."""


class IllegalPlayError(TienLenError):
    """A play or pass that is not legal here; the message holds play, table, hand and clause.

    Attributes:
        game: index of the game in its batch; 0 for a single game.
        seat: the seat to act, None if the game is over.
        action: the action id, None for cards that are not an action.
        cards: the exact cards (mask) that were to be played; None where the action alone was given.
        clause: of RULES.md, for example ``"1.8"``; ``""`` where no single clause is broken.
    """

    def __init__(
        self,
        message: str,
        *,
        game: int = 0,
        seat: int | None = None,
        action: int | None = None,
        cards: int | None = None,
        clause: str = "",
    ) -> None:
        super().__init__(message)
        self.game = game
        self.seat = seat
        self.action = action
        self.cards = cards
        self.clause = clause

    def worded(self, message: str) -> IllegalPlayError:
        """The same refusal with another message."""
        about = {name: getattr(self, name) for name in ("game", "seat", "action", "cards", "clause")}
        return IllegalPlayError(message, **about)


class DeviceError(TienLenError):
    """There is no device for ``backend="cuda"``, or a method has no form for a device."""


class WrongGameError(TienLenError):
    """An agent or a tool got another game than it plays."""


class GameFaultError(TienLenError):
    """A game breaks the contract of `tienlen_env.games.common.game.GameDefinition`; the text says where."""


class NotationError(TienLenError):
    """Text that is not a card or not a record.

    Attributes:
        column: 1-based column of the first character that could not be read.
    """

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message, column)  # both, so that the error survives pickling between processes
        self.column = column

    def __str__(self) -> str:
        return f"column {self.column}: {self.args[0]}"
