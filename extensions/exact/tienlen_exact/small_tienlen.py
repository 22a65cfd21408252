"""A game whose deals can all be listed: one round of Tiến lên with a small deck or small hands."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import comb, prod
from typing import Any, Final

from tienlen_env.engine.batch import Batch
from tienlen_env.errors import TienLenError, WrongGameError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules
from tienlen_env.games.tienlen import state
from tienlen_env.games.tienlen.rules import Rules

GAME: Final = "tienlen"
# The opening card, which the leader holds; the others learn it from the first play.
REQUIRED_CARD: Final = state.REQUIRED_CARD


class GameTooLargeError(TienLenError):
    """A game whose tree does not fit; the message has the numbers."""


class PolicyError(TienLenError):
    """Probabilities that are not a policy of a game, or an agent whose answers are not one."""


class PositionError(TienLenError):
    """A position that no deal leads to."""


@dataclass(frozen=True)
class SmallGame:
    """One round under some rules, all deals equally likely.

    Attributes:
        rules: the variant; its deck, and the number of cards each.
    """

    rules: Rules

    @classmethod
    def from_settings(cls, text: str) -> SmallGame:
        """The game that `settings` describes.

        Raises:
            ValueError: text that is not that of rules.
        """
        try:
            return cls(Rules(**json.loads(text)))
        except TypeError as error:
            raise ValueError(str(error)) from None

    def settings(self) -> str:
        """The rules as JSON."""
        return json.dumps(self.rules.settings())

    @property
    def num_players(self) -> int:
        """P."""
        return self.rules.num_players

    @property
    def reward(self) -> str:
        """Payments where the rules have them, else 1 for the first place and -1 for the others."""
        return "payments" if self.rules.has_payments else "win"

    @property
    def pays_by_deal(self) -> bool:
        """Whether hidden cards matter to what seats earn: those left in hands, where they are paid for."""
        return self.rules.has_payments

    @property
    def num_deals(self) -> int:
        """Number of deals."""
        size, each = self.rules.deck_mask.bit_count(), self.rules.cards_each
        return prod(comb(size - seat * each, each) for seat in range(self.num_players))

    def batch(self, hands: IntArray, history_length: int = 0) -> Batch:
        """Rounds from hands, int64 (n, P); the batch stores past plays."""
        batch = Batch(self.rules, len(hands), reward=self.reward, history_length=history_length)
        batch.set_hands(hands)
        return batch


def small_game(
    rules: str | AnyRules,
    num_players: int | None = None,
    *,
    deck: str | None = None,
    cards_each: int | None = None,
) -> SmallGame:
    """The game of some rules.

    Args:
        rules: a preset's name, or rules.
        num_players: 2..4; None: as in the rules.
        deck: the cards in play as text; None: those of the rules.
        cards_each: cards dealt to each player; None: as in the rules.

    Raises:
        RulesError: unknown rules, or a deck that is too small.
        WrongGameError: rules of another game.
    """
    found = get_rules(rules)
    if not isinstance(found, Rules):
        raise WrongGameError(f"the exact laboratory plays tienlen, not the {found.name} rules")
    given: dict[str, Any] = {"num_players": num_players, "deck": deck, "cards_each": cards_each}
    return SmallGame(replace(found, **{name: value for name, value in given.items() if value is not None}))
