"""Thirteens in the browser: its public facts and the words of its records."""

from __future__ import annotations

from typing import Final

from tienlen_agents.wasm.words import Fact, GameWords
from tienlen_env.games.common.cards import SUIT_TEXT
from tienlen_env.games.common.game import ActionTable
from tienlen_env.games.thirteens import notation, state as R
from tienlen_env.games.thirteens.cards import CARD_TEXT, format_cards, parse_cards
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.single.thirteens import starter_suit


def _texts(rules: ThirteensRules, table: ActionTable) -> list[str]:
    return [notation.play_text(rules, action) for action in range(table.num_actions)]


WORDS: Final = GameWords(
    record=notation.FORMAT,
    card_texts=CARD_TEXT,
    card_order=[CARD_TEXT.index(text) for text in format_cards((1 << len(CARD_TEXT)) - 1).split()],
    suit_texts=[starter_suit(parse_cards(f"3{suit}")) for suit in SUIT_TEXT],
    facts=(
        Fact("trick", "order", R.TRICK),
        Fact("leader", "seat", R.LEADER),
        Fact("winner", "optional_seat", R.WINNER),
        Fact("aside", "cards", R.ASIDE),
        Fact("starter", "suit", R.FOLLOW, unless=(R.TRICK, R.PILE)),
        Fact("pile", "cards", R.PILE),
        Fact("last_winner", "optional_seat", R.LAST_WINNER),
        Fact("last_pile", "cards", R.LAST_PILE),
        Fact("tricks", "each_bits", R.COUNTS, bits=8),
        Fact("points", "each_bits", R.POINTS),
    ),
    size=lambda rules: [f"p{rules.num_players}", f"j{rules.jokers}"],
    play_texts=_texts,
    play_words=_texts,
    result_column=R.POINTS,
)
