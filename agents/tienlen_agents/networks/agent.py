"""Networks as agents: `NetworkAgent` plays a network, `NetworkPlayer` is what it shares with others."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from tienlen_agents.files import write_atomic
from tienlen_agents.networks import policy_file
from tienlen_agents.networks.features import Inputs, Reader
from tienlen_agents.networks.general import Objective, fitted, fitted_config, reward_of
from tienlen_agents.networks.network import (
    CardWeights,
    Network,
    content_of,
    first_best,
    log_softmax,
    read_policy,
    sample as draw,
)
from tienlen_agents.quoting import quoted
from tienlen_env.engine.agent import View
from tienlen_env.games.common.arrays import Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules

MOST_FITTED: Final = 64  # networks of variants that an agent keeps


def objective_of(view: View) -> Objective:
    """What the reward of a view's batch asks for."""
    batch, _ = view.source
    return "payments" if batch.reward == "payments" else "points"


class _Fitted(NamedTuple):
    """A network of one variant as it is played; what is drawn in a variant depends on the seed alone."""

    network: Network
    reader: Reader
    rng: np.random.Generator


class NetworkPlayer:
    """Plays the legal action with the highest score of a network, or draws by the scores.

    It is a `ScoringAgent`, and a `tienlen_agents.search.interface.BeliefAgent` where its network has a belief
    network.

    Args:
        name: its name in result tables and plots.
        sample: draw from the policy instead of taking the most probable action.
        objective: what general networks play for: payments where the rules have them, or points everywhere;
            None: what the reward of a batch asks for.
    """

    history = 1  # for the play summary

    def __init__(self, name: str, *, sample: bool = False, objective: Objective | None = None) -> None:
        self.name = name
        self.sample = sample
        self.objective = objective
        self._seed = 0
        self._fitted: OrderedDict[tuple[AnyRules, str], _Fitted] = OrderedDict()

    @abstractmethod
    def source_for(self, rules: AnyRules) -> Network:
        """The network that plays these rules once it is `fitted` to them.

        Raises:
            ValueError: there is none.
        """

    def check_rules(self, rules: AnyRules) -> None:
        """Refuse rules that no network plays.

        Raises:
            ValueError: it names them.
        """
        self.source_for(rules)

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on; matters only with `sample`."""
        self._seed = seed
        for key, found in self._fitted.items():
            self._fitted[key] = found._replace(rng=np.random.default_rng(seed))

    def network_for(self, rules: AnyRules, objective: Objective = "payments") -> Network:
        """The network of a variant.

        Args:
            rules: the variant.
            objective: used if the agent has none of its own.

        Raises:
            ValueError: there is none.
        """
        return self._fitted_to(rules, objective).network

    def _fitted_to(self, rules: AnyRules, objective: Objective) -> _Fitted:
        key = rules, reward_of(rules, self.objective or objective)
        found = self._fitted.get(key)
        if found is None:
            network = fitted(self.source_for(rules), *key)
            found = _Fitted(network, network.config.reader(), np.random.default_rng(self._seed))
            self._fitted[key] = found
            if len(self._fitted) > MOST_FITTED:
                self._fitted.popitem(last=False)
        return found

    def act(self, view: View) -> IntArray:
        """Choose for n decisions (see `Agent.act`).

        Raises:
            ValueError: no network plays these rules.
        """
        network, reader, rng = self._fitted_to(view.rules, objective_of(view))
        legal = view.legal_actions
        actions: IntArray = legal.action[legal.start]  # right where there is one legal action
        free = np.flatnonzero(view.num_legal > 1)
        if free.size:
            inputs = reader.read(view.select(free).showing(network.config.history))
            logits, start = network.logits(inputs), inputs.segment_start
            chosen = draw(logits, start, rng) if self.sample else first_best(logits, start)
            actions[free] = inputs.action[chosen]
        return actions

    def log_probabilities(self, view: View) -> Float32Array:
        """The log-probabilities of ``view.legal_actions``, float32 (N,).

        Raises:
            ValueError: no network plays these rules.
        """
        network, inputs = self._inputs_of(view)
        return log_softmax(network.logits(inputs), inputs.segment_start)

    def log_probabilities_and_card_weights(self, view: View) -> tuple[Float32Array, CardWeights]:
        """See `tienlen_agents.search.interface.BeliefAgent`.

        Raises:
            ValueError: no network plays these rules.
        """
        network, inputs = self._inputs_of(view)
        log_probabilities = log_softmax(network.logits(inputs), inputs.segment_start)
        return log_probabilities, network.card_weights(inputs.observation)

    def _inputs_of(self, view: View) -> tuple[Network, Inputs]:
        """The network of a view's variant, and its inputs of all decisions."""
        network, reader, _ = self._fitted_to(view.rules, objective_of(view))
        return network, reader.read(view.showing(network.config.history))


@dataclass(eq=False)
class NetworkAgent(NetworkPlayer):
    """Plays a network of one variant, or a general one; see `NetworkPlayer`.

    Args:
        network: its weights.
        name: see `NetworkPlayer`.
        sample: see `NetworkPlayer`.
        card: free-form metadata, the model card (see `save`).
        objective: see `NetworkPlayer`.
    """

    network: Network
    name: str = "network"
    sample: bool = False
    card: dict[str, Any] = field(default_factory=dict)
    objective: Objective | None = None

    def __post_init__(self) -> None:
        super().__init__(self.name, sample=self.sample, objective=self.objective)
        config = self.network.config
        self.plays = config.game
        if not config.is_general:
            self.history = max(config.history, config.reader().history)

    @classmethod
    def load(cls, path: str | Path, *, sample: bool = False) -> Self:
        """Read what `save` wrote; see `tienlen_agents.networks.network.read_policy`.

        Raises:
            ValueError: the file is damaged, of another format, or its weights do not fit its configuration.
            FileNotFoundError: there is no such file.
        """
        network, card = read_policy(path)
        return cls(network, name=f"policy:{quoted(str(path), in_list=False)}", sample=sample, card=card)

    def save(self, path: str | Path) -> None:
        """Write the network to a safetensors file: weights, configuration and card; no code.

        The same network with the same card gives the same bytes; a digest of them is in the file. Matrices
        that lose nothing by it are stored as float16 (`tienlen_agents.networks.policy_file.packed`).

        Raises:
            OSError: it cannot be written.
        """
        write_atomic(Path(path), policy_file.to_bytes(*content_of(self.network, self.card)))

    @property
    def digest(self) -> str:
        """64 hex digits: SHA-256 of weights, configuration and card, as in the file that `save` writes."""
        return policy_file.content_digest(*content_of(self.network, self.card))

    def source_for(self, rules: AnyRules) -> Network:
        """The network.

        Raises:
            ValueError: it was made for other rules.
        """
        try:
            fitted_config(self.network.config, rules)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        return self.network
