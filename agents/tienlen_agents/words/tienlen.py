"""The words of Tiến lên: the fields of PROTOCOL.md (version 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from tienlen_agents.words import GameWords, Message, Request
from tienlen_env.engine.view import View
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import AnyRules, Refusal
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.explain import MUST_DECLARE, REASONS
from tienlen_env.games.tienlen.notation import DECLARE_TEXT
from tienlen_env.games.tienlen.rules import Rules, Shape

# The fields of a `play` message, in their order.
_WORDS: Final = (
    *("seat", "hand", "table", "owner", "must", "passed"),
    *("counts", "played", "places", "scores", "legal"),
)


def _plain(value: Any) -> Json:
    """A field of `Rules` as JSON: shapes as texts, tuples as lists."""
    if isinstance(value, Shape):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


class TienLenWords(GameWords):
    """See `GameWords`."""

    named = ("game", "seat", "table", "hand")

    def rule_fields(self, rules: AnyRules) -> dict[str, Json]:
        """See `GameWords.rule_fields`."""
        variant = cast(Rules, rules)
        fields = {name: _plain(value) for name, value in variant.settings().items()}
        return {
            "name": variant.name,
            "digest": variant.digest(),
            "points": list(variant.place_points),
            "fields": fields,
        }

    def message_fields(self, position: Message) -> dict[str, Json]:
        """See `GameWords.message_fields`."""
        return {word: position[word] for word in _WORDS}

    def read_answer(self, request: Request, answer: str, rules: AnyRules) -> tuple[int, int]:
        """See `GameWords.read_answer`: any set of cards, not only those of ``legal``; no cards are a pass."""
        table = build_action_table(cast(Rules, rules))
        if answer == DECLARE_TEXT and table.declare is not None:
            return table.declare, 0
        if table.declare in request.actions:  # then nothing else is legal, whatever the answer says
            raise TienLenError(str(Refusal(*REASONS[MUST_DECLARE])))
        mask = parse_cards(answer)
        return table.classify(mask), mask

    def deal_ids(self, view: View) -> Sequence[object]:
        """See `GameWords.deal_ids`: the 13 cards dealt to the player."""
        dealt: list[int] = (view.hand | view.played[:, 0]).tolist()
        return dealt


WORDS: Final = TienLenWords()
