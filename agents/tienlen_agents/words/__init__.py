"""What programs are told of a game (PROTOCOL.md).

Each game has one `GameWords`, found by its rules (`words_of`): the object ``WORDS`` of the module of this
package with the game's name, or the one that another package registers with its game
(``games.registry.register(GAME, words=...)``). It contains no rules: the round checks whether a play is
legal (`tienlen_env.single.base.BaseRound`). What `tienlen_env` says of a game is in the game's own
`GameText`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Final, NamedTuple

from tienlen_env.engine.view import View
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import ByGame, game_of

Message = Mapping[str, Json]


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


class GameWords:
    """The words of one game; this class is for games without their own.

    Attributes:
        named: the fields that identify a position in error messages.
    """

    named: tuple[str, ...] = ("game", "seat", "hand")

    def rule_fields(self, rules: AnyRules) -> dict[str, Json]:
        """``rules`` of the first message: JSON values."""
        fields: object = asdict(rules) if is_dataclass(rules) and not isinstance(rules, type) else {}
        plain: Json = json.loads(json.dumps(fields, default=str))
        return {
            "game": game_of(rules).name,
            "name": rules.name,
            "digest": rules.digest(),
            "fields": plain,
        }

    def message_fields(self, position: Message) -> dict[str, Json]:
        """The fields of a `play` message, from those of `tienlen_env.single.messages.positions`.

        The public facts of the game are between those that every game has.
        """
        first, last = ("seat", "hand"), ("counts", "places", "scores", "legal")
        facts = [word for word in position if word not in (*first, *last, "current_seat", "legal_ids")]
        return {word: position[word] for word in (*first, *facts, *last)}

    def read_answer(self, request: Request, answer: str, rules: AnyRules) -> tuple[int, int]:
        """The action id and card mask of an answer; the engine judges whether they are legal.

        Raises:
            TienLenError: the answer is not a play.
        """
        legal = request.message["legal"]
        assert isinstance(legal, list)
        if answer not in legal:
            raise TienLenError("not one of the legal plays")
        number = legal.index(answer)
        return request.actions[number], request.cards[number]

    def deal_ids(self, view: View) -> Sequence[object]:
        """For each decision a value that is constant in a deal and differs between deals; None: unknown."""
        return [None] * len(view)


_WORDS: Final[ByGame[GameWords]] = ByGame("words", "tienlen_agents.words", lambda game: GameWords())


def words_of(rules: AnyRules) -> GameWords:
    """The words of the game of `rules`."""
    return _WORDS.of(rules)
