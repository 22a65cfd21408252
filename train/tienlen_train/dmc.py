"""Train a policy by deep Monte-Carlo and compare it with the rule-based baselines.

    python -m tienlen_train.dmc                          # returns as played, as in DouZero
    python -m tienlen_train.dmc --returns counterfactual   # of every legal action

The network learns what each action returns, and plays (or draws, by a softmax at `temperature` points) what
returns most. With *played* returns only the chosen action teaches, by what its seat got in the end. With
*counterfactual* returns every legal action does: the round is played on from each, with all hands where they
are, everyone by the heuristic's rules. The returns of one decision then differ by the action alone, not by
the deal; what is learned is one step of policy improvement over the heuristic, averaged over the hands that
others may hold. How games are played and a run is kept is in `tienlen_train.trainer`.

Source: Zha et al., DouZero: Mastering DouDizhu with Self-Play Deep Reinforcement Learning (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from tienlen_agents.networks.network import ActionNetwork, segment_log_softmax
from tienlen_train.rollout import IntArray, Trajectories, advantages
from tienlen_train.trainer import Batches, SelfPlayConfig, Trainer, run


@dataclass(frozen=True, kw_only=True)
class DMCConfig(SelfPlayConfig):
    """Settings of a run.

    Attributes:
        returns: of the action that was played, or of every legal one.
        temperature: points; the network's scores are returns divided by it.
        sharpness: how much more pointed than the softmax of the scores the play is from which it learns.
    """

    returns: Literal["played", "counterfactual"] = "played"
    temperature: float = 0.15
    sharpness: float = 3.0


class ReturnLearner(nn.Module):
    """The network alone: its scores are the returns."""

    def __init__(self, network: ActionNetwork) -> None:
        super().__init__()
        self.network = network


class DMCTrainer(Trainer):
    """Regression of returns."""

    name: ClassVar[str] = "dmc"
    config: DMCConfig
    learner: ReturnLearner

    def __init__(self, config: DMCConfig) -> None:
        super().__init__(config)
        if config.returns == "counterfactual":
            self.judge = self.features.action_returns
            if self.judge is None:
                raise ValueError(f"returns='counterfactual': there are no playouts of {self.features.game}")

    @property
    def sharpness(self) -> float:
        """See `DMCConfig`."""
        return self.config.sharpness

    def make_learner(self, network: ActionNetwork) -> ReturnLearner:
        """The policy's network."""
        return ReturnLearner(network)

    def learn(self, played: Trajectories) -> dict[str, float]:
        """Fit the returns; the measures."""
        config = self.config
        batches = Batches(played, self.device, self.dtype)
        is_played = config.returns == "played"
        if is_played:
            returns, _ = advantages(played, np.zeros(len(played), np.float32), 1.0)
        else:
            returns = played.judged
        known = torch.from_numpy(returns).to(self.device)

        def shard_loss(learner: nn.Module, decisions: IntArray, weight: float) -> Tensor:
            observation, after, owner, prior, chosen, _ = batches.gather(decisions)
            with self.autocast():
                logits = learner.network(observation, after, owner, prior)
            found = logits * config.temperature
            if is_played:
                wanted = known.index_select(0, torch.from_numpy(decisions).to(self.device))
                loss = (found[chosen] - wanted).square().mean()
            else:
                # What an action returns beyond the mean of its decision's.
                wanted = known.index_select(0, batches.rows(decisions)[0])
                num = torch.from_numpy(batches.count[decisions]).to(self.device)
                error = found - wanted
                mean = torch.zeros_like(num, dtype=error.dtype).index_add(0, owner, error) / num
                loss = (error - mean[owner]).square().mean()
            (loss * weight).backward()
            with torch.no_grad():
                log_all = segment_log_softmax(logits, owner, len(decisions))
                entropy = -(log_all.exp() * log_all).sum() / len(decisions)
            return torch.stack([loss.detach(), entropy]) * weight

        measures = self.epochs(len(played), shard_loss).tolist()
        return dict(zip(("loss", "entropy"), measures, strict=True))


def main(argv: Sequence[str] | None = None) -> None:
    """Train, compare over duplicate deals, print the table and leave the run folder."""
    run(DMCTrainer, DMCConfig, "Train a policy by deep Monte-Carlo; compare it with the baselines.", argv)


if __name__ == "__main__":
    main()
