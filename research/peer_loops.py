"""Random play through one library's own calls; it runs in that library's environment, without this project.

    python research/peer_loops.py rlcard doudizhu 5

It prints decisions a second of processor time. A decision has the observation and the legal actions of the
next player. New games are inside the timed loop and are not counted.
"""

from __future__ import annotations

import importlib
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

PlayOnce = Callable[[], int]  # plays one round, or steps one batch; the number of decisions


def aec_round(env: Any) -> int:
    """One round of PettingZoo's documented loop."""
    steps = 0
    env.reset()
    for _ in env.agent_iter():
        observation, _, termination, truncation, info = env.last()
        if termination or truncation:
            env.step(None)
            continue
        mask = observation["action_mask"] if "action_mask" in observation else info["action_mask"]
        legal = np.flatnonzero(mask)
        env.step(int(legal[int(random.random() * len(legal))]))
        steps += 1
    return steps


def tienlen(env: str) -> PlayOnce:
    """``raw_env``: the AEC environment of this project; ``batch``: 4,096 games of its engine at once."""
    if env == "batch":
        from tienlen_train.benchmarks import batched

        step = batched("cardgames", 4096)
        return lambda: step(0.0)
    raw = importlib.import_module("tienlen_env").tienlen_v1.raw_env()
    return lambda: aec_round(raw)


def pettingzoo(name: str) -> PlayOnce:
    """A game of ``pettingzoo.classic``, without wrappers."""
    env = importlib.import_module(f"pettingzoo.classic.{name}").raw_env()
    return lambda: aec_round(env)


def rlcard(name: str) -> PlayOnce:
    """A game of RLCard; its state has the observation and the legal actions."""
    env = importlib.import_module("rlcard").make(name, config={"seed": 1})

    def play() -> int:
        steps = 0
        state, _ = env.reset()
        while not env.is_over():
            legal = list(state["legal_actions"])
            state, _ = env.step(legal[int(random.random() * len(legal))])
            steps += 1
        return steps

    return play


def openspiel(name: str) -> PlayOnce:
    """A game of OpenSpiel in C++, called from Python."""
    game = importlib.import_module("pyspiel").load_game(name)
    observe = (
        "observation_tensor" if game.get_type().provides_observation_tensor else "information_state_tensor"
    )

    def play() -> int:
        steps = 0
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(random.choices(actions, chances)[0])
                continue
            legal = state.legal_actions()
            getattr(state, observe)()
            state.apply_action(legal[int(random.random() * len(legal))])
            steps += 1
        return steps

    return play


def pgx(name: str) -> PlayOnce:
    """4,096 games of Pgx at once in one compiled call, with new games for those that are over."""
    jax, pgx_, wrapper = (importlib.import_module(m) for m in ("jax", "pgx", "pgx.experimental.wrappers"))
    num_games, env = 4096, pgx_.make(name)
    step = wrapper.auto_reset(env.step, env.init)

    def once(state: Any, key: Any) -> Any:
        key, draw, again = jax.random.split(key, 3)
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(draw, logits, axis=1)
        return jax.vmap(step)(state, actions, jax.random.split(again, num_games)), key

    advance = jax.jit(once)
    key = jax.random.PRNGKey(0)
    held = [jax.jit(jax.vmap(env.init))(jax.random.split(key, num_games)), key]

    def play() -> int:
        held[:] = advance(*held)
        held[0].observation.block_until_ready()
        return num_games

    return play


LIBRARIES = {f.__name__: f for f in (tienlen, pettingzoo, rlcard, openspiel, pgx)}


def main() -> None:
    """Warm up, and measure for some seconds of processor time."""
    library, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    random.seed(0)
    play = LIBRARIES[library](name)
    for limit in (min(1.0, seconds), seconds):
        steps, start = play(), time.process_time()
        while time.process_time() - start < limit:
            steps += play()
        rate = steps / (time.process_time() - start)
    print(rate)


if __name__ == "__main__":
    main()
