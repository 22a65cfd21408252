"""Named views of the columns that the rows of all games have."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tienlen_env.games.common.arrays import IntArray

HISTORY_SEAT_SHIFT: Final = 52  # an entry of a history is cards | (1 + seat) << 52; 0 means no play


class Columns(NamedTuple):
    """The indices of the columns that every game has.

    Attributes:
        hand: first of the columns of the hands, one card mask a seat.
        place: first of the columns of the places, one a seat: 0 = first, -1 = not settled.
        score: first of the columns of the points, one a seat.
        turn: seat to act, -1 when the game is over.
        key: key of the deal.
        round: index of the round in its game.
        legal: first word of the packed legal-action mask.
        hidden: columns that are hidden from a seat, except its own hand.
        played: first of the columns of the cards played this round, one mask a seat; -1 for none.
        num_extra: columns between the mask and its spare word, and the history, that only some variants have.
    """

    hand: int
    place: int
    score: int
    turn: int
    key: int
    round: int
    legal: int
    hidden: tuple[int, ...]
    played: int = -1
    num_extra: int = 0


class GameState:
    """A batch of B games. Every attribute is a live view; writing to it changes the games.

    Args:
        rows: int64 (B, ROW), contiguous, the whole state.
        columns: where the columns lie.
        num_players: P.
        num_words: W.

    Attributes:
        rows: int64 (B, ROW).
        num_players: P.
        num_words: W.
        hands: int64 (B, P) card masks.
        places: int64 (B, P) 0..P-1, or -1 while it is not settled.
        scores: int64 (B, P) points in the game.
        turn: int64 (B,) seat to act, -1 when the game is over.
        key: int64 (B,) deal keys.
        round: int64 (B,) index of the round in its game.
        legal: int64 (B, W) packed legal-action mask of `turn`; all zero when over.
        played: int64 (B, P) card masks, this round; (B, 0) in a game that does not store them.
    """

    def __init__(self, rows: IntArray, columns: Columns, num_players: int, num_words: int) -> None:
        self.rows = rows
        self.num_players = num_players
        self.num_words = num_words

        def seats(first: int) -> IntArray:
            return rows[:, first : first + num_players]

        self.hands = seats(columns.hand)
        self.places = seats(columns.place)
        self.scores = seats(columns.score)
        self.turn: IntArray = rows[:, columns.turn]
        self.key: IntArray = rows[:, columns.key]
        self.round: IntArray = rows[:, columns.round]
        self.legal: IntArray = rows[:, columns.legal : columns.legal + num_words]
        self.played = seats(columns.played) if columns.played >= 0 else rows[:, :0]

    @property
    def num_games(self) -> int:
        """B."""
        return len(self.rows)

    @property
    def num_cards_left(self) -> IntArray:
        """int64 (B, P), cards left in each hand."""
        return np.bitwise_count(self.hands).astype(np.int64)


class ClimbingState(GameState):
    """The state of a climbing game: plays beat the combination on the table until all others pass.

    A game's own state sets these.

    Attributes:
        table: int64 (B,) action id on the table, 0 when it is empty.
        table_cards: int64 (B,) its cards (mask).
        owner: int64 (B,) seat that played it, -1 when the table is empty.
        passed: int64 (B,) seats that have passed in this trick (seat mask).
        history: int64 (B, K) last plays stored, newest first: ``cards | (1 + seat) << 52``, 0 for none.
    """

    table: IntArray
    table_cards: IntArray
    owner: IntArray
    passed: IntArray
    history: IntArray
