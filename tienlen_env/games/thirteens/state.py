"""The state of a batch of games of Thirteens: one int64 row per game, and named views of its columns.

Columns of a seat come in groups of seven; the first P are used:

    0        8         15       22       29        36       43      50              69     69+W
    | hands, | played  | taken  | points | counts  | scores | place | trick, turn .. | legal W |
      dummy
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tienlen_env.games.common.arrays import Fields, IntArray
from tienlen_env.games.common.state import Columns, GameState

column = Fields()
HAND = column(7)  # cards in each seat's hand (mask)
DUMMY = column()  # cards in the dummy's hand (mask), RULES.md 8.10
PLAYED = column(7)  # cards played by each seat this deal (mask)
TAKEN = column(7)  # cards of the tricks taken by each seat this deal (mask)
POINTS = column(7)  # points of this deal so far
COUNTS = column(7)  # what the points are for, 8 bits each, see below
SCORE = column(7)  # points of the game so far, this deal included
PLACE = column(7)  # place 0 (first) .. P-1 once the deal is over, -1 before; equals share
KEY = column()  # the deal is a pure function of this 64-bit key and the round
ROUND = column()  # deals played before this one in the game
TURN = column()  # seat to act; -1 when the game is over
LEADER = column()  # seat that leads this trick
TRICK = column()  # its cards in order: 1 + card in 6 bits each, the lead lowest
ON_TABLE = column()  # its cards (mask)
ASIDE = column()  # what else goes with this trick: the remainder, the dummy's card (mask)
FOLLOW = column()  # all cards of the suit that must be played if held (mask), 0 for none
WINNER = column()  # seat that is winning the trick; -1 before the lead
BEST = column()  # strength of the winning card; -1 before the lead
NUM_TRICKS = column()  # tricks finished in this deal
VOID = column()  # 4 bits a seat: suits that it is known not to hold
SHOWN = column()  # remainder and the dummy's cards flipped so far (mask)
REMAINDER = column()  # the cards set aside at the deal (mask)
STARTER = column()  # the first of them (mask); 0 if no card was set aside
ELDEST = column()  # seat that led first in this deal
PILE = column()  # cards that the winner may still meld (mask); not 0 only while melds are declared
LAST_PILE = column()  # the trick taken last with what went along (mask)
LAST_WINNER = column()  # who took it; -1 before the first
LEGAL: Final = column.size  # W columns: bit a of the words is True where action a is legal for `turn`

# Lanes of `COUNTS`
NUM_TAKEN: Final = 0  # tricks
STRAIGHTS: Final = 8
PAIRS: Final = 16
THIRTEENS: Final = 24
NUM_JOKERS: Final = 32  # captured jokers that cost

HIDDEN: Final = (*range(HAND, DUMMY + 1), KEY)  # hidden from all but the owner of a hand
COLUMNS: Final = Columns(HAND, PLACE, SCORE, TURN, KEY, ROUND, LEGAL, HIDDEN, PLAYED)


class ThirteensState(GameState):
    """A batch of B games. Every attribute is a live view, every method and property a copy.

    Attributes:
        rows: int64 (B, 69 + W), contiguous, the whole state.
        num_players: P.
        num_words: W.
        hands: int64 (B, P) card masks.
        played: int64 (B, P) card masks.
        taken: int64 (B, P) card masks.
        dummy: int64 (B,) card mask of the dummy's hand.
        points: int64 (B, P) points of this deal so far.
        scores: int64 (B, P) points of the game, this deal included.
        places: int64 (B, P) 0..P-1 once the deal is over, else -1; equal points share the better place.
        key: int64 (B,) deal keys; the deal is a function of key and round.
        round: int64 (B,) index of the deal in its game.
        turn: int64 (B,) seat to act, -1 when the game is over.
        leader: int64 (B,) seat, -1 for none yet.
        winner: int64 (B,) seat, -1 for none yet.
        last_winner: int64 (B,) seat, -1 for none yet.
        eldest: int64 (B,) seat, -1 for none yet.
        aside: int64 (B,) card mask, see the columns.
        shown: int64 (B,) card mask, see the columns.
        remainder: int64 (B,) card mask, see the columns.
        starter: int64 (B,) card mask, see the columns.
        pile: int64 (B,) card mask, see the columns.
        last_pile: int64 (B,) card mask, see the columns.
        follow: int64 (B,) all cards of the suit that must be followed (mask), or 0.
        num_tricks: int64 (B,) tricks finished in this deal.
        legal: int64 (B, W) packed legal-action mask of `turn`; all zero when over.
    """

    def __init__(self, rows: IntArray, columns: Columns, num_players: int, num_words: int) -> None:
        super().__init__(rows, columns, num_players, num_words)
        self.dummy: IntArray = rows[:, DUMMY]
        self.taken: IntArray = rows[:, TAKEN : TAKEN + num_players]
        self.points: IntArray = rows[:, POINTS : POINTS + num_players]
        self.leader: IntArray = rows[:, LEADER]
        self.aside: IntArray = rows[:, ASIDE]
        self.follow: IntArray = rows[:, FOLLOW]
        self.winner: IntArray = rows[:, WINNER]
        self.num_tricks: IntArray = rows[:, NUM_TRICKS]
        self.shown: IntArray = rows[:, SHOWN]
        self.remainder: IntArray = rows[:, REMAINDER]
        self.starter: IntArray = rows[:, STARTER]
        self.eldest: IntArray = rows[:, ELDEST]
        self.pile: IntArray = rows[:, PILE]
        self.last_pile: IntArray = rows[:, LAST_PILE]
        self.last_winner: IntArray = rows[:, LAST_WINNER]

    def _count(self, lane: int) -> IntArray:
        return self.rows[:, COUNTS : COUNTS + self.num_players] >> lane & 255

    @property
    def tricks(self) -> IntArray:
        """int64 (B, P), tricks taken in this deal."""
        return self._count(NUM_TAKEN)

    @property
    def thirteens(self) -> IntArray:
        """int64 (B, P), thirteens melded in this deal."""
        return self._count(THIRTEENS)

    @property
    def pairs(self) -> IntArray:
        """int64 (B, P), pairs melded in this deal."""
        return self._count(PAIRS)

    @property
    def straights(self) -> IntArray:
        """int64 (B, P), straights melded in this deal."""
        return self._count(STRAIGHTS)

    @property
    def jokers(self) -> IntArray:
        """int64 (B, P), jokers captured in this deal at a cost."""
        return self._count(NUM_JOKERS)

    @property
    def trick_cards(self) -> IntArray:
        """int64 (B, P), card ids of the trick in the order of play, -1 for those to come."""
        shifts = 6 * np.arange(self.num_players)
        return (self.rows[:, TRICK, None] >> shifts & 63) - 1

    @property
    def void(self) -> IntArray:
        """int64 (B, P), 4-bit masks of the suits that a seat is known not to hold (bit 0 spades)."""
        return self.rows[:, VOID, None] >> 4 * np.arange(self.num_players) & 15
