"""RLlib (new API stack): PPO of four players with action masks on the PettingZoo environment.

    pip install -r examples/requirements/rllib.txt tienlen-env
    python examples/with_rllib.py --iterations 20

RLlib's module for masks reads the key "observations" where PettingZoo has "observation", and wants float32
masks.
"""

import argparse
import logging
from typing import Any

import numpy as np
import ray
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from tienlen_env import tienlen_v1


class MaskedEnv(PettingZooEnv):
    """`PettingZooEnv` with the keys and dtypes of `ActionMaskingTorchRLModule`."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_spaces = {agent: self.space_of(agent) for agent in env.possible_agents}

    def space_of(self, agent: str) -> spaces.Dict:
        """The space of an agent's observations."""
        shapes = self.env.observation_space(agent)
        names = {"observations": "observation", "action_mask": "action_mask"}
        return spaces.Dict(
            {new: spaces.Box(0, 1, shapes[old].shape, np.float32) for new, old in names.items()}
        )

    def get_observation_space(self, agent: str) -> spaces.Dict:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Deal."""
        observations, infos = super().reset(*args, **kwargs)
        return {agent: renamed(seen) for agent, seen in observations.items()}, infos

    def step(self, actions: Any) -> Any:
        """Play."""
        observations, *others = super().step(actions)
        return {agent: renamed(seen) for agent, seen in observations.items()}, *others


def renamed(seen: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """An observation as the module reads it."""
    return {
        "observations": seen["observation"],
        "action_mask": seen["action_mask"].astype(np.float32),
    }


def main() -> None:
    """Train one policy for all seats, and print what it has done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=2)
    iterations = parser.parse_args().iterations
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    register_env("tienlen", lambda _: MaskedEnv(tienlen_v1.env(reward="zero_sum", dtype="float32")))
    spec = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"head_fcnet_hiddens": [128]})
    algorithm = (
        PPOConfig()
        .environment("tienlen")
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda *_, **__: "shared")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"shared": spec}))
        .training(train_batch_size_per_learner=400, minibatch_size=200, num_epochs=1)
        .build_algo()
    )
    for iteration in range(iterations):
        found = algorithm.train()["env_runners"]
        lost = found["episode_return_mean"]  # of the four seats together: 0 without illegal plays
        print(
            f"iteration {iteration + 1}: {found['num_env_steps_sampled']} steps, sum of returns {lost:+.2f}"
        )
        assert abs(lost) < 1e-3
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
