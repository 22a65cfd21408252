"""A few games under every kind of rules against the oracle, in plain Python: it takes seconds."""

from __future__ import annotations

import random

import pytest

from tests.tienlen_env.games.tienlen import test_payment_oracle as payments
from tienlen_env.games.tienlen.rules import PRESETS, Rules

PAID = {**{name: PRESETS[name] for name in payments.NAMES}, **payments.CUSTOM}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four games at a time: each begins with an oracle of its own."""
    monkeypatch.setattr(payments, "NUM_GAMES", 4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PAID)
def test_with_payments(name: str, seed: int) -> None:
    rules: Rules = PAID[name]
    pairs = payments.Pairs(rules, random.Random(f"{name} {seed}"), "python")
    pairs.start()
    while pairs.decide():
        pass
