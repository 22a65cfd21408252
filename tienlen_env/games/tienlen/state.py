"""The state of a batch of games: one int64 row per game, and named views of its columns.

A row holds all that a kernel needs of one game, next to each other, so that a decision touches a few cache
lines; across the batch each column is an array of its own (a struct of arrays over one block of memory):

    0          8           16        20                     31            32+W      32+W+E      45+W+E
    | hands .. | played .. | scores  | table, turn, flags.. | legal W + 1 | extra E | record 13 | history K |

W is the number of 64-bit words of the legal-action mask. One more word lies behind them, so that a group of
actions can be written without asking whether it reaches the next word; no bit of it is ever set in this way,
so it holds how the round began (`BEGUN`). E is the number of columns that only some
variants have (`num_extra_columns`), K the length of the stored history. The record is the play summary
(`update_play_summary`), which exists if K is not 0. Sets of seats ("seat masks") have bit ``seat`` set.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tienlen_env.games.common.arrays import BoolArray, Fields, IntArray, Row
from tienlen_env.games.common.bits import FULL, highest_index, popcount, ranks_of
from tienlen_env.games.common.state import HISTORY_SEAT_SHIFT as HISTORY_SEAT_SHIFT, ClimbingState, Columns
from tienlen_env.games.tienlen.rules import Rules

column = Fields()
HAND = column(4)  # cards in each seat's hand (mask)
UNDEALT = column()  # cards in no hand (2 and 3 players)
REQUIRED_CARD = column()  # the opening card that the play must contain (mask of one card), 0 for no duty
KEY = column()  # the deal is a pure function of this 64-bit key and the round
ROUND = column()  # rounds played before this one in the game
PLAYED = column(4)  # cards played by each seat this round (mask)
PLACE = column(4)  # place 0 (first) .. P-1, -1 while in
SCORE = column(4)  # points of the game so far, this round's settled places included
TABLE = column()  # action on the table; PASS (0) when it is empty
TABLE_CARDS = column()  # its cards (mask)
OWNER = column()  # the seat that played it; -1 when the table is empty
TURN = column()  # seat to act; -1 when the game is over
LIVE = column()  # seat mask: still in the round
PASSED = column()  # seat mask: passed in this trick
PENDING = column()  # seat mask: still to answer the play on the table
KNOCKED_OUT = column()  # seat mask: knocked out of this trick (RULES.md 3.7)
LOCK = column()  # 1: only suited runs in this trick (RULES.md 3.4)
NUM_FIRST = column()  # places settled from the top
NUM_LAST = column()  # places settled from the bottom (knocked out of the round)
LEGAL: Final = column.size  # W columns: bit a of the words is True where action a is legal for `turn`

# What a player may not know, but for the own hand: cards and the key of the deal.
HIDDEN: Final = (HAND, HAND + 1, HAND + 2, HAND + 3, UNDEALT, KEY)

PASSED_ON, FOLLOWED, LED = range(3)
NUM_KINDS: Final = 4
NUM_RANKS: Final = 13
LAST_PLAY: Final = 12  # column of the summary, after 3 words for each of 4 seats: the last event with cards
PLAY_SUMMARY_SIZE: Final = LAST_PLAY + 1

# How the round began, counted from `spec.EXTRA`: 0 with a given leader; else `BY_DEAL`, and 1 + the seat that
# has, or had, the lowest card dealt, where that is known.
BEGUN: Final = -1
BY_DEAL: Final = 8

# Columns of some variants, counted from the first of them (`spec.EXTRA`).
# 12 chops (a bomb has 4 cards or more), 2 places, and of each loser a stake and the price of its last card;
# losers with more cards, who have 4 entries at most, leave cards for fewer chops.
LEDGER_SIZE: Final = 24
extra = Fields()
TWOS_IN_TRICK = extra()  # 1: a set of 2s lies, or has lain, on the table in this trick
MUST_DECLARE = extra()  # 1: the seat to act declares its instant win
CONG = extra()  # seat mask: had played no card when the first went out
IS_PAID = extra()  # 1: the round ends without payments for places and hands
UNDERPLAYED = extra()  # higher cards than the last single, and 1 + the next seat with one card << 52 (4.35)
LIABLE = extra()  # 1 + the seat that pays the first for all others; 0: each pays (4.36)
NUM_CHOPS = extra()  # chops in this trick; where each pays, those that are paid
CHAIN = extra()  # the sum of their prices
IS_NEW = extra()  # 1: nothing has been played in this round, the ledger is that of the round before
NUM_BOOKED = extra()  # entries of the ledger that are booked; the others are owed
NUM_ENTRIES = extra()  # entries of the ledger
BALANCE = extra(4)  # units that each seat got in this game, less those that it paid
LEDGER = extra(LEDGER_SIZE)  # the payments of the round, 0 behind the last one
EXTRA_SIZE: Final = extra.size

# Columns of variants with a duty before a last card, counted from the first of them (`spec.DUTY`).
duty = Fields()
EXCLUDED = duty(4)  # cards that a seat has shown not to hold (4.34, 4.35)
HELD_ONE_OF = duty()  # the seat that pays for all has held one or more of these cards (4.35)
DUTY_SIZE: Final = duty.size

# An entry of the ledger: amount << 8 | cause << 4 | payee << 2 | payer.
AMOUNT_SHIFT: Final = 8
CAUSE_SHIFT: Final = 4

COLUMNS: Final = Columns(HAND, PLACE, SCORE, TURN, KEY, ROUND, LEGAL, HIDDEN, PLAYED)


def num_extra_columns(rules: Rules) -> int:
    """E: those of payments and instant wins, or the one of tricks that 2s reopen, and those of a duty."""
    duties = DUTY_SIZE if rules.last_card_duty != "none" else 0
    if rules.has_payments or rules.instant_wins:
        return EXTRA_SIZE + duties
    return (1 if rules.rejoin_twos else 0) + duties


def is_set(cards: int) -> bool:
    """Whether cards are of one rank, at most."""
    ranks = ranks_of(cards)
    return bool(ranks & (ranks - 1) == 0)


def update_play_summary(row: Row, summary: int, event: int) -> None:
    """Add an event of the history to the play summary that begins at column `summary`.

    The summary has three words a seat, bit masks over (combination kind × highest rank): the plays that it
    passed on, followed with and led; 4 × 13 bits each, the kinds being single, pair, triple and anything
    longer. A seat that is out of a trick takes no decision and sets no bit. One more word holds the last
    play, as in the history.

    The cards alone decide whether a play is a lead: a play by the owner of the table, or one that is not of
    the table's kind and higher; a chop counts as a lead, too.
    """
    seat, play = (event >> HISTORY_SEAT_SHIFT) - 1, event & FULL
    last = row[summary + LAST_PLAY]
    owner, table = (last >> HISTORY_SEAT_SHIFT) - 1, last & FULL
    what, about = PASSED_ON, table
    if play != 0:
        # Without branches, because they would be mispredicted.
        follows = (
            (owner != seat)
            & (popcount(play) == popcount(table))
            & (play > table)
            & (is_set(play) == is_set(table))
        )
        what, about = LED - follows, play
        row[summary + LAST_PLAY] = event
    if about != 0:
        num = popcount(about)
        kind = num - 1 if (num < NUM_KINDS) & is_set(about) else NUM_KINDS - 1
        row[summary + 3 * seat + what] |= 1 << (kind * NUM_RANKS + (highest_index(about) >> 2))


class TienlenState(ClimbingState):
    """A batch of B games. Every attribute is a live view; writing to it changes the games.

    Attributes:
        rows: int64 (B, 32 + W + E + K), or (B, 45 + W + E + K) where K is not 0; contiguous, the whole state.
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
        live: int64 (B,) seat mask.
        passed: int64 (B,) seat mask.
        knocked_out: int64 (B,) seat mask.
        required_card: int64 (B,) the opening card as a mask, or 0.
        lock: int64 (B,) 1 in a suited trick.
        key: int64 (B,) deal keys.
        round: int64 (B,) index of the round in its game.
        legal: int64 (B, W) packed legal-action mask of `turn`; all zero when over.
        play_summary: int64 (B, 13) the summary of the round's plays, (B, 0) if K is 0; see
            `update_play_summary`.
        history: int64 (B, K) last plays stored, newest first: ``cards | (1 + seat) << 52``, 0 for none.
    """

    def __init__(self, rows: IntArray, columns: Columns, num_players: int, num_words: int) -> None:
        super().__init__(rows, columns, num_players, num_words)
        self.table = rows[:, TABLE]
        self.table_cards = rows[:, TABLE_CARDS]
        self.owner = rows[:, OWNER]
        self.live: IntArray = rows[:, LIVE]
        self.passed = rows[:, PASSED]
        self.knocked_out: IntArray = rows[:, KNOCKED_OUT]
        self.required_card: IntArray = rows[:, REQUIRED_CARD]
        self.lock: IntArray = rows[:, LOCK]
        self._first_extra, self._extra = LEGAL + num_words + 1, columns.num_extra
        end = self._first_extra + columns.num_extra
        self.play_summary: IntArray = rows[:, end : end + PLAY_SUMMARY_SIZE]
        self.history = rows[:, end + PLAY_SUMMARY_SIZE :]

    @property
    def must_declare(self) -> BoolArray:
        """bool (B,), games where the seat to act declares its instant win."""
        if self._extra < EXTRA_SIZE:
            return np.zeros(self.num_games, np.bool_)
        declares: BoolArray = self.rows[:, self._first_extra + MUST_DECLARE] == 1
        return declares
