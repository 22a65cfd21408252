"""The messages of clients: JSON objects, read into typed values.

| ``type`` | fields | meaning |
|---|---|---|
| ``hello`` | ``version``, ``join`` | the first message; ``join`` is the token of the home network |
| ``create`` | ``rules``, ``seats``, ``whole_game``, ``num_rounds``, ``pause`` | a new table |
| ``join`` | ``token``, ``since``, ``name`` | take a seat; ``since``: number of events that the client has |
| ``play`` | ``id``, ``turn``, ``play`` | a move as text; ``turn``: number of plays before it |
| ``select`` | ``id``, ``turn``, ``cards`` | is this selection a legal move, and can a card be added to it? |
| ``undo`` | ``id`` | take the own last move back, against agents |
| ``hint`` | ``id``, ``turn`` | the probabilities of the champion's network |
| ``next`` | ``id`` | deal the next round |
| ``end`` | ``id`` | end the game after the round that is over |
| ``record`` | ``id`` | the records of the finished rounds |
| ``again`` | ``id`` | after a game: another one with the same seats and links |

The answers are ``welcome``, ``table`` (the token of each seat), ``view``, ``selection``, ``hint``, ``record``
and ``error`` (``code``, ``message``, and the ``id`` of the message that it answers).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, get_type_hints

VERSION: Final = 1
MAX_BYTES: Final = 4096  # of a message
MAX_TEXT: Final = 200  # characters of a text in it
MAX_SEATS: Final = 8
MAX_PAUSE: Final = 5000  # milliseconds
MAX_ROUNDS: Final = 1000  # that are agreed for a game
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

    version: int
    join: str = ""


@dataclass(frozen=True)
class Create:
    """A new table."""

    rules: str
    seats: tuple[str, ...]
    whole_game: bool = True
    pause: int = 0
    num_rounds: int | None = None


@dataclass(frozen=True)
class Join:
    """Take the seat of a token."""

    token: str
    since: int = 0
    name: str = ""


@dataclass(frozen=True)
class Question:
    """A message about the table of the connection; its answer has the same `id`. `type` says what it asks."""

    type: str
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


ClientMessage: TypeAlias = Hello | Create | Join | Question


def _is_text(value: object) -> bool:
    """Whether a value is a text of limited length. JSON can write half a character, which no file can."""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_NUMBER


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and 0 < len(value) <= MAX_SEATS and all(map(_is_text, value))


# For the type of a field: the test of a JSON value, and what was expected.
_FIELDS: Final[Mapping[object, tuple[Callable[[object], bool], str]]] = {
    str: (_is_text, f"a text of at most {MAX_TEXT} characters"),
    int: (_is_number, f"an integer 0..{MAX_NUMBER}"),
    int | None: (lambda value: value is None or _is_number(value), f"null or an integer 0..{MAX_NUMBER}"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    tuple[str, ...]: (_are_texts, f"a list of 1 to {MAX_SEATS} texts of at most {MAX_TEXT} characters"),
}
_KINDS: Final[Mapping[str, type[ClientMessage]]] = {
    "hello": Hello,
    "create": Create,
    "join": Join,
    "play": PlayMove,
    "select": Select,
    "undo": Question,
    "hint": AtTurn,
    "next": Question,
    "end": Question,
    "record": Question,
    "again": Question,
}
_TYPES: Final = {kind: get_type_hints(kind) for kind in _KINDS.values()}


def read(text: str) -> ClientMessage:
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
        values = None
    if not isinstance(values, dict):
        raise MessageError("invalid", "expected a JSON object")
    number = values["id"] if _is_number(values.get("id")) else None
    kind = _KINDS.get(values["type"]) if isinstance(values.get("type"), str) else None
    if kind is None:
        raise MessageError("invalid", "type: not a type of message that is known here", number)
    given: dict[str, Any] = {}
    for name, hint in _TYPES[kind].items():
        if name not in values and hasattr(kind, name):
            continue  # it has a default
        is_valid, expected = _FIELDS[hint]
        if not is_valid(values.get(name)):
            raise MessageError("invalid", f"{name}: expected {expected}", number)
        given[name] = tuple(values[name]) if isinstance(values[name], list) else values[name]
    message = kind(**given)
    if isinstance(message, Hello) and message.version != VERSION:
        raise MessageError("version", f"the server speaks version {VERSION}: load the page again")
    if isinstance(message, Create) and (message.num_rounds or 0) > MAX_ROUNDS:
        raise MessageError("invalid", f"num_rounds: expected an integer 0..{MAX_ROUNDS}", number)
    if isinstance(message, Create) and message.pause > MAX_PAUSE:
        raise MessageError("invalid", f"pause: expected an integer 0..{MAX_PAUSE}", number)
    return message
