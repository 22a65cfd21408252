"""Pictures of a table: a view as coloured text, as an SVG or as an RGB array.

This package does not depend on the engine or on games. An adapter fills in a `TableView` (combinations that
beat one another), a `TrickView` (tricks) or, for any other game, a `PlainView`. `scene` lays it out as
shapes, and `svg` and `raster` draw the same shapes; `ansi` writes the same moment for a terminal. Of a hand
that is not face up only the number of cards is used. `render_cards` draws sets of cards by themselves.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tienlen_env.rendering.ansi import for_stream, render_ansi
from tienlen_env.rendering.view import PlainView, TableView, TrickView

if TYPE_CHECKING:
    from tienlen_env.rendering.raster import render_rgb
    from tienlen_env.rendering.svg import render_cards, render_svg

__all__ = [
    "PlainView",
    "TableView",
    "TrickView",
    "for_stream",
    "render_ansi",
    "render_cards",
    "render_rgb",
    "render_svg",
]


def __getattr__(name: str) -> Any:
    """Pillow and XML take longer to import than most programs take to start, and few draw pictures."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'raster' if name == 'render_rgb' else 'svg'}"), name)
