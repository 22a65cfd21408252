"""One network for every variant of a game: the rules are inputs of it.

A general network has the inputs of `tienlen_agents.networks.features.general`. It is not played itself:
`specialised` makes the ordinary network of a variant from it, which plays wherever ordinary networks play, at
the same speed. `generalised` goes the other way: training may start from the network of one variant.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np

from tienlen_agents.networks.features.general import Columns, add_rule_inputs, pick_columns
from tienlen_agents.networks.network import (
    CardWeights,
    Network,
    NetworkAgent,
    NetworkConfig,
    StoredPolicy,
    general_inputs,
    read_policy,
    shapes_of,
)
from tienlen_env.engine.agent import View
from tienlen_env.games.common.arrays import Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, get_rules, has_payments

Objective = Literal["points", "payments"]
MOST_LOADED: Final = 64  # specialised networks that an agent keeps
_AFTER = "after.weight"
# Layers that read the observation, with their biases.
_FROM_STATE: Final = {"trunk.0.weight": "trunk.0.bias", "belief.0.weight": "belief.0.bias"}
_BELIEFS: Final = ("belief.4.weight", "belief.4.bias")  # an output for each opponent and card


def reward_of(rules: AnyRules, objective: Objective = "payments") -> str:
    """The reward of an objective (see `RunConfig.reward`); payments only where the rules have them.

    Raises:
        ValueError: an unknown objective.
    """
    if objective not in get_args(Objective):
        raise ValueError(f"objective={objective!r}: expected one of {', '.join(get_args(Objective))}")
    return "payments" if objective == "payments" and has_payments(rules) else "zero_sum"


def objective_of(view: View) -> Objective:
    """What the reward of a view's batch asks for."""
    batch, _ = view.source
    return "payments" if batch.reward == "payments" else "points"


def specialised_config(config: NetworkConfig, rules: AnyRules) -> NetworkConfig:
    """The configuration of the network that `specialised` makes.

    Raises:
        ValueError: it is not a general network, or one of another game.
    """
    if not config.is_general:
        raise ValueError("expected a general network")
    if game_of(rules).name != config.game:
        raise ValueError(f"the network plays {config.game}, not the {rules.name} rules")
    return NetworkConfig.of(rules, record=config.record, **config.design)


def specialised_weights(
    game: str, weights: Mapping[str, Float32Array], rules: AnyRules, reward: str
) -> dict[str, Float32Array]:
    """The weights of the network that `specialised` makes, by name, from those of the general one."""
    general = general_inputs(game)
    found = {**weights, _AFTER: _picked(weights[_AFTER], general.action_columns(rules))}
    for first, bias in _FROM_STATE.items():
        if first in weights:
            found[first] = _picked(weights[first], general.state_columns(rules))
            found[bias] = weights[bias].copy()
            add_rule_inputs(weights[first], general.rule_inputs(rules, reward), found[bias])
    for name in _BELIEFS:
        if name in weights:  # the outputs of the opponents who play next come first
            found[name] = weights[name][
                : len(weights[name]) // (general.num_players - 1) * (rules.num_players - 1)
            ]
    return found


def _picked(weights: Float32Array, columns: Columns) -> Float32Array:
    found = np.empty((len(weights), len(columns.index)), np.float32)
    pick_columns(weights, columns.index, found)
    return found


def specialised(network: Network, rules: AnyRules, reward: str) -> Network:
    """The ordinary network of a variant that scores as a general one does.

    Args:
        network: a general one.
        rules: the variant.
        reward: the objective: ``"zero_sum"``, ``"win"`` or ``"payments"``.

    Raises:
        ValueError: it is not a general network, or one of another game; or an unknown reward.
    """
    config = specialised_config(network.config, rules)
    return Network(config, specialised_weights(config.game, network.tensors, rules, reward))


def generalised(network: Network) -> Network:
    """A general network that scores, whatever the rules, as the network of one variant does.

    Raises:
        ValueError: it has no play summary, was made for other rules than a preset, or its game has no
            general inputs.
    """
    config = network.config
    general = general_inputs(config.game)
    rules = get_rules(config.rules, config.num_players)
    if not config.record or rules.digest() != config.rules_digest:
        raise ValueError("expected a general network, or that of a preset with a play summary")
    wanted = NetworkConfig.of_general(config.game, **config.design)
    tensors = {**network.tensors, _AFTER: general.action_columns(rules).expand(network.tensors[_AFTER])}
    for name, shape in shapes_of(wanted).items():
        if name in _FROM_STATE:
            first = general.state_columns(rules).expand(tensors[name])
            tensors[name] = np.pad(first, ((0, 0), (0, general.num_rule_inputs)))
        elif name in _BELIEFS:  # zeros for the opponents of larger tables
            rest = shape[0] - len(tensors[name])
            tensors[name] = np.pad(tensors[name], ((0, rest), *[(0, 0)] * (len(shape) - 1)))
    return Network(wanted, tensors)


@dataclass
class GeneralAgent(StoredPolicy):
    """Plays every variant of a game with one general network.

    Args:
        network: a general one.
        name: its name in result tables and plots.
        sample: draw from the policy instead of taking the most probable action.
        card: free-form metadata, the model card.
        objective: what it plays for: payments where the rules have them, or points everywhere; None: what
            the reward of a batch asks for.
    """

    network: Network
    name: str = "network"
    sample: bool = False
    card: dict[str, Any] = field(default_factory=dict)
    objective: Objective | None = None
    history = 1  # for the play summary

    def __post_init__(self) -> None:
        self.plays = self.network.config.game
        self._seed = 0
        self._specialised: OrderedDict[tuple[AnyRules, str], NetworkAgent] = OrderedDict()

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on; matters only with `sample`."""
        self._seed = seed
        for agent in self._specialised.values():
            agent.reset(seed)

    def network_for(self, rules: AnyRules, objective: Objective = "payments") -> NetworkAgent:
        """The specialised network of a variant.

        Args:
            rules: the variant.
            objective: used if the agent has none of its own.

        Raises:
            ValueError: rules of another game.
        """
        reward = reward_of(rules, self.objective or objective)
        found = self._specialised.get((rules, reward))
        if found is None:
            network = specialised(self.network, rules, reward)
            found = NetworkAgent(network, self.name, self.sample, self.card)
            found.reset(self._seed)
            self._specialised[rules, reward] = found
            if len(self._specialised) > MOST_LOADED:
                self._specialised.popitem(last=False)
        return found

    def act(self, view: View) -> IntArray:
        """Choose for n decisions (see `Agent.act`).

        Raises:
            ValueError: rules of another game.
        """
        return self.network_for(view.rules, objective_of(view)).act(view)

    def log_probabilities(self, view: View) -> Float32Array:
        """The log-probabilities of ``view.legal_actions``, float32 (N,).

        Raises:
            ValueError: rules of another game.
        """
        return self.network_for(view.rules, objective_of(view)).log_probabilities(view)

    def log_probabilities_and_card_weights(self, view: View) -> tuple[Float32Array, CardWeights]:
        """See `tienlen_agents.search.interface.BeliefAgent`.

        Raises:
            ValueError: rules of another game.
        """
        return self.network_for(view.rules, objective_of(view)).log_probabilities_and_card_weights(view)


def load_policy(path: str | Path, *, sample: bool = False) -> NetworkAgent | GeneralAgent:
    """Read a policy file of either kind (`tienlen_agents.networks.network.read_policy`).

    Raises:
        ValueError: the file is damaged, of another format, or its weights do not fit its configuration.
        FileNotFoundError: there is no such file.
    """
    network, card = read_policy(path)
    kind = GeneralAgent if network.config.is_general else NetworkAgent
    return kind(network, name=f"policy:{path}", sample=sample, card=card)
