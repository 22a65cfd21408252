"""PPO in one file, in the manner of CleanRL, with masks; no other library than torch.

pip install -r examples/requirements/cleanrl.txt tienlen-env
python examples/with_cleanrl.py --steps 200000
"""

import argparse

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import tienlen_env  # noqa: F401 - registers the environments

NUM_ENVS, NUM_STEPS, EPOCHS, CLIP, GAMMA, LAMBDA = 64, 32, 4, 0.2, 1.0, 0.95


class Policy(nn.Module):
    """A torso with a head for the logits and one for the value."""

    def __init__(self, num_inputs: int, num_actions: int) -> None:
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(num_inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.actor, self.critic = nn.Linear(256, num_actions), nn.Linear(256, 1)

    def forward(self, observation: torch.Tensor, mask: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """The distribution over the legal actions, and the value."""
        hidden = self.torso(observation)
        logits = self.actor(hidden).masked_fill(mask == 0, -1e9)
        return Categorical(logits=logits), self.critic(hidden)[:, 0]


def main() -> None:
    """Train, and print the mean reward of the learner's episodes (0 is par)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20_000)
    num_updates = max(1, parser.parse_args().steps // (NUM_ENVS * NUM_STEPS))
    torch.manual_seed(0)
    envs = gymnasium.make_vec("tienlen_env/TienLen-v1", num_envs=NUM_ENVS, reward="zero_sum", dtype="float32")
    policy = Policy(envs.single_observation_space.shape[0], envs.single_action_space.n)
    adam = torch.optim.Adam(policy.parameters(), lr=5e-4)
    seen, infos = envs.reset(seed=1)
    observation, mask = torch.as_tensor(seen), torch.as_tensor(infos["action_mask"])
    for update in range(num_updates):
        rollout, earned = [], []
        for _ in range(NUM_STEPS):
            with torch.no_grad():
                distribution, value = policy(observation, mask)
                action = distribution.sample()
            seen, reward, ended, _, infos = envs.step(action.numpy())
            rollout.append((observation, mask, action, distribution.log_prob(action), value,
                            torch.as_tensor(reward), torch.as_tensor(ended).float()))  # fmt: skip
            earned += reward[ended].tolist()
            observation, mask = torch.as_tensor(seen), torch.as_tensor(infos["action_mask"])
        with torch.no_grad():
            following, advantage = policy(observation, mask)[1], torch.zeros(NUM_ENVS)
        advantages = []
        for _, _, _, _, value, reward, ended in reversed(rollout):
            delta = reward + GAMMA * following * (1 - ended) - value
            advantage = delta + GAMMA * LAMBDA * (1 - ended) * advantage
            advantages.insert(0, advantage)
            following = value
        obs, masks, actions, old, values, _, _ = (torch.cat(parts) for parts in zip(*rollout, strict=True))
        gain = torch.cat(advantages)
        returns, gain = gain + values, (gain - gain.mean()) / (gain.std() + 1e-8)
        for _ in range(EPOCHS):
            for part in torch.randperm(len(obs)).split(512):
                distribution, value = policy(obs[part], masks[part])
                ratio = (distribution.log_prob(actions[part]) - old[part]).exp()
                surrogate = torch.min(ratio * gain[part], ratio.clamp(1 - CLIP, 1 + CLIP) * gain[part])
                loss = -surrogate.mean() + 0.5 * (value - returns[part]).square().mean()
                loss = loss - 0.01 * distribution.entropy().mean()
                adam.zero_grad()
                loss.backward()
                adam.step()
        print(f"update {update + 1}: mean reward {np.mean(earned):+.3f} over {len(earned)} episodes")


if __name__ == "__main__":
    main()
