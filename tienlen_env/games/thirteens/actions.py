"""The action table of Thirteens: one action per card and, where melds are declared, one per meld.

Ids in order (RULES.md 8.13; C = 52 + jokers):

    0 .. C-1        play the card of that id
    C               end: leave the rest of the trick unmelded        (manual melding only, from here on)
    C+1 .. C+76     thirteens, as the 76 ways to write 13 as a sum of pips, none more than four times
    C+77 .. C+89    pairs: A A, 2 2, ..., K K
    C+90 .. C+100   straights: A-2-3, 2-3-4, ..., J-Q-K

Suits never matter to a meld, so an action names pips only; it takes the cards of the lowest ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from tienlen_env.games.thirteens.cards import CARD_TEXT, PIP_TEXT
from tienlen_env.games.thirteens.rules import ThirteensRules


class Meld(NamedTuple):
    """One kind of meld.

    Attributes:
        kind: ``"thirteen"``, ``"pair"`` or ``"straight"``.
        pips: of its cards, highest first.
    """

    kind: str
    pips: tuple[int, ...]

    @property
    def points(self) -> int:
        """What it is worth (RULES.md 8.8)."""
        return 3 if self.kind == "thirteen" else 1

    @property
    def need(self) -> int:
        """Cards of each pip, 4 bits a pip, the ace lowest."""
        return sum(1 << 4 * (pip - 1) for pip in self.pips)

    def __str__(self) -> str:
        joint = {"thirteen": "+", "pair": " ", "straight": "-"}[self.kind]
        pips = self.pips[::-1] if self.kind == "straight" else self.pips
        return "meld " + joint.join(PIP_TEXT[p] for p in pips)


def _sums(total: int, highest: int) -> Iterator[tuple[int, ...]]:
    """Ways to write a total in pips up to `highest`, none more than four times, high pips first."""
    if total == 0:
        yield ()
    for pip in range(min(total, highest), 0, -1):
        for count in range(1, min(4, total // pip) + 1):
            for rest in _sums(total - count * pip, pip - 1):
                yield (pip,) * count + rest


THIRTEENS: Final = tuple(Meld("thirteen", pips) for pips in _sums(13, 13))
PAIRS: Final = tuple(Meld("pair", (pip, pip)) for pip in range(1, 14))
STRAIGHTS: Final = tuple(Meld("straight", (pip + 2, pip + 1, pip)) for pip in range(1, 12))
MELDS: Final = THIRTEENS + PAIRS + STRAIGHTS


class ThirteensActionTable:
    """The actions of one variant.

    Attributes:
        rules: the variant.
        num_cards: C; the ids below are cards.
        melds: the melds of the ids from C + 1 on; empty if melding is automatic.
        num_actions: A.
    """

    def __init__(self, rules: ThirteensRules) -> None:
        self.rules = rules
        self.num_cards = rules.num_cards
        self.melds = MELDS if rules.melding == "manual" else ()
        self.num_actions = self.num_cards + (1 + len(MELDS) if self.melds else 0)

    def text(self, action: int) -> str:
        """The name of an action: ``"Kd"``, ``"*1"``, ``"end"``, ``"meld 6+5+2"``.

        Raises:
            ValueError: no such action.
        """
        if not 0 <= action < self.num_actions:
            raise ValueError(f"action {action}: expected 0..{self.num_actions - 1}")
        if action < self.num_cards:
            return CARD_TEXT[action]
        return "end" if action == self.num_cards else str(self.melds[action - self.num_cards - 1])


@lru_cache(maxsize=64)
def build_action_table(rules: ThirteensRules) -> ThirteensActionTable:
    """The action table of a variant, built once."""
    return ThirteensActionTable(rules)
