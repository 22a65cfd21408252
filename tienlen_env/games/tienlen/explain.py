"""Human-readable reasons for illegal actions; for error messages only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from tienlen_env.errors import InvalidComboError
from tienlen_env.games.common.arrays import ActionFields, Row, Spec
from tienlen_env.games.common.cards import describe_cards, format_cards
from tienlen_env.games.common.game import Refusal
from tienlen_env.games.common.spec import num_words
from tienlen_env.games.tienlen import spec as S, state as R
from tienlen_env.games.tienlen.actions import TienlenActionTable, kind_name
from tienlen_env.games.tienlen.fields import NO_PAYMENTS
from tienlen_env.games.tienlen.kernels import action_cards
from tienlen_env.games.tienlen.last_card import higher_singles
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec

# Why a play is refused: the texts and the clauses of RULES.md, by the number that `reason` gives. A text may
# name cards, the table's kind of combination and its number of cards.
REASONS: Final = (
    ("the game is over", "1.11"),
    ("the declaration of an instant win plays no cards", "4.12"),
    ("the instant win must be declared", "4.12"),
    ("no instant win to declare", "4.12"),
    ("a pass plays no cards", "1.7"),
    ("a leader may not pass", "1.8"),
    ("{cards} not in the hand", "1.5"),
    ("these are not the cards of that action", "7.1"),
    ("the opening play must contain {cards}", "1.3"),
    ("the opening play is {cards} alone", "1.3"),
    ("who has passed stays out until the table is cleared", "1.7 and 3.6"),
    ("a bomb {bomb} does not beat this table", "1.9"),
    ("a bomb {bomb} does not beat this table", "1.10"),
    ("a bomb {bomb} does not beat this table", "4.1"),
    ("a {kind} must be followed by the same", "1.6"),
    ("a {kind} of {size} cards must be followed by the same", "1.6"),
    ("a run that was led suited must be followed by suited runs", "3.4"),
    ("a {kind} must be followed in its suit or colour", "4.21"),
    ("the next player has one card left: a single must be the highest", "4.34"),
    ("its highest card is not higher than the table's", "1.6"),
    ("not a combination of these rules", "1.5, 3.2"),
    ("not a combination of these rules", "4.20"),
)
DESCRIPTION: Final = "table: {table}; hand: {hand}"
EMPTY: Final = "empty"
DECLARING: Final = "; an instant win to declare"
OVER, PLAYS_NOTHING, MUST_DECLARE, NONE_TO_DECLARE, PASSES_CARDS, LEADER_PASSES, NOT_HELD, OTHER_CARDS = (
    range(8)
)
OPENING, OPENING_ALONE, HAS_PASSED, BOMB, BOMB_ON_BOMB, BOMB_ON_LADDER, KIND, KIND_AND_SIZE = range(8, 16)
LOCKED, OTHER_SUIT, LAST_CARD, NOT_HIGHER, NO_COMBINATION, NO_SUITED_COMBINATION = range(16, 22)
_SINGLE: Final = 1  # its shape, (width - 1) * 16 + length


def reason(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int) -> int:
    """The number in `REASONS` of why a play is refused; a kernel, which the page has, too.

    Args:
        row: the game; the play is not legal there.
        spec: the variant.
        actions: the action table.
        action: the action that the cards are; -1: they are none.
        cards: a mask.
    """
    seat, duty = row[R.TURN], row[R.REQUIRED_CARD]
    if seat < 0:
        return OVER
    if spec[S.DECLARE] >= 0:
        if row[spec[S.EXTRA] + R.MUST_DECLARE] != 0:
            return PLAYS_NOTHING if action == spec[S.DECLARE] else MUST_DECLARE
        if action == spec[S.DECLARE]:
            return NONE_TO_DECLARE
    if action == 0:
        return PASSES_CARDS if row[R.TABLE] != 0 else LEADER_PASSES
    if cards & ~row[R.HAND + seat] != 0:
        return NOT_HELD
    if action < 0:
        return NO_SUITED_COMBINATION if spec[S.SUITS_BIND] else NO_COMBINATION
    at, wanted = action * S.ACTION_FIELDS, row[R.TABLE] * S.ACTION_FIELDS
    if duty != 0 and cards & duty == 0:
        return OPENING
    if row[R.TABLE] == 0:
        return OPENING_ALONE if duty != 0 else LAST_CARD
    shape = (actions[at + S.WIDTH] - 1) * 16 + actions[at + S.LENGTH]
    on_table = (actions[wanted + S.WIDTH] - 1) * 16 + actions[wanted + S.LENGTH]
    if spec[S.PASS_LOCK] and row[R.PASSED] >> seat & 1 and not spec[S.GROUP_REJOIN + shape]:
        return HAS_PASSED
    if shape != on_table:
        if spec[S.GROUP_BOMB + shape] == 0:
            return KIND if actions[wanted + S.LENGTH] == 1 else KIND_AND_SIZE
        if spec[S.GROUP_BOMB + on_table] == 0:
            return BOMB
        return BOMB_ON_LADDER if actions[wanted + S.CLASS] > 4 else BOMB_ON_BOMB
    if row[R.LOCK] and actions[at + S.SUITED] != 2:
        return LOCKED
    if actions[at + S.TOP] <= actions[wanted + S.TOP]:
        return NOT_HIGHER
    # A single that follows in its suit, or a 2, can only be refused for the duty before a last card.
    is_bound = shape != _SINGLE or cards & higher_singles(row, spec, actions, row[R.TABLE]) == 0
    return OTHER_SUIT if spec[S.SUITS_BIND] and is_bound else LAST_CARD


@lru_cache(maxsize=64)
def _numbers(rules: Rules) -> tuple[list[int], list[int]]:
    """The tables of a variant as lists, which plain Python reads faster than arrays."""
    spec, actions = build_spec(rules)
    return spec.tolist(), actions.tolist()


def why_refused(
    table: TienlenActionTable, row: Sequence[int], action: int, cards: int | None = None
) -> Refusal:
    """Why a play is not legal, with the clause of RULES.md that it breaks.

    Args:
        table: the actions.
        row: the game (`tienlen_env.games.tienlen.state`); the play is not legal there.
        action: the id of an action.
        cards: the exact cards, any number; None for the lowest suits held.
    """
    seat = row[R.TURN]
    spec, actions = _numbers(table.rules)
    state: Any = row
    is_asked = seat >= 0 and action > 0 and action != table.declare
    if cards is None and is_asked:
        cards = (
            action_cards(row[R.HAND + seat], actions, action)
            if table.held(row[R.HAND + seat])[action]
            else -1
        )
    number = reason(state, spec, actions, action, cards or 0)
    if is_asked and cards == -1 and number == NOT_HELD:
        return Refusal("not in the hand", "1.5")
    if is_asked and number > NOT_HELD and not is_action(table, action, cards or 0):
        number = OTHER_CARDS
    text, clause = REASONS[number]
    shown = (cards or 0) & ~row[R.HAND + seat] if number == NOT_HELD else row[R.REQUIRED_CARD]
    wanted = table.shape(row[R.TABLE]) if row[R.TABLE] else None
    names = {
        "cards": describe_cards(shown) if number == NOT_HELD else format_cards(shown),
        "bomb": str(table.shape(action)) if BOMB <= number <= BOMB_ON_LADDER else "",
        "kind": kind_name(wanted) if wanted else "",
        "size": wanted.num_cards if wanted else 0,
    }
    return Refusal(text.format(**names), clause)


def is_action(table: TienlenActionTable, action: int, cards: int) -> bool:
    """Whether some cards are an action."""
    try:
        return table.classify(cards) == action
    except InvalidComboError:
        return False


def must_declare(table: TienlenActionTable, row: Sequence[int]) -> bool:
    """Whether the seat to act must declare its instant win."""
    if table.declare is None:
        return False
    first = R.LEGAL + num_words(table.num_actions) + 1
    return bool(row[first + R.MUST_DECLARE])


def describe(table: TienlenActionTable, row: Sequence[int]) -> str:
    """The position of the seat to act in a few words: ``"table: pair 5h; hand: 3s 6s 6h"``."""
    on_table = table.text(row[R.TABLE]) if row[R.TABLE] else EMPTY
    if must_declare(table, row):
        on_table += DECLARING
    return DESCRIPTION.format(table=on_table, hand=format_cards(row[R.HAND + row[R.TURN]]))


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
    pay = rules.payments or NO_PAYMENTS
    bomb = max((units for _, units in pay.pay_chop_bombs), default=0)
    chain = 2 * sum(pay.pay_chop_twos) + 12 * bomb
    if pay.chop_doubles:
        chain *= 2**12
    held_bomb = max((units for _, units in pay.pay_held_bombs), default=0)
    held = 2 * sum(pay.pay_held_twos) + rules.cards_each // 4 * held_bomb
    plain = max(rules.cards_each * pay.pay_card, pay.pay_cong, max(pay.pay_places, default=0))
    at_the_end = held + plain + pay.pay_first
    if rules.last_card_duty == "pays":
        at_the_end *= others
    penalties = others * (4 * pay.pay_last_two + pay.pay_last_three) + pay.pay_instant
    return chain + at_the_end + penalties
