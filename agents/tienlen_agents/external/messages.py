"""The messages to a program and the valid answers (PROTOCOL.md).

Every game has a `GameProtocol`, found by its rules (`protocol_of`): the object ``PROTOCOL`` of the module of
this package with the game's name, or one that another package registers. A game without its own protocol uses
the fields of `tienlen_env.single.messages`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Final, NamedTuple

import numpy as np

from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of
from tienlen_env.single.base import Json, round_type
from tienlen_env.single.by_game import ByGame
from tienlen_env.single.messages import positions

Message = Mapping[str, Json]

VERSION: Final = 1
STDERR_KEPT: Final = 4096  # bytes from the end of stderr in a report
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


def shortened(line: bytes, length: int = 120) -> str:
    """The beginning of a line, for messages."""
    text = line[:length].decode(errors="backslashreplace")
    return repr(text) + (f" and {len(line) - length} bytes more" if len(line) > length else "")


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


class Request(NamedTuple):
    """A decision that is sent to a program.

    Attributes:
        decision: its index in the view.
        number: its id in the protocol.
        message: the message to send.
        actions: the legal action ids.
        cards: their cards (masks).
    """

    decision: int
    number: int
    message: Message
    actions: list[int]
    cards: list[int]


class Position(NamedTuple):
    """A position where programs often fail.

    Attributes:
        title: name of the check.
        rules: name of a preset.
        hands: cards by seat.
        leader: the seat that leads; -1: by the rules.
        plays: the cards of the plays made so far.
    """

    title: str
    rules: str
    hands: tuple[str, ...]
    leader: int
    plays: tuple[str, ...] = ()

    def batch(self) -> Batch:
        """The position as a batch of one game."""
        batch = Batch(self.rules, 1, num_players=len(self.hands))
        leader = None if self.leader < 0 else self.leader
        played = round_type(batch.rules).from_hands(batch.rules, self.hands, leader=leader)
        for play in self.plays:
            played.play(play)
        batch.state.rows[0] = played.row
        return batch


class GameProtocol:
    """The line protocol of one game; this class is for games without their own.

    Attributes:
        leading: the fields of a `play` message before the public facts of the game.
        trailing: the fields after them.
        named: the fields that identify a position in error messages.
        positions: positions where programs often fail.
    """

    leading: tuple[str, ...] = ("seat", "hand")
    trailing: tuple[str, ...] = ("counts", "places", "scores", "legal")
    named: tuple[str, ...] = ("game", "seat", "hand")
    positions: tuple[Position, ...] = ()

    def rules(self, rules: AnyRules) -> dict[str, Json]:
        """``rules`` of the first message: JSON values."""
        fields: object = asdict(rules) if is_dataclass(rules) and not isinstance(rules, type) else {}
        plain: Json = json.loads(json.dumps(fields, default=str))
        return {
            "game": game_of(rules).name,
            "name": rules.name,
            "digest": rules.digest(),
            "fields": plain,
        }

    def words(self, position: Message) -> dict[str, Json]:
        """The fields of a `play` message, from those of `tienlen_env.single.messages.positions`."""
        known = {*self.leading, *self.trailing, "current_seat", "legal_ids"}
        facts = [word for word in position if word not in known]
        return {word: position[word] for word in (*self.leading, *facts, *self.trailing)}

    def tables(self, rules: AnyRules) -> list[tuple[str, int]]:
        """The presets and numbers of players for which a program is checked."""
        return [(name, preset.num_players) for name, preset in game_of(rules).presets.items()]

    def read(self, request: Request, answer: str, rules: AnyRules) -> tuple[int, int] | str:
        """The action id and card mask of an answer, or why the play is not legal.

        Raises:
            TienLenError: the answer is not a valid play.
        """
        legal = request.message["legal"]
        assert isinstance(legal, list)
        if answer not in legal:
            return "not one of the legal plays"
        number = legal.index(answer)
        return request.actions[number], request.cards[number]

    def deal_ids(self, view: View) -> Sequence[object]:
        """For each decision a value that is constant in a deal and differs between deals; None: unknown."""
        return [None] * len(view)


_PROTOCOLS: Final[ByGame[GameProtocol]] = ByGame("tienlen_agents.external", "PROTOCOL", GameProtocol())


def register_protocol(game: str, protocol: GameProtocol) -> None:
    """Set the line protocol of a game, by the game's name."""
    _PROTOCOLS.register(game, protocol)


def protocol_of(rules: AnyRules) -> GameProtocol:
    """The line protocol of the game of `rules`."""
    return _PROTOCOLS.of(rules)


def hello_message(rules: AnyRules, limit_ms: int) -> Message:
    """The first message to a program: the version of the protocol, the rules, the time limit."""
    return {
        "type": "hello",
        "version": VERSION,
        "seats": rules.num_players,
        "limit_ms": limit_ms,
        "rules": protocol_of(rules).rules(rules),
    }


def play_requests(view: View, indices: list[int], number: Callable[[int], tuple[int, int]]) -> list[Request]:
    """The `play` messages for some decisions of a view, with fields of `tienlen_env.single.messages`.

    Args:
        view: n decisions.
        indices: which of them.
        number: the id of the request and the id of the game for the decision of an index.
    """
    batch, games = view.source
    legal, protocol = view.legal_actions, protocol_of(view.rules)
    starts, ends = legal.start.tolist(), np.append(legal.start[1:], len(legal.action)).tolist()
    actions, cards = legal.action.tolist(), legal.cards.tolist()
    seen = positions(batch, games[indices].tolist(), view.seat[indices].tolist(), legal, indices)
    requests = []
    for i, position in zip(indices, seen, strict=True):
        request, game = number(i)
        message: dict[str, Json] = {"type": "play", "id": request, "game": game}
        message |= protocol.words(position)
        own = slice(starts[i], ends[i])
        requests.append(Request(i, request, message, actions[own], cards[own]))
    return requests


def validate_answer(request: Request, cards: object, rules: AnyRules) -> tuple[int, int]:
    """The action id and the card mask of an answer.

    Args:
        request: the decision.
        cards: the ``cards`` of the answer; any JSON value.
        rules: the rules.

    Raises:
        Failure: the answer does not name cards, or the play is not legal.
    """
    protocol = protocol_of(rules)
    where = ", ".join(f"{name} {request.message[name]!r}" for name in protocol.named)
    if not isinstance(cards, str):
        raise Failure("an answer without cards", f'"cards" is not a string; {where}')
    try:
        found = protocol.read(request, cards, rules)
    except TienLenError as error:
        raise Failure("an illegal play", f"{cards[:120]!r}: {error}; {where}") from None
    if isinstance(found, str):
        raise Failure("an illegal play", f"{cards[:120]!r}: {found}; {where}")
    return found
