"""`tools.pairs` compares the rows that two checkouts have, and refuses a folder that is no checkout."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tools import pairs

ROWS = """
import time
from types import SimpleNamespace

def loop(steps):
    def play(deadline):
        done = 0
        while time.perf_counter() < deadline:
            done += steps
        return done
    return play

def cases():
    return [
        SimpleNamespace(name="a row", make=lambda: loop({steps}), wall=False),
        SimpleNamespace(name="{name}", make=lambda: loop(1), wall=True),
    ]
"""


def checkout(folder: Path, steps: int, name: str) -> Path:
    (folder / ".venv/bin").mkdir(parents=True)
    python = folder / ".venv/bin/python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (folder / "rows.py").write_text(ROWS.format(steps=steps, name=name))
    return folder


def test_rows_that_both_have_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = checkout(tmp_path / "here", 3000, "ours"), checkout(tmp_path / "there", 1, "theirs")
    sides = [pairs.Side(here, "rows"), pairs.Side(there, "rows")]
    monkeypatch.setattr(pairs, "Side", lambda folder, module: sides.pop(0))
    assert pairs.main([str(there), "--pairs", "4", "--seconds", "0.01"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = re.fullmatch(r"a row +([\d.]+)  quartiles ([\d.]+) ([\d.]+)", line)
    assert found
    assert float(found[1]) > 30  # ours over theirs: 3000 steps beside 1


def test_what_is_no_checkout_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, text in (
        ([], "expected the folder of another checkout"),
        ([str(tmp_path), "--pairs", "1"], "at least 2 pairs"),
        ([str(tmp_path), "--seconds", "0"], "seconds above 0"),
    ):
        with pytest.raises(SystemExit):
            pairs.main(words)
        assert text in capsys.readouterr().err
    with pytest.raises(ValueError, match="No such file"):
        pairs.Side(tmp_path, "rows")
    with pytest.raises(ValueError, match="its process ended"):
        pairs.Side(checkout(tmp_path, 1, "theirs"), "no_module")
