"""What an observation consists of: the names, shapes and meanings of its pieces."""

from __future__ import annotations

from functools import lru_cache

from tienlen_env.games.common.cards import HAND_SIZE
from tienlen_env.games.common.game import Layout
from tienlen_env.games.tienlen.rules import Rules


def num_score_bits(rules: Rules) -> int:
    """Bits of the unary score of a seat; 0 without a target."""
    if not rules.target:
        return 0
    # The score bits of all seats fit one word with room to rotate it.
    return min(rules.target + max(rules.place_points), 60 // rules.num_players)


def num_cards_left_bits(rules: Rules) -> int:
    """Bits of the unary number of cards of a seat: 13, or more where more are dealt."""
    return max(HAND_SIZE, rules.cards_each)


@lru_cache(maxsize=64)
def observation_layout(rules: Rules, history: int = 0) -> Layout:
    """The pieces of an observation in order (P players, K = `history` plays).

    Args:
        rules: the variant; its number of players and its target decide the size.
        history: how many of the last plays and passes are shown.
    """
    p, score_bits = rules.num_players, num_score_bits(rules)
    return Layout(
        [
            ("hand", (52,), "own cards, by card id"),
            ("played", (p, 52), "cards played this round by each seat, by card id"),
            ("history", (history, 52 + p), "last plays, newest first: cards (none for a pass), then who"),
            ("scores", (p, score_bits), "points in the game in unary: bit k is 1 above k points"),
            (
                "cards_left",
                (p, num_cards_left_bits(rules)),
                "cards in each hand in unary: bit k is 1 above k cards",
            ),
            (
                "owed",
                (p if rules.has_payments else 0, 2, 8),
                "units that each seat would pay, then get, if the trick ended now: binary, lowest bit first",
            ),
            ("table_top", (52,), "highest card of the combination on the table, by card id"),
            ("table_width", (4,), "its cards of each rank: 1, 2, 3, 4"),
            ("table_length", (13,), "its consecutive ranks: 1..13"),
            ("table_owner", (p,), "who played it"),
            ("passed", (p,), "who has passed in this trick"),
            ("finished", (p,), "who is out of the round"),
            ("barred", (p,), "who was knocked out of this trick"),
            ("suit_lock", (1,), "only suited runs may follow in this trick"),
            ("opening_duty", (1,), "this play must contain the opening card, the lowest card dealt"),
            ("lead", (1,), "the table is empty"),
            (
                "table_suits",
                (4 if rules.suits_bind else 0,),
                "suits in the combination on the table: ♠ ♣ ♦ ♥",
            ),
        ]
    )
