"""Sets of cards side by side, each over a caption: legal plays, or an example of a rule."""

from __future__ import annotations

from collections.abc import Sequence

from tienlen_env.games.common.cards import CARD_TEXT, card_ids, parse_cards
from tienlen_env.rendering.scene import INK, MUTED, TABLE, Art, Box, Placed, fan, text_art, text_width
from tienlen_env.rendering.svg import document

_GAP = 26  # between two sets, and around all of them
_CAPTION = 15


def render_cards(sets: Sequence[tuple[int | str, str]], *, width: int = 960) -> str:
    """Draw sets of cards as an SVG, in lines that are broken where the width ends.

    Args:
        sets: the cards of each, as a mask or as text, and its caption; a set without cards is a word
            between two others, as high as the cards.
        width: the most that a line may take, in pixels.

    Returns:
        One ``<svg>`` element, no wider than its longest line, that needs no other file.

    Raises:
        NotationError: text that is not a list of cards.
        ValueError: a number that is not a card mask, or no sets.
    """
    if not sets:
        raise ValueError("no sets of cards to draw")
    placed: list[Placed] = []
    spoken: list[str] = []
    x, y, right = float(_GAP), float(_GAP), 0.0
    line = TABLE.height + 1.9 * _CAPTION + _GAP
    for cards, caption in sets:
        ids = card_ids(parse_cards(cards) if isinstance(cards, str) else cards)
        words = text_art(caption, _CAPTION, INK if ids else MUTED, bold=not ids)
        fanned = TABLE.width + (len(ids) - 1) * TABLE.step if ids else 0.0
        taken = max(fanned, text_width(caption, _CAPTION, bold=not ids))
        if x > _GAP and x + taken + _GAP > width:
            x, y = float(_GAP), y + line
        middle = x + taken / 2
        placed += fan(ids, TABLE, middle, y + TABLE.height / 2, fanned, False)
        under = TABLE.height + 1.1 * _CAPTION if ids else TABLE.height / 2
        placed.append(Placed(words, middle, y + under))
        spoken.append(" ".join([*(CARD_TEXT[card] for card in ids), caption]))
        x += taken + _GAP
        right = max(right, x)
    height = y + line - 8
    felt = Art(right, height, (Box(0, 0, right, height, 16, "#17603f"),))
    return document([Placed(felt, right / 2, height / 2), *placed], right, height, ", ".join(spoken))
