"""The rules that the names of presets stood for in older versions of the environments."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tienlen_env.games.tienlen.rules import FOICICA, Rules

RulesT = TypeVar("RulesT")


def rules_of_v0(rules: str | RulesT) -> str | RulesT | Rules:
    """The rules of v0: its ``foicica`` is an older reading (RULES.md 3.6); a `Rules` stands for itself."""
    return replace(FOICICA, rejoin_twos=False) if rules == "foicica" else rules
