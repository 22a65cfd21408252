"""The inputs of a network: the observation, and features of each legal action and of its result.

Each game has one value of `Features`. `features_of` finds it from the rules, in this order: what a package
registers with its game (``games.registry.register(GAME, features=...)``); ``FEATURES`` of the module of
this package with the game's name; those of `generic_features`, which work for any game.
"""

from __future__ import annotations

import copyreg
from functools import cache
from typing import Final

from tienlen_agents.networks.features.base import (
    ONE,
    ComputeArgs,
    ComputedCode,
    Features,
    Inputs,
    Prior,
    ReadArgs,
    Reader,
    ReaderCode,
)
from tienlen_agents.parallel import Body
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.registry import ByGame, game_of

__all__ = [
    "Features",
    "Inputs",
    "Prior",
    "Reader",
    "features_by_name",
    "features_of",
    "generic_features",
]


@cache
def _bodies(game: AnyGame) -> tuple[ReaderCode, Body]:
    """The code of a generic reader, and the body that writes the global observation."""
    kernels, turn = game.kernels, game.columns.turn
    observe, observe_all, list_legal = kernels.observe, kernels.observe_all, kernels.legal.list_legal

    def read_item(item: int, slot: int, args: ReadArgs) -> None:
        row, inputs = args.rows[args.games[item]], args.inputs
        observe(row, args.spec, args.actions, row[turn], inputs.observation[item], 0)
        start = inputs.segment_start[item]
        end = list_legal(row, args.spec, args.actions, inputs.action, args.memory.cards, start)
        for i in range(start, end):
            for column in range(inputs.action_features.shape[1]):
                inputs.action_features[i, column] = 0
            inputs.action_features[i, inputs.action[i]] = ONE

    def hidden_item(item: int, slot: int, args: ComputeArgs) -> None:
        observe_all(args.rows[args.games[item]], args.spec, args.actions, args.out[item], 0)

    return ReaderCode(read_item), hidden_item


def generic_features(game: str) -> Features:
    """The features of a game that registers none of its own, by its name.

    The network reads the observation as it is; the features of an action are its id, one-hot (X = A). There
    is no prior. The critic also reads the global observation (`Batch.global_observation`), absolute seats.
    """
    return Features(
        game=game,
        has_prior=False,
        num_action_features=lambda rules: game_of(rules).build_table(rules).num_actions,
        code=lambda rules: _bodies(game_of(rules))[0],
        hidden=ComputedCode(
            lambda rules: _bodies(game_of(rules))[1],
            size=lambda rules: game_of(rules).global_observation_size(rules, 0),
        ),
    )


_FEATURES: Final[ByGame[Features]] = ByGame("features", __name__, generic_features)


def features_of(rules: AnyRules) -> Features:
    """The features of the game that has these rules.

    Raises:
        RulesError: the rules of no registered game.
    """
    return _FEATURES.of(rules)


def features_by_name(game: str) -> Features:
    """The features of the game of this name; the generic ones if it has none of its own."""
    return _FEATURES.named(game)


# A copy in another process finds the features of its game there: they are functions, which are not copied.
copyreg.pickle(Features, lambda features: (features_by_name, (features.game,)))
