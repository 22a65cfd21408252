"""The messages to a program and the valid answers (PROTOCOL.md); `GameWords` has the fields of a game."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import numpy as np

from tienlen_agents.words import Message, Request, words_of
from tienlen_env.engine.view import View
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.messages import positions

VERSION: Final = 1
STDERR_KEPT: Final = 4096  # bytes from the end of stderr in a report
LATE: Final = "no answer in time"
DETAIL_KEPT: Final = STDERR_KEPT + 512  # characters of a failure's detail


# ---------------------------------------------------------------- failures and lines


def visible(text: str) -> str:
    """Make text of a program safe to store and show: unprintable characters become escapes.

    JSON can hold a lone surrogate, which cannot be written to a file as UTF-8; an escape sequence can control
    a terminal. Line ends and tabs are not changed. Visible text is not changed.

    Args:
        text: any text.

    Returns:
        Text of printable characters, line ends and tabs.
    """
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


class Failure(Exception):
    """A program has violated the protocol.

    All text of a program that leaves this module passes through here or through `Child.stderr`, and is
    `visible` and of bounded length.

    Attributes:
        reason: the kind of failure.
        detail: this failure, with text of the program.
        broken: the program cannot be used any more.
    """

    def __init__(self, reason: str, detail: str, *, broken: bool = False) -> None:
        detail = visible(detail)
        if len(detail) > DETAIL_KEPT:
            detail = f"{detail[: DETAIL_KEPT - 1]}…"
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail
        self.broken = broken


def read_message(line: bytes) -> Message:
    """Read a line of a program.

    Raises:
        Failure: the line is not a JSON object.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise Failure("an answer that is no JSON object", shortened(line))
    return message


def shortened(line: bytes) -> str:
    """The beginning of a line, for messages."""
    text = line[:120].decode(errors="backslashreplace")
    return repr(text) + (f" and {len(line) - 120} bytes more" if len(line) > 120 else "")


def no_question(answer: Message) -> Failure:
    """The failure for an answer with an unknown id."""
    number = answer.get("id")
    # Deeply nested lists may be readable and still exceed the recursion limit of `repr`.
    said = "a list or an object" if isinstance(number, list | dict) else repr(number)
    return Failure("an answer to no question", f"its id is {said[:120]}")


def encode(message: Message) -> bytes:
    """A message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


# ---------------------------------------------------------------- questions


def hello_message(rules: AnyRules, limit_ms: int) -> Message:
    """The first message to a program: the version of the protocol, the rules, the time limit."""
    return {
        "type": "hello",
        "version": VERSION,
        "seats": rules.num_players,
        "limit_ms": limit_ms,
        "rules": words_of(rules).rule_fields(rules),
    }


def play_requests(view: View, indices: list[int], number: Callable[[int], tuple[int, int]]) -> list[Request]:
    """The `play` messages for some decisions of a view, with fields of `tienlen_env.single.messages`.

    Args:
        view: n decisions.
        indices: which of them.
        number: the id of the request and the id of the game for the decision of an index.
    """
    batch, games = view.source
    legal, words = view.legal_actions, words_of(view.rules)
    starts, ends = legal.start.tolist(), np.append(legal.start[1:], len(legal.action)).tolist()
    actions, cards = legal.action.tolist(), legal.cards.tolist()
    seen = positions(batch, games[indices].tolist(), view.seat[indices].tolist(), legal, indices)
    requests = []
    for i, position in zip(indices, seen, strict=True):
        request, game = number(i)
        message: dict[str, Json] = {"type": "play", "id": request, "game": game}
        message |= words.message_fields(position)
        own = slice(starts[i], ends[i])
        requests.append(Request(i, request, message, actions[own], cards[own]))
    return requests


def validate_answer(request: Request, cards: object, view: View) -> tuple[int, int]:
    """The action id and the card mask of an answer.

    Args:
        request: the decision.
        cards: the ``cards`` of the answer; any JSON value.
        view: the decisions that the request is one of.

    Raises:
        Failure: the answer does not name cards, or the play is not legal.
    """
    words = words_of(view.rules)
    where = ", ".join(f"{name} {request.message[name]!r}" for name in words.named)
    if not isinstance(cards, str):
        raise Failure("an answer without cards", f'"cards" is not a string; {where}')
    try:
        play = words.read_answer(request, cards, view.rules)
    except TienLenError as error:
        raise Failure("an illegal play", f"{cards[:120]!r}: {error}; {where}") from None
    batch, games = view.source
    is_listed = play in zip(request.actions, request.cards, strict=True)
    if not is_listed and (why := batch.variant.judge(batch.state.rows[games[request.decision]], *play)):
        raise Failure("an illegal play", f"{cards[:120]!r}: {why}; {where}")
    return play
