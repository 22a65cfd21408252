"""Human-readable reasons for illegal actions; for error messages only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tienlen_env.errors import InvalidComboError
from tienlen_env.games.common.cards import describe_cards, format_cards
from tienlen_env.games.common.game import Refusal
from tienlen_env.games.common.spec import num_words
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.actions import ActionTable, kind_name
from tienlen_env.games.tienlen.kernels import action_cards, is_legal, update_legal
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec


def why_refused(table: ActionTable, row: Sequence[int], action: int, cards: int | None = None) -> Refusal:
    """Why a play is not legal, with the clause of RULES.md that it breaks.

    Args:
        table: the actions.
        row: the game (`tienlen_env.games.tienlen.state`); the play is not legal there.
        action: the id of an action.
        cards: the exact cards, any number; None for the lowest suits held.
    """
    rules, seat, duty, on_table = table.rules, row[R.TURN], row[R.REQUIRED_CARD], row[R.TABLE]
    if seat < 0:
        return Refusal("the game is over", "1.11")
    if must_declare(table, row):
        if action == table.declare:
            return Refusal("the declaration of an instant win plays no cards", "4.12")
        return Refusal("the instant win must be declared", "4.12")
    if action == table.declare:
        return Refusal("no instant win to declare", "4.12")
    if action == 0:
        return (
            Refusal("a pass plays no cards", "1.7") if on_table else Refusal("a leader may not pass", "1.8")
        )
    hand = row[R.HAND + seat]
    if cards is None:
        if not table.held(hand)[action]:
            return Refusal("not in the hand", "1.5")
        cards = action_cards(hand, build_spec(rules)[1].tolist(), action)
    if missing := cards & ~hand:
        return Refusal(f"{describe_cards(missing)} not in the hand", "1.5")
    if not is_action(table, action, cards):
        return Refusal("these are not the cards of that action", "7.1")
    if duty and not cards & duty:
        return Refusal(f"the opening play must contain {format_cards(duty)}", "1.3")
    if is_bound_by_last_card(table, row, action):
        return Refusal("the next player has one card left: a single must be the highest", "4.34")
    if on_table == 0:
        return Refusal(f"the opening play is {format_cards(duty)} alone", "1.3")
    shape, wanted = table.shape(action), table.shape(on_table)
    if row[R.PASSED] >> seat & 1 and rules.pass_lock and shape not in rules.with_longer(rules.rejoin):
        return Refusal("who has passed stays out until the table is cleared", "1.7 and 3.6")
    if shape != wanted:
        if shape in rules.bombs:
            clause = "1.9"
            if wanted in rules.bombs:
                clause = "4.1" if rules.ladder else "1.10"
            return Refusal(f"a bomb {shape} does not beat this table", clause)
        size = f" of {wanted.num_cards} cards" if wanted.length > 1 else ""
        return Refusal(f"a {kind_name(wanted)}{size} must be followed by the same", "1.6")
    if row[R.LOCK] and not table.suited_mask[action]:
        return Refusal("a run that was led suited must be followed by suited runs", "3.4")
    if rules.suits_bind and action_top(table, action) > action_top(table, on_table):
        return Refusal(f"a {kind_name(wanted)} must be followed in its suit or colour", "4.21")
    return Refusal("its highest card is not higher than the table's", "1.6")


def is_bound_by_last_card(table: ActionTable, row: Sequence[int], action: int) -> bool:
    """Whether an action would be legal if the next player had more than one card."""
    if table.rules.last_card_duty != "highest":
        return False
    spec, actions = build_spec(replace(table.rules, last_card_duty="none"))
    free = list(row)
    update_legal(free, spec.tolist(), actions.tolist())
    return is_legal(free, spec.tolist(), action)


def is_action(table: ActionTable, action: int, cards: int) -> bool:
    """Whether some cards are an action."""
    try:
        return table.classify(cards) == action
    except InvalidComboError:
        return False


def action_top(table: ActionTable, action: int) -> int:
    """The highest card of an action."""
    return int(table.top[action])


def must_declare(table: ActionTable, row: Sequence[int]) -> bool:
    """Whether the seat to act must declare its instant win."""
    if table.declare is None:
        return False
    first = R.LEGAL + num_words(table.num_actions) + 1
    return bool(row[first + R.MUST_DECLARE])


def describe(table: ActionTable, row: Sequence[int]) -> str:
    """The position of the seat to act in a few words: ``"table: pair 5h; hand: 3s 6s 6h"``."""
    on_table = table.text(row[R.TABLE]) if row[R.TABLE] else "empty"
    if must_declare(table, row):
        on_table += "; an instant win to declare"
    return f"table: {on_table}; hand: {format_cards(row[R.HAND + row[R.TURN]])}"


def worst_reward(rules: Rules, reward: str) -> float:
    """The lowest possible reward of legal play of a round."""
    points = rules.place_points
    worst = {
        "points": min(points),
        "zero_sum": min(points) - sum(points) / len(points),
        "win": -1.0,
        "cards": -float(rules.cards_each),
        "payments": -worst_payment(rules),
    }
    return float(worst[reward])


def worst_payment(rules: Rules) -> int:
    """Upper bound of the units that a seat can lose in a round; it is not reached.

    Everything is added that one seat may have to pay, with all bombs of a hand and four 2s of its own, all of
    them chopped, and a chain of all bombs of a deck.
    """
    others = rules.num_players - 1
    bomb = max((units for _, units in rules.pay_chop_bombs), default=0)
    chain = 2 * sum(rules.pay_chop_twos) + 12 * bomb
    if rules.chop_doubles:
        chain *= 2**12
    held_bomb = max((units for _, units in rules.pay_held_bombs), default=0)
    held = 2 * sum(rules.pay_held_twos) + rules.cards_each // 4 * held_bomb
    plain = max(rules.cards_each * rules.pay_card, rules.pay_cong, max(rules.pay_places, default=0))
    at_the_end = held + plain + rules.pay_first
    if rules.last_card_duty == "pays":
        at_the_end *= others
    penalties = others * (4 * rules.pay_last_two + rules.pay_last_three) + rules.pay_instant
    return chain + at_the_end + penalties
