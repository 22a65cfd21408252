"""A clone may lack extensions, `research/` and `tools/`: what is left trains, tests and lints (nightly)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.needs import EXTENSIONS, OPTIONAL_FOLDERS, ROOT

SOME = "test_cli or test_records"  # all others are collected
TRAINING = "--stop-after 1 --num-games 16 --eval-every 0 --final-deals 2 --out run"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform == "win32" or not shutil.which("make"), reason="make is not installed"),
]


def clone_without(place: Path, *missing: str) -> Path:
    """The files that git knows without some folders, and an environment of this one's libraries."""
    words = ["git", "ls-files", "-z", "--", ".", *(f":!{folder}" for folder in missing)]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0")[:-1]:
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    venv.create(place / ".venv", symlinks=True)
    (packages,) = place.glob(".venv/lib/python*/site-packages")
    own = [place, place / "agents", place / "train", *place.glob("extensions/*")]
    libraries = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "clone.pth").write_text("\n".join(map(str, [*own, *libraries])), encoding="utf-8")
    programs = place / ".venv" / "bin"
    (programs / "ruff").symlink_to(Path(sys.executable).with_name("ruff"))
    linter = programs / "lint-imports"
    linter.write_text(f"#!{programs}/python\nfrom importlinter.cli import *\nlint_imports_command()\n")
    linter.chmod(0o755)
    for stamp in (".installed", ".learner"):
        (place / ".venv" / stamp).touch()
    return place


def run(clone: Path, *words: str) -> str:
    """What a command prints in a clone; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(words, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_the_core_alone(tmp_path: Path) -> None:
    clone = clone_without(tmp_path, "extensions", *OPTIONAL_FOLDERS)
    shown = run(clone, ".venv/bin/python", "-m", "tienlen_train.cli", "--help")
    assert "train" in shown
    assert "suite" not in shown, "a command of an extension that is not there"
    run(clone, "make", "train", f"ARGS={TRAINING}")
    assert (clone / "run" / "policy.safetensors").is_file()
    run(clone, "make", "test-core", "JOBS=0", f"ARGS=-q -x -k '{SOME}'")
    run(clone, "make", "lint")


@pytest.mark.parametrize("name", EXTENSIONS)
def test_a_clone_without_an_extension(name: str, tmp_path: Path) -> None:
    clone = clone_without(tmp_path, f"extensions/{name}", *(["extensions/suite"] if name == "exact" else []))
    python = ".venv/bin/python"
    run(clone, python, "-m", "pytest", "-q", "-n", "0", "--collect-only", "tests")
    run(clone, python, "-m", "pytest", "-q", "-n", "0", "tests/project/test_rooms.py")
    run(clone, python, "-m", "tests.lint")
