"""A run that is stopped at any of its writes, and resumed, ends as one that was not stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ALGORITHMS = ("ppo", "dmc", "best_response", "league")


def try_points(algorithms: str, folder: Path, chosen: str, whats: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill_points", algorithms, str(folder), chosen, whats],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    for algorithm in algorithms.split(","):
        assert found[algorithm]["failures"] == []
        assert found[algorithm]["points"] > 50
    assert done.returncode == 0
    return found


def test_a_run_stopped_at_some_of_its_writes_is_resumed_exactly(tmp_path: Path) -> None:
    found = try_points(",".join(ALGORITHMS), tmp_path, "1", "death,power,full")
    assert [found[algorithm]["tried"] for algorithm in ALGORITHMS] == [3, 1, 1, 1]


@pytest.mark.nightly
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("what", ["death", "power", "full"])
def test_a_run_stopped_at_any_of_its_writes_is_resumed_exactly(
    algorithm: str, what: str, tmp_path: Path
) -> None:
    found = try_points(algorithm, tmp_path, "every", what)[algorithm]
    assert found["tried"] == found["points"]
