"""Tiến lên in the browser: its public facts, the words of its records, sets of cards that a person picks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tienlen_agents.search.tienlen_determinizations import action_of
from tienlen_agents.wasm.words import Fact, GameWords, PaymentWords
from tienlen_env.games.common.bits import highest_index, popcount
from tienlen_env.games.tienlen import kernels, notation, spec as S, state as R
from tienlen_env.games.tienlen.payments import CAUSES
from tienlen_env.games.tienlen.rules import Rules


def find_action(spec: Any, actions: Any, cards: int) -> int:
    """The action of exactly these cards, -1 if they are not a combination.

    The suits of inner cards are free, but where suits bind an action is a set of cards.
    """
    if cards == 0:
        return 0
    width = popcount(cards & 15 << (highest_index(cards) & ~3))
    if popcount(cards) % width != 0:
        return -1
    action = action_of(spec, cards)
    if action < 0 or action >= spec[S.NUM_ACTIONS]:
        return -1
    at = action * S.ACTION_FIELDS
    is_same_size = popcount(cards) == actions[at + S.WIDTH] * actions[at + S.LENGTH]
    return action if is_same_size and kernels.action_cards(cards, actions, action) == cards else -1


def can_extend(actions: Any, action: int, cards: int, selected: int) -> bool:
    """Whether some cards of an action contain the selected ones and more; see `find_action` for the suits.

    Args:
        actions: the action table.
        action: a legal action.
        cards: its cards with the lowest suits.
        selected: cards of the same hand.
    """
    at = action * S.ACTION_FIELDS
    if popcount(selected) >= popcount(cards):
        return False
    if actions[at + S.SUITED] > 2:
        return selected & ~cards == 0  # where suits bind, an action is exact cards
    top = actions[at + S.TOP]
    if selected >> top > 1:  # a higher card
        return False
    rest = selected
    while rest != 0:
        of_rank = 15 << (highest_index(rest) & ~3)
        room = popcount(cards & of_rank)
        if of_rank >> top & 1 and not selected >> top & 1:
            room -= 1  # the top card goes along
        if popcount(rest & of_rank) > room:
            return False
        if actions[at + S.SUITED] == 2 and rest & of_rank & ~cards != 0:
            return False
        rest &= ~of_rank
    return True


def named_plays(rules: Rules, table: Any) -> dict[int, str]:
    """The declaration of an instant win, under rules that have them."""
    return {} if table.declare is None else {table.declare: notation.DECLARE_TEXT}


def payment_words(rules: Rules, spec: Sequence[int]) -> PaymentWords | None:
    """The payments of rules that have them."""
    if not rules.has_payments:
        return None
    extra = int(spec[S.EXTRA])
    fields = {
        "payer": (0, 2), "payee": (2, 2), "cause": (R.CAUSE_SHIFT, 4), "amount": (R.AMOUNT_SHIFT, 0),
    }  # fmt: skip
    return PaymentWords(extra + R.LEDGER, extra + R.NUM_BOOKED, fields, CAUSES)


WORDS: Final = GameWords(
    record=notation.FORMAT,
    facts=(
        Fact("table", "cards", R.TABLE_CARDS),
        Fact("owner", "optional_seat", R.OWNER),
        Fact("must", "common", if_negative=R.OWNER),
        Fact("passed", "seat_mask", R.PASSED, within=R.LIVE),
        Fact("played", "each_cards", R.PLAYED),
    ),
    play_texts=lambda rules, table: None,
    named_plays=named_plays,
    payments=payment_words,
    result_column=R.PLACE,
    undealt_column=R.UNDEALT,
    next_leader=lambda rules: rules.opening != "every",
    find_action=find_action,
    can_extend=can_extend,
)
