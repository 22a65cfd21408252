"""``import tienlen_env`` is cheap, offers the documented names, and registers with Gymnasium."""

from __future__ import annotations

import subprocess
import sys
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


def test_unknown_name() -> None:
    assert isinstance(tienlen_env.__version__, str)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = tienlen_env.no_such_name


@pytest.mark.parametrize(
    "order", ["tienlen_env, gymnasium, pettingzoo", "pettingzoo, gymnasium, tienlen_env"]
)
def test_registries(order: str) -> None:
    assert "OneSeatEnv" in run(f"import {order}; print(gymnasium.make('tienlen_env/TienLen-v1'))")
    assert run(f"import {order}; print(pettingzoo.make('aec', 'tienlen_env/tienlen_v1'))") == "tienlen_v1"
