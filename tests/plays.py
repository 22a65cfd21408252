"""Convert card ids to card sets, and card sets to action ids and back."""

from __future__ import annotations

from collections.abc import Iterable

from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.common.cards import CARD_TEXT, FULL_DECK, NUM_CARDS, format_cards
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.kernels import action_cards
from tienlen_env.games.tienlen.rules import Rules, get_rules
from tienlen_env.games.tienlen.spec import build_spec


def mask_of(cards: Iterable[int]) -> int:
    """The mask of some card ids.

    Raises:
        ValueError: an id is outside 0..51 or comes twice.
    """
    mask = 0
    for card in cards:
        if not 0 <= card < NUM_CARDS:
            raise ValueError(f"card id {card} is not in 0..51")
        if mask >> card & 1:
            raise ValueError(f"card {CARD_TEXT[card]} comes twice")
        mask |= 1 << int(card)
    return mask


def cards_to_action(rules: str | Rules, cards: int) -> int:
    """The action id of a set of cards; 0, the pass, for no cards (RULES.md 7.1).

    Raises:
        InvalidComboError: the rules have no such combination.
    """
    return build_action_table(get_rules(rules)).classify(cards)


def action_to_cards(rules: str | Rules, hand: int, action: int) -> int:
    """The cards that an action plays from a hand: its top card and the lowest suits held (RULES.md 7.1).

    Args:
        rules: the variant.
        hand: card mask.
        action: action id; the pass gives 0.

    Raises:
        ValueError: not an action id, or not a mask of cards.
        IllegalPlayError: the hand does not hold it.
    """
    table = build_action_table(get_rules(rules))
    if not 0 <= action < table.num_actions:
        raise ValueError(f"action {action}: expected 0..{table.num_actions - 1}")
    if not 0 <= hand <= FULL_DECK:
        raise ValueError(f"{hand} is not a valid mask of cards")
    if not table.held(hand)[action]:
        raise IllegalPlayError(f"{table.text(action)} is not in the hand {format_cards(hand)}", action=action)
    return int(action_cards(int(hand), build_spec(table.rules).actions.tolist(), int(action)))
