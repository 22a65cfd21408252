"""A variant flattened to two int64 arrays, the form in which the kernels read rules.

`spec` holds the scalar settings and the small tables (where a group of actions begins, which groups beat a
class of tables); `actions` holds `ACTION_FIELDS` numbers an action. What beats what is in here, not in code.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from tienlen_env.games.common.cards import RANK_OF_TWO
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.rules import Rules, Shape
from tienlen_env.games.tienlen.state import LEGAL, RECORD_SIZE

Episode = Literal["round", "game"]
Reward = Literal["points", "zero_sum", "win", "cards"]

NUM_PLAYERS: Final = 0
NUM_ACTIONS: Final = 1
NUM_WORDS: Final = 2
NUM_HISTORY: Final = 3  # plays that the observation shows
ROW_SIZE: Final = 4
EPISODE_GAME: Final = 5  # 1: a game to `TARGET`; 0: one round
REWARD: Final = 6  # index in the `Reward` literal
AUTO_RESET: Final = 7
OPENING_EVERY: Final = 8
OPENING_PLAY: Final = 9  # 0 free, 1 include, 2 alone
FLUSH_LOCK: Final = 10
PASS_LOCK: Final = 11
KNOCKOUT: Final = 12  # 0 none, 1 trick, 2 round
HEIR_LAST_LIVE: Final = 13
TARGET: Final = 14
NUM_SCORE_BITS: Final = 15  # observation: bits of the score thermometer of a seat, 0 without a target
POINTS: Final = 16  # 4: points of each place
POINTS_SUM: Final = 20
RUN_TWOS: Final = 21  # a run may end in a 2
SET_RUN_TWOS: Final = 22  # a sequence of sets may
HISTORY: Final = 23  # column where the history begins
SEQUENCE_MIN: Final = 24  # 4: fewest ranks of a sequence of this width (index width - 1), 0 for none
NUM_KEPT: Final = 28  # plays that are kept, no fewer than are shown
RECORD: Final = 29  # column where the record begins, if plays are kept
GROUP_FIRST: Final = 32  # 4 × 16 × 2: first action id of (width - 1, length, suited), -1 for none
GROUP_REJOIN: Final = 160  # 4 × 16: 1 where a player who passed may still play the shape
BEATERS: Final = 224  # 16 classes × 16: shapes that beat a class, as width * 16 + length, 0 ends the list
SPEC_SIZE: Final = 224 + 256

# One action: `actions[action * ACTION_FIELDS + FIELD]`
ACTION_FIELDS: Final = 8
WIDTH: Final = 0
LENGTH: Final = 1
TOP: Final = 2
SUITED: Final = 3  # 0 suits do not matter, 1 must be mixed, 2 must be one suit
CLASS: Final = 4  # 0: only its own shape beats it; 1..4: so many 2s; 5..: rung of the ladder
REOPENS: Final = 5  # 1: a player who passed is offered the turn again, a bomb could beat it
TOP_CARD: Final = 6  # the top card as a mask, 0 for the pass
SHAPE_BITS: Final = 7  # observation: bit width - 1, and bit 3 + length; 0 for the pass

IntArray = npt.NDArray[np.int64]


def build_spec(
    rules: Rules,
    *,
    episode: Episode = "round",
    reward: Reward = "points",
    auto_reset: bool = False,
    history: int = 0,
    kept: int = 0,
) -> tuple[IntArray, IntArray]:
    """Flatten rules and episode settings for the kernels.

    Args:
        rules: the variant.
        episode: ``"round"`` or ``"game"``.
        reward: see `tienlen_env.envs.tienlen`.
        auto_reset: a game that ends is dealt anew.
        history: how many of the last plays the observation shows.
        kept: how many are kept, if these are more; with any, the record is, too.

    Returns:
        ``(spec, actions)``: int64 (SPEC_SIZE,) and int64 (A * ACTION_FIELDS,), both read-only.

    Raises:
        ValueError: an unknown episode or reward, or a history (or what is kept) outside 0..256.
    """
    if episode not in get_args(Episode):
        raise ValueError(f"episode={episode!r}: expected one of {', '.join(get_args(Episode))}")
    if reward not in get_args(Reward):
        raise ValueError(f"reward={reward!r}: expected one of {', '.join(get_args(Reward))}")
    for name, num in (("history", history), ("kept", kept)):
        if isinstance(num, bool) or not isinstance(num, int) or not 0 <= num <= 256:
            raise ValueError(f"{name}={num!r}: expected a number of plays in 0..256")

    table = build_action_table(rules)
    num_words = -(-table.num_actions // 64)
    spec = np.zeros(SPEC_SIZE, np.int64)
    spec[NUM_PLAYERS] = rules.num_players
    spec[NUM_ACTIONS] = table.num_actions
    spec[NUM_WORDS] = num_words
    spec[NUM_HISTORY] = history
    spec[NUM_KEPT] = max(history, kept)
    spec[RECORD] = LEGAL + num_words + 1
    spec[HISTORY] = spec[RECORD] + (RECORD_SIZE if spec[NUM_KEPT] else 0)
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
    # All seats' score bits fit one word with room to rotate it.
    score_bits = min(rules.target + max(rules.place_points), 60 // rules.num_players)
    spec[NUM_SCORE_BITS] = score_bits if rules.target else 0
    spec[POINTS : POINTS + rules.num_players] = rules.place_points
    spec[POINTS_SUM] = sum(rules.place_points)
    spec[RUN_TWOS] = rules.twos_allowed(1)
    spec[SET_RUN_TWOS] = rules.twos_allowed(2)
    for width in (1, 2, 3, 4):
        spec[SEQUENCE_MIN + width - 1] = rules.min_length(width)
    spec[GROUP_FIRST : GROUP_FIRST + 128] = -1
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
            actions[action, REOPENS] = higher_same_shape or any(s in rejoin for s in beaters.get(index, ()))
    spec.setflags(write=False)
    actions.setflags(write=False)
    return spec, actions.ravel()


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
