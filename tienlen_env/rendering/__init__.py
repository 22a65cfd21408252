"""Pictures of a table: a view as coloured text, as an SVG or as an RGB array.

This package does not depend on the engine or on games. An adapter fills in a `TableView` (combinations that
beat one another), a `TrickView` (tricks) or, for any other game, a `PlainView`. `scene` lays it out as
shapes, and `svg` and `raster` draw the same shapes; `ansi` writes the same moment for a terminal. Of a hand
that is not face up only the number of cards is used. `render_cards` draws sets of cards by themselves.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tienlen_env.rendering.ansi import for_stream as for_stream, render_ansi as render_ansi
from tienlen_env.rendering.view import PlainView as PlainView, TableView as TableView, TrickView as TrickView

if TYPE_CHECKING:
    from tienlen_env.rendering.raster import render_rgb as render_rgb
    from tienlen_env.rendering.svg import render_cards as render_cards, render_svg as render_svg

_HOME = {"render_cards": "svg", "render_rgb": "raster", "render_svg": "svg"}


def __getattr__(name: str) -> Any:
    """Pillow and XML take longer to import than most programs take to start, and few draw pictures."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
