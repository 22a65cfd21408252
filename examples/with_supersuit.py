"""SuperSuit: wrappers around the PettingZoo environment.

    pip install -r examples/requirements/supersuit.txt tienlen-env
    python examples/with_supersuit.py

Wrappers of rewards and actions work as they are. Those of observations (frame_stack_v1, dtype_v0, ...) take
arrays only, so the dict of observation and mask is joined to one array first; `masks` reads the mask from it.
"""

import numpy as np
import supersuit
from gymnasium import spaces

from tienlen_env import tienlen_v1


def main() -> None:
    """Play one round behind a stack of wrappers."""
    bare = tienlen_v1.env(reward="zero_sum")
    size = bare.observation_space("player_0")["observation"].shape[0]
    num_actions = bare.action_space("player_0").n
    joined = supersuit.observation_lambda_v0(
        bare,
        lambda seen, _: np.concatenate([seen["observation"], seen["action_mask"]]).astype(np.uint8),
        lambda _: spaces.Box(0, 1, (size + num_actions,), np.uint8),
    )
    env = supersuit.dtype_v0(supersuit.frame_stack_v1(joined, 2), np.float32)
    env = supersuit.clip_reward_v0(env, lower_bound=-1, upper_bound=1)

    def masks(observation: np.ndarray) -> np.ndarray:
        """int8 (A,): the mask in the newest frame."""
        return observation[-num_actions:].astype(np.int8)

    env.reset(seed=1)
    earned = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        earned[agent] += float(reward)
        over = termination or truncation
        env.step(None if over else env.action_space(agent).sample(masks(observation)))
    print(earned)
    assert sorted(earned.values()) == [-1, -0.5, 0.5, 1]


if __name__ == "__main__":
    main()
