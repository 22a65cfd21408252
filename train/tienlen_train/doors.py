"""What other packages add to training by name (`tienlen_env.doors`): evaluators, and actors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import torch

from tienlen_agents.networks.features import Features
from tienlen_env.doors import Door
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_train.learner import AnyTrajectories
from tienlen_train.rollout import RolloutJob

# The metrics of a policy, by name. It is called with each quick comparison, and at the end of the run.
Evaluate = Callable[[Agent], Mapping[str, float]]
# What an entry point of `EVALUATORS` names. It raises ValueError for rules that it cannot evaluate: what it
# refuses, and what takes long, belongs here, before the run.
Evaluator = Callable[[AnyRules], Evaluate]
EVALUATORS: Final = Door[Evaluator]("tienlen.evaluators", "evaluator")


class Actor(Protocol):
    """Plays the rollouts of a run, in place of an executor: for example all games at once on a GPU.

    Attributes:
        device: where the run learns.
    """

    device: torch.device

    def lacks(
        self, features: Features, options: Mapping[str, object], opponents: Sequence[str], *, variants: bool
    ) -> str:
        """The first feature of a run that the actor does not have, in a few words; empty if it has all.

        Args:
            features: of the game.
            options: fields of `RolloutJob` that the algorithm sets.
            opponents: the agents that play, by their names in `tienlen_agents.load`.
            variants: whether the network is trained on several variants.
        """

    def rollout(self, job: RolloutJob) -> AnyTrajectories:
        """Play the rounds of a job; see `tienlen_train.rollout.rollout`."""


# What an entry point of `ACTORS` names; it raises DeviceError if there is no such device.
MakeActor = Callable[[torch.device], Actor]
ACTORS: Final = Door[MakeActor]("tienlen.actors", "actor")


def evaluators_of(names: Sequence[str], rules: AnyRules) -> list[Evaluate]:
    """The evaluators of some names.

    Raises:
        ValueError: there is no such evaluator, or it cannot evaluate under the rules.
    """
    return [EVALUATORS.load(name)(rules) for name in names]


def actor_of(name: str | None, device: torch.device) -> Actor | None:
    """The actor of a name; without one that of the device's type, or None if there is none.

    Raises:
        DeviceError: there is no such device.
        ValueError: there is no such actor.
    """
    if name is None and device.type not in ACTORS.entries():
        return None
    return ACTORS.load(name or device.type)(device)
