"""The text record of a round of Tiến lên (`tienlen_env.games.common.notation`).

Example lines:

    tienlen/1 cardgames p4 key=00000000000000ff.0 : 3s3h - 5c5d - - ... = 1 0 3 2
    tienlen/1 cardgames p4 key=00000000000000ff.1 lead=1 : 4s5d6c - - -
    tienlen/1 foicica p2 hands=3s4c5d/6h7h8h : 3s4c5d 6h7h8h = 1 0

``lead=`` says who leads, where that is not the holder of the opening card; the plays are cards, ``-`` for a
pass, ``declare`` for an instant win; the results are each seat's place from 0. In `Record.plays` a play is
its card mask, 0 for a pass, `DECLARED` for an instant win.
"""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common import cards
from tienlen_env.games.common.notation import Notation, Words, fault, number
from tienlen_env.games.tienlen.rules import MAX_PLAYERS, NAMED, Rules, get_rules

PASS_TEXT: Final = "-"
DECLARE_TEXT: Final = "declare"
DECLARED: Final = -1  # in `Record.plays`: the declaration of an instant win


class TienLenNotation(Notation):
    """Plays as cards, results as places."""

    result = "a place"
    has_places = True
    pass_text = PASS_TEXT
    max_players = MAX_PLAYERS

    def hand_size(self, rules: Rules) -> int:
        """As many as each player is dealt (1.16)."""
        return rules.cards_each

    def play_text(self, rules: Rules, play: int) -> str:
        """Its cards, `PASS_TEXT` or `DECLARE_TEXT`."""
        return DECLARE_TEXT if play == DECLARED else self.cards_text(play) or PASS_TEXT

    def parse_play(self, rules: Rules, word: str, column: int = 1) -> int:
        """The cards of a play, 0 or `DECLARED`.

        Raises:
            NotationError: not a play.
        """
        if word == DECLARE_TEXT:
            return DECLARED
        mask = 0 if word == PASS_TEXT else self.parse_cards(word, column)
        if not mask and word != PASS_TEXT:
            raise fault("no cards", column, word, word_2=PASS_TEXT)
        return mask

    def parse_result(self, word: str, column: int, num_players: int) -> int:
        """The place of a seat."""
        return number(word, column, num_players - 1, self.result)

    def parse_results(self, words: Words, num_players: int) -> tuple[int, ...] | None:
        """Take each seat's own place."""
        places = super().parse_results(words, num_players)
        if places is not None and sorted(places) != list(range(num_players)):
            raise fault("places", words.items[-num_players][1])
        return places


NOTATION: Final = TienLenNotation("tienlen", get_rules, cards, NAMED)
