"""The rules of Thirteens as data: one frozen value a variant, and the named presets (RULES.md 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal

from tienlen_env.games.common.rules import Constraints, RulesBase, check, read_fields, within
from tienlen_env.games.thirteens.cards import MAX_JOKERS, NUM_PLAIN

MIN_PLAYERS: Final = 3
MAX_PLAYERS: Final = 7
Melding = Literal["auto", "manual"]
FirstLead = Literal["drawn", "seat_0"]


@dataclass(frozen=True, kw_only=True)
class ThirteensRules(RulesBase):
    """One variant of Thirteens.

    Attributes:
        num_players: 3..7 (RULES.md 8.1).
        jokers: 0..2 jokers in the deck (8.1).
        melding: ``"auto"`` the winner of a trick gets the most points that its cards can meld; ``"manual"``
            the winner declares melds one after another (8.11).
        dummy: three players and a fourth, hidden hand that gives a card to every trick (8.10).
        target: a game ends after a deal if the highest total is at least this and unique (8.9);
            0: no target, a game is one deal.
        first_lead: who leads the first deal of a game, which the text leaves open: ``"drawn"`` from the key
            of the deal; ``"seat_0"``. Then the deal passes to the left (8.2).
        aside_jokers: whether jokers among the remainder cost the winner of the first trick as others do
            (8.8); the text speaks of those "taken in a trick".

    Raises:
        RulesError: an unknown value or an impossible combination; the message names the field.
    """

    num_players: int = 4
    jokers: int = 1
    melding: Melding = "auto"
    dummy: bool = False
    target: int = 50
    first_lead: FirstLead = "drawn"
    aside_jokers: bool = True

    def __post_init__(self) -> None:
        read_fields(self)
        check(self.flat(), self, CONSTRAINTS)

    @property
    def num_cards(self) -> int:
        """Cards in the deck, C."""
        return NUM_PLAIN + self.jokers

    @property
    def hand_size(self) -> int:
        """Cards in a hand at the deal, as many as there are tricks (RULES.md 8.2)."""
        return self.num_cards // (self.num_players + self.dummy)

    @property
    def num_aside(self) -> int:
        """Cards of the remainder (RULES.md 8.2)."""
        return self.num_cards % (self.num_players + self.dummy)

    @cached_property
    def name(self) -> str:
        """The preset's name, whatever the number of players and jokers, or ``"custom-<digest>"``."""
        for name, preset in PRESETS.items():
            if preset.dummy == self.dummy and self == replace(
                preset, num_players=self.num_players, jokers=self.jokers
            ):
                return name
        return f"custom-{self.digest()}"


CONSTRAINTS: Final[Constraints[ThirteensRules]] = (
    within("num_players", MIN_PLAYERS, MAX_PLAYERS),
    within("jokers", 0, MAX_JOKERS),
    within("target", 0, 1_000_000),
    ("dummy", lambda r: r.dummy and r.num_players != MIN_PLAYERS, f"expected num_players={MIN_PLAYERS}"),
)

PRESETS: Final[Mapping[str, ThirteensRules]] = MappingProxyType(
    {
        "thirteens": ThirteensRules(),
        "thirteens_manual": ThirteensRules(melding="manual"),
        "thirteens_dummy": ThirteensRules(num_players=3, dummy=True),
        "thirteens_dummy_manual": ThirteensRules(num_players=3, dummy=True, melding="manual"),
    }
)
