"""A network that scores the legal actions of a hand, and the agent that plays by it.

Instead of one logit for every action of the table, the network looks at each legal action (6.5 on average,
where there is a choice): at what the action *is* (kind, length, top card), at the hand that it leaves, and at
what that hand still needs. So it is small, it generalises over actions, and one architecture serves every
preset, number of players and game::

    observation (O) ── trunk ── state (D) ─┐ repeated for each legal action
    action, hand left, facts (X) ── after ─┴─ + ── ReLU ── block ── hidden ── score ( + prior )

What is read is `tienlen_agents.networks.features`. With ``prior="heuristic"`` the score is added to
`prior_scale` times what the game's rule-based player thinks the action is behind the best one (in plays in
Tiến lên, in points in Thirteens); an untrained network then plays like that player.

This module imports torch; `tienlen_agents.load` imports it only when such an agent is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from tienlen_agents.files import write_atomic
from tienlen_agents.networks.features import Inputs, Prior, Reader, features_by_name, features_of
from tienlen_env.engine.agent import View
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
FORMAT: Final = "tienlen-network-1"
FEW: Final = 128  # decisions


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The shape of a network, and what it was made for.

    Attributes:
        game: its name.
        rules: name of the preset.
        rules_digest: of its `Rules`, so that no network plays a variant that it was not made for.
        num_players: seats at the table.
        history: plays that the observation shows.
        record: whether it goes on with what the others passed over and played
            (`tienlen_agents.networks.features.tienlen_play_summary`).
        observation_size: O, or O + R with a record.
        num_derived: E, what the game's reader adds behind it.
        action_inputs: X.
        state_width: units of the trunk's layers.
        action_width: D, units of the layer where state and action meet, and of the block after it, which is
            added to what it reads; the hidden layer has half of them.
        prior: what the score is added to.
        prior_scale: times what an action is behind, for ``prior="heuristic"``.
    """

    game: str = "tienlen"
    rules: str
    rules_digest: str
    num_players: int
    history: int = 0
    record: bool = False
    observation_size: int
    num_derived: int = 52
    action_inputs: int
    state_width: int = 256
    action_width: int = 128
    prior: Prior = "none"
    prior_scale: float = 4.0

    @classmethod
    def of(cls, rules: AnyRules, *, record: bool = False, **settings: Any) -> Self:
        """The configuration for a variant; a game that has no record shows none."""
        features = features_of(rules)
        num_record = features.num_summary_bits(rules) if record else 0
        return cls(
            game=features.game,
            rules=rules.name,
            rules_digest=rules.digest(),
            num_players=rules.num_players,
            record=num_record > 0,
            observation_size=game_of(rules).observation(rules, 0).size + num_record,
            num_derived=features.num_derived(rules),
            action_inputs=features.num_action_features(rules),
            **settings,
        )

    @property
    def state_inputs(self) -> int:
        """O + E, or O + R + E with a record."""
        return self.observation_size + self.num_derived

    def reader(self) -> Reader:
        """What makes the network's inputs."""
        return features_by_name(self.game).reader(self.prior, self.prior_scale, record=self.record)


class ActionNetwork(nn.Module):
    """The network of this module's docstring."""

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
        # The untrained network says nothing, so that play begins at the prior, or uniformly.
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    def forward(self, observation: Tensor, after: Tensor, owner: Tensor, prior: Tensor) -> Tensor:
        """Logits of legal actions.

        Args:
            observation: float (n, O + E), or with a record (n, O + R + E).
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
        """How many numbers are learned."""
        return sum(p.numel() for p in self.parameters())


@contextmanager
def threads_for(num_decisions: int) -> Iterator[None]:
    """Let torch use one thread meanwhile if the decisions are few.

    Threads share next to nothing then, and wait for one another: 30 ms a pass where other programs run.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1 if num_decisions < FEW else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def as_bfloat16(bits: npt.NDArray[np.uint16]) -> Tensor:
    """The tensor whose memory this is; NumPy has no such type."""
    return torch.from_numpy(bits).view(torch.bfloat16)


def pad_rows(rows: Tensor, multiple: int) -> Tensor:
    """Rows of zeros added up to a multiple: oneDNN spends milliseconds on every new number of rows.

    Where there are fewer rows than that, up to a multiple of an eighth of it; where there are fewer still, as
    for one decision at a time, up to a power of two.
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
        owner: int64 (N,), ascending, every segment not empty.
        num_segments: n.
    """
    highest = torch.full((num_segments,), -torch.inf, device=logits.device)
    highest = highest.scatter_reduce(0, owner, logits.detach(), "amax")
    shifted = logits - highest[owner]
    total = torch.zeros(num_segments, device=logits.device).index_add(0, owner, shifted.exp())
    return shifted - total.log()[owner]


def sample(log_probabilities: FloatArray, start: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw an action of each decision: int64 (n,), indices into the ragged actions (Gumbel's trick)."""
    noise = rng.gumbel(size=len(log_probabilities))
    return first_best(log_probabilities + noise, start)


def first_best(scores: npt.NDArray[Any], start: IntArray) -> IntArray:
    """The first index of each decision's highest score: int64 (n,), into the ragged actions."""
    count = np.diff(np.append(start, len(scores)))
    best = np.repeat(np.maximum.reduceat(scores, start), count)
    hits = np.flatnonzero(scores == best)
    first = np.searchsorted(hits, start)
    return hits[first]


@dataclass
class NetworkAgent:
    """Plays the legal action with the highest score, or draws by the scores.

    Args:
        network: is used as it is, not copied.
        name: what tables and plots call it.
        sample: draw from the policy instead of taking the most probable action.
        card: whatever its makers say of it (see `save`).
    """

    network: ActionNetwork
    name: str = "network"
    sample: bool = False
    card: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        config = self.network.config
        self._reader = config.reader()
        self.plays = config.game
        self._rng = np.random.default_rng(0)
        self.history = max(config.history, self._reader.history)

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on; matters only with `sample`."""
        self._rng = np.random.default_rng(seed)

    def act(self, view: View) -> IntArray:
        """Choose for n decisions (see `Agent.act`).

        Raises:
            ValueError: the network was made for other rules or another number of players.
        """
        self._check(view)
        legal = view.legal_actions
        actions: IntArray = legal.action[legal.start]  # right where there is one legal action
        free = np.flatnonzero(view.num_legal > 1)
        if free.size:
            some = view.select(free)
            inputs = self._reader.read(some)
            logits = self.logits(inputs)
            chosen = (
                sample(logits, inputs.segment_start, self._rng)
                if self.sample
                else first_best(logits, inputs.segment_start)
            )
            actions[free] = inputs.action[chosen]
        return actions

    def log_probabilities(self, view: View) -> FloatArray:
        """How probable each of ``view.legal_actions`` is: float32 (N,), logarithms.

        Raises:
            ValueError: see `act`.
        """
        self._check(view)
        inputs = self._reader.read(view)
        logits, owner = torch.from_numpy(self.logits(inputs)), torch.from_numpy(inputs.segment_ids)
        found: FloatArray = segment_log_softmax(logits, owner, len(view)).numpy()
        return found

    def logits(self, inputs: Inputs) -> FloatArray:
        """The network's scores, prior included, float32 (N,)."""
        with torch.inference_mode(), threads_for(len(inputs.segment_start)):
            logits: FloatArray = self.network(
                torch.from_numpy(inputs.observation).float(),
                as_bfloat16(inputs.action_features).float(),
                torch.from_numpy(inputs.segment_ids),
                torch.from_numpy(inputs.prior),
            ).numpy()
        return logits

    def _check(self, view: View) -> None:
        config = self.network.config
        if view.rules.digest() != config.rules_digest:
            raise ValueError(
                f"{self.name} was made for the {config.rules} rules with {config.num_players} players, not "
                f"for {view.rules.name} with {view.rules.num_players} (or a changed option)"
            )

    # ------------------------------------------------------------ files

    def save(self, path: str | Path) -> None:
        """Write the network to a safetensors file: weights, configuration and card; no code.

        Raises:
            OSError: it cannot be written.
        """
        metadata = {
            "format": FORMAT,
            "config": json.dumps(asdict(self.network.config)),
            "card": json.dumps(self.card),
        }
        weights = {k: v.detach().contiguous().cpu() for k, v in self.network.state_dict().items()}
        write_atomic(Path(path), save(weights, metadata))

    @classmethod
    def load(cls, path: str | Path, *, sample: bool = False) -> Self:
        """Read what `save` wrote. Reading runs no code of the file.

        Raises:
            ValueError: the file is damaged, of another format, or its weights do not fit its configuration.
            FileNotFoundError: there is no such file.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"policy {str(path)!r}: there is no such file")
        try:
            with safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
                weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise ValueError(f"policy {str(path)!r}: this is no safetensors file ({error})") from error
        if metadata.get("format") != FORMAT:
            raise ValueError(f"policy {str(path)!r}: expected the format {FORMAT}")
        try:
            network = ActionNetwork(NetworkConfig(**json.loads(metadata["config"])))
            network.load_state_dict(weights)
            card = json.loads(metadata.get("card", "{}"))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"policy {str(path)!r}: weights and configuration do not fit: {error}"
            ) from error
        network.eval().requires_grad_(False)
        return cls(network, name=f"policy:{path}", sample=sample, card=card)
