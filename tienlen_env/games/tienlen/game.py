"""Tiến lên as the engine sees it."""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common import cards
from tienlen_env.games.common.game import Definition
from tienlen_env.games.tienlen import actions, explain, hands, kernels, observe, play_summary, spec, state
from tienlen_env.games.tienlen.rules import PRESETS, Rules

TIENLEN: Final = Definition(
    name="tienlen",
    rules=Rules,
    presets=PRESETS,
    state=state,
    spec=spec,
    kernels=kernels,
    observe=observe,
    explain=explain,
    cards=cards,
    set_hands=hands.set_hands,
    build_table=actions.build_action_table,
    more=(play_summary,),
)
