"""The words of Thirteens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from tienlen_env.errors import NotationError
from tienlen_env.games.common.cards import NUM_CARDS, SUIT_NAME
from tienlen_env.games.common.game import ActionTable, AnyRules
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.actions import build_action_table
from tienlen_env.games.thirteens.cards import CARD_TEXT, format_cards, is_joker, parse_cards
from tienlen_env.games.thirteens.notation import NOTATION
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.single.base import AnyPlay, AnyRound
from tienlen_env.single.thirteens import ThirteensRound, melds_text
from tienlen_table.words import Move, TableWords, subject, symbols


class ThirteensTableWords(TableWords):
    """See `TableWords`."""

    help = """\
  Kh      play this card: ranks 23456789TJQKA, suits s c d h, jokers *1 *2
  6+5+2   meld: thirteens 6+5+2 or K, pairs 5&5, straights J-Q-K; end: no more
  7       play number 7 of the list
  Cards beside the trick are those left over from the deal, or the dummy's; who takes
  the trick gets them, too.
"""
    hint = "trickster"
    opponent = "trickster"
    result_column = R.POINTS  # of the deal

    def choices(self, played: AnyRound) -> list[AnyPlay]:
        """See `TableWords.choices`: cards in the order of the hand, or melds."""
        plays = played.legal_plays()
        if any(play.action >= played.rules.num_cards for play in plays):
            return plays
        by_card = {play.action: play for play in plays}
        texts = format_cards(sum(1 << card for card in by_card)).split()
        return [by_card[CARD_TEXT.index(text)] for text in texts]

    def kind(self, played: AnyRound, play: AnyPlay) -> str:
        """See `TableWords.kind`."""
        table, action = build_action_table(played.rules), play.action
        if action >= table.num_cards:
            return "end" if action == table.num_cards else table.melds[action - table.num_cards - 1].kind
        return "jokers" if is_joker(action) else SUIT_NAME[action & 3]

    def shown(self, played: AnyRound, play: AnyPlay) -> str:
        """See `TableWords.shown`: ``"K♥"``, ``"*1"``, ``"6+5+2"``."""
        return symbols(CARD_TEXT[play.action]) if play.action < NUM_CARDS else str(play).replace("T", "10")

    def parse_typed(self, played: AnyRound, typed: str) -> Move:
        """See `TableWords.parse_typed`."""
        rules = played.rules
        for text in (typed, typed.upper().replace("10", "T")):
            try:
                return NOTATION.parse_play(rules, text)
            except NotationError:
                continue
        cards = parse_cards(typed)
        if cards.bit_count() != 1:
            raise ValueError("one card is played at a time, 8.5")
        if cards >> rules.num_cards:
            raise ValueError(f"{typed} is not in this deck, 8.1")
        return cards.bit_length() - 1

    def report(self, played: AnyRound, seat: int, names: Sequence[str], play: AnyPlay) -> str:
        """See `TableWords.report`."""
        deal, name, num_cards = cast(ThirteensRound, played), names[seat], played.rules.num_cards
        if play.action == num_cards:
            return f"{subject(name, 'meld')} no more"
        if play.action > num_cards:
            return f"{subject(name, 'meld')} {self.shown(played, play)}"
        text = f"{subject(name, 'play')} {self.shown(played, play)}"
        if len(deal.trick) in (0, deal.num_players):
            winner = names[deal.last_winner]
            text += " and" if winner == name else f"; {winner}"
            text += f" take{'' if winner == 'you' else 's'} the trick"
            if deal.rules.melding == "auto":
                text += f": {melds_text(deal.last_pile)}"
        return text

    def size(self, rules: AnyRules) -> list[str]:
        """See `TableWords.size`: players and jokers."""
        return [f"p{rules.num_players}", f"j{cast(ThirteensRules, rules).jokers}"]

    def record_plays(self, rules: AnyRules, table: ActionTable) -> list[str]:
        """See `TableWords.record_plays`."""
        return [
            NOTATION.play_text(cast(ThirteensRules, rules), action) for action in range(table.num_actions)
        ]


TABLE_WORDS: Final = ThirteensTableWords()
