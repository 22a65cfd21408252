"""The state of a batch of games of Thirteens: one int64 row a game, and named views of its columns.

Laid out as in `tienlen_env.games.tienlen.state`. Columns a seat are seven, of which the first P are used::

    0        8         15       22       29        36       43      50              69     69+W
    | hands, | played  | taken  | points | counts  | scores | place | trick, turn .. | legal W |
      dummy
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

HAND: Final = 0  # 7 columns: cards in each seat's hand (mask)
DUMMY: Final = 7  # cards in the dummy's hand (mask), RULES.md 8.10
PLAYED: Final = 8  # 7 columns: cards played by each seat this deal (mask)
TAKEN: Final = 15  # 7 columns: cards of the tricks taken by each seat this deal (mask)
POINTS: Final = 22  # 7 columns: points of this deal so far
COUNTS: Final = 29  # 7 columns: what the points are for, 8 bits each, see below
SCORE: Final = 36  # 7 columns: points of the game so far, this deal included
PLACE: Final = 43  # 7 columns: place 0 (first) .. P-1 once the deal is over, -1 before; equals share
KEY: Final = 50  # the deal is a pure function of this 64-bit key and the round
ROUND: Final = 51  # deals played before this one in the game
TURN: Final = 52  # seat to act; -1 when the game is over
LEADER: Final = 53  # seat that leads this trick
TRICK: Final = 54  # its cards in order: 1 + card in 6 bits each, the lead lowest
ON_TABLE: Final = 55  # its cards (mask)
ASIDE: Final = 56  # what else goes with this trick: the remainder, the dummy's card (mask)
FOLLOW: Final = 57  # all cards of the suit that must be played if held (mask), 0 for none
WINNER: Final = 58  # seat that is winning the trick; -1 before the lead
BEST: Final = 59  # strength of the winning card; -1 before the lead
NUM_TRICKS: Final = 60  # tricks finished in this deal
VOID: Final = 61  # 4 bits a seat: suits in which it is known to hold nothing
SHOWN: Final = 62  # remainder and the dummy's cards flipped so far (mask)
REMAINDER: Final = 63  # the cards set aside at the deal (mask)
STARTER: Final = 64  # the first of them (mask); 0 if there is none
ELDEST: Final = 65  # seat that led first in this deal
PILE: Final = 66  # cards that the winner may still meld (mask); not 0 only while melds are declared
LAST_PILE: Final = 67  # the trick taken last with what went along (mask)
LAST_WINNER: Final = 68  # who took it; -1 before the first
LEGAL: Final = 69  # W columns: bit a of the words is True where action a is legal for `turn`

# Lanes of `COUNTS`
NUM_TAKEN: Final = 0  # tricks
STRAIGHTS: Final = 8
PAIRS: Final = 16
THIRTEENS: Final = 24
NUM_JOKERS: Final = 32  # captured jokers that cost

HIDDEN: Final = (*range(HAND, DUMMY + 1), KEY)  # what nobody but the owner of a hand may know

IntArray = npt.NDArray[np.int64]


class State:
    """A batch of B games. Every attribute is a live view, every method and property a copy.

    Attributes:
        rows: int64 (B, 69 + W), contiguous, the whole state.
        num_players: P.
        num_words: W.
        hands, played, taken: int64 (B, P) card masks.
        dummy: int64 (B,) card mask of the dummy's hand.
        points: int64 (B, P) points of this deal so far.
        scores: int64 (B, P) points of the game, this deal included.
        places: int64 (B, P) 0..P-1 once the deal is over, else -1; equal points share the better place.
        key, round: int64 (B,) the deal is a function of both.
        turn: int64 (B,) seat to act, -1 when the game is over.
        leader, winner, last_winner, eldest: int64 (B,) seats, -1 for nobody yet.
        aside, shown, remainder, starter, pile, last_pile: int64 (B,) card masks, see the columns.
        follow: int64 (B,) all cards of the suit that must be followed (mask), or 0.
        num_tricks: int64 (B,) tricks finished in this deal.
        legal: int64 (B, W) packed legal-action mask of `turn`; all zero when over.
    """

    def __init__(self, rows: IntArray, num_players: int, num_words: int) -> None:
        self.rows = rows
        self.num_players = num_players
        self.num_words = num_words
        self.hands = rows[:, HAND : HAND + num_players]
        self.dummy = rows[:, DUMMY]
        self.played = rows[:, PLAYED : PLAYED + num_players]
        self.taken = rows[:, TAKEN : TAKEN + num_players]
        self.points = rows[:, POINTS : POINTS + num_players]
        self.scores = rows[:, SCORE : SCORE + num_players]
        self.places = rows[:, PLACE : PLACE + num_players]
        self.key = rows[:, KEY]
        self.round = rows[:, ROUND]
        self.turn = rows[:, TURN]
        self.leader = rows[:, LEADER]
        self.aside = rows[:, ASIDE]
        self.follow = rows[:, FOLLOW]
        self.winner = rows[:, WINNER]
        self.num_tricks = rows[:, NUM_TRICKS]
        self.shown = rows[:, SHOWN]
        self.remainder = rows[:, REMAINDER]
        self.starter = rows[:, STARTER]
        self.eldest = rows[:, ELDEST]
        self.pile = rows[:, PILE]
        self.last_pile = rows[:, LAST_PILE]
        self.last_winner = rows[:, LAST_WINNER]
        self.legal = rows[:, LEGAL : LEGAL + num_words]

    @property
    def num_games(self) -> int:
        """B."""
        return len(self.rows)

    @property
    def over_mask(self) -> npt.NDArray[np.bool_]:
        """bool (B,), games that are over."""
        return self.turn < 0

    @property
    def num_cards_left(self) -> IntArray:
        """int64 (B, P), cards left in each hand."""
        return np.bitwise_count(self.hands).astype(np.int64)

    def _count(self, lane: int) -> IntArray:
        counts: IntArray = self.rows[:, COUNTS : COUNTS + self.num_players] >> lane & 255
        return counts

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
    def led(self) -> IntArray:
        """int64 (B,), suit of the lead: 0..3, 4 for a joker, -1 before the lead."""
        lead = (self.rows[:, TRICK] & 63) - 1
        return np.where(lead < 0, -1, np.where(lead >= 52, 4, lead & 3))

    @property
    def void(self) -> IntArray:
        """int64 (B, P), 4-bit masks of the suits that a seat is known not to hold (bit 0 spades)."""
        return self.rows[:, VOID, None] >> 4 * np.arange(self.num_players) & 15
