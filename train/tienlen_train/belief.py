"""Train the belief network of a general policy: how likely each opponent holds each unseen card.

    python -m tienlen_train.belief --start-from general.safetensors --variants "cardgames:4 south:3 mixed"

The policy and the opponents of the pool play; only the belief network learns (see
`tienlen_agents.networks.network`). Its targets are the hidden hands: the loss of a decision is the mean
cross-entropy over the unseen cards of who holds each. A location (an opponent, or the undealt cards) that has
n of the unseen cards is n times as likely without further knowledge, so the logarithm of n is added to its
logits, and the outputs of the network are what is known beyond that. The logits of undealt cards are 0.

A belief network overfits the deals that it has seen, so every decision is used once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tienlen_agents.networks.network import general_inputs
from tienlen_agents.settings import setting
from tienlen_train.config import WIDTH, SelfPlayConfig
from tienlen_train.learner import AnyTrajectories, Model
from tienlen_train.loop import training_command
from tienlen_train.network import ActionNetwork
from tienlen_train.rollout import Trajectories
from tienlen_train.trainer import SelfPlayTrainer


@dataclass(frozen=True, kw_only=True)
class BeliefConfig(SelfPlayConfig):
    """Settings of a run.

    Attributes:
        belief_width: units of the layers of the belief network.
        decisions: decisions of the policy to train on; forced moves do not count.
        start_from: the policy, a general network.
        batch_size: decisions in one gradient step.
        num_games: rounds played in one iteration.
    """

    belief_width: int = setting(320, WIDTH)
    decisions: int = 20_000_000
    batch_size: int = 1024
    num_games: int = 4096
    update_epochs: int = 1
    snapshot_share: float = 0.0
    eval_every: int = 0
    final_deals: int = 0

    def rollout_options(self) -> dict[str, Any]:
        """The hidden hands are the targets."""
        return {"critic": "hands"}

    def __post_init__(self) -> None:
        """Check what belief networks need."""
        super().__post_init__()
        if self.start_from is None:
            self.refuse("start_from", "expected a policy file")
        if self.variants is None:
            self.refuse("variants", "expected variants: the network is a general one")
        if self.snapshot_share:
            self.refuse("snapshot_share", "expected 0: the policy does not change")


class BeliefTrainer(SelfPlayTrainer[Model]):
    """Regression of the hidden hands."""

    name: ClassVar[str] = "belief"
    config: BeliefConfig

    def make_network(self) -> ActionNetwork:
        """The policy with a new belief network, or its own if that has the width of the settings."""
        policy = super().make_network()
        if not self.features.num_belief_cards:
            raise ValueError(f"belief networks are not available in {self.features.game}")
        width = self.config.belief_width
        if policy.config.belief_width == width:
            return policy
        found = ActionNetwork(replace(policy.config, belief_width=width))
        own = {name: value for name, value in policy.state_dict().items() if not name.startswith("belief.")}
        found.load_state_dict({**found.state_dict(), **own})
        return found

    def make_model(self, network: ActionNetwork) -> Model:
        """The network; all weights but those of its belief network are frozen."""
        network.requires_grad_(False)
        assert network.belief is not None  # `make_network` has made it
        network.belief.requires_grad_(True)
        return Model(network)

    def learn(self, played: AnyTrajectories) -> dict[str, float]:
        """Take the gradient steps of an iteration; the means of their metrics.

        Returns:
            ``loss``: in nats a card; ``gain``: by how much it is below the loss without a belief network;
            ``true_owner``: the mean probability of the true location of a card.
        """
        assert isinstance(played, Trajectories)  # general networks are trained on the processor
        observation = torch.from_numpy(played.inputs.observation)
        owners = torch.from_numpy(self._owners(played))

        def loss(model: Model, decisions: Any) -> tuple[Tensor, Tensor]:
            index = torch.from_numpy(decisions)
            owner = owners.index_select(0, index).to(self.device)
            inputs = observation.index_select(0, index).to(self.device, self.dtype)
            with self.autocast():
                found = model.network.beliefs(inputs)
            sizes = owner.sum(2, keepdim=True)
            is_unseen = owner.any(1)
            prior = sizes.clamp(min=1e-9).log()
            log_probability = (nn.functional.pad(found, (0, 0, 0, 1)) + prior).log_softmax(1)
            before = prior.log_softmax(1)
            per_card = owner / is_unseen.sum(1).clamp(min=1)[:, None, None]
            total = -(log_probability * per_card).sum() / len(decisions)
            with torch.no_grad():
                gain = ((log_probability - before) * per_card).sum() / len(decisions)
                probability = (log_probability.exp() * per_card).sum() / len(decisions)
            return total, torch.stack([total.detach(), gain, probability])

        return self.take_steps(loss, ("loss", "gain", "true_owner"), played)

    def _owners(self, trajectories: Trajectories) -> npt.NDArray[np.float32]:
        """Who holds each card: float32 (n, opponents + 1, C) of 0 and 1, the undealt cards last."""
        general = general_inputs(self.features.game)
        assert general.unseen_cards is not None  # belief networks are available
        num_opponents, num_cards = general.num_players - 1, self.features.num_belief_cards
        hands = trajectories.privileged[:, : num_opponents * num_cards].reshape(-1, num_opponents, num_cards)
        unseen = general.unseen_cards(trajectories.inputs.observation)
        undealt = unseen & ~hands.any(axis=1)
        return np.concatenate([hands, undealt[:, None]], axis=1).astype(np.float32)


main = training_command(BeliefTrainer, BeliefConfig, "Train the belief network of a general policy.")


if __name__ == "__main__":
    sys.exit(main())
