"""The check of a game's compiled code: Numba beside plain Python, bit for bit, in memory that is watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tienlen_check.guards import GuardedVariant
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import GameFaultError
from tienlen_env.games.common.arrays import AnyArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

NUM_GAMES: Final = 16
MAX_STEPS: Final = 5000
_GUARD: Final = 0x5A  # a byte of memory that nothing may write to
NUM_GUARDED: Final = 4096  # bytes before and behind each array


class GuardedArray:
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
    """Play some games by Numba and by plain Python, under each reward, and every other time in two rounds.

    Raises:
        GameFaultError: they differ, or compiled code writes outside of its arrays; it names the function.
    """
    from tienlen_env.engine.backends import jit  # needs Numba

    variant = GuardedVariant.of(game_of(rules), rules)
    kernel = variant.game.kernels.resample_hidden
    sampler = None if kernel is None else jit.compiled(kernel)
    for i, reward in enumerate(variant.game.rewards):
        settings: dict[str, Any] = {"reward": reward}
        if i % 2 and variant.accepts(num_rounds=2):
            settings |= {"episode": "game", "num_rounds": 2}
        if i % 2 and variant.accepts(history=2):
            settings |= {"history": 2}
        if variant.accepts(reward=reward):
            _compare(rules, num_games, settings, sampler)


def _compare(
    rules: AnyRules, num_games: int, settings: dict[str, Any], sampler: Callable[..., None] | None
) -> None:
    """`check_compiled` under some settings."""
    batches = [Batch(rules, num_games, backend=name, **settings) for name in ("numba", "python")]
    compiled, plain = batches
    rows = GuardedArray("rows", compiled.state.rows.shape, np.int64)
    rows.array[:] = compiled.state.rows
    compiled._bind(rows.array)
    mask = GuardedArray("action_mask", (num_games, compiled.num_actions), np.int8)
    seen = GuardedArray("observe", (num_games, compiled.observation_size), np.uint8)
    words = GuardedArray("observe, packed", (num_games, compiled.packed_observation_size), np.int64)
    every = GuardedArray("observe_all", (num_games, compiled.global_observation_size), np.uint8)
    rng, games = np.random.default_rng(0), np.arange(num_games)
    for batch in batches:
        batch.deal(games, rounds=games % 2, leader=games % (rules.num_players + 1) - 1)
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
        if step % 4 == 0 and sampler is not None:
            _compare_samples(plain, sampler)
        actions = plain.sample(rng)
        for batch, gained in zip(batches, rewards, strict=True):
            batch.step(actions, rewards=gained)


def _compare_samples(batch: Batch, sampler: Callable[..., None]) -> None:
    """Sample hidden cards by `resample_hidden` as Numba compiled it, and by plain Python."""
    kernel, spec = batch.game.kernels.resample_hidden, batch.kernel_arrays.spec
    assert kernel is not None
    for game, seat in enumerate(batch.turn.tolist()):
        found, wanted = batch.state.rows[game].copy(), batch.state.rows[game].tolist()
        if seat >= 0:
            sampler(found, spec, seat, game)
            kernel(wanted, spec.tolist(), seat, game)
            if found.tolist() != wanted:
                raise GameFaultError(f"resample_hidden: Numba and Python differ in game {game}, seat {seat}")
