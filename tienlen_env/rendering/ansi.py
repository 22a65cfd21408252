"""A view as coloured text for a terminal, at most 80 columns wide.

Only the terminal's own foreground is used, with red, bold, dim and inverse, so dark and light backgrounds
both work; every colour repeats what words or marks say, so the text may be stripped of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

from tienlen_env.core.cards import RANK_TEXT, SUIT_SYMBOLS, card_ids, rank_of, suit_of
from tienlen_env.rendering.view import TableView, plural, printable

COLUMNS: Final = 78
_NAME_COLUMNS = 14
_BOLD, _DIM, _RED, _INVERSE = "1", "2", "31", "7"


def _style(text: str, *codes: str) -> str:
    return f"\033[{';'.join(codes)}m{text}\033[0m" if codes else text


def _columns(text: str) -> int:
    """Terminal columns of a text: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def _fit(text: str, columns: int) -> str:
    """The text, cut with an ellipsis or padded to exactly so many columns."""
    text = unicodedata.normalize("NFC", printable(text))
    if _columns(text) > columns:
        while _columns(text) > columns - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (columns - _columns(text))


def _cards(mask: int, *codes: str) -> str:
    """The cards of a mask, ``3♠ 10♥``, weakest first."""
    return " ".join(
        _style(
            RANK_TEXT[rank_of(card)].replace("T", "10") + SUIT_SYMBOLS[suit_of(card)],
            *codes,
            *((_RED,) if suit_of(card) >= 2 else ()),
        )
        for card in card_ids(mask)
    )


def _seat(view: TableView, seat: int) -> Iterator[str]:
    turn, idle, badge = seat == view.turn, view.is_idle(seat), view.badge(seat)
    weight = (_BOLD,) if turn else (_DIM,) if idle else ()
    name = _style(f" {_fit(view.names[seat], _NAME_COLUMNS)} ", *weight, *((_INVERSE,) if turn else ()))
    counts = f"{plural(view.num_cards(seat), 'card'):<9}{plural(view.scores[seat], 'point'):<11} "
    mark = _style("[" + badge + "]", _BOLD) if badge else ""
    yield f"{'►' if turn else ' '} {name}  {_style(counts, *weight)}{mark}"
    shown = _cards(view.hands[seat], *((_DIM,) if idle else ()))
    backs = _style(" ".join(["▒▒"] * view.num_cards(seat)), _DIM)
    if hand := shown if view.face_up[seat] else backs:
        yield f"     {hand}"
    if play := view.earlier_play(seat):
        yield f"     {_style('played', _DIM)} {_cards(play)}"


def _table(view: TableView) -> Iterator[str]:
    if not view.table_cards:
        yield f"  table  {_style('empty', _DIM)}"
        return
    owner = _fit(view.names[view.owner], _NAME_COLUMNS).rstrip() if view.owner >= 0 else ""
    text = " · ".join(part for part in (owner, printable(view.table_text)) if part)
    yield f"  table  {_cards(view.table_cards, _BOLD)}"
    if text:
        yield f"         {_fit(text, COLUMNS - 9).rstrip()}"


def render_ansi(view: TableView) -> str:
    """Draw a view as text.

    Args:
        view: the moment to draw.

    Returns:
        Lines of at most 80 columns with ANSI colours, each ended by a line feed.
    """
    rule = _style("─" * COLUMNS, _DIM)
    status = _fit(view.headline, 34).rstrip()
    title = _fit(view.title, COLUMNS - _columns(status) - 3)
    lines = [f" {_style(title, _BOLD)} {_style(status, _BOLD)}", rule]
    for seat in range(view.num_players):
        lines += _seat(view, seat)
    lines += [rule, *_table(view), rule]
    return "\n".join(lines) + "\n"
