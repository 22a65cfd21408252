"""Thirteens as the engine sees it."""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.game import Definition
from tienlen_env.games.thirteens import actions, cards, explain, hands, kernels, melds, observe, spec, state
from tienlen_env.games.thirteens.rules import PRESETS, ThirteensRules

THIRTEENS: Final = Definition(
    name="thirteens",
    rules=ThirteensRules,
    presets=PRESETS,
    state=state,
    spec=spec,
    kernels=kernels,
    observe=observe,
    explain=explain,
    cards=cards,
    set_hands=hands.set_hands,
    build_table=actions.build_action_table,
    more=(melds,),
)
