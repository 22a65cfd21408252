"""Features of a game that registers none of its own: the plain observation, and each action's id.

The network reads the observation as it is; the features of an action are its id, one-hot (X = A). There is no
prior. The critic also reads the global observation (`Batch.global_observation`).
"""

from __future__ import annotations

import numpy as np

from tienlen_agents.networks.features.base import ONE, Features, Inputs, Prior
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.arrays import ByteArray, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of


class GenericReader:
    """Turns views of any game into `Inputs`.

    Args:
        prior: has no effect.
        prior_scale: has no effect.
        record: False; there is no play summary.

    Raises:
        ValueError: `record` is True.
    """

    history = 0

    def __init__(self, prior: Prior = "none", prior_scale: float = 1.0, *, record: bool = False) -> None:
        if record:
            raise ValueError("record=True: this game has no play summary")

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions."""
        batch, _ = view.source
        legal, num_actions = view.legal_actions, len(view.legal_actions.action)
        action_features = np.zeros((num_actions, batch.num_actions), np.uint16)
        action_features[np.arange(num_actions), legal.action] = ONE
        return Inputs(
            view.observation,
            legal.start,
            np.diff(np.append(legal.start, num_actions)),
            legal.action,
            action_features,
            np.zeros(num_actions, np.float32),
        )


def global_observation(batch: Batch, games: IntArray) -> ByteArray:
    """uint8 (n, S) of 0 and 1: the global observation of n games, absolute seats."""
    return batch.select(games).global_observation()


def generic_features(game: str) -> Features:
    """The features of a game of this name."""

    def num_actions(rules: AnyRules) -> int:
        return game_of(rules).build_table(rules).num_actions

    def global_observation_size(rules: AnyRules) -> int:
        return game_of(rules).global_observation_size(rules, 0)

    return Features(
        game=game,
        has_prior=False,
        num_action_features=num_actions,
        reader=GenericReader,
        num_privileged=global_observation_size,
        privileged_features=lambda: global_observation,
        parallel="tienlen_agents.networks.features.parallel:GENERIC",
    )
