"""Train a policy in self-play with PPO and compare it with the rule-based baselines.

    python -m tienlen_train.ppo                       # 4 to 11 minutes on two cores
    python -m tienlen_train.ppo --prior none          # without the heuristic
    python -m tienlen_train.ppo --out runs/a --resume # continue a run that was stopped, exactly
    python -m tienlen_train.ppo --env thirteens       # the trick-taking game

An iteration is `SelfPlayTrainer.play_and_learn` (`tienlen_train.trainer`): `tienlen_train.rollout.rollout`
plays, `PPOTrainer.learn` here computes advantages (`tienlen_train.learner.advantages`), and `Learner.train`
takes gradient steps on PPO's loss (`loss` in it); `tienlen_train.loop` repeats it. The network scores
legal actions (`tienlen_train.network`), from the inputs of `tienlen_agents.networks.features`; the critic
sees all hands, the policy does not.

``python -m tienlen_train.ppo --env thirteens --decisions 1000000`` (a minute and a half of processor time,
seed 1) gives a policy above the rule-based agent: alone against three `trickster` it has 10.73 ± 0.07 points
a deal, and each `trickster` has 8.76 ± 0.04, with 35.9 ± 0.7 % first places (parity 25 %; 2,500 held-out
deals × 4 seatings, 95 % intervals).

Source: Schulman et al., Proximal policy optimization algorithms, 2017.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import MAX_WIDTH
from tienlen_agents.quoting import split_list
from tienlen_agents.settings import COUNT_OR_NONE, SHARE, Range, setting
from tienlen_train.config import AGENTS, COEFFICIENT, SelfPlayConfig
from tienlen_train.learner import AnyTrajectories, Model, TrajectoryTensors, advantages
from tienlen_train.loop import training_command
from tienlen_train.network import ActionNetwork, aligned, pad_rows, segment_log_softmax, wide_linear
from tienlen_train.rollout import Critic, Trajectories, num_privileged
from tienlen_train.trainer import SelfPlayTrainer


@dataclass(frozen=True, kw_only=True)
class PPOConfig(SelfPlayConfig):
    """Settings of a run; the defaults are the five-minute run of ``make train``.

    Attributes:
        learning_rate: of Adam at the start; it falls linearly to a tenth.
        gamma: discount from one decision of a seat to its next.
        gae_lambda: trace decay of the advantage estimate; None for the game's own.
        clip_coef: PPO's clip of the probability ratio.
        ent_coef: coefficient of the entropy bonus at the start; it falls linearly to a tenth.
        kl_coef: coefficient of a penalty on the distance of the policy from the one that played: the estimate
            of KL(old | new) from the chosen actions. With a large `ent_coef` and a `clip_coef` that never
            binds, PPO is magnetic mirror descent with a uniform magnet (Sokota et al. 2023).
        vf_coef: coefficient of the value loss.
        endgame_coef: coefficient of the endgame loss: minus the logarithm of the policy's probability of the
            actions that keep a proven win, where the game's endgame solver finds that others give it away.
            It is averaged over all decisions; about 3 % of them are such endgames.
        teachers: agents whose policies are learned, by their names, separated by blanks (a name with a blank
            in double quotes); in each variant those that play it.
        teacher_coef: coefficient of the teacher loss: the cross-entropy of the policy with the geometric mean
            of the teachers' probabilities (that of an agent without probabilities is 1 for its choice),
            averaged over the decisions that they judge.
        teacher_share: share of the decisions that the teachers judge.
        critic: inputs of the critic: those of the policy ("own"), also all hands ("hands"), or also the final
            places of a rollout by the game's rule-based agent in all seats ("playout"). The last takes an
            eighth more time and reduces the unexplained variance of the returns by a third.
        critic_width: units of the critic's first layer; the second has half of them.
        critic_warmup: number of first iterations that train only the critic; for runs that start from a good
            policy.
    """

    groups: ClassVar[Mapping[str, str]] = {
        **SelfPlayConfig.groups,
        "PPO": "gamma gae_lambda clip_coef ent_coef kl_coef vf_coef critic critic_width critic_warmup",
        "further losses": "endgame_coef teachers teacher_coef teacher_share",
    }
    learning_rate: float = 3e-3
    gamma: float = setting(1.0, SHARE)
    gae_lambda: float | None = setting(None, SHARE)
    clip_coef: float = setting(0.2, Range(0, 1, above=True))
    ent_coef: float = setting(0.01, COEFFICIENT)
    kl_coef: float = setting(0.0, COEFFICIENT)
    vf_coef: float = setting(0.5, COEFFICIENT)
    endgame_coef: float = setting(0.0, COEFFICIENT)
    teachers: str = setting("", AGENTS)
    teacher_coef: float = setting(0.5, COEFFICIENT)
    teacher_share: float = setting(0.1, Range(0, 1, above=True))
    critic: Critic = "hands"
    critic_width: int = setting(256, Range(2, MAX_WIDTH))
    critic_warmup: int = setting(0, COUNT_OR_NONE)

    def agent_names(self) -> tuple[str, ...]:
        """See `SelfPlayConfig.agent_names`."""
        return (*super().agent_names(), *split_list(self.teachers))

    def rollout_options(self) -> dict[str, Any]:
        """See `SelfPlayConfig.rollout_options`."""
        return {
            "critic": self.critic,
            "with_winning_actions": self.endgame_coef > 0,
            "teachers": tuple(split_list(self.teachers)),
            "teacher_share": self.teacher_share,
        }


class ActorCritic(Model):
    """The policy's network and the critic, which share no weights."""

    def __init__(self, network: ActionNetwork, num_privileged: int, critic_width: int) -> None:
        super().__init__(network)
        self.critic = nn.Sequential(
            nn.Linear(network.config.state_inputs + num_privileged, critic_width),
            nn.ReLU(),
            nn.Linear(critic_width, critic_width // 2),
            nn.ReLU(),
            nn.Linear(critic_width // 2, 1),
        )

    def values(self, observation: Tensor, privileged: Tensor) -> Tensor:
        """The expected return of the seat to move, float32 (n,)."""
        if self.network.for_device:
            # The observation may end with columns of 0.
            size = self.network.config.state_inputs
            inputs = aligned([observation[:, :size], privileged], observation.dtype)
        else:
            inputs = pad_rows(torch.cat([observation, privileged], 1), 128)
        values: Tensor = self.critic[1:](wide_linear(self.critic[0], inputs))
        return values.squeeze(1)[: len(observation)].float()


class PPOTrainer(SelfPlayTrainer[ActorCritic]):
    """Proximal policy optimisation with separate networks for actor and critic."""

    name: ClassVar[str] = "ppo"
    config: PPOConfig

    def make_model(self, network: ActionNetwork) -> ActorCritic:
        """The policy's network and a critic."""
        features, critic = self.features, self.config.critic
        if self.config.endgame_coef and features.winning_actions is None:
            self.config.refuse("endgame_coef", f"expected 0: {features.game} has no endgame solver")
        if critic == "playout" and features.outcome is None:
            raise ValueError(f"critic={critic!r}: the final places of {features.game} cannot be predicted")
        general = self.variants is not None
        num_inputs = num_privileged(features, self.rules, critic, general=general)
        return ActorCritic(network, num_inputs, self.config.critic_width)

    def drawing_agent(self) -> NetworkAgent:
        """See `SelfPlayTrainer.drawing_agent`."""
        return replace(self.agent(), sample=True)

    def values(self, tensors: TrajectoryTensors) -> Any:
        """The critic's value of every decision, float32 (n,); a tensor on a device, otherwise an array."""
        size = 1 << 17 if tensors.for_device else 8192
        found = []
        with torch.inference_mode(), self.autocast():
            for begin in range(0, len(tensors), size):
                inputs = tensors.critic_inputs(slice(begin, begin + size))
                found.append(self.learner.model.values(*inputs))
        return torch.cat(found).clone() if tensors.for_device else torch.cat(found).cpu().numpy()

    def learn(self, played: AnyTrajectories) -> dict[str, float]:
        """Improve the policy and the critic by what an iteration has played; the metrics."""
        config, tensors = self.config, self.tensors(played)
        xp: Any = torch if tensors.for_device else np

        # Advantages and returns. The critic's values are in standard deviations of a round's score, so the
        # scale of a game's points does not matter.
        # The scores of seats that a smaller table does not have are NaN.
        deviation = np.std if self.variants is None else np.nanstd
        return_std = float(deviation(played.scores)) + 1e-8
        values = self.values(tensors) * return_std
        gae_lambda = self.features.gae_lambda if config.gae_lambda is None else config.gae_lambda
        advantage, returns = advantages(played, values, gamma=config.gamma, gae_lambda=gae_lambda)
        variance = max(float(xp.var(returns, correction=0)), 1e-8)
        explained_variance = 1 - float(xp.var(returns - values, correction=0) / variance)
        advantage = (advantage - advantage.mean()) / (xp.std(advantage, correction=0) + 1e-8)

        def tensor(column: Any) -> Tensor:
            return torch.as_tensor(column, device=self.device)

        old_log_probability, advantage_of = tensor(played.log_probability), tensor(advantage)
        target = tensor(returns / return_std)
        winning = teacher = None  # a device has neither
        if isinstance(played, Trajectories):
            if config.endgame_coef:
                winning = tensor(played.winning_actions.astype(np.float32))
            if split_list(config.teachers):
                teacher = tensor(played.teacher_probabilities)

        ent_coef = config.ent_coef * self.lr_factor  # annealed
        trains_policy = self.iteration >= config.critic_warmup

        def loss(model: ActorCritic, decisions: Any) -> tuple[Tensor, Tensor]:
            batch = tensors.gather(decisions)
            index = batch.decisions
            num_legal = batch.num_legal if model.network.for_device else None
            with self.autocast():
                logits = model.logits(batch)
                value = model.values(batch.observation, batch.privileged)
            log_probabilities = segment_log_softmax(logits, batch.segment_ids, len(decisions), num_legal)

            # Clipped surrogate objective.
            advantages = advantage_of.index_select(0, index)
            log_ratio = log_probabilities[batch.chosen] - old_log_probability.index_select(0, index)
            ratio = log_ratio.exp()
            clipped_ratio = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
            policy_loss = -torch.minimum(ratio * advantages, clipped_ratio * advantages).mean()

            value_loss = (value - target.index_select(0, index)).square().mean()
            entropy = -(log_probabilities.exp() * log_probabilities).sum() / len(decisions)
            approx_kl = (ratio - 1 - log_ratio).mean()
            objective = policy_loss - ent_coef * entropy
            if config.kl_coef:
                objective = objective + config.kl_coef * approx_kl
            extra = []
            if winning is not None:
                kept = torch.zeros(len(index), device=value.device).index_add(
                    0, batch.segment_ids, log_probabilities.exp() * winning.index_select(0, batch.rows)
                )
                extra.append(-kept.clamp(min=1e-30).log().mean())
                objective = objective + config.endgame_coef * extra[-1]
            if teacher is not None:
                cross_entropy = -(log_probabilities * teacher.index_select(0, batch.rows)).sum()
                extra.append(cross_entropy / (config.teacher_share * len(decisions)))
                objective = objective + config.teacher_coef * extra[-1]
            total = trains_policy * objective + config.vf_coef * value_loss
            with torch.no_grad():
                clip_fraction = ((ratio - 1).abs() > config.clip_coef).float().mean()
                metrics = torch.stack([policy_loss, value_loss, entropy, approx_kl, clip_fraction, *extra])
            return total, metrics

        names = ["policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction"]
        names += [] if winning is None else ["endgame_loss"]
        names += [] if teacher is None else ["teacher_loss"]
        return {**self.take_steps(loss, names, played), "explained_variance": explained_variance}


main = training_command(
    PPOTrainer, PPOConfig, "Train a policy in self-play with PPO; compare it with the baselines."
)


if __name__ == "__main__":
    sys.exit(main())
