"""What the targets of the Makefile do in a new clone, as `make --dry-run` tells it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
INSTALL = "pip install --disable-pip-version-check --no-compile $(.venv/bin/python tools/torch_index.py)"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / "tools" / "native").mkdir(parents=True)
    (tmp_path / "tools" / "torch_index.py").touch()
    return tmp_path


def commands(clone: Path, *goals: str) -> str:
    command = ["make", "--dry-run", "--no-print-directory", "KERNELS=", *goals]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout


def installed(told: str) -> list[str]:
    """The extras of each installation; all of them ask which torch is right here."""
    lines = [line for line in told.splitlines() if "pip install" in line]
    assert all(INSTALL in line for line in lines)
    return [line.partition("-e '.[")[2].rstrip("]'") for line in lines]


ALL = "train,cluster,dev,docs"


def test_training_installs_and_compiles_only_what_it_needs(clone: Path) -> None:
    told = commands(clone, "train")
    assert installed(told) == ["train"]
    assert "Compiling the loops" not in told
    assert told.splitlines()[-1].startswith(".venv/bin/python -m tienlen_train.ppo")
    (clone / ".venv" / ".learner").touch()
    assert installed(commands(clone, "train")) == []
    assert installed(commands(clone, "bench")) == [ALL]
    (clone / ".venv" / ".installed").touch()
    assert installed(commands(clone, "train")) == installed(commands(clone, "bench")) == []


@pytest.mark.parametrize("goals", [("install",), ("bench",), ("train", "bench"), ("lint", "train")])
def test_other_targets_install_all_at_once(clone: Path, goals: tuple[str, ...]) -> None:
    """With --jobs two installations would write to one environment."""
    told = commands(clone, *goals)
    assert installed(told) == [ALL]
    assert ("Compiling the loops" in told) == (goals[-1] != "train" or "bench" in goals)


@pytest.mark.parametrize("goal", ["test-core", "lint", "train"])
def test_without_tools_nothing_of_them_is_called(clone: Path, goal: str) -> None:
    shutil.rmtree(clone / "tools")
    told = commands(clone, goal)
    assert "pip install" in told
    assert "tools" not in told
