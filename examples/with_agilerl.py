"""AgileRL: DQN in self-play with action masks on the PettingZoo environment.

pip install -r examples/requirements/agilerl.txt tienlen-env
python examples/with_agilerl.py --rounds 2000
"""

import argparse

import numpy as np
import torch
from agilerl.algorithms.dqn import DQN
from agilerl.components.replay_buffer import ReplayBuffer
from tensordict import TensorDict

from tienlen_env import tienlen_v1


def main() -> None:
    """One network plays all seats; each seat's transition goes from its decision to its next one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    num_rounds = parser.parse_args().rounds
    torch.manual_seed(0)
    env = tienlen_v1.env(reward="zero_sum", dtype="float32")
    agent = DQN(
        env.observation_space("player_0")["observation"],
        env.action_space("player_0"),
        net_config={"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}},
        batch_size=128,
        lr=5e-4,
    )
    memory = ReplayBuffer(max_size=20_000)
    num_steps, losses = 0, []
    for number in range(num_rounds):
        env.reset(seed=number)
        before: dict[str, tuple[np.ndarray, int]] = {}
        for name in env.agent_iter():
            seen, reward, termination, truncation, _ = env.last()
            over = termination or truncation
            now = seen["observation"]
            if name in before:
                observation, action = before[name]
                transition = {
                    "obs": observation,
                    "action": action,
                    "reward": reward,
                    "next_obs": now,
                    "done": over,
                }
                step = TensorDict({key: torch.as_tensor(value) for key, value in transition.items()})
                step["reward"], step["done"] = step["reward"].float().view(1), step["done"].float().view(1)
                step["action"] = step["action"].view(1)
                memory.add(step.unsqueeze(0))
            if over:
                env.step(None)
                continue
            epsilon = max(0.05, 1 - number / num_rounds)
            action = int(agent.get_action(now[None], epsilon, seen["action_mask"][None])[0])
            before[name] = now, action
            env.step(action)
            num_steps += 1
            if len(memory) >= 128 and num_steps % 16 == 0:
                losses.append(agent.learn(memory.sample(128)))
    print(f"{num_steps} decisions, {len(losses)} updates, last losses {np.mean(losses[-20:]):.3f}")
    assert np.isfinite(losses).all()


if __name__ == "__main__":
    main()
