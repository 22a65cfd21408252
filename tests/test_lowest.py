"""Every dependency has a lower bound, and the lowest versions work (nightly; or ``make lowest``)."""

from __future__ import annotations

import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "tests" / "lowest.py"
LOWEST = runpy.run_path(str(SCRIPT))


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = [line for lines in project["optional-dependencies"].values() for line in lines]
    for line in [*project["dependencies"], *optional]:
        assert ">=" in line or line.startswith("tienlen-env["), line
        assert "<" not in line, f"{line}: an upper bound shuts out other libraries"
    found = LOWEST["lowest"]()
    assert "pettingzoo==1.24.3" in found
    assert not any(line.startswith(("torch", "stable", "sb3")) for line in found)


@pytest.mark.nightly
def test_the_lowest_versions_work() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode == LOWEST["RUNNER"]["NO_INDEX"]:
        pytest.skip("pip reaches no package index here")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
