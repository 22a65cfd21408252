"""Human-readable reasons for illegal actions; for error messages only."""

from __future__ import annotations

from collections.abc import Sequence

from tienlen_env.games.common.cards import format_cards
from tienlen_env.games.common.game import Refusal
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.actions import ActionTable, kind_name
from tienlen_env.games.tienlen.kernels import action_cards
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec


def why_refused(table: ActionTable, row: Sequence[int], action: int, cards: int | None = None) -> Refusal:
    """Why a play is not legal, with the clause of RULES.md that it breaks.

    Args:
        table: the actions.
        row: the game (`tienlen_env.games.tienlen.state`), in which the play is not legal.
        action: the id of an action.
        cards: the exact cards (mask), which are that action; None for the lowest suits held.
    """
    rules, seat, duty, on_table = table.rules, row[R.TURN], row[R.REQUIRED_CARD], row[R.TABLE]
    if seat < 0:
        return Refusal("the game is over", "1.11")
    if action == 0:
        return Refusal("a leader may not pass", "1.8")
    hand = row[R.HAND + seat]
    if cards is None:
        if not table.held(hand)[action]:
            return Refusal("not in the hand", "1.5")
        cards = action_cards(hand, build_spec(rules)[1].tolist(), action)
    if missing := cards & ~hand:
        return Refusal(f"{format_cards(missing)} not in the hand", "1.5")
    if duty and not cards & duty:
        return Refusal(f"the opening play must contain {format_cards(duty)}", "1.3")
    if on_table == 0:
        return Refusal(f"the opening play is {format_cards(duty)} alone", "1.3")
    shape, wanted = table.shape(action), table.shape(on_table)
    if row[R.PASSED] >> seat & 1 and rules.pass_lock and shape not in rules.with_longer(rules.rejoin):
        return Refusal("who has passed stays out until the table is cleared", "1.7 and 3.6")
    if shape != wanted:
        if shape in rules.bombs:
            return Refusal(f"a bomb {shape} does not beat this table", "1.9")
        size = f" of {wanted.num_cards} cards" if wanted.length > 1 else ""
        return Refusal(f"a {kind_name(wanted)}{size} must be followed by the same", "1.6")
    if row[R.LOCK] and not table.suited_mask[action]:
        return Refusal("a run that was led suited must be followed by suited runs", "3.4")
    return Refusal("its highest card is not higher than the table's", "1.6")


def describe(table: ActionTable, row: Sequence[int]) -> str:
    """The position of the seat to act in a few words: ``"table: pair 5h; hand: 3s 6s 6h"``."""
    on_table = table.text(row[R.TABLE]) if row[R.TABLE] else "empty"
    return f"table: {on_table}; hand: {format_cards(row[R.HAND + row[R.TURN]])}"


def worst_reward(rules: Rules, reward: str) -> float:
    """The lowest possible reward of legal play of a round."""
    points = rules.place_points
    worst = {
        "points": min(points),
        "zero_sum": min(points) - sum(points) / len(points),
        "win": -1.0,
        "cards": -13.0,
    }
    return float(worst[reward])
