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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from tienlen_agents.settings import Range, setting
from tienlen_train.config import SelfPlayConfig
from tienlen_train.learner import AnyTrajectories, Model, advantages
from tienlen_train.loop import training_command
from tienlen_train.network import ActionNetwork, repeat_rows, segment_log_softmax, segment_sum
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

    groups: ClassVar[Mapping[str, str]] = {
        **SelfPlayConfig.groups,
        "Deep Monte Carlo": "returns temperature inverse_temperature",
    }
    returns: Literal["played", "counterfactual"] = "played"
    temperature: float = setting(0.15, Range(0, 1e6, above=True))
    inverse_temperature: float = setting(3.0, Range(0, 1e6, above=True))

    def rollout_options(self) -> dict[str, Any]:
        """See `SelfPlayConfig.rollout_options`."""
        return {
            "inverse_temperature": self.inverse_temperature,
            "with_action_values": self.returns == "counterfactual",
        }


class DMCTrainer(SelfPlayTrainer[Model]):
    """Regression of returns."""

    name: ClassVar[str] = "dmc"
    config: DMCConfig

    def make_model(self, network: ActionNetwork) -> Model:
        """The policy's network alone: its scores are the returns."""
        if self.config.returns == "counterfactual" and self.features.returns is None:
            raise ValueError(f"returns='counterfactual': rollouts are not available for {self.features.game}")
        return Model(network)

    def learn(self, played: AnyTrajectories) -> dict[str, float]:
        """Fit the returns; the metrics."""
        config, tensors = self.config, self.tensors(played)
        is_played = config.returns == "played"
        # Of the chosen actions, float32 (n,), or of all, (N,).
        returns: Any = played.action_values
        if is_played:
            returns, _ = advantages(played, 0 * played.reward, gae_lambda=1.0)
        target = torch.as_tensor(returns, device=self.device)

        def loss(model: Model, decisions: Any) -> tuple[Tensor, Tensor]:
            batch = tensors.gather(decisions)
            in_order = batch.num_legal if model.network.for_device else None
            with self.autocast():
                logits = model.logits(batch)
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

        return self.take_steps(loss, ("loss", "entropy"), played)


main = training_command(
    DMCTrainer, DMCConfig, "Train a policy by deep Monte-Carlo; compare it with the baselines."
)


if __name__ == "__main__":
    sys.exit(main())
