"""Tianshou: DQN for each of the four players, with action masks, on the PettingZoo environment.

pip install -r examples/requirements/tianshou.txt tienlen-env
python examples/with_tianshou.py --epochs 10
"""

import argparse

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from tienlen_env import tienlen_v1

NUM_ENVS = 4


def main() -> None:
    """Train four networks against one another."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    epochs = parser.parse_args().epochs
    np.random.seed(0)  # noqa: NPY002 - Tianshou draws from the global generator
    torch.manual_seed(0)

    def make() -> PettingZooEnv:
        return PettingZooEnv(tienlen_v1.env(reward="zero_sum"))

    env = make()
    spaces = env.observation_space["observation"]
    players = []
    for _ in env.agents:
        net = Net(state_shape=spaces.shape, action_shape=env.action_space.n, hidden_sizes=[128, 128])
        policy = DiscreteQLearningPolicy(
            model=net, action_space=env.action_space, observation_space=spaces, eps_training=0.2
        )
        players.append(DQN(policy=policy, optim=AdamOptimizerFactory(lr=5e-4), target_update_freq=200))
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=players, env=env)
    collector = Collector(
        algorithm,
        DummyVectorEnv([make for _ in range(NUM_ENVS)]),
        VectorReplayBuffer(20_000, NUM_ENVS),
        exploration_noise=True,
    )
    collector.reset()
    collector.collect(n_step=500)
    result = algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=epochs,
            epoch_num_steps=1000,
            collection_step_num_env_steps=100,
            batch_size=64,
            update_step_num_gradient_steps_per_sample=0.1,
            multi_agent_return_reduction=lambda returns: returns[:, 0],
            show_progress=False,
        )
    )
    print(result)


if __name__ == "__main__":
    main()
