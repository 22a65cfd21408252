"""The picture of a game of a batch: `picture` reads the state, `Painter` remembers what the state has not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from tienlen_env import rendering
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_index
from tienlen_env.errors import check_word
from tienlen_env.games.common.state import ClimbingState
from tienlen_env.games.registry import ByGame
from tienlen_env.rendering import PlainView, TableView, for_stream, render_ansi

RENDER_MODES = ("human", "ansi", "rgb_array", "svg")


def picture(
    batch: Batch,
    game: int = 0,
    *,
    last_plays: Sequence[int | None] | None = None,
    face_up: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
) -> PlainView:
    """The picture of a game of any kind; `PICTURES` has those of games with their own.

    Args:
        batch: the games.
        game: which of them.
        last_plays: P card masks, see `Painter.last_plays`; None: only what the state has.
        face_up: seats whose hands are shown; None for all.
        names: P labels; None for ``"player_0"`` and so on.
    """
    state, text, num_players = batch.state, batch.game.text, batch.num_players
    shown = list(last_plays or (None,) * num_players)
    view = PlainView(
        hands=tuple(state.hands[game].tolist()),
        face_up=tuple(face_up is None or seat in face_up for seat in range(num_players)),
        turn=int(state.turn[game]),
        places=tuple(state.places[game].tolist()),
        scores=tuple(state.scores[game].tolist()),
        names=seat_names(num_players, names),
        title=f"{batch.rules.name} · {text.unit} {int(state.round[game]) + 1}",
        format_cards=text.format_cards,
    )
    if not isinstance(state, ClimbingState):
        owner = next((seat for seat, play in enumerate(shown) if play), -1)
        return view if owner < 0 else replace(view, owner=owner, table_cards=shown[owner] or 0)
    owner, table_cards = int(state.owner[game]), int(state.table_cards[game])
    waiting = [seat for seat in range(num_players) if view.places[seat] < 0]
    passed = frozenset(seat for seat in waiting if int(state.passed[game]) >> seat & 1)
    for seat in range(num_players):
        if seat == owner:
            shown[seat] = table_cards
        elif shown[seat] is None and seat in passed:
            shown[seat] = 0
    units = owed = None
    if batch.has_payments:
        units, net = tuple(batch.balances[game].tolist()), [0] * num_players
        for payment in batch.owed(game):
            net[payment.payer] -= payment.amount
            net[payment.payee] += payment.amount
        owed = tuple(net)
    return TableView(
        **vars(view)
        | {
            "table_cards": table_cards,
            "table_text": "" if owner < 0 else batch.action_to_text(int(state.table[game])),
            "owner": owner,
        },
        passed=passed,
        last_plays=tuple(shown),
        units=units,
        owed=owed,
    )


PICTURES: Final = ByGame("picture", "tienlen_env.single", lambda game: picture)


class Painter:
    """Draws one game of a batch; remembers the plays of the trick, because the state has only a part of them.

    Args:
        batch: the games.
        game: which of them.

    Attributes:
        last_plays: P card masks, the last play of each seat in this trick: 0 for a pass, None for no play. In
            a game that does not climb only the last play of all.
    """

    def __init__(self, batch: Batch, game: int = 0) -> None:
        self._batch = batch
        self._game = as_index(game, batch.num_games, "game")
        self._picture = PICTURES.of(batch.rules)
        self.reset()

    def reset(self) -> None:
        """Start a new game, with no plays in the trick."""
        self._before = self._played()
        self.last_plays: list[int | None] = [None] * self._batch.num_players

    def _played(self) -> list[int]:
        played: list[int] = self._batch.state.played[self._game].tolist()
        return played

    def record_play(self, seat: int) -> None:
        """Record a play or a pass of a seat."""
        seat = as_index(seat, self._batch.num_players, "seat")
        state, played = self._batch.state, self._played()
        cards = played[seat] & ~self._before[seat] if played else 0
        if isinstance(state, ClimbingState):
            if state.owner[self._game] < 0:
                self.last_plays = [None] * self._batch.num_players
            else:
                self.last_plays[seat] = cards
        elif cards:
            self.last_plays = [None] * self._batch.num_players
            self.last_plays[seat] = cards
        self._before = played

    def view(self, face_up: Sequence[int] | None = None, names: Sequence[str] | None = None) -> PlainView:
        """The data of a picture.

        Args:
            face_up: seats whose hands are shown; None for all.
            names: of the seats; None for ``"player_0"`` and so on.
        """
        view: PlainView = self._picture(
            self._batch, self._game, last_plays=self.last_plays, face_up=face_up, names=names
        )
        return view

    def render(self, mode: str, face_up: Sequence[int] | None = None) -> Any:
        """The picture in one of `RENDER_MODES`.

        Returns:
            ``"rgb_array"``: uint8 (height, width, 3); ``"ansi"`` and ``"svg"``: text; ``"human"``: None, the
            text goes to the terminal.
        """
        view = self.view(face_up)
        if mode == "rgb_array":
            return rendering.render_rgb(view)
        if mode == "svg":
            return rendering.render_svg(view)
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
    if mode is not None:
        check_word("render_mode", mode, RENDER_MODES, ", or None")
    return mode


def seat_names(num_players: int, names: Sequence[str] | None, word: str = "player_") -> tuple[str, ...]:
    """P labels: the given ones, or a word with the number of the seat.

    Raises:
        ValueError: not P names.
    """
    found = tuple(f"{word}{seat}" for seat in range(num_players)) if names is None else tuple(names)
    if len(found) != num_players:
        raise ValueError(f"names={names!r}: expected {num_players} names")
    return found
