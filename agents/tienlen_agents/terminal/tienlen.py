"""The words of Tiến lên at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tienlen_agents.terminal.dialogue import Dialogue, Move, subject, symbols
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.tienlen.actions import PASS, build_action_table, kind_name
from tienlen_env.rendering.view import PLACE_TEXT, plural
from tienlen_env.single.base import AnyRound, Play
from tienlen_env.single.tienlen import Cards


class TienLenDialogue(Dialogue):
    """See `Dialogue`."""

    help = """\
  3s 3h   play these cards: ranks 3456789TJQKA2, suits s c d h (♠ < ♣ < ♦ < ♥)
  7       play number 7 of the list
  p       pass
"""
    hint = "greedy_long"
    opponent = "heuristic"

    def choices(self, played: AnyRound) -> list[Play]:
        """See `Dialogue.choices`; the pass has no number."""
        return [play for play in played.legal_plays() if play.action != PASS]

    def kind(self, played: AnyRound, play: Play) -> str:
        """See `Dialogue.kind`."""
        return kind_name(build_action_table(played.rules).shape(play.action))

    def words(self, played: AnyRound, play: Play) -> str:
        """See `Dialogue.words`."""
        return symbols(play.cards) if play.cards else "pass"

    def is_forced_pass(self, played: AnyRound) -> bool:
        """See `Dialogue.is_forced_pass`."""
        return played.legal_actions() == [PASS]

    def parse(self, played: AnyRound, typed: str) -> Move:
        """See `Dialogue.parse`."""
        return Cards(0 if typed in ("p", "pass", "-") else parse_cards(typed))

    def listing(self, played: AnyRound) -> Iterator[str]:
        """See `Dialogue.listing`."""
        yield from super().listing(played)
        if PASS in played.legal_actions():
            yield "  p: pass"

    def advice(self, played: AnyRound, play: Play) -> str:
        """See `Dialogue.advice`."""
        return f"play {self.words(played, play)}" if play.cards else "pass"

    def report(self, played: AnyRound, seat: int, names: Sequence[str], play: Play) -> str:
        """See `Dialogue.report`."""
        name = names[seat]
        if not play.cards:
            return subject(name, "pass")
        text = f"{subject(name, 'play')} {self.words(played, play)}"
        place, left = played.places[seat], int(played.hand(seat)).bit_count()
        if place is not None:
            text += f" and {'are' if name == 'you' else 'is'} out: {PLACE_TEXT[place]}"
        elif left <= 3:
            text += f", {plural(left, 'card')} left"
        return text


DIALOGUE = TienLenDialogue()
