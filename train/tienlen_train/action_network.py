"""The network of `tienlen_agents.networks.network` as a torch module, for training.

`NetworkAgent.from_module` makes an agent from it that plays without torch.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tienlen_agents.networks.network import Network, NetworkConfig


class ActionNetwork(nn.Module):
    """The network in the docstring of `tienlen_agents.networks.network`."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        width, meet = config.state_width, config.action_width
        self.trunk = nn.Sequential(
            nn.Linear(config.state_inputs, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.state = nn.Linear(width, meet)
        self.after = nn.Linear(config.action_inputs, meet, bias=False)
        self.block = nn.Linear(meet, meet)
        self.hidden = nn.Linear(meet, meet // 2)
        self.score = nn.Linear(meet // 2, 1)
        # Zero-initialised output: the initial policy is the prior, or uniform.
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    def forward(self, observation: Tensor, after: Tensor, owner: Tensor, prior: Tensor) -> Tensor:
        """Logits of legal actions.

        Args:
            observation: float (n, O + E), or with a play summary (n, O + R + E).
            after: float (N, X).
            owner: int64 (N,), ascending: each action's decision.
            prior: float32 (N,).

        Returns:
            float32 (N,).
        """
        num_actions = len(after)
        observation, after = pad_rows(observation, 128), pad_rows(after, 512)
        owner = nn.functional.pad(owner, (0, len(after) - num_actions))
        state = self.state(self.trunk(observation))
        met = torch.relu(state.index_select(0, owner) + self.after(after))
        met = met + torch.relu(self.block(met))
        score: Tensor = self.score(torch.relu(self.hidden(met))).squeeze(1)[:num_actions]
        return score.float() + prior

    @property
    def num_weights(self) -> int:
        """The number of weights."""
        return sum(p.numel() for p in self.parameters())

    @classmethod
    def of(cls, network: Network) -> Self:
        """A module with the weights of a network; it can be trained further."""
        module = cls(network.config)  # draws from torch's generator, as for an untrained one
        weights = {name: torch.from_numpy(tensor.copy()) for name, tensor in network.tensors.items()}
        module.load_state_dict(weights)
        return module


def as_bfloat16(bits: npt.NDArray[np.uint16]) -> Tensor:
    """A tensor on the same memory; NumPy has no such type."""
    return torch.from_numpy(bits).view(torch.bfloat16)


def pad_rows(rows: Tensor, multiple: int) -> Tensor:
    """Pad with rows of zeros up to a multiple: oneDNN spends milliseconds on every new number of rows.

    Fewer rows than that are padded to a multiple of an eighth of it; still fewer rows, as for one decision at
    a time, to a power of two.
    """
    if len(rows) < multiple:
        multiple //= 8
    if 0 < len(rows) < multiple:
        multiple = 1 << (len(rows) - 1).bit_length()
    return nn.functional.pad(rows, (0, 0, 0, -len(rows) % multiple))


def segment_log_softmax(logits: Tensor, owner: Tensor, num_segments: int) -> Tensor:
    """Log-probabilities within each decision's actions, float32 (N,).

    Args:
        logits: float32 (N,).
        owner: int64 (N,), ascending, no empty segment.
        num_segments: n.
    """
    highest = torch.full((num_segments,), -torch.inf, device=logits.device)
    highest = highest.scatter_reduce(0, owner, logits.detach(), "amax")
    shifted = logits - highest[owner]
    total = torch.zeros(num_segments, device=logits.device).index_add(0, owner, shifted.exp())
    return shifted - total.log()[owner]
