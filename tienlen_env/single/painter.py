"""Pictures of a game of a batch, for any game."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tienlen_env.engine.batch import Batch
from tienlen_env.rendering import for_stream, render_ansi, render_rgb, render_svg
from tienlen_env.single.base import round_type

RENDER_MODES = ("human", "ansi", "rgb_array", "svg")


class Painter:
    """Draws one game of a batch.

    Args:
        batch: the games.
        game: which of them.
    """

    def __init__(self, batch: Batch, game: int = 0) -> None:
        painter = round_type(batch.rules).painter(batch, game)
        self.reset, self.record_play, self.view = painter.reset, painter.record_play, painter.view

    def render(self, mode: str, face_up: Sequence[int] | None = None) -> Any:
        """The picture in one of `RENDER_MODES`.

        Returns:
            ``"rgb_array"``: uint8 (height, width, 3); ``"ansi"`` and ``"svg"``: text; ``"human"``: None, the
            text goes to the terminal.
        """
        view = self.view(face_up)
        if mode == "rgb_array":
            return render_rgb(view)
        if mode == "svg":
            return render_svg(view)
        text = render_ansi(view)
        if mode == "ansi":
            return text
        print(for_stream(text, sys.stdout))
        return None


def check_render_mode(mode: str | None) -> str | None:
    """Check a render mode.

    Raises:
        ValueError: neither None nor one of `RENDER_MODES`.
    """
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f"render_mode={mode!r}: expected one of {', '.join(RENDER_MODES)}, or None")
    return mode
