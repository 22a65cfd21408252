"""``import tienlen_env`` is cheap and offers the documented names."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tienlen_env

ROOT = Path(__file__).resolve().parents[2]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True)
    return done.stdout.strip()


def test_import_is_light() -> None:
    heavy = ("numba", "torch", "PIL", "stable_baselines3", "gymnasium", "pettingzoo", "numpy")
    assert run(f"import sys, tienlen_env; print([m for m in {heavy} if m in sys.modules])") == "[]"


@pytest.mark.parametrize("name", tienlen_env.__all__)
def test_names(name: str) -> None:
    assert getattr(tienlen_env, name) is not None
    assert name in dir(tienlen_env)


def test_version() -> None:
    assert tienlen_env.__version__[0].isdigit()


@pytest.mark.parametrize("package", ["", ".envs", ".games", ".rendering"])
def test_unknown_name(package: str) -> None:
    module = import_module(f"tienlen_env{package}")
    with pytest.raises(AttributeError, match=f"module 'tienlen_env{package}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018
