"""Text for terminals whose encoding lacks the signs of cards, lines and letters."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import pytest

import tienlen_env  # noqa: F401  registers the environments
from tienlen_env import Round, tienlen_v1
from tienlen_env.texts import READABLE
from tienlen_train.cli import main


def written(show: Callable[[], Any], encoding: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a function writes to a standard output that is strict in an encoding."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "argv", ["tienlen"])
    monkeypatch.setattr(sys, "stdin", io.StringIO("?\ns\n1\nq\n"))
    show()
    out.flush()
    return out.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined, no-any-return]


def step_aec() -> None:
    env = tienlen_v1.env(render_mode="human")
    env.reset(seed=1, options={"key": 7})
    env.render()
    env.close()


def step_gymnasium() -> None:
    env: Any = gymnasium.make("tienlen_env/TienLen-v1", render_mode="human")
    env.reset(seed=1)
    env.render()
    env.close()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "latin-1", "koi8-r"])
@pytest.mark.parametrize(
    "show",
    [
        step_aec,
        step_gymnasium,
        lambda: print(Round("cardgames", 7)),
        lambda: main(["play", "--key", "7", "--rounds", "1"]),
        lambda: main(["match", "greedy", "random", "--deals", "2", "--quiet"]),
        lambda: main(["suite", "list"]),
    ],
    ids=["aec", "gymnasium", "str", "play", "match", "suite"],
)
def test_cards_and_tables_can_be_read(
    show: Callable[[], Any], encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = written(show, encoding, monkeypatch)
    assert len(text) > 200
    assert re.search(r"\\[uxU][0-9a-f]{2}", text) is None
    if not any(word in text for word in ("parity", "track")):  # tables without cards
        assert re.search(r"\b(10|[3-9JQKA2])([scdh]\b|[♠♣♦♥])", text)


def test_one_sign_becomes_readable_text() -> None:
    text = "3♠ 10♥ ▒▒ ► 1 ± ½ × µs – Tiến lên Đồng … 一\udc80"
    assert text.encode("ascii", READABLE) == rb"3s 10h ## > 1 +- 1/2 x us - Tien len Dong ... \u4e00\udc80"
    assert "♥ ế".encode("utf-8", READABLE).decode() == "♥ ế"
