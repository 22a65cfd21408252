"""The messages between us and a program: what is sent, what may be answered (PROTOCOL.md).

Every game has a `GameProtocol`, found by the rules (`protocol_of`): an object ``PROTOCOL`` in the module of
this package that bears the game's name, or one that another package registers. A game without one of its own
is played in the words of `tienlen_env.single.messages`.
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
STDERR_KEPT: Final = 4096  # bytes of the end of stderr that go into a report
DETAIL_KEPT: Final = STDERR_KEPT + 512  # characters of a failure's detail


# ---------------------------------------------------------------- failures and lines


def visible(text: str) -> str:
    """Text of a program made safe to store and show: characters that are not printable become escapes.

    JSON can hold a lone surrogate, which cannot be written to a file as UTF-8; an escape sequence can control
    a terminal. Ends of lines and tabs stay. Text that is visible already stays as it is.

    Args:
        text: anything.

    Returns:
        Text of printable characters, ends of lines and tabs.
    """
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


class Failure(Exception):
    """A program has not kept to the protocol.

    All text of a program that leaves this module passes through here or through `Child.stderr`, and is
    `visible` and of bounded length.

    Attributes:
        reason: the kind of failure, in our words.
        detail: this failure, with words of the program.
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
    """What to raise for an answer whose id belongs to no question."""
    number = answer.get("id")
    # Deeply nested lists may be readable and still exceed the recursion limit of `repr`.
    said = "a list or an object" if isinstance(number, list | dict) else repr(number)
    return Failure("an answer to no question", f"its id is {said[:120]}")


def encode(message: Message) -> bytes:
    """A message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


# ---------------------------------------------------------------- questions


class Request(NamedTuple):
    """A decision that a program is asked for.

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
    """A position in which programs often fail.

    Attributes:
        title: what it checks.
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
    """How one game is played over lines; this class is for games without one of their own.

    Attributes:
        leading: the words of a question before the public facts of the game.
        trailing: those after them.
        named: the words by which messages name a position.
        positions: positions in which programs often fail.
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
        """The words of a question, from those of `tienlen_env.single.messages.positions`."""
        known = {*self.leading, *self.trailing, "current_seat", "legal_ids"}
        facts = [word for word in position if word not in known]
        return {word: position[word] for word in (*self.leading, *facts, *self.trailing)}

    def tables(self, rules: AnyRules) -> list[tuple[str, int]]:
        """Presets of the game with these rules, and numbers of players, in which a program is checked."""
        return [(name, preset.num_players) for name, preset in game_of(rules).presets.items()]

    def read(self, request: Request, answer: str, rules: AnyRules) -> tuple[int, int] | str:
        """The action id and card mask of an answer, or why the play is not legal.

        Raises:
            TienLenError: the answer names no play.
        """
        legal = request.message["legal"]
        assert isinstance(legal, list)
        if answer not in legal:
            return "not one of the legal plays"
        number = legal.index(answer)
        return request.actions[number], request.cards[number]

    def deal_ids(self, view: View) -> Sequence[object]:
        """For each decision, a value that stays the same during a deal and no longer; None: unknown."""
        return [None] * len(view)


_PROTOCOLS: Final[ByGame[GameProtocol]] = ByGame("tienlen_agents.external", "PROTOCOL", GameProtocol())


def register_protocol(game: str, protocol: GameProtocol) -> None:
    """Set how a game is played over lines, by the game's name."""
    _PROTOCOLS.register(game, protocol)


def protocol_of(rules: AnyRules) -> GameProtocol:
    """How the game with these rules is played over lines."""
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
    """The messages that ask for some decisions of a view, in the words of `tienlen_env.single.messages`.

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
        cards: the ``cards`` of the answer; anything.
        rules: the rules.

    Raises:
        Failure: the answer does not name cards, or the play is not legal.
    """
    protocol = protocol_of(rules)
    where = ", ".join(f"{name} {request.message[name]!r}" for name in protocol.named)
    if not isinstance(cards, str):
        raise Failure("an answer without cards", f'"cards" is no string; {where}')
    try:
        found = protocol.read(request, cards, rules)
    except TienLenError as error:
        raise Failure("an illegal play", f"{cards[:120]!r}: {error}; {where}") from None
    if isinstance(found, str):
        raise Failure("an illegal play", f"{cards[:120]!r}: {found}; {where}")
    return found
