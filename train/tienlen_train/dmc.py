"""Train a policy by deep Monte-Carlo and compare it with the rule-based baselines.

    python -m tienlen_train.dmc                          # returns as played, as in DouZero
    python -m tienlen_train.dmc --returns counterfactual   # of every legal action

The network learns the return of each action, and plays the action with the highest one (in training it draws
from a softmax of the returns at `temperature` points). With *played* returns only the chosen action has a
target: the final result of its seat. With *counterfactual* returns every legal action has a target: a rollout
plays the round on from each action with all hands known, and all seats follow the rule-based agent. The
returns of one decision then differ by the action alone, not by the deal; the target is one step of policy
improvement over the rule-based agent, averaged over the possible hands of the others. The rollouts are in
`tienlen_train.rollout`, the loop of a run in `tienlen_train.loop`.

Source: Zha et al., DouZero: Mastering DouDizhu with Self-Play Deep Reinforcement Learning (2021).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from tienlen_agents.ranges import Range
from tienlen_train.action_network import ActionNetwork, segment_log_softmax
from tienlen_train.command import command
from tienlen_train.config import SelfPlayConfig, setting
from tienlen_train.executor import Executor
from tienlen_train.gae import advantages
from tienlen_train.learner import Model
from tienlen_train.loop import run
from tienlen_train.minibatch import TrajectoryTensors, minibatches
from tienlen_train.rollout import IntArray, Trajectories
from tienlen_train.trainer import SelfPlayTrainer


@dataclass(frozen=True, kw_only=True)
class DMCConfig(SelfPlayConfig):
    """Settings of a run.

    Attributes:
        returns: of the action that was played, or of every legal one.
        temperature: in the unit of the reward; the network's scores are returns divided by it.
        inverse_temperature: inverse temperature of the behaviour policy relative to the softmax of the
            scores.
    """

    returns: Literal["played", "counterfactual"] = "played"
    temperature: float = setting(0.15, Range(0, 1e6, above=True))
    inverse_temperature: float = setting(3.0, Range(0, 1e6, above=True))


class ActionValueModel(Model):
    """The network alone: its scores are the returns."""

    def __init__(self, network: ActionNetwork) -> None:
        super().__init__()
        self.network = network


class DMCTrainer(SelfPlayTrainer[ActionValueModel]):
    """Regression of returns."""

    name: ClassVar[str] = "dmc"
    config: DMCConfig

    def __init__(self, config: DMCConfig, executor: Executor | None = None) -> None:
        super().__init__(config, executor)
        self.inverse_temperature = config.inverse_temperature
        self.with_action_values = config.returns == "counterfactual"
        if self.with_action_values and self.features.action_values is None:
            raise ValueError(f"returns='counterfactual': rollouts are not available for {self.features.game}")

    def make_model(self, network: ActionNetwork) -> ActionValueModel:
        """The policy's network."""
        return ActionValueModel(network)

    def learn(self, trajectories: Trajectories) -> dict[str, float]:
        """Fit the returns; the metrics."""
        config, num_decisions = self.config, len(trajectories)
        tensors = TrajectoryTensors(trajectories, self.device, self.dtype)
        is_played = config.returns == "played"
        if is_played:
            returns, _ = advantages(trajectories, np.zeros(num_decisions, np.float32), gae_lambda=1.0)
        else:
            returns = trajectories.action_values
        target = torch.from_numpy(returns).to(self.device)

        def loss(model: ActionValueModel, decisions: IntArray) -> tuple[Tensor, Tensor]:
            batch = tensors.gather(decisions)
            with self.autocast():
                logits = model.network(
                    batch.observation, batch.action_features, batch.segment_ids, batch.prior
                )
            predicted = logits * config.temperature
            if is_played:
                wanted = target.index_select(0, tensors.tensor(decisions))
                total = (predicted[batch.chosen] - wanted).square().mean()
            else:
                # The return of an action relative to the mean of its decision's actions.
                wanted = target.index_select(0, tensors.action_rows(decisions)[0])
                num_legal = tensors.tensor(tensors.num_legal[decisions])
                error = predicted - wanted
                mean = torch.zeros_like(num_legal, dtype=error.dtype)
                mean = mean.index_add(0, batch.segment_ids, error) / num_legal
                total = (error - mean[batch.segment_ids]).square().mean()
            with torch.no_grad():
                log_probabilities = segment_log_softmax(logits, batch.segment_ids, len(decisions))
                entropy = -(log_probabilities.exp() * log_probabilities).sum() / len(decisions)
            return total, torch.stack([total.detach(), entropy])

        self.learner.set_learning_rate(config.learning_rate * self.lr_factor)
        rng = np.random.default_rng((config.seed, self.iteration, 1))
        totals, num_updates = torch.zeros(()), 0
        for _ in range(config.update_epochs):
            for decisions in minibatches(rng, num_decisions, config.batch_size):
                totals = totals + self.learner.step(loss, decisions)
                num_updates += 1
        return dict(zip(("loss", "entropy"), (totals / num_updates).tolist(), strict=True))


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Train, compare over duplicate deals, print the result table and write the run folder."""
    return run(
        DMCTrainer, DMCConfig, "Train a policy by deep Monte-Carlo; compare it with the baselines.", argv
    )


if __name__ == "__main__":
    sys.exit(main())
