"""The wheel holds the three packages, whole, and the environment works without the extras."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# `import tienlen_env` where none of the extras, nor the rest of this repository, can be imported.
IMPORT_ALONE = """
import sys
extras = ["torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib", "rich"]
sys.modules.update(dict.fromkeys([*extras, "tienlen_agents", "tienlen_train"]))
import tienlen_env
print(tienlen_env.__file__)
"""


def run(*args: str, cwd: Path, **env: str) -> str:
    """Run this interpreter; the output of a failure goes into the message."""
    done = subprocess.run(
        [sys.executable, *args], cwd=cwd, env=os.environ | env, text=True, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree without network."""
    out = tmp_path_factory.mktemp("wheel")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT), cwd=out)
    (path,) = out.glob("*.whl")
    return path


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_top_level_is_the_three_packages(wheel: Path) -> None:
    name, version = wheel.name.split("-")[:2]
    assert {entry.split("/")[0] for entry in names_in(wheel)} == {
        "tienlen_env",
        "tienlen_agents",
        "tienlen_train",
        f"{name}-{version}.dist-info",
    }


def test_wheel_holds_every_module_and_the_data(wheel: Path) -> None:
    package = ROOT / "tienlen_env"
    expected = {p.relative_to(ROOT).as_posix() for p in package.rglob("*.py")} | {"tienlen_env/py.typed"}
    if (package / "RULES.md").exists():
        expected.add("tienlen_env/RULES.md")
    assert expected <= names_in(wheel)
    assert not [
        entry for entry in names_in(wheel) if "__pycache__" in entry or entry.endswith((".nbi", ".nbc"))
    ]


def test_wheel_holds_the_licence(wheel: Path) -> None:
    assert any(entry.endswith(".dist-info/licenses/LICENSE") for entry in names_in(wheel))


def test_wheel_imports_without_the_extras(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    imported = run("-c", IMPORT_ALONE, cwd=tmp_path, PYTHONPATH=str(site)).strip()
    assert Path(imported).is_relative_to(site)
