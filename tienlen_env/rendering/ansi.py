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

from tienlen_env.rendering.view import BACK, PlainView, face, with_symbol
from tienlen_env.texts import READABLE, printable

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


def _card(card: str, *codes: str) -> str:
    red = (_RED,) if face(card)[1] >= 2 else ()
    return _style(with_symbol(card), *codes, *red)


def _cards(cards: Iterable[str], *codes: str) -> str:
    """Cards, ``3♠ 10♥``, in the order given."""
    return " ".join(_card(card, *codes) for card in cards)


def _seat(view: PlainView, seat: int) -> Iterator[str]:
    turn, idle, badge = seat == view.turn, view.is_idle(seat), view.badge(seat)
    weight = (_BOLD,) if turn else (_DIM,) if idle else ()
    name = _style(f" {_fit(view.names[seat], NAME_COLUMNS)} ", *weight, *((_INVERSE,) if turn else ()))
    counts = "".join(f"{text:<{9 + 2 * min(i, 1)}}" for i, text in enumerate(view.counts(seat))) + " "
    mark = _style("[" + badge + "]", _BOLD) if badge else ""
    yield f"{'►' if turn else ' '} {name}  {_style(counts, *weight)}{mark}"
    if hand := view.hand(seat):
        is_hidden = hand[0] == BACK
        backs = _style(" ".join(["▒▒"] * len(hand)), _DIM)
        yield f"     {backs if is_hidden else _cards(hand, *((_DIM,) if idle else ()))}"
    if play := view.front(seat):
        yield f"     {_style('played', _DIM)} {_cards(play)}"


def _table(view: PlainView) -> Iterator[str]:
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
    """The text as it is written to a stream, in characters that its encoding has (`READABLE`).

    Args:
        text: with ANSI codes.
        stream: to a terminal, colours are left out if ``NO_COLOR`` is set (https://no-color.org); to anything
            else, a file or a pipe, all codes are left out.
    """
    encoding = stream.encoding or "utf-8"
    text = text.encode(encoding, READABLE).decode(encoding)
    if not stream.isatty():
        return re.sub("\033\\[[0-9;]*[A-Za-z]", "", text)
    if os.environ.get("NO_COLOR"):
        return re.sub("\033\\[[0-9;]*m", "", text)
    return text


def render_ansi(view: PlainView) -> str:
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
