"""One deal of Thirteens at a time, for people and programs.

>>> from tienlen_env.single.thirteens import ThirteensRound
>>> deal = ThirteensRound("thirteens", key=7)
>>> deal.play(deal.legal_plays()[0])
>>> deal.trick
('Kd',)
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import SUIT_NAME
from tienlen_env.games.thirteens.cards import CARD_TEXT, suit_of
from tienlen_env.games.thirteens.melds import pack
from tienlen_env.games.thirteens.notation import NOTATION
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.thirteens.state import ThirteensState
from tienlen_env.rendering import TrickView
from tienlen_env.single import painter
from tienlen_env.single.base import BaseRound, TextPlay


def picture(batch: Batch, game: int = 0, **settings: Any) -> TrickView:
    """The picture of a game of Thirteens; arguments as of `tienlen_env.single.painter.picture`."""
    state, view = cast(ThirteensState, batch.state), painter.picture(batch, game, **settings)
    trick = tuple(card for card in state.trick_cards[game].tolist() if card >= 0)
    pile, last_winner = int(state.pile[game]), int(state.last_winner[game])
    aside = int(state.aside[game])
    note = ""
    if pile:
        note = f"to meld: {melds_text(pile)}"
    elif trick:
        note = "goes to the winner of the trick" if aside else ""
    elif aside:
        follow = int(state.follow[game])
        note = f"starter suit: {SUIT_NAME[suit_of(follow)]}" if follow else "set aside"
    elif last_winner >= 0:
        note = f"{view.names[last_winner]} took {melds_text(int(state.last_pile[game]))}"
    return TrickView(
        **vars(view) | {"table_cards": 0, "owner": -1, "table_text": note},
        trick=trick,
        leader=int(state.leader[game]),
        winner=int(state.winner[game]),
        aside=aside,
        pile=pile or int(state.last_pile[game]),
        task="melds" if pile else "to play" if trick else "leads",
        tricks=tuple(state.tricks[game].tolist()),
        points=tuple(state.points[game].tolist()),
    )


def melds_text(pile: int) -> str:
    """The melds with the most points in a pile, as text: ``"K, Q+A and 5 5"``."""
    melds = [str(meld).removeprefix("meld ").replace("T", "10") for meld, _ in pack(pile)]
    if not melds:
        return "nothing to meld"
    return " and ".join(filter(None, (", ".join(melds[:-1]), melds[-1])))


class ThirteensRound(BaseRound[ThirteensRules, TextPlay]):
    """One deal of Thirteens, until the hands are empty and all nulls are paid (RULES.md 8.9).

    Args:
        rules: a preset's name or a `ThirteensRules`.
        key: 64-bit deal key; None draws one.
        num_players: 3..7; None keeps the number in `rules`.
        round_index: which deal of the key's game it is.
        leader: the seat that leads; None: eldest by the key (8.2).
        backend: ``"native"``, ``"numba"`` or ``"python"``.

    Raises:
        RulesError: unknown rules, or those of another game.
        ValueError: a key or round that does not fit, or an invalid seat.
    """

    game_name: ClassVar[str] = "thirteens"
    default_rules: ClassVar[str] = "thirteens"
    notation = NOTATION
    _state: ThirteensState

    # ------------------------------------------------------------ the position

    @property
    def trick(self) -> tuple[str, ...]:
        """The cards of the trick in the order of play."""
        return tuple(CARD_TEXT[card] for card in self._state.trick_cards[0].tolist() if card >= 0)

    @property
    def last_winner(self) -> int:
        """The seat that took the last trick; -1 before the first."""
        return int(self._state.last_winner[0])

    @property
    def last_pile(self) -> int:
        """The cards of the last trick, with the cards beside it, as a mask."""
        return int(self._state.last_pile[0])

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of this deal so far, by seat."""
        return tuple(self._state.points[0].tolist())

    # ------------------------------------------------------------ playing

    def _action_cards(self, action: int) -> int:
        return 1 << action if action < self.rules.num_cards else 0

    def _parse(self, text: str) -> int:
        return NOTATION.parse_play(self.rules, text)

    def pass_(self) -> None:
        """See `BaseRound.pass_`: Thirteens has no pass (RULES.md 8.5).

        Raises:
            IllegalPlayError: always.
        """
        raise self._error(
            "pass refused: Thirteens has no pass, a card is played in each turn, 8.5", None, "8.5"
        )


ROUND = ThirteensRound
PICTURE = picture
