"""The state of a batch of games: one int64 row a game, and named views of its columns.

A row holds all that a kernel needs of one game, next to each other, so that a decision touches a few cache
lines; across the batch each column is an array of its own (a struct of arrays over one block of memory)::

    0          8           16        20                           31            32+W        45+W
    | hands .. | played .. | scores  | table, turn, flags ...     | legal W + 1 | record 13 | history K |

W is the number of 64-bit words of the legal-action mask (and one spare, always 0, so that a group of actions
can be written without asking whether it reaches the next word), K the length of the kept history. The record
(`tienlen_env.games.tienlen.play_summary`) is there where K is not 0.
Sets of seats ("seat masks") have bit ``seat`` set.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tienlen_env.games.common.cards import masks_to_bits

HAND: Final = 0  # 4 columns: cards in each seat's hand (mask)
UNDEALT: Final = 4  # cards that nobody got (2 and 3 players)
DUTY: Final = 5  # the opening card that the play must contain (mask of one card), 0 for no duty
KEY: Final = 6  # the deal is a pure function of this 64-bit key and the round
ROUND: Final = 7  # rounds played before this one in the game
PLAYED: Final = 8  # 4 columns: cards played by each seat this round (mask)
PLACE: Final = 12  # 4 columns: place 0 (first) .. P-1, -1 while in
SCORE: Final = 16  # 4 columns: points of the game so far, this round's settled places included
TABLE: Final = 20  # action on the table; PASS (0) when it is empty
TABLE_CARDS: Final = 21  # its cards (mask)
OWNER: Final = 22  # the seat that played it; -1 when the table is empty
TURN: Final = 23  # seat to act; -1 when the game is over
LIVE: Final = 24  # seat mask: still in the round
PASSED: Final = 25  # seat mask: passed in this trick
PENDING: Final = 26  # seat mask: still to answer the play on the table
BARRED: Final = 27  # seat mask: knocked out of this trick (RULES.md 3.7)
LOCK: Final = 28  # 1: only suited runs in this trick (RULES.md 3.4)
NUM_FIRST: Final = 29  # places settled from the top
NUM_LAST: Final = 30  # places settled from the bottom (knocked out of the round)
LEGAL: Final = 31  # W columns: bit a of the words is True where action a is legal for `turn`

# What a player may not know, but for the own hand: cards and the key of the deal.
HIDDEN: Final = (HAND, HAND + 1, HAND + 2, HAND + 3, UNDEALT, KEY)

HISTORY_SEAT_SHIFT: Final = 52  # a history entry is cards | (1 + seat) << 52; 0 means no event
LAST_PLAY: Final = 12  # column of the record, after 3 words for each of 4 seats: the last event with cards
RECORD_SIZE: Final = LAST_PLAY + 1

IntArray = npt.NDArray[np.int64]


class State:
    """A batch of B games. Every attribute is a live view; writing to it changes the games.

    Attributes:
        rows: int64 (B, 32 + W + K), or (B, 45 + W + K) where K is not 0; contiguous, the whole state.
        num_players: P.
        num_words: W.
        hands: int64 (B, P) card masks.
        played: int64 (B, P) card masks, this round.
        places: int64 (B, P) 0..P-1, or -1 while the seat is in.
        scores: int64 (B, P) points in the game.
        table: int64 (B,) action id on the table, 0 when empty.
        table_cards: int64 (B,) card mask.
        owner: int64 (B,) seat that played the table, -1 when empty.
        turn: int64 (B,) seat to act, -1 when the game is over.
        live, passed, barred: int64 (B,) seat masks.
        duty: int64 (B,) the opening card as a mask, or 0.
        lock: int64 (B,) 1 in a suited trick.
        key: int64 (B,) deal keys.
        round: int64 (B,) index of the round in its game.
        legal: int64 (B, W) packed legal-action mask of `turn`; all zero when over.
        record: int64 (B, 13) the record of the round, (B, 0) where K is 0; see
            `tienlen_env.games.tienlen.play_summary`.
        history: int64 (B, K) last plays kept, newest first: ``cards | (1 + seat) << 52``, 0 for none.
    """

    def __init__(self, rows: IntArray, num_players: int, num_words: int) -> None:
        self.rows = rows
        self.num_players = num_players
        self.num_words = num_words
        self.hands = rows[:, HAND : HAND + num_players]
        self.played = rows[:, PLAYED : PLAYED + num_players]
        self.places = rows[:, PLACE : PLACE + num_players]
        self.scores = rows[:, SCORE : SCORE + num_players]
        self.table = rows[:, TABLE]
        self.table_cards = rows[:, TABLE_CARDS]
        self.owner = rows[:, OWNER]
        self.turn = rows[:, TURN]
        self.live = rows[:, LIVE]
        self.passed = rows[:, PASSED]
        self.barred = rows[:, BARRED]
        self.duty = rows[:, DUTY]
        self.lock = rows[:, LOCK]
        self.key = rows[:, KEY]
        self.round = rows[:, ROUND]
        self.legal = rows[:, LEGAL : LEGAL + num_words]
        end = LEGAL + num_words + 1
        self.record = rows[:, end : end + RECORD_SIZE]
        self.history = rows[:, end + RECORD_SIZE :]

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

    def hand_bits(self) -> npt.NDArray[np.uint8]:
        """uint8 (B, P, 52), the hands one byte a card."""
        return masks_to_bits(self.hands)
