"""Thirteens as a `Game`."""

from __future__ import annotations

from typing import Final, get_args

from tienlen_env.games.common.facts import Fact
from tienlen_env.games.common.game import Game, GameText, Kernels
from tienlen_env.games.thirteens import actions, explain, hands, kernels, notation, observe, state
from tienlen_env.games.thirteens.actions import ThirteensTable
from tienlen_env.games.thirteens.cards import format_cards, parse_cards
from tienlen_env.games.thirteens.rules import PRESETS, ThirteensRules
from tienlen_env.games.thirteens.spec import Reward, build_spec
from tienlen_env.games.thirteens.state import COLUMNS, State

# The cards of the trick in the order of play, the seats that led it and are winning it, the cards beside it;
# the suit that must be led, in the first trick; the cards to meld; what was taken last, and by whom; tricks
# and points of this deal.
FACTS: Final = (
    Fact("trick", "order", state.TRICK),
    Fact("leader", "seat", state.LEADER),
    Fact("winner", "optional_seat", state.WINNER),
    Fact("aside", "cards", state.ASIDE),
    Fact("starter", "suit", state.FOLLOW, unless=(state.TRICK, state.PILE)),
    Fact("pile", "cards", state.PILE),
    Fact("last_winner", "optional_seat", state.LAST_WINNER),
    Fact("last_pile", "cards", state.LAST_PILE),
    Fact("tricks", "each_bits", state.COUNTS, bits=8),
    Fact("points", "each_bits", state.POINTS),
)

THIRTEENS: Final = Game[ThirteensRules, ThirteensTable](
    name="thirteens",
    rules_type=ThirteensRules,
    presets=PRESETS,
    rewards=get_args(Reward),
    columns=COLUMNS,
    state=State,
    kernels=Kernels(
        begin_game=kernels.begin_game,
        begin_round=kernels.begin_round,
        update_legal=kernels.update_legal,
        action_cards=kernels.action_cards,
        play=kernels.play,
        observe=observe.observe,
        observe_all=observe.observe_all,
        legal=kernels.LEGAL_KERNELS,
    ),
    build_spec=build_spec,
    build_table=actions.build_action_table,
    observation=observe.observation_layout,
    global_observation_size=observe.global_observation_size,
    text=GameText(
        worst_reward=explain.worst_reward,
        why_refused=explain.why_refused,
        describe=explain.describe,
        parse_cards=parse_cards,
        format_cards=format_cards,
        play_text=lambda table, action, cards: notation.play_text(table.rules, action),
        facts=FACTS,
        unit="deal",
    ),
    set_hands=hands.set_hands,
    extra_hands=("dummy", "remainder", "starter"),
)
