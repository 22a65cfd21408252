"""What a network reads of a decision: the observation, and for each legal action what it is and leads to.

Each game has a module here that says how (`Features`); it is found by the rules. Another game needs another
module and its line in `FEATURES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tienlen_agents.networks.features import thirteens, tienlen
from tienlen_agents.networks.features.base import Features, Inputs, Prior, Reader
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

__all__ = ["FEATURES", "Features", "Inputs", "Prior", "Reader", "features_of"]

FEATURES: Final[Mapping[str, Features]] = MappingProxyType(
    {features.game: features for features in (tienlen.FEATURES, thirteens.FEATURES)}
)


def features_of(rules: AnyRules) -> Features:
    """The features of the game whose rules these are."""
    return FEATURES[game_of(rules).name]
