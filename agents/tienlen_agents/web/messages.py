"""The messages of clients: JSON objects, read into typed values.

| ``type`` | fields | meaning |
|---|---|---|
| ``hello`` | ``version``, ``join`` | the first message; ``join`` is the token of the home network |
| ``create`` | ``rules``, ``seats``, ``whole_game``, ``pause`` | a new table: ``"human"`` or an agent a seat |
| ``join`` | ``token``, ``since`` | take a seat; ``since``: number of events that the client has |
| ``play`` | ``id``, ``turn``, ``play`` | a move as text; ``turn``: number of plays before it |
| ``select`` | ``id``, ``turn``, ``cards`` | is this selection a legal move, and can a card be added to it? |
| ``undo`` | ``id`` | take the own last move back, against agents |
| ``hint`` | ``id``, ``turn`` | the probabilities of the champion's network |
| ``next`` | ``id`` | deal the next round |
| ``record`` | ``id`` | the records of the finished rounds |

The answers are ``welcome``, ``table`` (the token of each seat), ``view``, ``selection``, ``hint``, ``record``
and ``error`` (``code``, ``message``, and the ``id`` of the message that it answers).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

VERSION: Final = 1
MAX_BYTES: Final = 4096  # of a message
MAX_TEXT: Final = 200  # characters of a text in it
MAX_SEATS: Final = 8
MAX_PAUSE: Final = 5000  # milliseconds
MAX_NUMBER: Final = 10**6


class MessageError(ValueError):
    """A message that cannot be read or is not allowed.

    Attributes:
        code: one word for programs.
        id: of the message, if it has one.
    """

    def __init__(self, code: str, message: str, id: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.id = id


@dataclass(frozen=True)
class Hello:
    """The first message."""

    join: str


@dataclass(frozen=True)
class Create:
    """A new table."""

    rules: str
    seats: tuple[str, ...]
    whole_game: bool
    pause: int


@dataclass(frozen=True)
class Join:
    """Take the seat of a token."""

    token: str
    since: int


@dataclass(frozen=True)
class Question:
    """A message about the table of the connection; its answer has the same `id`."""

    id: int


@dataclass(frozen=True)
class AtTurn(Question):
    """A question about one position: `turn` is the number of plays before it."""

    turn: int


@dataclass(frozen=True)
class PlayMove(AtTurn):
    """A move."""

    play: str


@dataclass(frozen=True)
class Select(AtTurn):
    """A question about selected cards."""

    cards: str


class Hint(AtTurn):
    """A question for probabilities."""


class Undo(Question):
    """Take a move back."""


class NextRound(Question):
    """Deal the next round."""


class GetRecord(Question):
    """A question for the records."""


Message: TypeAlias = Hello | Create | Join | Question


def _is_text(value: object) -> bool:
    """Whether a value is a text of limited length. JSON can write half a character, which no file can."""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Fields:
    """The fields of a message, checked one by one."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        found = values.get("id")
        self.id = found if type(found) is int and 0 <= found <= MAX_NUMBER else None

    def error(self, text: str) -> MessageError:
        """An error about this message."""
        return MessageError("invalid", text, self.id)

    def text(self, name: str, default: str | None = None) -> str:
        """A text of limited length."""
        value = self.values.get(name, default)
        if not _is_text(value):
            raise self.error(f"{name}: expected a text of at most {MAX_TEXT} characters")
        assert isinstance(value, str)  # checked by `_is_text`
        return value

    def number(self, name: str, stop: int = MAX_NUMBER, default: int | None = None) -> int:
        """An integer from 0 to `stop`."""
        value = self.values.get(name, default)
        if type(value) is not int or not 0 <= value <= stop:
            raise self.error(f"{name}: expected an integer 0..{stop}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """A boolean."""
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self.error(f"{name}: expected true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.values.get(name)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_SEATS:
            raise self.error(f"{name}: expected a list of 1 to {MAX_SEATS} texts")
        if not all(map(_is_text, value)):
            raise self.error(f"{name}: expected texts of at most {MAX_TEXT} characters")
        return tuple(value)


def read(text: str) -> Message:
    """Read a message.

    Args:
        text: one JSON object.

    Raises:
        MessageError: it is too long, not JSON, of an unknown type, or a field is not valid.
    """
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise MessageError("too-long", f"a message has at most {MAX_BYTES} bytes")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        raise MessageError("invalid", "expected a JSON object") from None
    if not isinstance(values, dict):
        raise MessageError("invalid", "expected a JSON object")
    fields = _Fields(values)
    match values.get("type"):
        case "hello":
            if fields.number("version") != VERSION:
                raise MessageError("version", f"the server speaks version {VERSION}: load the page again")
            return Hello(fields.text("join", ""))
        case "create":
            return Create(
                fields.text("rules"),
                fields.texts("seats"),
                fields.flag("whole_game", True),
                fields.number("pause", MAX_PAUSE, 0),
            )
        case "join":
            return Join(fields.text("token"), fields.number("since", default=0))
        case "play":
            return PlayMove(fields.number("id"), fields.number("turn"), fields.text("play"))
        case "select":
            return Select(fields.number("id"), fields.number("turn"), fields.text("cards"))
        case "undo":
            return Undo(fields.number("id"))
        case "hint":
            return Hint(fields.number("id"), fields.number("turn"))
        case "next":
            return NextRound(fields.number("id"))
        case "record":
            return GetRecord(fields.number("id"))
        case _:
            raise fields.error("type: not a type of message that is known here")
