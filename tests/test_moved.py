"""Old module names fail with errors that name the new modules."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tienlen_env
from tienlen_env._moved import MOVED

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("old", sorted(set(MOVED) - {"tienlen_env.core"}))
def test_old_modules_of_the_environment_name_the_new_ones(old: str) -> None:
    assert tienlen_env
    with pytest.raises(ModuleNotFoundError, match=f"'{old}' is now '{MOVED[old]}'"):
        importlib.import_module(old)


def test_names_of_an_old_package_say_where_it_is() -> None:
    with pytest.raises(
        ImportError, match=r"'tienlen_env.core.rules' is now 'tienlen_env.games.tienlen.rules'"
    ):
        from tienlen_env.core import rules  # noqa: F401
    with pytest.raises(ImportError, match=r"'tienlen_env.core' is now 'tienlen_env.games.tienlen'"):
        from tienlen_env.core import no_module  # noqa: F401


@pytest.mark.parametrize("name", sorted(set(MOVED.values())))
def test_the_new_modules_are_there(name: str) -> None:
    assert find_spec(name) is not None


def test_the_new_modules_of_agents_and_training_are_there() -> None:
    code = (
        "import sys, agents, train; from importlib.util import find_spec;"
        "new = {n for f in sys.meta_path if hasattr(f, 'moved') for n in f.moved.values()};"
        "assert len(new) > 40; print(sorted(n for n in new if find_spec(n) is None))"
    )
    done = run("-c", code)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import agents.arena", "'agents.arena' is now 'tienlen_agents.arena'"),
        ("from agents.heuristic import HeuristicAgent", "is now 'tienlen_agents.rule_based.heuristic'"),
        ("from agents import arena", "'agents.arena' is now 'tienlen_agents.arena'"),
        ("import agents; agents.load('greedy')", "'agents' is now 'tienlen_agents'; look for 'load' there"),
        ("from agents import load", "'agents' is now 'tienlen_agents'"),
        ("import train.bench", "'train.bench' is now 'tienlen_train.benchmarks.speed'"),
        ("from train import ppo", "'train.ppo' is now 'tienlen_train.ppo'"),
        ("import train.nothing", "No module named 'train.nothing'"),
    ],
)
def test_old_names_of_a_checkout(code: str, told: str) -> None:
    done = run("-c", code)
    assert done.returncode == 1
    assert told in done.stderr


@pytest.mark.parametrize(
    ("module", "new"),
    [("agents.arena", "tienlen_agents.arena"), ("train.ppo", "tienlen_train.ppo"),
     ("agents.play", "tienlen_agents.terminal.play"), ("train.bench", "tienlen_train.benchmarks.speed")],
)  # fmt: skip
def test_old_commands_of_a_checkout(module: str, new: str) -> None:
    done = run("-m", module)
    assert done.returncode == 1
    assert f"the module {module!r} is now {new!r}" in done.stderr
    assert "Traceback" not in done.stderr
