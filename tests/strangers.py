"""An agent of a stranger, which looks for the deals in what it gets: ``stranger:isolate=1``.

It writes to a file that the environment names. Each line is a JSON object: the process, and the seed that it
got, with the hands that it found by it (`crack`), or a whole hand that it was shown.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from tienlen_agents.arena.chunk import Job, games_of, seed_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.registry import get_rules

PACKAGE, NOTES = "strangers", "STRANGERS_NOTES"


def crack(seed: int, tried: int = 20) -> list[list[int]] | None:
    """The hands of the first deals of the match with a small seed that gives an agent this seed."""
    for match in range(tried):
        for block in range(2):
            for index in range(4):
                job = Job((0, 1, 1, 1), get_rules("cardgames"), match, 512 * block, 8)
                if seed_of(job, index) == seed:
                    batch = Batch("cardgames", 8)
                    batch.deal(games_of(job).keys[::4])
                    return batch.state.hands.tolist()  # type: ignore[no-any-return]
    return None


class Stranger:
    """Plays as `random`."""

    name = "stranger"

    def _write(self, **values: Any) -> None:
        with open(os.environ[NOTES], "a") as file:
            file.write(json.dumps({"process": os.getpid(), **values}) + "\n")

    def reset(self, seed: int) -> None:
        """Look for the match of the seed."""
        self._rng = np.random.default_rng(seed)
        self._write(seed=seed, found=crack(seed))

    def act(self, view: View) -> IntArray:
        """Note the whole hands."""
        most = int(np.bitwise_count(view.hand | view.played[:, 0]).max())
        for hand in view.hand[np.bitwise_count(view.hand) == most].tolist():
            self._write(hand=hand)
        return view.sample(self._rng)


def install(folder: Path) -> dict[str, str]:
    """Make a package of it that child processes find; the environment that they need, with the file."""
    info = folder / f"{PACKAGE}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[tienlen.agents]\nstranger = tests.strangers:Stranger\n")
    root = Path(__file__).parents[1]
    paths = [folder, root, root / "agents", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    found = os.pathsep.join(str(path) for path in paths if str(path))
    return {"PYTHONPATH": found, NOTES: str(folder / "notes")}


def notes_of(file: Path) -> list[dict[str, Any]]:
    """What strangers wrote."""
    return list(map(json.loads, file.read_text().splitlines()))
