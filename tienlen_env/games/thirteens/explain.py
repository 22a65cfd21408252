"""Human-readable reasons for illegal actions; for error messages only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tienlen_env.games.common.cards import SUIT_NAME, SUIT_TEXT
from tienlen_env.games.common.game import Refusal
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.actions import ThirteensTable
from tienlen_env.games.thirteens.cards import CARD_TEXT, format_cards, is_joker
from tienlen_env.games.thirteens.rules import ThirteensRules

_MOST_MELDED: Final = 84  # the pips of the deck make 28 thirteens


def why_refused(table: ThirteensTable, row: Sequence[int], action: int, cards: int | None = None) -> Refusal:
    """Why a play is not legal, with the clause of RULES.md that it breaks.

    Args:
        table: the actions.
        row: the game (`tienlen_env.games.thirteens.state`); the play is not legal there.
        action: the id of an action.
        cards: the cards given with it, any number; None for its own.
    """
    seat, pile = row[R.TURN], row[R.PILE]
    if seat < 0:
        return Refusal("the game is over", "8.9")
    if cards is not None and row[R.LEGAL + (action >> 6)] >> (action & 63) & 1:
        return Refusal("an action plays its one card, or none", "8.13")
    if pile:
        if action < table.num_cards:
            return Refusal("the trick is to be melded before the next lead", "8.8")
        return Refusal(f"{format_cards(pile)} does not hold it", "8.8")
    if action >= table.num_cards:
        return Refusal("only the winner of a trick melds, at once", "8.8")
    if not row[R.HAND + seat] >> action & 1:
        return Refusal("not in the hand", "8.5")
    suit = SUIT_NAME[(row[R.FOLLOW] & -row[R.FOLLOW]).bit_length() - 1]
    if row[R.TRICK] == 0:
        return Refusal(f"the starter suit, {suit}, must be led if held", "8.4")
    kind = "no joker" if is_joker(action) else "no other suit"
    return Refusal(f"{suit} were led and must be followed if held, {kind}", "8.5")


def describe(table: ThirteensTable, row: Sequence[int]) -> str:
    """The position of the seat to act in a few words: ``"trick: 7s Kd; hand: As 3d *1"``."""
    codes = [row[R.TRICK] >> 6 * i & 63 for i in range(table.rules.num_players)]
    trick = " ".join(CARD_TEXT[code - 1] for code in codes if code) or "none"
    text = f"trick: {trick}"
    if row[R.PILE]:
        text += f"; to meld: {format_cards(row[R.PILE])}"
    elif row[R.TRICK] == 0 and row[R.FOLLOW]:
        text += f"; starter suit: {SUIT_TEXT[(row[R.FOLLOW] & -row[R.FOLLOW]).bit_length() - 1]}"
    return f"{text}; hand: {format_cards(row[R.HAND + row[R.TURN]])}"


def worst_reward(rules: ThirteensRules, reward: str) -> float:
    """A lower bound of the reward of legal play of a deal: all jokers in one's only trick."""
    points = 1.0 - 4 * rules.jokers
    most = rules.hand_size + _MOST_MELDED + 3 * rules.num_players
    return {"points": points, "zero_sum": points - most / rules.num_players, "win": -1.0}[reward]
