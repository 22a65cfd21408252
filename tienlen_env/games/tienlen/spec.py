"""A variant flattened to two int64 arrays, the form in which the kernels read rules.

`spec` holds the scalar settings and the small tables (where a group of actions begins, which groups beat a
class of tables); `actions` holds `ACTION_FIELDS` numbers an action. What beats what is in here, not in code.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from tienlen_env.games.common.arrays import offsets
from tienlen_env.games.common.cards import RANK_OF_TWO
from tienlen_env.games.common.spec import (
    AUTO_RESET as AUTO_RESET,
)
from tienlen_env.games.common.spec import (
    EPISODE_GAME as EPISODE_GAME,
)
from tienlen_env.games.common.spec import (
    HEADER_SIZE,
    Episode,
    KernelTables,
    check_settings,
    num_words,
)
from tienlen_env.games.common.spec import (
    NUM_ACTIONS as NUM_ACTIONS,
)
from tienlen_env.games.common.spec import (
    NUM_PLAYERS as NUM_PLAYERS,
)
from tienlen_env.games.common.spec import (
    NUM_WORDS as NUM_WORDS,
)
from tienlen_env.games.common.spec import (
    REWARD as REWARD,
)
from tienlen_env.games.common.spec import (
    ROW_SIZE as ROW_SIZE,
)
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.layout import num_score_bits, observation_layout
from tienlen_env.games.tienlen.rules import Rules, Shape
from tienlen_env.games.tienlen.state import LEGAL, PLAY_SUMMARY_SIZE

Reward = Literal["points", "zero_sum", "win", "cards"]

(
    NUM_HISTORY,  # plays that the observation shows
    OPENING_EVERY,
    OPENING_PLAY,  # 0 free, 1 include, 2 alone
    FLUSH_LOCK,
    PASS_LOCK,
    KNOCKOUT,  # 0 none, 1 trick, 2 round
    HEIR_LAST_LIVE,
    TARGET,
    NUM_SCORE_BITS,  # observation: bits of the unary score of a seat, 0 without a target
    OBSERVATION_SIZE,  # O
    POINTS,  # 4: points of each place
    POINTS_SUM,
    RUN_TWOS,  # a run may end in a 2
    SET_RUN_TWOS,  # a sequence of sets may
    HISTORY,  # column where the history begins
    SEQUENCE_MIN,  # 4: fewest ranks of a sequence of this width (index width - 1), 0 for none
    NUM_KEPT,  # plays that are stored, no fewer than are shown
    PLAY_SUMMARY,  # column where the record begins, if plays are stored
    GROUP_FIRST,  # 4 × 16 × 2: first action id of (width - 1, length, suited), -1 for none
    GROUP_REJOIN,  # 4 × 16: 1 where a player who passed may still play the shape
    BEATERS,  # 16 classes × 16: shapes that beat a class, as width * 16 + length, 0 ends the list
    SPEC_SIZE,
) = (
    HEADER_SIZE + offset
    for offset in offsets(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1, 1, 4, 1, 1, 4 * 16 * 2, 4 * 16, 16 * 16)
)

# One action: `actions[action * ACTION_FIELDS + FIELD]`
(
    WIDTH,
    LENGTH,
    TOP,
    SUITED,  # 0 suits do not matter, 1 must be mixed, 2 must be one suit
    CLASS,  # 0: only its own shape beats it; 1..4: so many 2s; 5..: rung of the ladder
    REOPENS_TRICK,  # 1: a player who passed is offered the turn again, a bomb could beat it
    TOP_CARD,  # the top card as a mask, 0 for the pass
    SHAPE_BITS,  # observation: bit width - 1, and bit 3 + length; 0 for the pass
    ACTION_FIELDS,
) = range(9)


def build_spec(
    rules: Rules,
    *,
    episode: Episode = "round",
    reward: str = "points",
    auto_reset: bool = False,
    history: int = 0,
    history_length: int = 0,
) -> KernelTables:
    """Flatten rules and episode settings for the kernels.

    Args:
        rules: the variant.
        episode: ``"round"`` or ``"game"``.
        reward: one of `Reward`; see `tienlen_env.envs.tienlen`.
        auto_reset: a game that ends is dealt anew.
        history: how many of the last plays the observation shows.
        history_length: number of past plays stored in the state; at least `history`. If it is above 0, the
            play summary is stored as well.

    Returns:
        ``(spec, actions)``: int64 (SPEC_SIZE,) and int64 (A * ACTION_FIELDS,), both read-only.

    Raises:
        ValueError: an unknown episode or reward, or a history (or its length) outside 0..256.
    """
    check_settings(episode, reward, get_args(Reward), history, history_length)

    table = build_action_table(rules)
    words = num_words(table.num_actions)
    spec = np.zeros(SPEC_SIZE, np.int64)
    spec[NUM_PLAYERS] = rules.num_players
    spec[NUM_ACTIONS] = table.num_actions
    spec[NUM_WORDS] = words
    spec[NUM_HISTORY] = history
    spec[NUM_KEPT] = max(history, history_length)
    spec[PLAY_SUMMARY] = LEGAL + words + 1
    spec[HISTORY] = spec[PLAY_SUMMARY] + (PLAY_SUMMARY_SIZE if spec[NUM_KEPT] else 0)
    spec[ROW_SIZE] = spec[HISTORY] + spec[NUM_KEPT]
    spec[EPISODE_GAME] = episode == "game" and rules.target > 0
    spec[REWARD] = get_args(Reward).index(reward)
    spec[AUTO_RESET] = auto_reset
    spec[OPENING_EVERY] = rules.opening == "every"
    spec[OPENING_PLAY] = ("free", "include", "alone").index(rules.opening_play)
    spec[FLUSH_LOCK] = rules.flush_lock
    spec[PASS_LOCK] = rules.pass_lock
    spec[KNOCKOUT] = ("none", "trick", "round").index(rules.knockout)
    spec[HEIR_LAST_LIVE] = rules.heir == "last_live"
    spec[TARGET] = rules.target
    spec[NUM_SCORE_BITS] = num_score_bits(rules)
    spec[OBSERVATION_SIZE] = observation_layout(rules, history).size
    spec[POINTS : POINTS + rules.num_players] = rules.place_points
    spec[POINTS_SUM] = sum(rules.place_points)
    spec[RUN_TWOS] = rules.twos_allowed(1)
    spec[SET_RUN_TWOS] = rules.twos_allowed(2)
    for width in (1, 2, 3, 4):
        spec[SEQUENCE_MIN + width - 1] = rules.min_length(width)
    spec[GROUP_FIRST:GROUP_REJOIN] = -1
    for (shape, suited), ids in table.group.items():
        spec[GROUP_FIRST + (shape.width - 1) * 32 + shape.length * 2 + suited] = ids[0]
    rejoin = set(rules.with_longer(rules.rejoin))
    for shape in rejoin:
        spec[GROUP_REJOIN + (shape.width - 1) * 16 + shape.length] = 1
    beaters = _beaters(rules)
    for index, shapes in beaters.items():
        codes = [s.width * 16 + s.length for s in shapes]
        spec[BEATERS + index * 16 : BEATERS + index * 16 + len(codes)] = codes

    actions = np.zeros((table.num_actions, ACTION_FIELDS), np.int64)
    actions[:, WIDTH] = table.width
    actions[:, LENGTH] = table.length
    actions[:, TOP] = table.top
    actions[:, SUITED] = table.unsuited_mask + 2 * table.suited_mask
    actions[1:, TOP_CARD] = np.int64(1) << table.top[1:]
    actions[1:, SHAPE_BITS] = (1 << (table.width[1:] - 1)) | (1 << (3 + table.length[1:]))
    for (shape, _), ids in table.group.items():
        for action in ids:
            is_twos = shape.length == 1 and int(table.top[action]) >> 2 == RANK_OF_TWO
            index = shape.width if is_twos else 5 + rules.ladder.index(shape) if shape in rules.ladder else 0
            actions[action, CLASS] = index
            higher_same_shape = shape in rejoin and action != ids[-1]
            actions[action, REOPENS_TRICK] = higher_same_shape or any(
                s in rejoin for s in beaters.get(index, ())
            )
    spec.setflags(write=False)
    actions.setflags(write=False)
    return KernelTables(spec, actions.ravel())


def _beaters(rules: Rules) -> dict[int, list[Shape]]:
    """Class of a table to the other shapes that beat it, in the order of their action ids."""
    beaters = {
        num_twos: [s for s in rules.with_longer(shapes) if s != Shape(num_twos, 1)]
        for num_twos, shapes in rules.chops
    }
    for rung in range(len(rules.ladder)):
        beaters[5 + rung] = list(rules.ladder[rung + 1 :])
    order = list(build_action_table(rules).group)
    return {k: sorted(v, key=lambda s: order.index((s, False))) for k, v in beaters.items()}
