"""The network of `tienlen_agents.networks.network` (NumPy, to play) as a torch module, to train it.

`ActionNetwork.to_network` returns a `Network` with the same weights. A `NetworkAgent` plays
it without torch.
"""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import features_of
from tienlen_agents.networks.general import fitted, generalised
from tienlen_agents.networks.network import Network, NetworkConfig, mean_network
from tienlen_agents.settings import several_files
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import num_words
from tienlen_train.config import SelfPlayConfig

MULTIPLE: Final = 8  # of 16-bit numbers in a row: a device multiplies aligned rows several times as fast


class ActionNetwork(nn.Module):
    """The network in the docstring of `tienlen_agents.networks.network`.

    Attributes:
        belief: the belief network; None if the configuration has none.
        for_device: its inputs are aligned as devices need it: their rows may end with further columns of 0
            (`aligned`), and sums over segments have a fixed order. Otherwise rows are padded for oneDNN.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.for_device = False
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
        self.belief: nn.Sequential | None = None
        if config.belief_width:
            self.belief = nn.Sequential(
                nn.Linear(config.state_inputs, config.belief_width),
                nn.ReLU(),
                nn.Linear(config.belief_width, config.belief_width),
                nn.ReLU(),
                nn.Linear(config.belief_width, config.num_beliefs),
            )
            self.belief.requires_grad_(False)  # only `tienlen_train.belief` trains it
        # Zero-initialised output: the initial policy is the prior, or uniform.
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    def forward(
        self,
        observation: Tensor,
        after: Tensor,
        owner: Tensor,
        prior: Tensor,
        num_legal: Tensor | None = None,
    ) -> Tensor:
        """Logits of legal actions.

        Args:
            observation: float (n, O + E), or with a play summary (n, O + R + E).
            after: float (N, X).
            owner: int64 (N,), ascending: each action's decision.
            prior: float32 (N,).
            num_legal: int64 (n,), number of actions of each decision; needed only with `for_device`.

        Returns:
            float32 (N,).
        """
        num_actions = after.shape[0]  # not len, which makes an exported number of actions a constant
        if not self.for_device:
            observation, after = pad_rows(observation, 128), pad_rows(after, 512)
            owner = nn.functional.pad(owner, (0, len(after) - num_actions))
        state = self.state(self.trunk[1:](wide_linear(self.trunk[0], observation)))
        own_state = (
            repeat_rows(state, owner, num_legal)
            if self.for_device and num_legal is not None
            else state.index_select(0, owner)
        )
        met = torch.relu(own_state + wide_linear(self.after, after))
        met = met + torch.relu(self.block(met))
        score: Tensor = self.score(torch.relu(self.hidden(met))).squeeze(1)[:num_actions]
        return score.float() + prior

    def beliefs(self, observation: Tensor) -> Tensor:
        """The outputs of the belief network: logarithms of card weights.

        Args:
            observation: see `forward`.

        Returns:
            float32 (n, opponents, C), the next to play first.

        Raises:
            ValueError: there is no belief network.
        """
        if self.belief is None:
            raise ValueError("this network has no belief network")
        rows = observation if self.for_device else pad_rows(observation, 128)
        found: Tensor = self.belief[1:](wide_linear(self.belief[0], rows))
        return found[: len(observation)].view(len(observation), self.config.num_players - 1, -1).float()

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

    def to_network(self) -> Network:
        """A copy of the present weights.

        Raises:
            ValueError: see `Network`.
        """
        tensors = {k: v.detach().float().cpu().numpy().copy() for k, v in self.state_dict().items()}
        return Network(self.config, tensors)


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


def aligned(parts: list[Tensor], dtype: torch.dtype) -> Tensor:
    """Columns side by side, of a type, with columns of 0 up to a size that devices multiply fast.

    Args:
        parts: numbers, (n, k) each.
        dtype: of the result.
    """
    size = sum(part.shape[1] for part in parts)
    width = -(-size // MULTIPLE) * MULTIPLE
    out = torch.empty((len(parts[0]), width), dtype=dtype, device=parts[0].device)
    begin = 0
    for part in parts:
        out[:, begin : begin + part.shape[1]] = part
        begin += part.shape[1]
    out[:, size:] = 0
    return out


def wide_linear(layer: nn.Module, rows: Tensor) -> Tensor:
    """A linear layer on rows that may end with columns which are 0 and have no weights."""
    assert isinstance(layer, nn.Linear)
    surplus = rows.shape[1] - layer.in_features
    weight = nn.functional.pad(layer.weight, (0, surplus)) if surplus else layer.weight
    return nn.functional.linear(rows, weight, layer.bias)


# ---------------------------------------------------------------- segments: the actions of each decision


def segment_log_softmax(
    logits: Tensor, owner: Tensor, num_segments: int, num_legal: Tensor | None = None
) -> Tensor:
    """Log-probabilities within each decision's actions, float32 (N,).

    Args:
        logits: float32 (N,).
        owner: int64 (N,), ascending, no empty segment.
        num_segments: n.
        num_legal: int64 (n,), number of actions of each decision; sums are then in a fixed order on a device.
    """
    highest = torch.full((num_segments,), -torch.inf, device=logits.device)
    highest = highest.scatter_reduce(0, owner, logits.detach(), "amax")
    shifted = logits - highest[owner]
    if num_legal is not None:
        return shifted - repeat_rows(segment_sum(shifted.exp(), owner, num_legal).log(), owner, num_legal)
    total = torch.zeros(num_segments, device=logits.device).index_add(0, owner, shifted.exp())
    return shifted - total.log()[owner]


def _sum_segments(rows: Tensor, num_legal: Tensor) -> Tensor:
    # Atomic additions, as of index_add, have no fixed order on a device. The lengths are not checked: that
    # would wait for it.
    return torch.segment_reduce(rows.float(), "sum", lengths=num_legal, axis=0, unsafe=True).to(rows.dtype)


class _RepeatRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, owner: Tensor, num_legal: Tensor) -> Tensor:
        ctx.save_for_backward(num_legal)
        return rows.index_select(0, owner)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _sum_segments(gradients[0], ctx.saved_tensors[0]), None, None


class _SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, owner: Tensor, num_legal: Tensor) -> Tensor:
        ctx.save_for_backward(owner)
        return _sum_segments(rows, num_legal)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0].index_select(0, ctx.saved_tensors[0]), None, None


def repeat_rows(rows: Tensor, owner: Tensor, num_legal: Tensor) -> Tensor:
    """The row of each action's decision, (N, ...), from rows (n, ...)."""
    found: Tensor = _RepeatRows.apply(rows, owner, num_legal)  # type: ignore[no-untyped-call]
    return found


def segment_sum(values: Tensor, owner: Tensor, num_legal: Tensor) -> Tensor:
    """The sum over the actions of each decision, (n, ...), from (N, ...)."""
    found: Tensor = _SegmentSum.apply(values, owner, num_legal)  # type: ignore[no-untyped-call]
    return found


def unpack(words: torch.Tensor, size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The items of packed masks or observations (`tienlen_env.engine.packed`).

    Plain operations of torch, which ``torch.compile`` joins with what comes next, for example the first layer
    of a network.

    Args:
        words: int64 (..., ceil(size / 64)).
        size: n, the number of items.
        dtype: of the result.

    Returns:
        (..., n) of 0 and 1, on the device of the words.

    Raises:
        ValueError: words of another dtype or shape.
    """
    if words.dtype != torch.int64 or words.ndim == 0 or words.shape[-1] != num_words(size):
        raise ValueError(
            f"words: expected int64 (..., {num_words(size)}) for {size} items, "
            f"got {words.dtype} {tuple(words.shape)}"
        )
    shifts = torch.arange(64, device=words.device)
    return (words.unsqueeze(-1) >> shifts & 1).flatten(-2)[..., :size].to(dtype)


def first_network(config: SelfPlayConfig, rules: AnyRules, *, is_general: bool) -> ActionNetwork:
    """The policy's network at the start of a run: a new one, or the mean of some files.

    Args:
        config: the settings.
        rules: of the run.
        is_general: the network plays every variant of the game.

    Raises:
        OSError, ValueError: a file cannot be read, or its network does not fit the run.
    """
    if config.start_from:
        found = [_read_network(path, config, rules, is_general) for path in several_files(config.start_from)]
        try:
            return ActionNetwork.of(mean_network(found))
        except ValueError as error:
            raise ValueError(f"start_from={config.start_from!r}: {error}") from error
    features = features_of(rules)
    settings: dict[str, Any] = {
        "state_width": config.state_width,
        "action_width": config.action_width,
        "prior": config.prior if features.has_prior else "none",
        "prior_scale": features.prior_scale if config.prior_scale is None else config.prior_scale,
    }
    if is_general:
        return ActionNetwork(NetworkConfig.of_general(features.game, **settings))
    return ActionNetwork(NetworkConfig.of(rules, record=config.record, **settings))


def _read_network(path: str, config: SelfPlayConfig, rules: AnyRules, is_general: bool) -> Network:
    """The network of a policy file: that of a variant is made general or the other way, as needed."""
    found = NetworkAgent.load(path).network
    try:
        return generalised(found) if is_general else fitted(found, rules, config.reward)
    except ValueError as error:
        raise ValueError(f"start_from={path!r}: {error}") from error
