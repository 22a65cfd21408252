"""Fit a network to a variant, or make it a general one: the rules are then inputs of it.

A general network has the inputs of `tienlen_agents.networks.features.general`. It is not played itself:
`fitted` makes the network of a variant from it, which plays at the same speed as any other. `fitted` also
finds the columns of a network of one variant, by the names of the pieces that it reads. `generalised` goes
the other way: training may start from the network of one variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

import numpy as np

from tienlen_agents.networks.features import features_of
from tienlen_agents.networks.features.general import (
    ColumnMap,
    add_rule_inputs,
    columns_by_name,
    pick_columns,
    pieces_of,
)
from tienlen_agents.networks.network import Network, NetworkConfig, general_inputs, shapes_of
from tienlen_env.errors import check_word
from tienlen_env.games.common.arrays import Float32Array
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, get_rules, has_payments

Objective = Literal["points", "payments"]
_AFTER: Final = "after.weight"
# Layers that read the observation, with their biases.
FROM_STATE: Final = {"trunk.0.weight": "trunk.0.bias", "belief.0.weight": "belief.0.bias"}
_BELIEFS: Final = ("belief.4.weight", "belief.4.bias")  # an output for each opponent and card


def reward_of(rules: AnyRules, objective: Objective = "payments") -> str:
    """The reward of an objective (see `SelfPlayConfig.reward`); payments only where the rules have them.

    Raises:
        ValueError: an unknown objective.
    """
    check_word("objective", objective, get_args(Objective))
    return "payments" if objective == "payments" and has_payments(rules) else "zero_sum"


def fitted_config(config: NetworkConfig, rules: AnyRules) -> NetworkConfig:
    """The configuration of the network that `fitted` makes.

    Raises:
        ValueError: the network was made for other rules, or another game.
    """
    if not config.is_general and config.rules_digest != rules.digest():
        raise ValueError(
            f"the network was made for the {config.rules} rules with {config.num_players} players, not for "
            f"{rules.name} with {rules.num_players} (or a changed option)"
        )
    if game_of(rules).name != config.game:
        raise ValueError(f"the network plays {config.game}, not the {rules.name} rules")
    return NetworkConfig.of(rules, record=config.record, history=config.history, **config.design)


def state_columns(config: NetworkConfig, rules: AnyRules) -> ColumnMap:
    """Where each column of a variant's observation is among the inputs of a network.

    Raises:
        ValueError: the network reads a piece that the observations of the variant do not have, or a piece has
            another size than in its training.
    """
    if config.is_general:
        return general_inputs(config.game, config.pieces).state_columns(rules)
    layout = game_of(rules).observation(rules, config.history)
    known = pieces_of(
        layout, config.pieces or [name for name in features_of(rules).pieces if name in layout] or layout
    )
    # The play summary and the derived inputs follow the pieces.
    num_more = fitted_config(config, rules).state_inputs - layout.size
    if known.size + num_more != config.state_inputs:
        raise ValueError(
            f"the network reads {config.state_inputs} numbers of a decision, but its pieces now have "
            f"{known.size + num_more}"
        )
    return ColumnMap(
        np.concatenate([columns_by_name(layout, known), known.size + np.arange(num_more)]),
        config.state_inputs,
    )


def fitted_weights(
    config: NetworkConfig, weights: Mapping[str, Float32Array], rules: AnyRules, reward: str
) -> dict[str, Float32Array]:
    """The weights of the network that `fitted` makes, by name, from those of the one with this `config`."""
    columns, found = state_columns(config, rules), dict(weights)
    for first in FROM_STATE.keys() & weights.keys():
        found[first] = _picked(weights[first], columns)
    if not config.is_general:
        return found
    general = general_inputs(config.game, config.pieces)
    found[_AFTER] = _picked(weights[_AFTER], general.action_columns(rules))
    for first, bias in FROM_STATE.items():
        if first in weights:
            found[bias] = weights[bias].copy()
            rule_inputs = general.rule_inputs(rules, reward)[: config.num_rule_inputs]
            add_rule_inputs(weights[first], rule_inputs, found[bias])
    for name in _BELIEFS:
        if name in weights:  # the outputs of the opponents who play next come first
            found[name] = weights[name][
                : len(weights[name]) // (general.num_players - 1) * (rules.num_players - 1)
            ]
    return found


def _picked(weights: Float32Array, columns: ColumnMap) -> Float32Array:
    found = np.empty((len(weights), len(columns.index)), np.float32)
    pick_columns(weights, columns.index, found)
    return found


def fitted(network: Network, rules: AnyRules, reward: str) -> Network:
    """The network of a variant that reads all pieces of its observations, and scores as the given one does.

    Args:
        network: a general one; or that of the variant, which is returned itself if it reads all pieces.
        rules: the variant.
        reward: the objective of a general network: ``"zero_sum"``, ``"win"`` or ``"payments"``.

    Raises:
        ValueError: it was made for other rules, reads what observations do not have, or an unknown reward.
    """
    config = fitted_config(network.config, rules)
    if config == network.config:
        return network
    return Network(config, fitted_weights(network.config, network.tensors, rules, reward))


def generalised(network: Network) -> Network:
    """A general network that reads all pieces and scores, whatever the rules, as the given one does.

    Args:
        network: that of a preset; or a general one, which is returned itself if it reads all pieces.

    Raises:
        ValueError: it has no play summary, was made for other rules than a preset, or its game has no
            general inputs.
    """
    config, general = network.config, general_inputs(network.config.game)
    wanted = NetworkConfig.of_general(config.game, **config.design)
    if config == wanted:
        return network
    if config.is_general:
        known = general_inputs(config.game, config.pieces).layout
        more = general.layout.size + np.arange(config.state_inputs - known.size)
        index = np.concatenate([columns_by_name(known, general.layout), more])
        columns, tensors = ColumnMap(index, wanted.state_inputs), dict(network.tensors)
        for first in FROM_STATE.keys() & tensors.keys():
            tensors[first] = columns.expand(tensors[first])
        return Network(wanted, tensors)
    rules = get_rules(config.rules, config.num_players)
    if not config.record or rules.digest() != config.rules_digest:
        raise ValueError("expected a general network, or that of a preset with a play summary")
    own = fitted(network, rules, "zero_sum").tensors
    tensors = {**own, _AFTER: general.action_columns(rules).expand(own[_AFTER])}
    for name, shape in shapes_of(wanted).items():
        if name in FROM_STATE:
            own_columns = general.state_columns(rules).expand(tensors[name])
            tensors[name] = np.pad(own_columns, ((0, 0), (0, general.num_rule_inputs)))
        elif name in _BELIEFS:  # zeros for the opponents of larger tables
            rest = shape[0] - len(tensors[name])
            tensors[name] = np.pad(tensors[name], ((0, rest), *[(0, 0)] * (len(shape) - 1)))
    return Network(wanted, tensors)
