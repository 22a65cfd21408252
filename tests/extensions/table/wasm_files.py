"""The games in WebAssembly for the tests: they are built once, and again only when a source has changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite
import numba
import pytest

import tienlen_agents
import tienlen_env
import tienlen_table
from tests import high_card
from tests.high_card import HIGH_CARD
from tests.needs import NODE, STATIC
from tienlen_agents.files import locked
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.registry import game_named, register
from tienlen_table.engine import tables_of
from tienlen_table.wasm import build

GAMES = {"tienlen": "tienlen", "thirteens": "thirteens", "high_card": "tests.high_card:HIGH_CARD"}
PLAIN = "plain.json"  # tables of rows that store no plays, as those of batches
each_game = pytest.mark.parametrize("name", GAMES)


def sources_digest() -> str:
    """A digest of all files that a build reads, and of the compilers."""
    digest = hashlib.sha256(f"{llvmlite.__version__} {numba.__version__}".encode())
    folders = [Path(str(package.__file__)).parent for package in (tienlen_env, tienlen_agents, tienlen_table)]
    files = [p for folder in folders for p in folder.rglob("*") if p.suffix in (".py", ".mjs", ".mts")]
    files += [p for folder in folders for p in folder.rglob("*.safetensors")]
    for path in sorted([*files, Path(str(high_card.__file__))]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="session")
def built(pytestconfig: pytest.Config) -> Callable[[str], Path]:
    """The folder with the files of a game, which the first process that needs them builds.

    A build begins with the files of the page, if they are there: what has not changed is not compiled again.
    """
    whole = pytestconfig.rootpath / "build" / "wasm-tests" / sources_digest()
    whole.mkdir(parents=True, exist_ok=True)
    for old in whole.parent.iterdir():
        if old.name != whole.name:
            shutil.rmtree(old, ignore_errors=True)

    def folder_of(name: str) -> Path:
        folder = whole / name
        done = whole / f"{name}.done"
        folder.mkdir(parents=True, exist_ok=True)
        while not done.exists():
            try:
                with locked(done):
                    if not done.exists():
                        for kind in (".wasm", ".json"):
                            with suppress(FileNotFoundError):
                                shutil.copyfile(STATIC / "engine" / f"{name}{kind}", folder / f"{name}{kind}")
                        build(folder, [GAMES[name]])
                        plain = tables_of(game_of_name(name))
                        (folder / PLAIN).write_text(json.dumps(plain), encoding="utf-8")
                        done.touch()
            except BlockingIOError:
                time.sleep(0.2)
        return folder

    return folder_of


def game_of_name(name: str) -> AnyGame:
    """A registered game, or the outside one, which is registered."""
    register(HIGH_CARD)
    return game_named(name)


def run_node(program: Path, arguments: Sequence[str], job: Any) -> Any:
    """Run a program in Node with a job as JSON; its answer."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(program), *arguments],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
