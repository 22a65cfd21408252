"""What the turn of a game can be, beside the number of a seat."""

from __future__ import annotations

from enum import IntEnum


class Turn(IntEnum):
    """The values that stand where a seat would.

    Attributes:
        OVER: no seat acts, the game is over (or stopped, see `Batch.step_games`).
        ASKED: the seat of interest must decide (see `Batch.step_games`).
    """

    OVER = -1
    ASKED = -2
