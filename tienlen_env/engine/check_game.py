"""``tienlen check-game NAME``: whether a game keeps the contract, in plain Python and compiled.

`tienlen_env.games.common.conformance` plays in plain Python. Then rounds of every preset are played by Numba
beside it, bit for bit, in a process of its own: code that corrupts memory ends that process alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from typing import Final

import numpy as np

from tienlen_env.engine.batch import Batch
from tienlen_env.errors import TienLenError
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import AnyArray
from tienlen_env.games.common.conformance import GameFaultError, check_contract
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_named

NUM_GAMES: Final = 16
MAX_STEPS: Final = 5000
_GUARD: Final = 0x5A  # a byte of memory that nothing may write to
NUM_GUARDED: Final = 4096  # bytes before and behind each array


class Guarded:
    """An array with memory around it that must not change.

    Args:
        name: of what writes to it, for the message.
        shape: as in NumPy.
        dtype: as in NumPy.
    """

    def __init__(self, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> None:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        self.memory = np.full(size + 2 * NUM_GUARDED, _GUARD, np.uint8)
        self.name = name
        self.array: AnyArray = self.memory[NUM_GUARDED : NUM_GUARDED + size].view(dtype).reshape(shape)

    def check(self) -> None:
        """Raise GameFaultError if the memory has changed."""
        around = np.concatenate([self.memory[:NUM_GUARDED], self.memory[-NUM_GUARDED:]])
        if (around != _GUARD).any():
            at = int(np.flatnonzero(around != _GUARD)[0]) - NUM_GUARDED
            raise GameFaultError(f"{self.name}: compiled code writes outside of it, at byte {at}")


def check_compiled(rules: AnyRules, num_games: int = NUM_GAMES) -> None:
    """Play a round of some games by Numba and by plain Python.

    Raises:
        GameFaultError: they differ, or compiled code writes outside of its arrays; it names the function.
    """
    batches = [Batch(rules, num_games, backend=name) for name in ("numba", "python")]
    compiled, plain = batches
    rows = Guarded("rows", compiled.state.rows.shape, np.int64)
    rows.array[:] = compiled.state.rows
    compiled._bind(rows.array)
    mask = Guarded("action_mask", (num_games, compiled.num_actions), np.int8)
    seen = Guarded("observe", (num_games, compiled.observation_size), np.uint8)
    words = Guarded("observe, packed", (num_games, compiled.packed_observation_size), np.int64)
    every = Guarded("observe_all", (num_games, compiled.global_observation_size), np.uint8)
    rng = np.random.default_rng(0)
    for batch in batches:
        batch.deal(np.arange(num_games))
    rewards = [np.zeros((num_games, compiled.num_players), np.float32) for _ in batches]
    for step in range(MAX_STEPS):
        compiled.action_mask(mask.array)
        compiled.observe(out=seen.array)
        compiled.packed_observation(out=words.array)
        compiled.global_observation(every.array)
        for guarded in (rows, mask, seen, words, every):
            guarded.check()
        pairs = {
            "begin_game" if step == 0 else "play or update_legal": (rows.array, plain.state.rows),
            "play: rewards": tuple(rewards),
            "legal.write_mask": (mask.array, plain.action_mask()),
            "observe": (seen.array, plain.observe()),
            "observe, packed": (words.array, plain.packed_observation()),
            "observe_all": (every.array, plain.global_observation()),
            "legal.num_legal": (compiled.count_legal(), plain.count_legal()),
        }
        for function, (found, wanted) in pairs.items():
            if not np.array_equal(found, wanted):
                game, column = np.argwhere(np.atleast_2d(found != wanted))[0].tolist()
                raise GameFaultError(
                    f"{function}: Numba and Python differ after {step} steps, game {game}, index {column}: "
                    f"{np.atleast_2d(found)[game, column]} and {np.atleast_2d(wanted)[game, column]}"
                )
        if (plain.state.turn < 0).all():
            return
        actions = plain.sample(rng)
        for batch, gained in zip(batches, rewards, strict=True):
            batch.step(actions, rewards=gained)


def _check_in_process(name: str, preset: str) -> None:
    game = game_named(name)
    try:
        check_compiled(game.presets[preset])
    except Exception as error:
        # One that is not ours is of the compiler: it names the function and the line.
        what = error if isinstance(error, TienLenError) else f"not compiled: {error}"
        print(f"game {name!r}, preset {preset!r}: {what}", file=sys.stderr)
        sys.exit(3)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 if the game keeps the contract.

    Raises:
        MissingExtraError: Numba is not installed.
    """
    parser = argparse.ArgumentParser(
        prog="tienlen check-game", description="Check a game against the contract."
    )
    parser.add_argument("name", help="a registered game, for example of another package's entry point")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each preset in plain Python (20)")
    options = parser.parse_args(arguments)
    require("numba", "jit", "tienlen check-game")
    try:
        game = game_named(options.name)
        check_contract(game, options.rounds)
    except TienLenError as fault:
        print(fault, file=sys.stderr)
        return 1
    for preset in game.presets:
        process = multiprocessing.Process(target=_check_in_process, args=(game.name, preset))
        process.start()
        process.join()
        if process.exitcode:
            if process.exitcode != 3:
                print(
                    f"game {game.name!r}, preset {preset!r}: compiled code ended its process", file=sys.stderr
                )
            return 1
    print(f"{game.name}: {len(game.presets)} presets keep the contract, in Python and compiled")
    if "zero_sum" not in game.rewards:
        print(f"{game.name} has no reward 'zero_sum', which `tienlen train` uses by default")
    return 0


if __name__ == "__main__":
    sys.exit(main())
