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
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from tienlen_agents.device.machine import TorchMachine
from tienlen_agents.device.network import ActionNetwork, repeat_rows, segment_log_softmax, segment_sum
from tienlen_agents.settings import Range, setting
from tienlen_train.config import SelfPlayConfig
from tienlen_train.device.trajectories import DeviceTrajectories, device_advantages
from tienlen_train.executor import Executor
from tienlen_train.learner import Model, TrajectoryTensors, advantages, minibatches
from tienlen_train.loop import training_command
from tienlen_train.rollout import Trajectories
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

    def __init__(
        self, config: DMCConfig, executor: Executor | None = None, machine: TorchMachine | None = None
    ) -> None:
        self.inverse_temperature = config.inverse_temperature
        self.with_action_values = config.returns == "counterfactual"
        super().__init__(config, executor, machine)
        if self.with_action_values and self.features.action_values is None:
            raise ValueError(f"returns='counterfactual': rollouts are not available for {self.features.game}")

    def make_model(self, network: ActionNetwork) -> ActionValueModel:
        """The policy's network."""
        return ActionValueModel(network)

    def learn(self, trajectories: Trajectories) -> dict[str, float]:
        """Fit the returns; the metrics."""
        config, num_decisions = self.config, len(trajectories)
        tensors = TrajectoryTensors(trajectories, self.device, self.dtype)
        if config.returns == "played":
            returns, _ = advantages(trajectories, np.zeros(num_decisions, np.float32), gae_lambda=1.0)
        else:
            returns = trajectories.action_values
        rng = np.random.default_rng((config.seed, self.iteration, 1))
        epochs = (minibatches(rng, num_decisions, config.batch_size) for _ in range(config.update_epochs))
        return self.improve(tensors, torch.from_numpy(returns).to(self.device), epochs)

    def learn_on_device(self, trajectories: DeviceTrajectories) -> dict[str, float]:
        """`learn`, with everything on the device until the metrics are read."""
        config = self.config
        returns = trajectories.action_values
        if config.returns == "played":
            returns, _ = device_advantages(
                trajectories, torch.zeros_like(trajectories.reward), gae_lambda=1.0
            )
        generator = self.generator()
        epochs = (trajectories.minibatches(generator, config.batch_size) for _ in range(config.update_epochs))
        return self.improve(trajectories, returns, epochs)

    def improve(
        self,
        tensors: TrajectoryTensors | DeviceTrajectories,
        target: Tensor,
        epochs: Iterable[Iterable[Any]],
    ) -> dict[str, float]:
        """Take the gradient steps of an iteration; the means of their metrics.

        Args:
            tensors: the decisions.
            target: the returns: float32 (n,) of the chosen actions, or (N,) of all.
            epochs: the minibatches of each pass.
        """
        config = self.config
        is_played = config.returns == "played"

        def loss(model: ActionValueModel, decisions: Any) -> tuple[Tensor, Tensor]:
            batch = tensors.gather(decisions)
            in_order = batch.num_legal if model.network.for_device else None
            with self.autocast():
                logits = model.network(
                    batch.observation, batch.action_features, batch.segment_ids, batch.prior, in_order
                )
            predicted = logits * config.temperature
            if is_played:
                wanted = target.index_select(0, batch.decisions)
                total = (predicted[batch.chosen] - wanted).square().mean()
            else:
                # The return of an action relative to the mean of its decision's actions.
                wanted = target.index_select(0, batch.rows)
                error = predicted - wanted
                if in_order is None:
                    sums = torch.zeros_like(batch.num_legal, dtype=error.dtype)
                    sums = sums.index_add(0, batch.segment_ids, error)
                    own_mean = (sums / batch.num_legal)[batch.segment_ids]
                else:
                    sums = segment_sum(error, batch.segment_ids, in_order)
                    own_mean = repeat_rows(sums / in_order, batch.segment_ids, in_order)
                total = (error - own_mean).square().mean()
            with torch.no_grad():
                log_probabilities = segment_log_softmax(logits, batch.segment_ids, len(decisions), in_order)
                entropy = -(log_probabilities.exp() * log_probabilities).sum() / len(decisions)
            return total, torch.stack([total.detach(), entropy])

        self.learner.set_learning_rate(config.learning_rate * self.lr_factor)
        return dict(zip(("loss", "entropy"), self.learner.train(loss, epochs), strict=True))


main = training_command(
    DMCTrainer, DMCConfig, "Train a policy by deep Monte-Carlo; compare it with the baselines."
)


if __name__ == "__main__":
    sys.exit(main())
