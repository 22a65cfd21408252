"""Every dependency has a lower bound, and the lowest versions work (nightly; or ``make lowest``)."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

from tienlen_env.engine.backends import native

ROOT = Path(__file__).resolve().parents[2]
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


# The first version that keeps a promise of SECURITY.md.
SAFE = {
    "torch": "2.6",  # before, `weights_only` ran code of a file (CVE-2025-32434)
    "starlette": "0.49.1",  # before, a Range header cost quadratic time (CVE-2025-62727)
    "ray": "2.52",  # before, a web page could run code through the dashboard (CVE-2025-62593)
    "jinja2": "3.1.6",  # before, templates left the sandbox (CVE-2025-27516)
}


def test_no_version_is_allowed_in_which_the_documented_safety_is_false() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [line for lines in project["optional-dependencies"].values() for line in lines]
    found = dict(
        re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+).*", line).groups() for line in lines if ">=" in line
    )  # type: ignore[union-attr]
    for name, version in SAFE.items():
        assert Version(found[name]) >= Version(version), name


@pytest.mark.nightly
@pytest.mark.parametrize("options", [[], ["--plain"]], ids=["extras", "plain"])
def test_the_lowest_versions_work(options: list[str]) -> None:
    if options and native.library() is None:
        pytest.skip("the loops are not compiled (make native)")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode == LOWEST["RUNNER"]["NO_INDEX"]:
        pytest.skip("pip reaches no package index here")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
