"""Decisions a second of the environment for JAX inside `scan`, beside `Batch.step` and named games of Pgx.

    taskset -c 0 python -m tests.extensions.bridges.jax_speed --pgx leduc_holdem

One core: XLA gets one thread. Each row has observations, masks and random actions; it is timed in turns with
`Batch.step`, in processor time, and the ratio is the median of those of the turns.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
import jax
import jax.numpy as jnp
import numpy as np

from tienlen_bridges import jax as door
from tienlen_env.engine.batch import Batch

STEPS = 20


def in_scan(step: Callable[[Any, Any], Any], state: Any) -> Iterator[None]:
    """Play on at every `next`."""
    keys = jax.random.split(jax.random.key(7), STEPS)
    run = jax.jit(
        lambda state: jax.lax.scan(lambda s, key: (step(s, key), None), state, keys)[0], donate_argnums=0
    )
    while True:
        state = run(state)
        jax.block_until_ready(state)
        yield


def of_batch(rules: str, num_games: int) -> Iterator[None]:
    """`Batch.step`, the next actions drawn by the engine."""
    batch = Batch(rules, num_games, reward="zero_sum", auto_reset=True)
    batch.reset(1)
    rng = np.random.default_rng(1)
    actions, mask, observation = batch.sample(rng), batch.action_mask(), batch.observe()
    while True:
        for _ in range(STEPS):
            draws = rng.random(num_games)
            batch.step(actions, mask=mask, observation=observation, draws=draws, next_actions=actions)
        yield


def of_env(rules: str, num_games: int, way: str) -> Iterator[None]:
    """The environment, called one way or the other."""
    door.WAY = way  # type: ignore[misc]
    env = door.Env(rules, reward="zero_sum", auto_reset=True)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(1), num_games))

    def step(state: Any, key: Any) -> Any:
        bits = jax.random.bits(key, (num_games,), jnp.uint32)
        return jax.vmap(env.step)(state, jax.vmap(env.sample_by)(state, bits))

    return in_scan(step, state)


def of_pgx(name: str, num_games: int) -> Iterator[None]:
    """A game of Pgx."""
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(1), num_games))
    move = jax.vmap(auto_reset(env.step, env.init))

    def step(state: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        action = jax.random.categorical(first, jnp.log(state.legal_action_mask.astype(jnp.float32)))
        return move(state, action, jax.random.split(second, num_games))

    return in_scan(step, state)


def main() -> None:
    """Print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", default="cardgames")
    parser.add_argument("--games", type=int, default=4096)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--pgx", nargs="*", default=[], help="games of Pgx, where it is installed")
    options = parser.parse_args()
    rules, num_games = options.rules, options.games
    rows = {
        "jax, ffi": lambda: of_env(rules, num_games, "ffi"),
        "jax, pure_callback": lambda: of_env(rules, num_games, "pure_callback"),
        **{f"pgx {name}": lambda name=name: of_pgx(name, num_games) for name in options.pgx},
    }
    batch = of_batch(rules, num_games)
    for name, make in rows.items():
        row, ratios, speeds = make(), [], []
        for turn in range(options.turns + 1):
            times = []
            for played in (batch, row):
                start = time.process_time()
                next(played)
                times.append(time.process_time() - start)
            if turn:  # the first compiles
                ratios.append(times[0] / times[1])
                speeds.append([STEPS * num_games / seconds / 1e6 for seconds in times])
        ours, theirs = map(median, zip(*speeds, strict=True))
        print(
            f"{name}: {theirs:.2f} M decisions/s; Batch.step {ours:.2f}; ratio {median(ratios):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
