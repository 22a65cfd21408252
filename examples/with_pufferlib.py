"""PufferLib (its core, `pufferlib-core`): the emulation layers around both environments.

    pip install -r examples/requirements/pufferlib.txt tienlen-env
    python examples/with_pufferlib.py

PufferLib reads a parallel environment, so PettingZoo's conversion stands between; the players that wait play
nothing, and the mask says so. `nativize` takes the flat observation apart again.
"""

import gymnasium
import numpy as np
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pufferlib.emulation import GymnasiumPufferEnv, PettingZooPufferEnv, nativize

import tienlen_env  # noqa: F401 - registers the environments
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


def all_seats(rng: np.random.Generator) -> np.ndarray:
    """One round of all seats; their rewards."""
    env = PettingZooPufferEnv(env=turn_based_aec_to_parallel(tienlen_v1.env(reward="zero_sum")))
    env.reset(seed=1)
    total = np.zeros(env.num_agents)
    while not env.done:
        actions = np.zeros(env.num_agents, np.int64)
        for seat, row in enumerate(env.observations):
            seen = nativize(row, env.env_single_observation_space, env.obs_dtype)
            if seen["action_mask"].any():
                actions[seat] = rng.choice(np.flatnonzero(seen["action_mask"]))
        env.step(actions)
        total += env.rewards
    return total


def main() -> None:
    """Play through both."""
    rng = np.random.default_rng(0)
    print("one seat:", one_seat(rng))
    found = all_seats(rng)
    print("all seats:", found)
    assert sorted(found) == [-1.5, -0.5, 0.5, 1.5]


if __name__ == "__main__":
    main()
