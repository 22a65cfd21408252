"""PufferLib (its core, `pufferlib-core`): all seats of many games in its buffers, beside emulation.

    pip install -r examples/requirements/pufferlib.txt tienlen-env
    python examples/with_pufferlib.py

`SelfPlayPufferEnv` is a native environment: `pufferlib.vector` gives it the buffers, and one call plays a
decision in every game. PufferLib's emulation drives the environments for PettingZoo and Gymnasium, too, one
game at a time. The example plays random actions through all three, and prints decisions a second of the
native environment and of emulation, measured in turns, in processor time.
"""

import time
from collections.abc import Iterator
from statistics import median

import gymnasium
import numpy as np
import pufferlib.vector
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pufferlib.emulation import GymnasiumPufferEnv, PettingZooPufferEnv, nativize

import tienlen_env  # noqa: F401 - registers the environments
from tienlen_bridges.pufferlib import SelfPlayPufferEnv
from tienlen_env import tienlen_v1


def one_seat(rng: np.random.Generator) -> float:
    """One episode of one seat; its reward."""
    env = GymnasiumPufferEnv(env=gymnasium.make("tienlen_env/TienLen-v1", reward="zero_sum"))
    _, info = env.reset(seed=1)
    total, done = 0.0, False
    while not done:
        action = rng.choice(np.flatnonzero(info["action_mask"]))
        _, reward, done, _, info = env.step(np.array([action]))
        total += reward
    return total


def emulated(rng: np.random.Generator) -> Iterator[float]:
    """Rounds of all seats, one decision at a time; yields decisions a second of `step`."""
    env = PettingZooPufferEnv(env=turn_based_aec_to_parallel(tienlen_v1.env(reward="zero_sum")))
    for seed in range(10**9):
        env.reset(seed=seed)
        total, decisions, seconds = np.zeros(env.num_agents), 0, 0.0
        while not env.done:
            actions = np.zeros(env.num_agents, np.int64)
            for seat, row in enumerate(env.observations):
                seen = nativize(row, env.env_single_observation_space, env.obs_dtype)
                if seen["action_mask"].any():
                    actions[seat] = rng.choice(np.flatnonzero(seen["action_mask"]))
            start = time.process_time()
            env.step(actions)
            seconds += time.process_time() - start
            total += env.rewards
            decisions += 1
        assert sorted(total) == [-1.5, -0.5, 0.5, 1.5]
        yield decisions / seconds


def native(num_games: int, steps: int) -> Iterator[float]:
    """Decisions in all games at once; yields decisions a second of `step`."""
    settings = {"num_games": num_games, "reward": "zero_sum"}
    envs = pufferlib.vector.make(SelfPlayPufferEnv, env_kwargs=settings)
    envs.reset(seed=1)
    batch, rng, actions = envs.games.batch, np.random.default_rng(1), np.zeros(envs.num_agents, np.int32)
    total = np.zeros(envs.num_agents)
    while True:
        seconds = 0.0
        for _ in range(steps):
            actions[envs.masks] = batch.sample(rng)  # a policy: of `envs.split(envs.observations)`
            start = time.process_time()
            _, rewards, ended, *_ = envs.step(actions)
            seconds += time.process_time() - start
            total += rewards
            assert not total[ended].reshape(-1, 4).sum(1).any()
            total[ended] = 0
        yield steps * num_games / seconds


def main() -> None:
    """Play through all of them."""
    rng = np.random.default_rng(0)
    print("one seat:", one_seat(rng))
    ways = native(1024, 100), emulated(rng)
    speeds = [[next(way) for way in ways] for _ in range(20)]
    ours, theirs = map(median, zip(*speeds, strict=True))
    ratio = median(a / b for a, b in speeds)
    print(f"decisions/s: native {ours:,.0f}, emulated {theirs:,.0f}; ratio of pairs {ratio:,.0f}")


if __name__ == "__main__":
    main()
