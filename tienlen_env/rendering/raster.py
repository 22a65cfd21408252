"""The scene as an array of pixels, drawn with Pillow.

Every piece of art is drawn once, larger than needed, turned and shrunk to a smooth sprite; a frame is sprites
pasted in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from tienlen_env.rendering.scene import (
    BACKDROP,
    HEIGHT,
    MARGIN,
    SUIT_OUTLINES,
    WIDTH,
    Art,
    Box,
    Label,
    Pip,
    bold_width,
    build_scene,
    drawable,
    font,
)
from tienlen_env.rendering.view import PlainView

_CURVE_STEPS = 12
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def _felt(size: tuple[int, int], centre: str, edge: str) -> Image.Image:
    """A radial gradient over a box: the colour `edge` is reached at 0.7 of its width and height."""
    rows, columns = np.ogrid[-0.5:0.5:96j, -0.5:0.5:128j]  # coarse: enlarging it smooths it
    t = np.minimum(np.hypot(rows, columns) / 0.7, 1)[..., None]
    inner, outer = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in (centre, edge))
    pixels = (inner + (outer - inner) * t + 0.5).astype(np.uint8)
    return Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR)


@dataclass(frozen=True)
class _Layer:
    """An image to draw one shape on, at `scale` pixels a unit, with the art's corner at (left, top) units."""

    image: Image.Image
    scale: float
    left: float
    top: float

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        return (x + self.left) * self.scale, (y + self.top) * self.scale


def _draw_box(layer: _Layer, box: Box) -> None:
    draw = ImageDraw.Draw(layer.image)

    def corners(grow: float) -> tuple[float, float, float, float]:
        left, top = layer.pixel(box.x - grow, box.y - grow)
        right, bottom = layer.pixel(box.x + box.width + grow, box.y + box.height + grow)
        return left, top, right - 1, bottom - 1  # Pillow's boxes include their last pixel

    if box.glow:
        mask = Image.new("L", layer.image.size)
        ImageDraw.Draw(mask).rounded_rectangle(corners(0), box.radius * layer.scale, 255)
        left, top, right, bottom = (round(c) for c in corners(0))
        felt = Image.new("RGB", layer.image.size)
        felt.paste(_felt((right - left + 1, bottom - top + 1), box.glow, box.fill), (left, top))
        layer.image.paste(felt, (0, 0), mask)
    elif box.fill:
        draw.rounded_rectangle(corners(0), box.radius * layer.scale, box.fill)
    if box.stroke:
        # SVG strokes lie half outside the edge, Pillow's wholly inside.
        half = box.stroke_width / 2
        width = max(1, round(box.stroke_width * layer.scale))
        draw.rounded_rectangle(corners(half), (box.radius + half) * layer.scale, None, box.stroke, width)


def _draw_label(layer: _Layer, label: Label) -> None:
    ImageDraw.Draw(layer.image).text(
        layer.pixel(label.x, label.y),
        drawable(label.text),
        fill=label.fill,
        font=font(label.size * layer.scale),
        anchor=_ANCHORS[label.anchor],
        stroke_width=round(bold_width(label.size) * layer.scale / 2) if label.bold else 0,
    )


@lru_cache(maxsize=4)
def _suit_polygons(suit: int) -> tuple[npt.NDArray[np.float64], ...]:
    """The outlines of a suit as points, float64 (N, 2), in a unit box about 0."""
    t = np.linspace(0, 1, _CURVE_STEPS, endpoint=False)[:, None]
    polygons = []
    for outline in SUIT_OUTLINES[suit]:
        points = np.array(outline)
        curves = [
            (1 - t) ** 3 * points[i]
            + 3 * (1 - t) ** 2 * t * points[i + 1]
            + 3 * (1 - t) * t**2 * points[i + 2]
            + t**3 * points[i + 3]
            for i in range(0, len(points) - 1, 3)
        ]
        polygons.append(np.concatenate(curves))
    return tuple(polygons)


def _draw_pip(layer: _Layer, pip: Pip) -> None:
    draw = ImageDraw.Draw(layer.image)
    for polygon in _suit_polygons(pip.suit):
        points = [layer.pixel(x, y) for x, y in polygon * pip.size + (pip.x, pip.y)]
        draw.polygon(points, pip.fill)


@lru_cache(maxsize=256)
def _drawing(art: Art, scale: float) -> tuple[Image.Image, int]:
    """The art as an RGBA image about the same centre, and how many of its pixels a side make one."""
    # A large one has few curves and costs much memory: two samples a side are enough.
    samples = 3 if art.width * art.height * scale * scale < 60_000 else 2
    width, height = (ceil((side + 2 * MARGIN) * scale) for side in (art.width, art.height))
    left, top = (width / scale - art.width) / 2, (height / scale - art.height) / 2
    image = Image.new("RGBA", (width * samples, height * samples))
    for shape in art.shapes:
        # Pillow draws alpha as it stands: what shows through must come from a layer of its own.
        layer = image if _is_opaque(shape) else Image.new("RGBA", image.size)
        canvas = _Layer(layer, scale * samples, left, top)
        if isinstance(shape, Box):
            _draw_box(canvas, shape)
        elif isinstance(shape, Label):
            _draw_label(canvas, shape)
        else:
            _draw_pip(canvas, shape)
        if layer is not image:
            image.alpha_composite(layer)
    return image, samples


def _is_opaque(shape: Box | Label | Pip) -> bool:
    """Whether all colours of a shape are opaque."""
    stroke = shape.stroke if isinstance(shape, Box) else ""
    return len(shape.fill) <= 7 and len(stroke) <= 7


@lru_cache(maxsize=2048)
def _sprite(art: Art, angle: float, scale: float) -> Image.Image:
    """The art as an RGBA image about the same centre, at `scale` pixels a unit."""
    image, samples = _drawing(art, scale)
    if angle:
        image = image.rotate(-angle, Image.Resampling.BILINEAR, expand=True)
    return image.reduce(samples)


def render_rgb(view: PlainView, width: int = WIDTH) -> npt.NDArray[np.uint8]:
    """Draw a view as pixels.

    Args:
        view: the moment to draw.
        width: of the picture in pixels; its height is three quarters of that.

    Returns:
        uint8 (H, W, 3), RGB.

    Raises:
        ValueError: the width is under 64 pixels.
    """
    if width < 64:
        raise ValueError(f"width={width}: expected at least 64 pixels")
    scale = width / WIDTH
    canvas = Image.new("RGB", (width, round(HEIGHT * scale)), BACKDROP)
    for placed in build_scene(view):
        sprite = _sprite(placed.art, placed.angle, scale)
        corner = (round(placed.x * scale - sprite.width / 2), round(placed.y * scale - sprite.height / 2))
        canvas.paste(sprite, corner, sprite)
    return np.array(canvas)
