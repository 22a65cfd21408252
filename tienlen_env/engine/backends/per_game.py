"""What every backend does with one game, made of the game's kernels: plain functions of one row.

Also the numbers that loops over games return.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import Final

from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import ActionFields, Rewards, Row, Spec
from tienlen_env.games.common.bits import KEY_STEP, add
from tienlen_env.games.common.game import AnyGame, Kernels
from tienlen_env.games.common.legal import LegalKernels
from tienlen_env.games.common.specialise import GIVEN, specialise
from tienlen_env.games.common.state import Columns

# `play_one` returns one number: `REFUSED`, or the next seat (below 8) or `FINISHED`, plus `PAID` if it paid.
REFUSED: Final = -1
PAID: Final = 8
FINISHED: Final = 16

# A game's, see `parts_of`; functions of other modules that import them get the game's, too.
kernels: Kernels = GIVEN
legal: LegalKernels = GIVEN
columns: Columns = GIVEN


class Turn(IntEnum):
    """The values that stand where a seat would.

    Attributes:
        OVER: no seat acts, the game is over (or stopped, see `Batch.step_games`).
        ASKED: the seat of interest must decide (see `Batch.step_games`).
    """

    OVER = -1
    ASKED = -2


def begin(row: Row, spec: Spec, actions: ActionFields, key: int, game_round: int, leader: int) -> None:
    """Start a game; leader -1: by the rules."""
    kernels.begin_game(row, spec, key, game_round, leader)
    kernels.update_legal(row, spec, actions)


def is_refused(row: Row, spec: Spec, action: int) -> bool:
    """Whether the action cannot be played; in a game that is over only -1 can."""
    # A game that is over has no legal action, so for most games one column is read.
    if legal.is_legal(row, spec, action):
        return False
    return bool(action != -1 or row[columns.turn] >= 0)


def is_refused_with(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int) -> bool:
    """The same for an action with exact cards. They are not read in a game that is over."""
    if legal.is_legal(row, spec, action):
        return not can_play_cards(row, spec, actions, action, cards)
    return bool(action != -1 or row[columns.turn] >= 0)


def can_play_cards(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int) -> bool:
    """`Kernels.can_play_cards` of a game that has no choice of cards."""
    return bool(cards == kernels.action_cards(row[columns.hand + row[columns.turn]], actions, action))


def advance(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards) -> bool:
    """Play a legal action with `cards` and add its rewards; deal anew after a game if the variant says so.

    Returns:
        Whether it was over.
    """
    kernels.play(row, spec, actions, action, cards, rewards)
    is_over = row[columns.turn] < 0
    if is_over and spec[S.AUTO_RESET]:
        kernels.begin_game(row, spec, add(row[columns.key], KEY_STEP), 0, -1)
    kernels.update_legal(row, spec, actions)
    return bool(is_over)


def play_alone(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards) -> int:
    """Play a legal action, and overwrite the rewards.

    Returns:
        The next seat to act, or `FINISHED`, plus `PAID` if some reward is not zero.
    """
    num_players = spec[S.NUM_PLAYERS]
    for i in range(num_players):
        rewards[i] = 0
    kernels.play(row, spec, actions, action, cards, rewards)
    kernels.update_legal(row, spec, actions)
    is_paid = 0
    for i in range(num_players):
        if rewards[i] != 0:
            is_paid = PAID
    return is_paid + (FINISHED if row[columns.turn] < 0 else row[columns.turn])


def parts_of(game: AnyGame) -> dict[str, object]:
    """What `specialise` gives to functions that call these and the game's kernels."""
    parts: dict[str, object] = {"kernels": game.kernels, "legal": game.kernels.legal, "columns": game.columns}
    if game.kernels.can_play_cards is not None:
        parts["can_play_cards"] = game.kernels.can_play_cards
    return parts


@cache
def card_check(game: AnyGame) -> Callable[[Row, Spec, ActionFields, int, int], bool]:
    """`is_refused_with` of a game."""
    return specialise(is_refused_with, **parts_of(game))
