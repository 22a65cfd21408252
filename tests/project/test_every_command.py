"""Commands without packages, machine code or docstrings: they work, or refuse in one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.every_command import NEED_AN_EXTRA, WORK, every, refusals
from tienlen_env.extras import EXTRA_OF, how_to_install

ROOT = Path(__file__).parents[2]
PACKAGES = ("tienlen_env", "agents", "train", "extensions")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def ends(folder: Path, *hidden: str, option: str = "-B", **env: str) -> dict[str, tuple[int, str]]:
    """The exit code and the errors of every command."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])} | env
    command = [sys.executable, option, "-m", "tests.every_command", *hidden]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[int, str]] = json.loads(done.stdout.splitlines()[-1])
    assert list(found) == every()
    assert set(WORK) <= set(found)
    return found


def test_without_any_extra_and_without_docstrings(tmp_path: Path) -> None:
    found = refusals(ends(tmp_path, *EXTRA_OF, option="-OO"))
    assert found.keys() in (NEED_AN_EXTRA, set(every()) - {"cache"})  # the latter without machine code
    assert set(found.values()) <= set(EXTRA_OF)


def test_without_machine_code_and_without_any_extra(tmp_path: Path) -> None:
    found = ends(tmp_path, *EXTRA_OF, TIENLEN_NATIVE="0")
    assert refusals(found).keys() == set(every()) - {"cache"}
    assert "needs the package numba" in found["match"][1]


@pytest.mark.nightly
@pytest.mark.parametrize("package", EXTRA_OF)
def test_without_one_package(package: str, tmp_path: Path) -> None:
    assert set(refusals(ends(tmp_path, package)).values()) <= {package}


@pytest.mark.nightly
def test_without_docstrings(tmp_path: Path) -> None:
    assert refusals(ends(tmp_path, option="-OO")) == {}


def test_no_command_relies_on_its_docstring() -> None:
    sources = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    found = {
        line.strip()
        for path in sources
        for line in path.read_text(encoding="utf-8").splitlines()
        if "__doc__" in line
    }
    assert found
    for line in found:
        assert re.search(
            r'(__doc__|get\("__doc__"\)) or ""|description=__doc__\)|parse_args\(\w+, __doc__, argv\)', line
        ), line


def test_every_package_of_an_extra_is_known() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    wanted = {
        re.split(r"[<>=\[]", line)[0].lower().replace("-", "_"): extra
        for extra, lines in extras.items()
        if extra not in ("docs", "dev")
        for line in lines
        if not line.startswith("tienlen-env")
    }
    installed = packages_distributions()
    names = {name: installed.get(name, [name])[0].lower().replace("-", "_") for name in EXTRA_OF}
    names |= {"pyspiel": "open_spiel", "pufferlib": "pufferlib_core"}
    assert {names[name] for name in EXTRA_OF} - {"llvmlite"} == set(wanted)
    assert all(extra == "jit" or wanted[names[name]] == extra for name, extra in EXTRA_OF.items())
    assert all(how_to_install(extra).startswith("pip install ") for extra in EXTRA_OF.values())
