"""The settings that every game flattens for its kernels: the head of `spec`, an int64 array.

A game's own settings begin at `HEADER_SIZE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from tienlen_env.errors import check_word
from tienlen_env.games.common.arrays import Fields, IntArray

Episode = Literal["round", "game"]
MAX_HISTORY: Final = 256
MAX_ROUNDS: Final = 2**31  # of a game without an end

setting = Fields()
NUM_PLAYERS: Final = setting()
NUM_ACTIONS: Final = setting()
NUM_WORDS: Final = setting()  # words of the packed legal-action mask
ROW_SIZE: Final = setting()
NUM_ROUNDS: Final = setting()  # rounds of a game; 0: to the target of the rules
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


def rounds_of(episode: str, num_rounds: int | None, target: int) -> int:
    """The rounds of a game, as `NUM_ROUNDS` has them.

    Args:
        episode: ``"round"``: one; ``"game"``: as the other arguments say.
        num_rounds: an agreed number, whatever the target is; 0: no end; None: as the rules say, to their
            target, or one round without a target.
        target: of the rules, 0 for none.

    Raises:
        ValueError: a number out of range, a number of rounds for one round, or an unknown episode.
    """
    check_word("episode", episode, get_args(Episode))
    if num_rounds is None:
        return 0 if episode == "game" and target > 0 else 1
    if episode != "game":
        raise ValueError(f"num_rounds={num_rounds!r}: an episode of one round has no number of rounds")
    is_number = isinstance(num_rounds, int | np.integer) and not isinstance(num_rounds, bool)
    if not (is_number and 0 <= num_rounds <= MAX_ROUNDS):
        raise ValueError(f"num_rounds={num_rounds!r}: expected 0..{MAX_ROUNDS}, or None")
    return int(num_rounds) or MAX_ROUNDS


def check_settings(reward: str, rewards: Sequence[str], history: int = 0, history_length: int = 0) -> None:
    """Refuse settings that no game has.

    Args:
        reward: must be one of `rewards`.
        rewards: what the game knows.
        history: plays that the observation shows, 0..256.
        history_length: plays that the state stores, 0..256.

    Raises:
        ValueError: it names the setting and what is expected.
    """
    check_word("reward", reward, rewards)
    for name, num in (("history", history), ("history_length", history_length)):
        if isinstance(num, bool) or not isinstance(num, int | np.integer) or not 0 <= num <= MAX_HISTORY:
            raise ValueError(f"{name}={num!r}: expected a number of plays in 0..{MAX_HISTORY}")


def num_words(size: int) -> int:
    """Words of 64 bits that hold one bit an item: an action, or an item of an observation."""
    return -(-size // 64)
