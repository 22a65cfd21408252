"""A command that is stopped at any of its writes, and started again, ends as one that was not stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kill_points import ALGORITHMS, COMMANDS
from tests.needs import needs_pyarrow

KINDS = [
    pytest.param(kind, marks=needs_pyarrow if kind == "data" else ()) for kind in (*ALGORITHMS, *COMMANDS)
]
FEWEST = 20  # moments of each kind


def try_points(kinds: str, folder: Path, chosen: str, whats: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill_points", kinds, str(folder), chosen, whats],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    for kind in kinds.split(","):
        assert found[kind]["failures"] == []
        assert found[kind]["points"] >= FEWEST
    assert done.returncode == 0
    return found


def test_a_run_stopped_at_some_of_its_writes_is_resumed_exactly(tmp_path: Path) -> None:
    found = try_points(",".join(ALGORITHMS), tmp_path, "1", "death,power,full")
    assert [found[algorithm]["tried"] for algorithm in ALGORITHMS] == [3, 1, 1, 1]


@needs_pyarrow
def test_a_command_stopped_at_one_of_its_writes_goes_on_exactly(tmp_path: Path) -> None:
    found = try_points(",".join(COMMANDS), tmp_path, "1", "power")
    assert [found[kind]["tried"] for kind in COMMANDS] == [1] * len(COMMANDS)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_stopped_at_any_of_its_writes_goes_on_exactly(kind: str, tmp_path: Path) -> None:
    """And one while the clock jumps."""
    found = try_points(kind, tmp_path, "every", "death,power,full,clock")[kind]
    assert found["tried"] == 3 * found["points"] + 1
