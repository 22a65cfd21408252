"""From a game of a batch to its picture: the one place where adapters and `rendering` meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tienlen_env.engine import Batch
from tienlen_env.rendering import TableView, render_ansi, render_rgb, render_svg

RENDER_MODES = ("human", "ansi", "rgb_array", "svg")


class Painter:
    """Draws one game of a batch, and remembers the trick, which the state holds only in part.

    Args:
        batch: the games.
        game: which of them.
    """

    def __init__(self, batch: Batch, game: int = 0) -> None:
        self._batch = batch
        self._game = game
        self.forget()

    def forget(self) -> None:
        """A game begins: nobody has played in this trick."""
        self._before = self._played()
        self._last_plays: list[int | None] = [None] * self._batch.num_players

    def _played(self) -> list[int]:
        played: list[int] = self._batch.state.played[self._game].tolist()
        return played

    def note(self, seat: int) -> None:
        """A seat has played or passed."""
        played = self._played()
        if self._batch.state.owner[self._game] < 0:
            self._last_plays = [None] * self._batch.num_players
        else:
            self._last_plays[seat] = played[seat] & ~self._before[seat]
        self._before = played

    def view(self, face_up: Sequence[int] | None = None) -> TableView:
        """What to draw.

        Args:
            face_up: seats whose hands are shown; None for all.
        """
        batch, state, game = self._batch, self._batch.state, self._game
        seats = range(batch.num_players)
        owner, passed = int(state.owner[game]), int(state.passed[game])
        last_plays: list[int | None] = list(self._last_plays)
        for seat in seats:
            if seat == owner:
                last_plays[seat] = int(state.table_cards[game])
            elif last_plays[seat] is None and passed >> seat & 1:
                last_plays[seat] = 0
        return TableView(
            hands=tuple(state.hands[game].tolist()),
            face_up=tuple(face_up is None or seat in face_up for seat in seats),
            table_cards=int(state.table_cards[game]),
            table_text="" if owner < 0 else batch.table.text(int(state.table[game])),
            owner=owner,
            turn=int(state.turn[game]),
            passed=frozenset(seat for seat in seats if passed >> seat & 1),
            places=tuple(state.places[game].tolist()),
            scores=tuple(state.scores[game].tolist()),
            last_plays=tuple(last_plays),
            names=tuple(f"player_{seat}" for seat in seats),
            title=f"{batch.rules.name} · round {int(state.round[game]) + 1}",
        )

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
        print(text)
        return None


def check_render_mode(mode: str | None) -> str | None:
    """The mode itself.

    Raises:
        ValueError: it is neither None nor one of `RENDER_MODES`.
    """
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f"render_mode={mode!r}: expected one of {', '.join(RENDER_MODES)}, or None")
    return mode
