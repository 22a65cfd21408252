"""A run that is stopped at any of its writes, and resumed, ends as one that was not stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ALGORITHMS = ("ppo", "dmc", "best_response", "ppo_sb3")


def try_points(algorithm: str, folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill_points", algorithm, str(folder), *arguments],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        check=False,
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failures"] == []
    assert done.returncode == 0
    assert found["points"] > 50
    assert found["tried"] == found["points"] or arguments[0] == str(found["tried"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_killed_at_some_of_its_writes_is_resumed_exactly(algorithm: str, tmp_path: Path) -> None:
    try_points(algorithm, tmp_path, "2", "death" if algorithm != "ppo" else "death,power,full")


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["death", "power", "full"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_killed_at_any_of_its_writes_is_resumed_exactly(
    algorithm: str, what: str, tmp_path: Path
) -> None:
    try_points(algorithm, tmp_path, "every", what)
