"""The text record of a deal of Thirteens (`tienlen_env.games.common.notation`).

Example lines:

    thirteens/1 thirteens p4 j1 key=00000000000000ff.0 : Ks 3s 4s 5s ... = 12 3 9 -1
    thirteens/1 thirteens_manual p3 j2 hands=KcAd/Ac9h/3c*1 lead=0 : Kc Ac 3c K end ...
    thirteens/1 thirteens_dummy p3 j1 hands=3s/5s/7s dummy=Kh aside=2d lead=0 :

The size has the players and the jokers; with hands stand the dummy's and what goes with the first trick, its
starter first; ``lead=`` says who leads, where that is not eldest by the key; the plays are cards, and where
melds are declared ``6+5+2``, ``5&5``, ``J-Q-K`` and ``end``; the results are each seat's points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tienlen_env.errors import RulesError, expected_one_of
from tienlen_env.games.common.game import find_action
from tienlen_env.games.common.notation import Notation, Words, fault
from tienlen_env.games.thirteens import cards
from tienlen_env.games.thirteens.actions import build_action_table
from tienlen_env.games.thirteens.cards import CARD_TEXT, MAX_JOKERS
from tienlen_env.games.thirteens.rules import MAX_PLAYERS, PRESETS, ThirteensRules


class ThirteensNotation(Notation):
    """Plays as cards and melds without blanks."""

    result = "points"
    max_players = MAX_PLAYERS

    def size_words(self, rules: ThirteensRules) -> list[str]:
        """Players and jokers, like ``p4 j1``."""
        return [*super().size_words(rules), f"j{rules.jokers}"]

    def parse_size(self, words: Words) -> dict[str, int]:
        """Take the numbers of players and jokers."""
        return {**super().parse_size(words), "jokers": words.take_size("j1", "jokers", MAX_JOKERS)}

    @property
    def written_extra(self) -> list[tuple[str, str, str]]:
        """The dummy's hand; what goes with the first trick, its starter first."""
        return [("dummy", "dummy", ""), ("aside", "remainder", "starter")]

    def hand_size(self, rules: ThirteensRules) -> int:
        """As many as there are tricks."""
        return rules.hand_size

    def extra_words(self, extra: Mapping[str, int]) -> list[str]:
        """The dummy's hand, and the remainder with the starter first."""
        words = [f"dummy={self.cards_text(extra['dummy'])}"] if extra.get("dummy") else []
        if remainder := extra.get("remainder", 0):
            starter = extra.get("starter", 0)
            words.append(f"aside={self.cards_text(starter)}{self.cards_text(remainder & ~starter)}")
        return words

    def first_card(self, text: str, column: int) -> int:
        """The starter."""
        first = next((name for name in CARD_TEXT if text.startswith(name)), "")
        if not first:
            raise fault("starter", column, text)
        return self.parse_cards(first, column)

    def play_text(self, rules: ThirteensRules, play: int) -> str:
        """An action without blanks: ``"Kd"``, ``"6+5+2"``, ``"5&5"``."""
        return build_action_table(rules).text(play).removeprefix("meld ").replace(" ", "&")

    def parse_play(self, rules: ThirteensRules, word: str, column: int = 1) -> int:
        """The action that `play_text` writes so.

        Raises:
            NotationError: not a play.
        """
        table = build_action_table(rules)
        name = word.replace("&", " ")
        for prefix in ("", "meld ") if table.melds else ("",):
            try:
                return find_action(table, prefix + name)
            except ValueError:
                continue
        raise fault("play", column, word, what=f"a card{', a meld or end' if table.melds else ''}")


def _find(rules: str | ThirteensRules, **size: int) -> ThirteensRules:
    if isinstance(rules, str) and rules not in PRESETS:
        raise RulesError(f"rules={rules!r}: {expected_one_of(rules, PRESETS)}")
    return replace(PRESETS[rules] if isinstance(rules, str) else rules, **size)  # type: ignore[arg-type]


NOTATION: Final = ThirteensNotation("thirteens", _find, cards, PRESETS)
