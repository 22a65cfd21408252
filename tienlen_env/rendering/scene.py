"""Scene graph: lays a view out as positioned shapes, shared by the SVG and raster backends.

The table, 960 by 720 units; x and y run right and down:

    title                          whose move
    +---------------------------------------+
    |             [plate of seat 2]         |
    |              hand, beaten play        |
    |  beaten          who played  beaten   |
    |  hand 1          THE TABLE     hand 3 |      seat + 1 sits to the left (RULES.md 1.15)
    |  [plate]         what it is   [plate] |
    |                beaten play            |
    |                  hand 0               |
    |             [plate of seat 0]         |
    +---------------------------------------+
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import radians
from typing import TYPE_CHECKING, Final, Literal

from tienlen_env.rendering.view import BACK, PlainView, face
from tienlen_env.texts import printable

if TYPE_CHECKING:
    from PIL import ImageFont

WIDTH: Final = 960
HEIGHT: Final = 720
MARGIN: Final = 6  # art may bleed this far over its box: strokes and shadows

BACKDROP: Final = "#161b22"
INK: Final = "#f4f1e8"
MUTED: Final = "#b9c4bd"
GOLD: Final = "#ffd25e"
DARK: Final = "#1b1d21"
MEDALS: Final = {"1st": "#ffd25e", "2nd": "#d5dbe1", "3rd": "#e0a36a"} | dict.fromkeys(
    ("4th", "5th", "6th", "7th"), "#9fb0aa"
)


@dataclass(frozen=True)
class Box:
    """A rounded box. Colours are ``#rrggbb`` or ``#rrggbbaa``; ``""`` draws none, `glow` is the centre's."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str = ""
    stroke: str = ""
    stroke_width: float = 0.0
    glow: str = ""


@dataclass(frozen=True)
class Label:
    """A line of text on its baseline; (x, y) is its start, middle or end, see `anchor`."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: Literal["start", "middle", "end"] = "middle"
    bold: bool = False


@dataclass(frozen=True)
class Pip:
    """A suit symbol, `size` units high, centred on (x, y)."""

    x: float
    y: float
    size: float
    suit: int
    fill: str


@dataclass(frozen=True, eq=False)
class Art:
    """Shapes in a box of their own, back to front.

    Equality is identity: the builders below are cached, so a drawn sprite is found without hashing shapes.
    """

    width: float
    height: float
    shapes: tuple[Box | Label | Pip, ...]
    card: str = ""  # the card that this is the face of


@dataclass(frozen=True)
class Placed:
    """Art on the table: its centre, and degrees that it is turned clockwise."""

    art: Art
    x: float
    y: float
    angle: float = 0.0


Outline = tuple[tuple[float, float], ...]


def _mirrored(*right: tuple[float, float]) -> Outline:
    """Close the right half of a symmetric outline, drawn from the axis down to the axis."""
    return right + tuple((-x, y) for x, y in reversed(right[:-1]))


def _circle(x: float, y: float, r: float) -> Outline:
    k = 0.5523 * r  # the usual Bézier control length of a quarter circle
    return (
        *((x, y - r), (x + k, y - r), (x + r, y - k), (x + r, y), (x + r, y + k), (x + k, y + r)),
        *((x, y + r), (x - k, y + r), (x - r, y + k), (x - r, y), (x - r, y - k), (x - k, y - r), (x, y - r)),
    )


# A suit is closed outlines, all clockwise (they overlap, and the fill must not cancel), in a unit box about
# (0, 0): a start, then three points a cubic Bézier. Shapes, because no font is sure to have ♠♣♦♥.
SUIT_OUTLINES: Final[tuple[tuple[Outline, ...], ...]] = (
    (
        _mirrored(
            *(
                (0, -0.5),
                (0.1, -0.28),
                (0.45, -0.06),
                (0.45, 0.17),
                (0.45, 0.31),
                (0.36, 0.385),
                (0.25, 0.385),
            ),
            *((0.15, 0.385), (0.08, 0.34), (0.04, 0.26), (0.05, 0.37), (0.09, 0.45), (0.17, 0.5)),
            *((0.17, 0.5), (0, 0.5), (0, 0.5)),
        ),
    ),
    (
        _circle(0, -0.27, 0.23),
        _circle(-0.25, 0.11, 0.23),
        _circle(0.25, 0.11, 0.23),
        _mirrored(
            *((0, -0.2), (0.05, -0.2), (0.05, -0.1), (0.15, -0.02), (0.15, 0.1), (0.1, 0.18), (0.04, 0.18)),
            *((0.05, 0.34), (0.09, 0.45), (0.17, 0.5), (0.17, 0.5), (0, 0.5), (0, 0.5)),
        ),
    ),
    (_mirrored((0, -0.5), (0.09, -0.31), (0.22, -0.13), (0.37, 0), (0.22, 0.13), (0.09, 0.31), (0, 0.5)),),
    (
        _mirrored(
            *((0, -0.27), (0.03, -0.4), (0.13, -0.46), (0.24, -0.46), (0.38, -0.46), (0.48, -0.36)),
            *((0.48, -0.2), (0.48, 0.06), (0.12, 0.28), (0, 0.5)),
        ),
    ),
)


@lru_cache(maxsize=256)
def font(size: float) -> ImageFont.FreeTypeFont:
    """Pillow's bundled font, the only one that every machine has."""
    from PIL import ImageFont

    found = ImageFont.load_default(size)
    if not isinstance(found, ImageFont.FreeTypeFont):
        raise RuntimeError("Pillow was built without FreeType, which drawing text needs")
    return found


@lru_cache(maxsize=4096)
def _glyph(character: str) -> str:
    def is_drawn(c: str) -> bool:
        return bytes(font(40).getmask(c)) != bytes(font(40).getmask("\uffff"))

    if character == " " or is_drawn(character):
        return character
    base = {"đ": "d", "Đ": "D"}.get(character) or unicodedata.normalize("NFD", character)[0]
    return base if is_drawn(base) else "?"


def drawable(text: str) -> str:
    """The text in characters that the bundled font has: ``ế`` becomes ``e``, others that it lacks ``?``."""
    return "".join(_glyph(c) for c in unicodedata.normalize("NFC", text))


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in units."""
    return font(100).getlength(drawable(text)) * size / 100 + (bold_width(size) if bold else 0.0)


def bold_width(size: float) -> float:
    """Bold is a stroke around the glyphs: the bundled font has one weight."""
    return size * 0.04


def fit(text: str, size: float, width: float, bold: bool = False) -> str:
    """The text, shortened with an ellipsis to at most `width` units."""
    text = printable(text)
    if text_width(text, size, bold) <= width:
        return text
    while text and text_width(text + "…", size, bold) > width:
        text = text[:-1]
    return text.rstrip() + "…"


@dataclass(frozen=True)
class CardStyle:
    """How cards of one hand are drawn: size, widest step from card to card, degrees between them."""

    width: float
    height: float
    step: float
    tilt: float
    rank_size: float


HAND: Final = CardStyle(68, 94, 34, 1.2, 20)
SIDE_HAND: Final = CardStyle(56, 78, 17, 1.2, 16)
TABLE: Final = CardStyle(68, 94, 32, 0, 20)
BEATEN: Final = CardStyle(36, 48, 16, 0, 14)


@lru_cache(maxsize=1024)
def card_art(card: str, style: CardStyle, idle: bool) -> Art:
    """The face of a card of this text, or `BACK`; `idle` greys it."""
    w, h = style.width, style.height
    radius = w * 0.11
    body = Box(0, 0, w, h, radius, "#c3cbc6" if idle else "#fffdf8", "#00000066", 1)
    shadow = Box(-1, 0.5, w + 2, h + 1.5, radius + 1, "#0000002e")
    if card == BACK:
        blue, light = ("#66788a", "#8494a3") if idle else ("#2a5ca8", "#6f9ad6")
        i = w * 0.075
        panel = Box(i, i, w - 2 * i, h - 2 * i, radius * 0.7, blue)
        line = Box(i * 1.8, i * 1.8, w - 3.6 * i, h - 3.6 * i, radius * 0.4, "", light, w * 0.018)
        pips = [
            Pip(w * (0.5 + 0.24 * column), h * (0.5 + 0.155 * row), h * 0.15, 2, light)
            for row in range(-2, 3)
            for column in range(-1, 2)
            if (row + column) % 2 == 0
        ]
        return Art(w, h, (shadow, body, panel, line, *pips))
    rank, suit = face(card)
    if suit < 0:
        ink = "#7a6b8c" if idle else "#7b2fbf"
        # A star in the corner, where the rank of another card is, and the word across the middle.
        size = style.rank_size
        star = Label(size * 0.56, size * 1.3, "*", size * 1.5, ink, bold=True)
        word = Label(w / 2, h * 0.62, "JOKER" if card.startswith("*") else card, w * 0.23, ink, bold=True)
        return Art(w, h, (shadow, body, star, word), card)
    red, black = ("#9c3f45", "#4a5058") if idle else ("#cf1f2e", DARK)
    ink = red if suit >= 2 else black
    # The corner must be seen whole in the strip that the next card of a full hand leaves free.
    size = style.rank_size
    column = size * 0.56
    corner = (
        Label(column, size * 1.06, rank, size * (0.8 if rank == "10" else 1), ink, bold=True),
        Pip(column, size * 1.65, size * 0.8, suit, ink),
    )
    return Art(w, h, (shadow, body, *corner, Pip(w * 0.71, h * 0.7, w * 0.4, suit, ink)), card)


@lru_cache(maxsize=512)
def plate_art(name: str, counts: str, badge: str, idle: bool, w: float = 232.0) -> Art:
    """The plate of a seat: its name, cards left and points, and its badge."""
    h = 46.0
    turn = badge == "to play"
    fill, edge, ink = ("#3d3417e6", GOLD, INK) if turn else ("#0e1f17cc", "#ffffff2e", INK)
    if idle:
        fill, ink = "#0e1f178c", MUTED
    shapes: list[Box | Label | Pip] = [Box(0, 0, w, h, 12, fill, edge, 2 if turn else 1)]
    room = w - 28
    if badge:
        pill = text_width(badge, 14, bold=True) + 20
        room -= pill + 6
        colour = GOLD if turn else MEDALS.get(badge, "#8c9a94")
        shapes += [
            Box(w - 12 - pill, 11, pill, 24, 12, colour),
            Label(w - 12 - pill / 2, 28, badge, 14, DARK, bold=True),
        ]
    shapes += [
        Label(14, 20, fit(name, 16, room, bold=True), 16, ink, "start", bold=True),
        Label(14, 37, fit(counts, 13, room), 13, MUTED, "start"),
    ]
    return Art(w, h, tuple(shapes))


@lru_cache(maxsize=16)
def medal_art(place: str) -> Art:
    """The place of a seat that has no cards left."""
    disc = (Box(0, 0, 72, 72, 36, "#00000040"), Box(3, 3, 66, 66, 33, MEDALS[place], "#ffffff80", 2))
    return Art(72, 72, (*disc, Label(36, 43, place, 21, DARK, bold=True)))


@lru_cache(maxsize=64)
def glow_art(width: float, height: float) -> Art:
    """The light on the seat to act."""
    return Art(width, height, (Box(0, 0, width, height, 20, "#ffd25e2b", "#ffd25ecc", 2),))


@lru_cache(maxsize=256)
def text_art(text: str, size: float, fill: str, bold: bool = False, pill: str = "") -> Art:
    """A line of text by itself, on a pill of that colour if there is one."""
    width, height = text_width(text, size, bold) + size * 1.6, size * 1.7
    back = (Box(0, 0, width, height, height / 2, pill),) if pill else ()
    return Art(width, height, (*back, Label(width / 2, size * 1.21, text, size, fill, bold=bold)))


@lru_cache(maxsize=1)
def table_art() -> Art:
    """The room and the felt."""
    felt = Box(17, 57, WIDTH - 34, HEIGHT - 72, 56, "#0f4a31", glow="#21794f")
    rim = Box(10, 50, WIDTH - 20, HEIGHT - 58, 63, "#6b4527", "#3c2615", 2)
    line = Box(25, 65, WIDTH - 50, HEIGHT - 88, 48, "", "#ffffff1f", 1.5)
    return Art(WIDTH, HEIGHT, (Box(0, 0, WIDTH, HEIGHT, 18, BACKDROP), rim, felt, line))


@lru_cache(maxsize=1)
def emblem_art() -> Art:
    """The four suits on the bare felt."""
    return Art(176, 36, tuple(Pip(22 + 44 * suit, 18, 32, suit, "#ffffff26") for suit in range(4)))


@dataclass(frozen=True)
class Spot:
    """Where a seat's things are: centres, and the widest that its hand may be."""

    x: float
    hand_y: float
    plate_y: float
    beaten_y: float
    style: CardStyle
    hand_width: float
    plate_width: float = 232.0


BOTTOM: Final = Spot(480, 574, 662, 488, HAND, 480)
LEFT: Final = Spot(166, 362, 447, 277, SIDE_HAND, 264)
TOP: Final = Spot(480, 177, 102, 259, SIDE_HAND, 264)
RIGHT: Final = Spot(794, 362, 447, 277, SIDE_HAND, 264)


def _at(x: float, hand_y: float, plate_y: float) -> Spot:
    """A narrow spot, for tables of more than four."""
    return Spot(x, hand_y, plate_y, hand_y, SIDE_HAND, 222, 216)


TOP_LEFT, TOP_RIGHT = _at(316, 177, 102), _at(644, 177, 102)
FAR_LEFT, FAR_RIGHT = _at(158, 177, 102), _at(802, 177, 102)
HIGH_LEFT, HIGH_RIGHT = _at(146, 288, 363), _at(814, 288, 363)
LOW_LEFT, LOW_RIGHT = _at(146, 470, 545), _at(814, 470, 545)
MIDDLE: Final = Spot(480, 574, 662, 488, HAND, 320)
SPOTS: Final = {
    2: (BOTTOM, TOP),
    3: (BOTTOM, LEFT, RIGHT),
    4: (BOTTOM, LEFT, TOP, RIGHT),
    5: (BOTTOM, LEFT, TOP_LEFT, TOP_RIGHT, RIGHT),
    6: (BOTTOM, LEFT, FAR_LEFT, TOP, FAR_RIGHT, RIGHT),
    7: (MIDDLE, LOW_LEFT, HIGH_LEFT, TOP_LEFT, TOP_RIGHT, HIGH_RIGHT, LOW_RIGHT),
}
CENTRE_Y: Final = 370
CENTRE_WIDTH: Final = 332  # between the side hands: a run of 12 cards must fit
BEATEN_WIDTH: Final = 228


def fan(
    cards: Sequence[str], style: CardStyle, x: float, y: float, width: float, idle: bool
) -> Iterator[Placed]:
    """Overlapped cards on an arc, `BACK` for a hidden one, no wider than `width`."""
    step = min(style.step, (width - style.width) / max(1, len(cards) - 1))
    for i, card in enumerate(cards):
        t = i - (len(cards) - 1) / 2
        # Turning by `tilt` a step is an arc of radius step / tilt, which falls t² · step · tilt / 2.
        drop = t * t * step * radians(style.tilt) / 2
        yield Placed(card_art(card, style, idle), x + t * step, y + drop, t * style.tilt)


def _seat(view: PlainView, seat: int, spot: Spot) -> Iterator[Placed]:
    hand, badge, idle = view.hand(seat), view.badge(seat), view.is_idle(seat)
    if seat == view.turn:
        top = min(spot.hand_y - spot.style.height / 2, spot.plate_y - 23) - 9
        bottom = max(spot.hand_y + spot.style.height / 2 + 14, spot.plate_y + 23) + 8
        yield Placed(glow_art(spot.hand_width + 20, bottom - top), spot.x, (top + bottom) / 2)
    if hand:
        yield from fan(hand, spot.style, spot.x, spot.hand_y, spot.hand_width, idle)
    elif view.medal(seat):
        yield Placed(medal_art(view.medal(seat)), spot.x, spot.hand_y)
    name, counts = printable(view.names[seat]), " · ".join(view.counts(seat))
    plate = plate_art(name, counts, badge, idle and badge == "pass", spot.plate_width)
    yield Placed(plate, spot.x, spot.plate_y)
    yield from fan(view.front(seat), BEATEN, spot.x, spot.beaten_y, BEATEN_WIDTH, False)


def _centre(view: PlainView) -> Iterator[Placed]:
    x, y, centre = WIDTH / 2, CENTRE_Y, view.centre
    if centre.cards:
        if centre.labels:
            yield from _trick(centre.cards, centre.labels, centre.raised, x, y)
        else:
            yield from fan(centre.cards, TABLE, x, y, CENTRE_WIDTH, False)
        if centre.above:
            yield Placed(
                text_art(fit(centre.above, 14, CENTRE_WIDTH - 30), 14, MUTED),
                x,
                y - (66 if centre.labels else 62),
            )
    else:
        yield Placed(emblem_art(), x, y - 10)
        yield Placed(text_art(fit(view.headline, 17, CENTRE_WIDTH - 30), 17, MUTED), x, y + 28)
    below = y + (76 if centre.labels else 66)
    if centre.below:
        what = fit(centre.below, 15, CENTRE_WIDTH - 30, bold=True)
        yield Placed(text_art(what, 15, INK, bold=True, pill="#00000059"), x, below)
    yield from fan(centre.small, BEATEN, x, below + (42 if centre.below else 12), BEATEN_WIDTH, False)


def _trick(cards: Sequence[str], labels: Sequence[str], raised: int, x: float, y: float) -> Iterator[Placed]:
    """The cards of a trick in a row, their players' names under them, the winning one lifted."""
    step = min(82, (CENTRE_WIDTH - TABLE.width) / max(1, len(cards) - 1))
    for i, (card, label) in enumerate(zip(cards, labels, strict=True)):
        at = x + (i - (len(cards) - 1) / 2) * step
        yield Placed(card_art(card, TABLE, False), at, y - (8 if i == raised else 0))
        # The end of a name that does not fit is the number of the seat.
        text = label if text_width(label, 11) <= step - 4 else label[-1:]
        yield Placed(text_art(text, 11, GOLD if i == raised else MUTED, bold=i == raised), at, y + 56)


def build_scene(view: PlainView) -> tuple[Placed, ...]:
    """Lay out a view.

    Args:
        view: the moment to draw.

    Returns:
        The pieces, back to front, in a picture of `WIDTH` by `HEIGHT` units.
    """
    status = text_art(fit(view.headline, 16, 400, bold=True), 16, DARK, bold=True, pill=GOLD)
    room = WIDTH - 24 - status.width - 40
    title = text_art(fit(view.title, 20, room, bold=True), 20, INK, bold=True)
    placed = [Placed(table_art(), WIDTH / 2, HEIGHT / 2)]
    placed.append(Placed(title, 24 + (title.width - 32) / 2, 26))  # 32: text_art's padding
    placed.append(Placed(status, WIDTH - 20 - status.width / 2, 25))
    placed += _centre(view)
    for seat, spot in enumerate(SPOTS[view.num_players]):
        placed += _seat(view, seat, spot)
    return tuple(placed)
