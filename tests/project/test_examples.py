"""The examples of other libraries: each has its versions and its place on the page, and runs (nightly)."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNNER = runpy.run_path(str(ROOT / "examples" / "run.py"))
NAMES = RUNNER["names"]()


def test_each_example_has_versions_and_a_place_on_the_page() -> None:
    assert NAMES == [
        "agilerl",
        "benchmarl",
        "cleanrl",
        "jax",
        "mctx",
        "minari",
        "openspiel",
        "parquet",
        "pufferlib",
        "rl_zoo",
        "rllib",
        "supersuit",
        "tianshou",
        "torchrl",
    ]
    page = (ROOT / "docs" / "use-with.md").read_text(encoding="utf-8")
    for name in NAMES:
        lines = (ROOT / "examples" / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        pins = [line for line in lines if not line.startswith("#")]
        assert len(pins) >= 4
        assert all(re.fullmatch(r"[A-Za-z0-9_.\[\]-]+==[0-9.]+", line) for line in pins), pins
        compile((ROOT / "examples" / f"with_{name}.py").read_text(encoding="utf-8"), name, "exec")
        assert f"examples/with_{name}.py" in page
        library = pins[0].partition("==")
        assert library[2] in page, f"the page does not say {pins[0]}"


def test_the_runner_says_what_it_takes() -> None:
    runner = [sys.executable, str(ROOT / "examples" / "run.py")]
    done = subprocess.run([*runner, "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: python examples/run.py {agilerl,benchmarl,cleanrl" in done.stderr


@pytest.mark.parametrize(("can_download", "code"), [(True, 1), (False, 75)])
def test_versions_that_cannot_be_installed_are_a_failure_where_there_is_an_index(
    can_download: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        is_failure = "install" in command or ("download" in command and not can_download)
        return subprocess.CompletedProcess(command, int(is_failure), stdout="")

    monkeypatch.setattr(subprocess, "run", run)
    assert RUNNER["main"](["supersuit"]) == code


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_with_its_versions(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "run.py"), name],
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    if done.returncode == RUNNER["NO_INDEX"]:
        pytest.skip(f"pip reaches no package index here: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stderr[-3000:]
