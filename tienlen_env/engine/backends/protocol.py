"""The numbers that loops over games return."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

# `play_one` returns one number: `REFUSED`, or the next seat (below 8) or `FINISHED`, plus `PAID` if it paid.
REFUSED: Final = -1
PAID: Final = 8
FINISHED: Final = 16


class Turn(IntEnum):
    """The values that stand where a seat would.

    Attributes:
        OVER: no seat acts, the game is over (or stopped, see `Batch.step_games`).
        ASKED: the seat of interest must decide (see `Batch.step_games`).
    """

    OVER = -1
    ASKED = -2
