"""Thirteens as a `Game`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, get_args

import numpy as np

from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.dealing import check_disjoint
from tienlen_env.games.common.facts import Fact
from tienlen_env.games.common.game import Game, GameText, Kernels
from tienlen_env.games.thirteens import actions, explain, kernels, notation, observe, state
from tienlen_env.games.thirteens.actions import ThirteensTable
from tienlen_env.games.thirteens.cards import NUM_PLAIN, format_cards, full_deck, parse_cards
from tienlen_env.games.thirteens.rules import PRESETS, ThirteensRules
from tienlen_env.games.thirteens.spec import Reward, build_spec
from tienlen_env.games.thirteens.state import COLUMNS, State

# The cards of the trick in the order of play, the seats that led it and are winning it, the cards beside it;
# the suit that must be led, in the first trick; the cards to meld; what was taken last, its winner; tricks
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


def set_hands(
    rows: IntArray,
    rules: ThirteensRules,
    hands: IntArray,
    extra: Mapping[str, IntArray],
    begin: Callable[[], None],
) -> None:
    """Start a deal in every row, or the end of one: with n cards in each hand its last n tricks.

    Cards that are not given count as shown, as if they had been played.

    Args:
        rows: int64 (B, ROW), the states.
        rules: the variant.
        hands: int64 (B, P), masks of equally many cards.
        extra: int64 (B,) masks each: ``dummy``, the dummy's hand, with as many cards as others (RULES.md
            8.10); ``remainder``, the cards that go with the first trick, no more than the rules set aside
            (8.2, 8.7); ``starter``, the card of the remainder that was flipped first (8.3).
        begin: lets the backend begin a deal of the hands in the rows.

    Raises:
        TienLenError: an impossible card distribution; nothing has changed.
    """
    dummy, remainder, starter = extra["dummy"], extra["remainder"], extra["starter"]
    union = check_disjoint(np.column_stack([hands, dummy, remainder]), rules.num_cards)
    sizes = np.bitwise_count(hands)
    if (sizes != sizes[:, :1]).any() or (sizes < 1).any() or (sizes > rules.hand_size).any():
        raise TienLenError(f"hands: expected equally many cards in each, 1 to {rules.hand_size}")
    if (np.bitwise_count(dummy) != sizes[:, 0] * rules.dummy).any():
        raise TienLenError(f"dummy: expected {'as many cards as in a hand' if rules.dummy else 'no cards'}")
    if (np.bitwise_count(remainder) > rules.num_aside).any():
        raise TienLenError(f"remainder: expected at most {rules.num_aside} cards")
    if ((np.bitwise_count(starter) != (remainder != 0)) | (starter & ~remainder != 0)).any():
        raise TienLenError("starter: expected one card of the remainder, if there is one")
    rows[:] = 0
    rows[:, state.HAND : state.HAND + hands.shape[1]] = hands
    rows[:, state.DUMMY], rows[:, state.REMAINDER], rows[:, state.STARTER] = dummy, remainder, starter
    begin()
    rows[:, state.SHOWN] |= full_deck(rules.jokers) & ~union
    rows[:, state.NUM_TRICKS] = rules.hand_size - np.bitwise_count(hands[:, 0])


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
        resample_hidden=kernels.resample_hidden,
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
    # Each card is played once, and a meld takes two or more of a trick, which then may be ended (8.8, 8.11).
    max_decisions=lambda rules: 2 * (NUM_PLAIN + rules.jokers),
    set_hands=set_hands,
    extra_hands=("dummy", "remainder", "starter"),
)
