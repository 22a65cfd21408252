"""Positions of Tiến lên where programs often fail, and the rules of which they play whole rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tienlen_check.words import CheckedWords, HardPosition
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.tienlen.rules import MAX_CARDS_EACH, PRESETS, get_rules

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


class TienLenCheckedWords(CheckedWords):
    """See `CheckedWords`."""

    positions = POSITIONS

    def tables(self, rules: AnyRules) -> list[tuple[str, AnyRules]]:
        """See `CheckedWords.tables`: presets, small decks, fewer players, the largest hands."""
        few = [("cardgames", get_rules("cardgames", num_players)) for num_players in (3, 2)]
        large = replace(get_rules("cardgames", 3), cards_each=MAX_CARDS_EACH)
        return [*super().tables(rules), *few, (f"cardgames with {MAX_CARDS_EACH} cards each", large)]


CHECKED_WORDS: Final = TienLenCheckedWords()
