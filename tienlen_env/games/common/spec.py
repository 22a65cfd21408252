"""The settings that every game flattens for its kernels: the head of `spec`, an int64 array.

A game's own settings begin at `HEADER_SIZE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from tienlen_env.games.common.arrays import Fields, IntArray

Episode = Literal["round", "game"]
MAX_HISTORY: Final = 256

setting = Fields()
NUM_PLAYERS: Final = setting()
NUM_ACTIONS: Final = setting()
NUM_WORDS: Final = setting()  # words of the packed legal-action mask
ROW_SIZE: Final = setting()
EPISODE_GAME: Final = setting()  # 1: a game of several rounds; 0: one round
REWARD: Final = setting()  # index in the game's rewards
AUTO_RESET: Final = setting()
HEADER_SIZE: Final = setting.size


class KernelTables(NamedTuple):
    """A variant as the kernels read it.

    Attributes:
        spec: int64 (S,), read-only: settings and small tables.
        actions: int64 (A * F,), read-only: F numbers for each action.
    """

    spec: IntArray
    actions: IntArray


def check_settings(
    episode: str, reward: str, rewards: Sequence[str], history: int = 0, history_length: int = 0
) -> None:
    """Refuse settings that no game has.

    Args:
        episode: must be ``"round"`` or ``"game"``.
        reward: must be one of `rewards`.
        rewards: what the game knows.
        history: plays that the observation shows, 0..256.
        history_length: plays that the state stores, 0..256.

    Raises:
        ValueError: it names the setting and what is expected.
    """
    if episode not in get_args(Episode):
        raise ValueError(f"episode={episode!r}: expected one of {', '.join(get_args(Episode))}")
    if reward not in rewards:
        raise ValueError(f"reward={reward!r}: expected one of {', '.join(rewards)}")
    for name, num in (("history", history), ("history_length", history_length)):
        if isinstance(num, bool) or not isinstance(num, int | np.integer) or not 0 <= num <= MAX_HISTORY:
            raise ValueError(f"{name}={num!r}: expected a number of plays in 0..{MAX_HISTORY}")


def num_words(num_actions: int) -> int:
    """Words of 64 bits that hold one bit an action."""
    return -(-num_actions // 64)
