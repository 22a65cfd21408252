"""From a game of a batch to its picture: the one place where adapters and `rendering` meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tienlen_env.engine.batch import Batch
from tienlen_env.games.thirteens.explain import SUIT_NAME
from tienlen_env.games.thirteens.melds import pack
from tienlen_env.rendering import TableView, TrickView, render_ansi, render_rgb, render_svg

RENDER_MODES = ("human", "ansi", "rgb_array", "svg")


class TableMemory:
    """Views of a game of Tiến lên, and the memory of the trick, which the state holds only in part.

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
            table_text="" if owner < 0 else batch.action_to_text(int(state.table[game])),
            owner=owner,
            turn=int(state.turn[game]),
            passed=frozenset(seat for seat in seats if passed >> seat & 1),
            places=tuple(state.places[game].tolist()),
            scores=tuple(state.scores[game].tolist()),
            last_plays=tuple(last_plays),
            names=tuple(f"player_{seat}" for seat in seats),
            title=f"{batch.rules.name} · round {int(state.round[game]) + 1}",
        )


class TrickMemory:
    """Views of a game of Thirteens; its state holds all that is drawn.

    Args:
        batch: the games.
        game: which of them.
    """

    def __init__(self, batch: Batch, game: int = 0) -> None:
        self._batch = batch
        self._game = game

    def forget(self) -> None:
        """A game begins."""

    def note(self, seat: int) -> None:
        """A seat has played."""

    def view(self, face_up: Sequence[int] | None = None, names: Sequence[str] | None = None) -> TrickView:
        """What to draw.

        Args:
            face_up: seats whose hands are shown; None for all.
            names: of the seats; None for ``"player_0"`` and so on.
        """
        batch, state, game = self._batch, self._batch.state, self._game
        seats = range(batch.num_players)
        names = tuple(names or (f"player_{seat}" for seat in seats))
        trick = tuple(card for card in state.trick_cards[game].tolist() if card >= 0)
        pile, last_winner = int(state.pile[game]), int(state.last_winner[game])
        turn, aside = int(state.turn[game]), int(state.aside[game])
        note = ""
        if pile:
            note = f"to meld: {melds_text(pile)}"
        elif trick:
            note = "goes with the trick" if aside else ""
        elif aside:
            starter = int(state.follow[game])
            suit = SUIT_NAME[(starter & -starter).bit_length() - 1 & 3] if starter else ""
            note = f"starter suit: {suit}" if suit else "set aside"
        elif last_winner >= 0:
            note = f"{names[last_winner]} took {melds_text(int(state.last_pile[game]))}"
        return TrickView(
            hands=tuple(state.hands[game].tolist()),
            face_up=tuple(face_up is None or seat in face_up for seat in seats),
            trick=trick,
            leader=int(state.leader[game]),
            winner=int(state.winner[game]),
            aside=aside,
            pile=pile or int(state.last_pile[game]),
            note=note,
            turn=turn,
            task="melds" if pile else "to play" if trick else "leads",
            places=tuple(state.places[game].tolist()),
            tricks=tuple(state.tricks[game].tolist()),
            points=tuple(state.points[game].tolist()),
            scores=tuple(state.scores[game].tolist()),
            names=names,
            title=f"{batch.rules.name} · deal {int(state.round[game]) + 1}",
        )


def melds_text(pile: int) -> str:
    """The most that a pile can be melded to, in words: ``"K, Q+A and 5 5"``."""
    melds = [str(meld).removeprefix("meld ").replace("T", "10") for meld, _ in pack(pile)]
    if not melds:
        return "nothing to meld"
    return " and ".join(filter(None, (", ".join(melds[:-1]), melds[-1])))


_MEMORIES: Final[dict[str, Callable[[Batch, int], TableMemory | TrickMemory]]] = {
    "tienlen": TableMemory,
    "thirteens": TrickMemory,
}


class Painter:
    """Draws one game of a batch.

    Args:
        batch: the games.
        game: which of them.
    """

    def __init__(self, batch: Batch, game: int = 0) -> None:
        memory = _MEMORIES[batch.game.name](batch, game)
        self.forget, self.note, self.view = memory.forget, memory.note, memory.view

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
