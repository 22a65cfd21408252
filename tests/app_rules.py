"""Rules with the fields that apps have and no preset does: báo and đền, other decks, 17 cards each."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tienlen_env.games.tienlen.rules import NORTH, SOUTH, SOUTH_COUNT, SOUTH_WINNER, Rules, deck_of

LAST_CARD: Final[dict[str, Rules]] = {  # 4.34 to 4.36
    "south_pays": replace(SOUTH, last_card_duty="pays"),
    "winner_pays": replace(SOUTH_WINNER, last_card_duty="pays", pass_lock=False, rejoin=()),
    "count_highest": replace(SOUTH_COUNT, last_card_duty="highest", pay_first=3),
    "north_pays": replace(NORTH, last_card_duty="pays", pay_first=2, opening="every"),
    "north_highest": replace(NORTH, last_card_duty="highest"),
}
DECKS: Final[dict[str, Rules]] = {  # 1.16
    "few_cards": replace(SOUTH, deck=deck_of("34569TA2"), cards_each=8),
    "few_cards_north": replace(NORTH, deck=deck_of("345678A2", "scdh"), cards_each=7, pay_cong=14),
    "seventeen": replace(SOUTH, num_players=3, cards_each=17),
    "seventeen_count": replace(SOUTH_COUNT, num_players=2, cards_each=17),
    "seventeen_north": replace(NORTH, num_players=3, cards_each=17),
}
APP_RULES: Final = {**LAST_CARD, **DECKS}
