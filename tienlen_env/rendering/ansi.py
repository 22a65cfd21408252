"""A view as coloured text for a terminal, at most 80 columns wide.

The text uses the terminal's own foreground, with red, bold, dim and inverse, so dark and light backgrounds
both work. Every colour repeats what words or marks say: the text without colours holds the same.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from tienlen_env.games.common.cards import NO_CARD, RANK_TEXT, SUIT_SYMBOLS, rank_of, suit_of
from tienlen_env.rendering.cards import is_joker
from tienlen_env.rendering.view import View, printable

COLUMNS: Final = 78
NAME_COLUMNS: Final = 14  # of a player
_BOLD, _DIM, _RED, _INVERSE = "1", "2", "31", "7"


def _style(text: str, *codes: str) -> str:
    return f"\033[{';'.join(codes)}m{text}\033[0m" if codes else text


def _columns(text: str) -> int:
    """Terminal columns of a text: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def _fit(text: str, columns: int) -> str:
    """The text, cut with an ellipsis or padded to exactly `columns` columns."""
    text = unicodedata.normalize("NFC", printable(text))
    if _columns(text) > columns:
        while _columns(text) > columns - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (columns - _columns(text))


def _card(card: int, *codes: str) -> str:
    if is_joker(card):
        return _style("Jo", *codes)
    red = (_RED,) if suit_of(card) >= 2 else ()
    return _style(RANK_TEXT[rank_of(card)].replace("T", "10") + SUIT_SYMBOLS[suit_of(card)], *codes, *red)


def _cards(cards: Iterable[int], *codes: str) -> str:
    """Cards, ``3♠ 10♥``, in the order given."""
    return " ".join(_card(card, *codes) for card in cards)


def _seat(view: View, seat: int) -> Iterator[str]:
    turn, idle, badge = seat == view.turn, view.is_idle(seat), view.badge(seat)
    weight = (_BOLD,) if turn else (_DIM,) if idle else ()
    name = _style(f" {_fit(view.names[seat], NAME_COLUMNS)} ", *weight, *((_INVERSE,) if turn else ()))
    counts = "".join(f"{text:<{9 + 2 * min(i, 1)}}" for i, text in enumerate(view.counts(seat))) + " "
    mark = _style("[" + badge + "]", _BOLD) if badge else ""
    yield f"{'►' if turn else ' '} {name}  {_style(counts, *weight)}{mark}"
    if hand := view.hand(seat):
        is_hidden = hand[0] == NO_CARD
        backs = _style(" ".join(["▒▒"] * len(hand)), _DIM)
        yield f"     {backs if is_hidden else _cards(hand, *((_DIM,) if idle else ()))}"
    if play := view.front(seat):
        yield f"     {_style('played', _DIM)} {_cards(play)}"


def _table(view: View) -> Iterator[str]:
    centre = view.centre
    if not centre.cards:
        yield f"  table  {_style('empty', _DIM)}"
    elif centre.labels:
        for i, (card, label) in enumerate(zip(centre.cards, centre.labels, strict=True)):
            winning = _style("  winning", _BOLD) if i == centre.raised else ""
            yield f"  {'' if i else 'trick':<7}{_fit(label, NAME_COLUMNS)} {_card(card, _BOLD)}{winning}"
    else:
        yield f"  table  {_cards(centre.cards, _BOLD)}"
    owner = centre.above.removesuffix(" played") if centre.cards and not centre.labels else ""
    owner = _fit(owner, NAME_COLUMNS).rstrip() if owner != "on the table" else ""
    text = " · ".join(part for part in (owner, printable(centre.below)) if part)
    if text:
        yield f"         {_fit(text, COLUMNS - 9).rstrip()}"
    if centre.small:
        yield f"         {_cards(centre.small)}"


def for_stream(text: str, stream: TextIO) -> str:
    """The text as it is written to a stream.

    Args:
        text: with ANSI codes.
        stream: to a terminal, colours are left out if ``NO_COLOR`` is set (https://no-color.org); to anything
            else, a file or a pipe, all codes are left out.
    """
    if not stream.isatty():
        return re.sub("\033\\[[0-9;]*[A-Za-z]", "", text)
    if os.environ.get("NO_COLOR"):
        return re.sub("\033\\[[0-9;]*m", "", text)
    return text


def render_ansi(view: View) -> str:
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
