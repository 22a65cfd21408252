"""Train a policy in self-play with PPO and compare it with the rule-based baselines.

    python -m tienlen_train.ppo                       # about four minutes on two cores
    python -m tienlen_train.ppo --prior none          # pure learning, without the heuristic
    python -m tienlen_train.ppo --out runs/a --resume # continue a run that was stopped, exactly
    python -m tienlen_train.ppo --env thirteens       # the trick-taking game

The network scores legal actions (`tienlen_agents.networks.network`); the critic sees all hands, which the
policy never does. What they read of a game, and by whom it is played by rules, is in
`tienlen_agents.networks.features`. How games are played and a run is kept is in `tienlen_train.trainer`.

``python -m tienlen_train.ppo --env thirteens --decisions 1000000`` (a minute and a half of processor time,
seed 1) ends above the rule-based player: alone against three `trickster` it has 10.73 ± 0.07 points a deal
and they have 8.76 ± 0.04, with 35.9 ± 0.7 % first places (parity 25 %; 2,500 held-out deals × 4 seatings, 95
% intervals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from tienlen_agents.networks.network import ActionNetwork, pad_rows, segment_log_softmax
from tienlen_train.rollout import FloatArray, IntArray, Reveal, Trajectories, advantages
from tienlen_train.trainer import Batches, SelfPlayConfig, Trainer, run


@dataclass(frozen=True, kw_only=True)
class PPOConfig(SelfPlayConfig):
    """Settings of a run; the defaults are the five-minute run of ``make train``.

    Attributes:
        learning_rate: of Adam at the start; it falls linearly to a tenth.
        gae_lambda: trace decay of the advantage estimate (rewards are not discounted); None for the game's.
        clip_range: PPO's clip of the probability ratio.
        entropy: weight of the entropy bonus at the start; it falls linearly to a tenth.
        critic: sees only what the policy sees ("own"), all hands too ("hands"), or even how the round would
            end if everyone played on by the rules of the game's player by rules ("playout"). That takes an
            eighth more time and leaves a third less of the returns unexplained.
        critic_width: units of the critic's first layer; the second has half of them.
        critic_warmup: iterations at the start in which the critic learns alone; for runs that start from a
            policy that is good already.
    """

    learning_rate: float = 3e-3
    gae_lambda: float | None = None
    clip_range: float = 0.2
    entropy: float = 0.01
    critic: Literal["playout", "hands", "own"] = "hands"
    critic_width: int = 256
    critic_warmup: int = 0


class Learner(nn.Module):
    """What is trained: the policy's network and the critic."""

    def __init__(self, network: ActionNetwork, num_hidden: int, critic_width: int) -> None:
        super().__init__()
        self.network = network
        self.critic = nn.Sequential(
            nn.Linear(network.config.state_inputs + num_hidden, critic_width),
            nn.ReLU(),
            nn.Linear(critic_width, critic_width // 2),
            nn.ReLU(),
            nn.Linear(critic_width // 2, 1),
        )

    def values(self, observation: Tensor, hidden: Tensor) -> Tensor:
        """What the seat to move is expected to get from here on, float32 (n,)."""
        inputs = pad_rows(torch.cat([observation, hidden], 1), 128)
        return self.critic(inputs).squeeze(1)[: len(observation)].float()


class PPOTrainer(Trainer):
    """Proximal policy optimisation (Schulman et al., 2017) with an actor and a critic of their own."""

    name: ClassVar[str] = "ppo"
    config: PPOConfig
    learner: Learner

    def __init__(self, config: PPOConfig) -> None:
        super().__init__(config)
        if config.critic == "hands":
            self.make_reveal = self.features.hidden_facts
        elif config.critic == "playout":
            self.make_reveal = self.make_foresight

    def make_foresight(self) -> Reveal:
        """What a critic sees that looks ahead: all hands, and how the round would end."""
        hidden_facts, foresee = self.features.hidden_facts(), self.features.foresee
        assert foresee is not None
        return lambda batch, games: np.concatenate(
            [hidden_facts(batch, games), foresee(batch, games)], axis=1
        )

    def make_learner(self, network: ActionNetwork) -> Learner:
        """The policy's network and a critic."""
        features, critic = self.features, self.config.critic
        if critic == "playout" and features.foresee is None:
            raise ValueError(f"critic={critic!r}: nobody can tell how a game of {features.game} would end")
        num_hidden = 0 if critic == "own" else features.num_hidden(self.rules)
        if critic == "playout":
            num_hidden += features.num_foreseen(self.rules)
        return Learner(network, num_hidden, self.config.critic_width)

    def values(self, batches: Batches) -> FloatArray:
        """The critic's opinion of every decision, float32 (n,)."""
        found = []
        with torch.inference_mode(), self.autocast():
            for begin in range(0, len(batches.count), 8192):
                part = slice(begin, begin + 8192)
                found.append(self.learner.values(batches.observation[part], batches.hidden[part]))
        values: FloatArray = torch.cat(found).cpu().numpy()
        return values

    def learn(self, played: Trajectories) -> dict[str, float]:
        """Improve the policy and the critic by what was played; the measures."""
        config = self.config
        batches = Batches(played, self.device, self.dtype)
        # Values are in standard deviations of a round's score: games of small and large points learn alike.
        spread = float(played.scores.std()) + 1e-8
        values = self.values(batches) * spread
        gae_lambda = self.features.gae_lambda if config.gae_lambda is None else config.gae_lambda
        advantage, target = advantages(played, values, gae_lambda)
        explained = 1 - float(np.var(target - values) / max(float(np.var(target)), 1e-8))
        normal = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        columns = [
            torch.from_numpy(c).to(self.device) for c in (played.log_probability, normal, target / spread)
        ]
        entropy_weight = config.entropy * self.falling
        is_warm = self.iteration >= config.critic_warmup

        def shard_loss(learner: nn.Module, decisions: IntArray, weight: float) -> Tensor:
            assert isinstance(learner, Learner)
            index = torch.from_numpy(decisions).to(self.device)
            old, advantage, target = (column.index_select(0, index) for column in columns)
            observation, after, owner, prior, chosen, hidden = batches.gather(decisions)
            with self.autocast():
                logits = learner.network(observation, after, owner, prior)
                value = learner.values(observation, hidden)
            log_all = segment_log_softmax(logits, owner, len(decisions))
            log_ratio = log_all[chosen] - old
            ratio = log_ratio.exp()
            clipped = ratio.clamp(1 - config.clip_range, 1 + config.clip_range)
            policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
            value_loss = (value - target).square().mean()
            entropy = -(log_all.exp() * log_all).sum() / len(decisions)
            loss = is_warm * (policy_loss - entropy_weight * entropy) + 0.5 * value_loss
            (loss * weight).backward()
            with torch.no_grad():
                divergence = (ratio - 1 - log_ratio).mean()
                is_clipped = ((ratio - 1).abs() > config.clip_range).float().mean()
                measures = torch.stack([policy_loss, value_loss, entropy, divergence, is_clipped])
            return measures * weight

        names = ("policy_loss", "value_loss", "entropy", "divergence", "clipped")
        measures = self.epochs(len(played), shard_loss).tolist()
        return {**dict(zip(names, measures, strict=True)), "explained_variance": explained}


def main(argv: Sequence[str] | None = None) -> None:
    """Train, compare over duplicate deals, print the table and leave the run folder."""
    run(PPOTrainer, PPOConfig, "Train a policy in self-play with PPO; compare it with the baselines.", argv)


if __name__ == "__main__":
    main()
