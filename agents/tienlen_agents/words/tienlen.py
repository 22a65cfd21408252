"""The words of Tiến lên: the fields of PROTOCOL.md (version 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from tienlen_agents.words import (
    GameWords,
    HardPosition,
    Message,
    Request,
)
from tienlen_env.engine.view import View
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import AnyRules, Refusal
from tienlen_env.games.tienlen.actions import (
    build_action_table,
)
from tienlen_env.games.tienlen.explain import MUST_DECLARE, REASONS
from tienlen_env.games.tienlen.notation import DECLARE_TEXT
from tienlen_env.games.tienlen.rules import MAX_CARDS_EACH, PRESETS, Rules, Shape, get_rules

# The fields of a `play` message, in their order.
_WORDS: Final = (
    *("seat", "hand", "table", "owner", "must", "passed"),
    *("counts", "played", "places", "scores", "legal"),
)

POSITIONS: Final = (
    HardPosition(
        "the opening play contains the lowest card",
        "cardgames",
        ("3s 4c 4d 9h 2s", "3c 5d", "5s 6h", "7s Jd"),
        -1,
    ),
    HardPosition("a free lead, with tens", "cardgames", ("Ts Tc Td", "4s", "5s 5h", "Th Js"), 0),
    HardPosition("a lead with the last card", "cardgames", ("2h", "4s", "5s", "6s"), 0),
    HardPosition(
        "a pair is followed by a pair", "cardgames", ("5s 5h 9c", "6s 7c 8d 8h", "4s", "3s"), 0, ("5s 5h",)
    ),
    HardPosition("a pass is the only play", "cardgames", ("Ah 4s", "3s 5c", "6s", "7s"), 0, ("Ah",)),
    HardPosition(
        "four of a kind may go on a 2", "cardgames", ("2s 4s", "6s 6c 6d 6h", "5s 5c", "7s"), 0, ("2s",)
    ),
    HardPosition(
        "five pairs in a row may go on three 2s",
        "cardgames",
        ("2s 2c 2d 3s", "4s 4c 5s 5c 6s 6c 7s 7c 8s 8c", "9s"),
        0,
        ("2s 2c 2d",),
    ),
    HardPosition("two players, others gone", "cardgames", ("9s Kd", "Jc Qh"), 0, ("9s",)),
    HardPosition(
        "a suited run is followed by suited runs",
        "foicica",
        ("3s 4s 9h", "5d 6c 7h 8h", "Js Jd", "Qs"),
        0,
        ("3s 4s",),
    ),
    HardPosition(
        "a bomb may be played after a pass",
        "foicica",
        ("4h 9s 2h", "3s 3c 4s 4d 5s 5d Kc", "9d Jd", "Th Tc Qs"),
        0,
        ("4h", "", "9d", "", "2h"),
    ),
    HardPosition("a run up to a 2", "pagat", ("Qs Kd Ac 2h 3d", "4s", "5s"), 0),
    *(
        HardPosition("an instant win", name, ("2s 2c 2d 2h 5c", "3s 4c 5d 6h", "7s 8d"), -1)
        for name, rules in PRESETS.items()
        if rules.instant_wins
    ),
    HardPosition("a small deck", "mini", ("3c 4s 2s", "3s 5c 2c"), 1, ("3s",)),
    HardPosition("four 2s of a small deck", "small", ("2s 2c 2d 2h", "3s 4s 4c 4d"), -1, ("3s",)),
)


def _plain(value: Any) -> Json:
    """A field of `Rules` as JSON: shapes as texts, tuples as lists."""
    if isinstance(value, Shape):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


class TienLenWords(GameWords):
    """See `GameWords`."""

    named = ("game", "seat", "table", "hand")
    positions = POSITIONS

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

    def tables(self, rules: AnyRules) -> list[tuple[str, AnyRules]]:
        """See `GameWords.tables`: presets, small decks, fewer players, the largest hands."""
        few = [("cardgames", get_rules("cardgames", num_players)) for num_players in (3, 2)]
        large = replace(get_rules("cardgames", 3), cards_each=MAX_CARDS_EACH)
        return [*super().tables(rules), *few, (f"cardgames with {MAX_CARDS_EACH} cards each", large)]

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
