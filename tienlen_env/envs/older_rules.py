"""The rules that the names of presets stood for in older versions of the environments."""

from __future__ import annotations

from dataclasses import replace

from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.tienlen.rules import FOICICA


def rules_of_v0(rules: str | AnyRules) -> str | AnyRules:
    """The rules of v0: its ``foicica`` is an older reading (RULES.md 3.6); a `Rules` stands for itself."""
    return replace(FOICICA, rejoin_twos=False) if rules == "foicica" else rules
