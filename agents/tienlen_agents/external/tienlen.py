"""The line protocol of Tiến lên: the fields of PROTOCOL.md, version 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from tienlen_agents.external.messages import GameProtocol, Message, Position, Request
from tienlen_env.engine.view import View
from tienlen_env.games.common.cards import format_cards, parse_cards
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.tienlen.actions import PASS, build_action_table
from tienlen_env.games.tienlen.rules import PRESETS, Rules, Shape
from tienlen_env.single.base import Json

# The fields of a `play` message, in their order.
_WORDS: Final = (
    *("seat", "hand", "table", "owner", "must", "passed"),
    *("counts", "played", "places", "scores", "legal"),
)

POSITIONS: Final = (
    Position(
        "the opening play contains the lowest card",
        "cardgames",
        ("3s 4c 4d 9h 2s", "3c 5d", "5s 6h", "7s Jd"),
        -1,
    ),
    Position("a free lead, with tens", "cardgames", ("Ts Tc Td", "4s", "5s 5h", "Th Js"), 0),
    Position("a lead with the last card", "cardgames", ("2h", "4s", "5s", "6s"), 0),
    Position(
        "a pair is followed by a pair", "cardgames", ("5s 5h 9c", "6s 7c 8d 8h", "4s", "3s"), 0, ("5s 5h",)
    ),
    Position("a pass is the only play", "cardgames", ("Ah 4s", "3s 5c", "6s", "7s"), 0, ("Ah",)),
    Position(
        "four of a kind may go on a 2", "cardgames", ("2s 4s", "6s 6c 6d 6h", "5s 5c", "7s"), 0, ("2s",)
    ),
    Position(
        "five pairs in a row may go on three 2s",
        "cardgames",
        ("2s 2c 2d 3s", "4s 4c 5s 5c 6s 6c 7s 7c 8s 8c", "9s"),
        0,
        ("2s 2c 2d",),
    ),
    Position("two players, others gone", "cardgames", ("9s Kd", "Jc Qh"), 0, ("9s",)),
    Position(
        "a suited run is followed by suited runs",
        "foicica",
        ("3s 4s 9h", "5d 6c 7h 8h", "Js Jd", "Qs"),
        0,
        ("3s 4s",),
    ),
    Position(
        "a bomb may be played after a pass",
        "foicica",
        ("4h 9s 2h", "3s 3c 4s 4d 5s 5d Kc", "9d Jd", "Th Tc Qs"),
        0,
        ("4h", "", "9d", "", "2h"),
    ),
    Position("a run up to a 2", "pagat", ("Qs Kd Ac 2h 3d", "4s", "5s"), 0),
)


def _plain(value: Any) -> Json:
    """A field of `Rules` as JSON: shapes as texts, tuples as lists."""
    if isinstance(value, Shape):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


class TienLenProtocol(GameProtocol):
    """See `GameProtocol`."""

    named = ("game", "seat", "table", "hand")
    positions = POSITIONS

    def rules(self, rules: AnyRules) -> dict[str, Json]:
        """See `GameProtocol.rules`."""
        variant = cast(Rules, rules)
        fields = {name: _plain(getattr(variant, name)) for name in variant.settings()}
        return {
            "name": variant.name,
            "digest": variant.digest(),
            "points": list(variant.place_points),
            "fields": fields,
        }

    def words(self, position: Message) -> dict[str, Json]:
        """See `GameProtocol.words`."""
        return {word: position[word] for word in _WORDS}

    def tables(self, rules: AnyRules) -> list[tuple[str, int]]:
        """See `GameProtocol.tables`: all presets, and fewer players."""
        return [*((name, 4) for name in PRESETS), ("cardgames", 3), ("cardgames", 2)]

    def read(self, request: Request, answer: str, rules: AnyRules) -> tuple[int, int] | str:
        """See `GameProtocol.read`: any set of cards, not only those of ``legal``."""
        mask, table = parse_cards(answer), build_action_table(cast(Rules, rules))
        action = table.classify(mask)
        if mask in request.cards:
            return action, mask
        hand, must = (parse_cards(str(request.message[word])) for word in ("hand", "must"))
        if missing := mask & ~hand:
            return f"{format_cards(missing)} is not in the hand"
        if action not in request.actions:
            return (
                "a leader may not pass" if action == PASS else f"{table.text(action)} may not be played here"
            )
        if must & ~mask:
            return f"the opening play must contain {format_cards(must)}"
        return action, mask

    def deal_ids(self, view: View) -> Sequence[object]:
        """See `GameProtocol.deal_ids`: the 13 cards dealt to the player."""
        dealt: list[int] = (view.hand | view.played[:, 0]).tolist()
        return dealt


PROTOCOL = TienLenProtocol()
