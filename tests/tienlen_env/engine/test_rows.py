"""The row of a game: it depends on the deal and the plays alone, in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tienlen_env.engine.batch import Batch
from tienlen_env.games.thirteens.game import THIRTEENS
from tienlen_env.games.tienlen.game import TIENLEN


@pytest.mark.parametrize(
    ("name", "settings"),
    [(name, {}) for game in (TIENLEN, THIRTEENS) for name in game.presets]
    + [(name, {"history": 3, "history_length": 20}) for name in TIENLEN.presets],
)
def test_a_game_begins_the_same_whatever_was_in_its_row(name: str, settings: dict[str, Any]) -> None:
    new, used = (Batch(name, 3, backend="python", **settings) for _ in range(2))
    rows = used.state.rows
    rows[:] = np.random.default_rng(0).integers(-(2**62), 2**62, rows.shape)
    for batch in (new, used):
        batch.deal(np.arange(3))
    np.testing.assert_array_equal(new.state.rows, rows)
    assert (new.state.rows[:, new.game.columns.legal :] != rows.min()).any()


@pytest.mark.parametrize("name", ["cardgames", "foicica", "bga", "thirteens_manual"])
def test_a_finished_game_begins_anew_as_if_it_were_the_first(name: str) -> None:
    again = Batch(name, 2, backend="python", auto_reset=True)
    again.deal([5, 6])
    rng = np.random.default_rng(1)
    dones = np.zeros(2, np.bool_)
    while not dones.any():
        _, dones = again.step(again.sample(rng))
    game = int(np.flatnonzero(dones)[0])
    first = Batch(name, 1, backend="python", auto_reset=True)
    first.deal(again.state.rows[[game], again.game.columns.key])
    np.testing.assert_array_equal(again.state.rows[game], first.state.rows[0])
