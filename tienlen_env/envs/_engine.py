"""Methods that `Batch` is getting; the adapters call them here until then."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError

IntArray = npt.NDArray[np.int64]


class Turn(IntEnum):
    """What `step_games` returns instead of a seat to act."""

    OVER = -1
    ASKED = -2


def step_games(
    batch: Batch,
    games: IntArray,
    actions: IntArray,
    rewards: npt.NDArray[np.float32],
    *,
    seats: IntArray,
    skip_forced: bool,
    until_placed: bool,
) -> IntArray:
    turns = np.empty(len(games), np.int64)
    refused = batch.backend.step_games(
        batch.rows, batch.spec, batch.actions, games, actions, seats, skip_forced, until_placed, rewards, turns
    )
    if refused >= 0:
        action, game = int(actions[refused]), int(games[refused])
        name = batch.table.text(action) if 0 <= action < batch.num_actions else "outside"
        raise IllegalPlayError(f"game {game}: action {action} ({name}) is not legal")
    return np.where(turns < 0, -3 - turns, turns)


def deal_games(batch: Batch, games: IntArray, keys: IntArray) -> None:
    n = len(games)
    rows = np.empty((n, batch.rows.shape[1]), np.int64)
    batch.backend.begin(rows, batch.spec, batch.actions, keys, np.zeros(n, np.int64), np.full(n, -1, np.int64))
    batch.rows[games] = rows


def observe(
    batch: Batch,
    seats: IntArray,
    out: npt.NDArray[np.uint8] | None = None,
    games: IntArray | None = None,
) -> npt.NDArray[np.uint8]:
    rows = batch.rows if games is None else batch.rows[games]
    if out is None:
        out = np.empty((len(rows), batch.observation_size), np.uint8)
    batch.backend.observe_seats(rows, batch.spec, batch.actions, seats, out)
    return out


def widen(batch: Batch, make: Callable[..., Batch], kept: int) -> Batch:
    new = make(kept=kept)
    if new.rows.shape[1] <= batch.rows.shape[1]:
        return batch
    new.rows[:, : batch.rows.shape[1]] = batch.rows
    return new


def text_to_action(batch: Batch, text: str) -> Any:
    raise NotImplementedError
