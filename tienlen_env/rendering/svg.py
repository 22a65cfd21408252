"""The scene as a self-contained SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from xml.sax.saxutils import escape, quoteattr

from tienlen_env.games.common.cards import format_cards, parse_cards
from tienlen_env.rendering.scene import (
    HEIGHT,
    INK,
    MUTED,
    SUIT_OUTLINES,
    TABLE,
    WIDTH,
    Art,
    Box,
    Label,
    Pip,
    Placed,
    bold_width,
    build_scene,
    fan,
    text_art,
    text_width,
)
from tienlen_env.rendering.view import PlainView
from tienlen_env.texts import printable

_FONTS = "Aileron, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def _attributes(**values: float | str) -> str:
    return "".join(
        f' {name.replace("_", "-")}="{value if isinstance(value, str) else _number(value)}"'
        for name, value in values.items()
    )


def _paint(kind: str, colour: str) -> dict[str, float | str]:
    """``#rrggbbaa`` as a colour and an opacity, which every SVG reader understands."""
    if not colour:
        return {kind: "none"}
    paint: dict[str, float | str] = {kind: colour[:7]}
    if len(colour) > 7:
        paint[f"{kind}_opacity"] = int(colour[7:], 16) / 255
    return paint


def _box(box: Box) -> str:
    fill = _paint("fill", box.fill)
    define = ""
    if box.glow:
        # The colour after url() is what is painted where the gradient cannot be found.
        fill = {"fill": f"url(#tienlen-felt) {box.fill}"}
        stops = f'<stop stop-color="{box.glow}"/><stop offset="1" stop-color="{box.fill}"/>'
        define = f'<radialGradient id="tienlen-felt" r="0.7">{stops}</radialGradient>'
    edge = _paint("stroke", box.stroke) | {"stroke_width": box.stroke_width} if box.stroke else {}
    corners = _attributes(x=box.x, y=box.y, width=box.width, height=box.height, rx=box.radius)
    return f"{define}<rect{corners}{_attributes(**fill, **edge)}/>"


def _label(label: Label) -> str:
    if not label.text:
        return ""
    look: dict[str, float | str] = dict(_paint("fill", label.fill))
    if label.bold:
        look |= {"stroke": label.fill, "stroke_width": bold_width(label.size), "stroke_linejoin": "round"}
    # textLength keeps the layout's widths whichever font the reader has.
    length = text_width(label.text, label.size)
    place = _attributes(x=label.x, y=label.y, font_size=label.size, text_anchor=label.anchor)
    fitted = _attributes(textLength=length, lengthAdjust="spacingAndGlyphs")
    return f"<text{place}{fitted}{_attributes(**look)}>{escape(label.text)}</text>"


@lru_cache(maxsize=4)
def _suit_path(suit: int) -> str:
    def points(outline: tuple[tuple[float, float], ...]) -> str:
        start, *rest = (f"{_number(x)},{_number(y)}" for x, y in outline)
        return f"M{start}C{' '.join(rest)}Z"

    return "".join(points(outline) for outline in SUIT_OUTLINES[suit])


def _pip(pip: Pip) -> str:
    place = f"translate({_number(pip.x)} {_number(pip.y)}) scale({_number(pip.size)})"
    return f'<path transform="{place}"{_attributes(**_paint("fill", pip.fill))} d="{_suit_path(pip.suit)}"/>'


@lru_cache(maxsize=2048)
def _shapes(art: Art) -> str:
    parts = []
    for shape in art.shapes:
        if isinstance(shape, Box):
            parts.append(_box(shape))
        elif isinstance(shape, Label):
            parts.append(_label(shape))
        else:
            parts.append(_pip(shape))
    return "".join(parts)


def _group(placed: Placed) -> str:
    art = placed.art
    corner = f"translate({_number(placed.x - art.width / 2)} {_number(placed.y - art.height / 2)})"
    if placed.angle:
        corner += f" rotate({_number(placed.angle)} {_number(art.width / 2)} {_number(art.height / 2)})"
    card = f" data-card={quoteattr(art.card)}" if art.card else ""
    return f'<g transform="{corner}"{card}>{_shapes(art)}</g>'


def document(placed: Iterable[Placed], width: float, height: float, label: str) -> str:
    """One ``<svg>`` element that needs no other file.

    Args:
        placed: what is on it, back to front.
        width: in units, which are pixels where there is room.
        height: the same.
        label: a description for screen readers.
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_number(width)} {_number(height)}"'
        f' width="{_number(width)}" height="{_number(height)}" style="max-width:100%;height:auto" role="img"'
        f' aria-label={quoteattr(printable(label))} font-family="{_FONTS}">'
    )
    return "\n".join([head, *(_group(piece) for piece in placed), "</svg>\n"])


def render_svg(view: PlainView) -> str:
    """Draw a view as an SVG.

    Args:
        view: the moment to draw.

    Returns:
        One ``<svg>`` element, 960 by 720, that needs no other file. Every face-up card is a group with the
        attribute ``data-card="3s"``.
    """
    return document(build_scene(view), WIDTH, HEIGHT, f"{view.title}: {view.headline}")


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
        texts = format_cards(parse_cards(cards) if isinstance(cards, str) else cards).split()
        words = text_art(caption, _CAPTION, INK if texts else MUTED, bold=not texts)
        fanned = TABLE.width + (len(texts) - 1) * TABLE.step if texts else 0.0
        taken = max(fanned, text_width(caption, _CAPTION, bold=not texts))
        if x > _GAP and x + taken + _GAP > width:
            x, y = float(_GAP), y + line
        middle = x + taken / 2
        placed += fan(texts, TABLE, middle, y + TABLE.height / 2, fanned, False)
        under = TABLE.height + 1.1 * _CAPTION if texts else TABLE.height / 2
        placed.append(Placed(words, middle, y + under))
        spoken.append(" ".join([*texts, caption]))
        x += taken + _GAP
        right = max(right, x)
    height = y + line - 8
    felt = Art(right, height, (Box(0, 0, right, height, 16, "#17603f"),))
    return document([Placed(felt, right / 2, height / 2), *placed], right, height, ", ".join(spoken))
