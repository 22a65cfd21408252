"""Features on a machine (`tienlen_agents.parallel`): the interface, and games that register no features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from tienlen_agents.networks.features.base import ONE, Features, Inputs, Prior
from tienlen_agents.parallel import Body, Decisions, Machine, Position
from tienlen_env.games.common.arrays import ActionFields, IntArray, Spec
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.registry import game_of

MULTIPLE: Final = 8  # of 16-bit numbers in a row: a device multiplies aligned rows several times as fast


def padded(size: int) -> int:
    """The size of a row of action features in the memory of a machine; the last columns are 0."""
    return -(-size // MULTIPLE) * MULTIPLE


class Reader(Protocol):
    """A reader on a machine.

    Attributes:
        history: see `tienlen_agents.networks.features.Reader`.
    """

    history: int

    def read(self, position: Position, decisions: Decisions) -> Inputs:
        """The inputs of n decisions, arrays of the machine; their action features are `padded`."""


class MakeReader(Protocol):
    """See `ParallelFeatures.reader`."""

    def __call__(
        self, machine: Machine, rules: AnyRules, prior: Prior, prior_scale: float, *, record: bool
    ) -> Reader:
        """A new reader."""


# uint8 (n, H) of 0 and 1 for n games, int64 (n,), none of them twice.
HiddenFn = Callable[[Position, Any], Any]
# float32 (N,): the returns of N legal actions: games (n,), the decision of each action (N,), its id (N,).
ReturnsFn = Callable[[Position, Any, Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class ParallelFeatures:
    """The features of a game on a machine, the same bits as those of `Features`.

    Attributes:
        reader: makes a reader, for the settings of `Features.reader`.
        privileged: makes the function of `Features.privileged_features` for one batch.
        outcome: makes the function of `Features.rollout_outcome`; None if unavailable.
        action_values: makes the function of `Features.action_values`; None if unavailable.
    """

    reader: MakeReader
    privileged: Callable[[Machine, AnyRules], HiddenFn]
    outcome: Callable[[Machine, AnyRules], HiddenFn] | None = None
    action_values: Callable[[Machine, AnyRules], ReturnsFn] | None = None


def parallel_features(features: Features) -> ParallelFeatures | None:
    """The features of a game on a machine; None if it has none there.

    Raises:
        TypeError: what `Features.parallel` names is something else.
    """
    if not features.parallel:
        return None
    found = resolve_name(features.parallel)
    if not isinstance(found, ParallelFeatures):
        raise TypeError(f"{features.parallel}: expected ParallelFeatures, got {type(found).__name__}")
    return found


# ---------------------------------------------------------------- games without features of their own


class ReadArgs(NamedTuple):
    """Arguments of the body of `GenericReader`: the batch, the decisions, scratch (N,), and the inputs."""

    rows: IntArray
    games: Any
    spec: Spec
    actions: ActionFields
    cards: Any
    inputs: Any


class ObserveArgs(NamedTuple):
    """Arguments of the body of `GenericHidden`; `out` is uint8 (n, S)."""

    rows: IntArray
    games: Any
    spec: Spec
    actions: ActionFields
    out: Any


@cache
def _bodies(game: AnyGame) -> tuple[Body, Body]:
    """The bodies of `GenericReader` and `GenericHidden` for a game."""
    observe, observe_all, list_legal = (
        game.kernels.observe,
        game.kernels.observe_all,
        game.kernels.legal.list_legal,
    )
    turn = game.columns.turn

    def read_item(item: Any, slot: Any, args: Any) -> None:
        row, inputs = args.rows[args.games[item]], args.inputs
        observe(row, args.spec, args.actions, row[turn], inputs.observation[item], 0)
        start = inputs.segment_start[item]
        end = list_legal(row, args.spec, args.actions, inputs.action, args.cards, start)
        for i in range(start, end):
            inputs.action_features[i, inputs.action[i]] = ONE

    def hidden_item(item: Any, slot: Any, args: Any) -> None:
        observe_all(args.rows[args.games[item]], args.spec, args.actions, args.out[item], 0)

    return read_item, hidden_item


class GenericReader:
    """`tienlen_agents.networks.features.generic.GenericReader` on a machine; see there."""

    history = 0

    def __init__(
        self, machine: Machine, rules: AnyRules, prior: Prior, prior_scale: float, *, record: bool = False
    ) -> None:
        if record:
            raise ValueError("record=True: this game has no play summary")
        game = game_of(rules)
        self._machine = machine
        self._body = _bodies(game)[0]
        self._num_actions = game.build_table(rules).num_actions
        self._observation_size = game.observation(rules, 0).size

    def read(self, position: Position, decisions: Decisions) -> Inputs:
        """The inputs of n decisions, arrays of the machine."""
        machine, num_decisions, num_actions = self._machine, len(decisions.games), decisions.num_actions
        inputs = Inputs(
            machine.empty((num_decisions, self._observation_size), np.uint8),
            decisions.segment_start,
            decisions.num_legal,
            machine.empty(num_actions, np.int64),
            machine.zeros((num_actions, padded(self._num_actions)), np.uint16),
            machine.zeros(num_actions, np.float32),
        )
        args = ReadArgs(
            *(position.rows, decisions.games, position.spec, position.actions),
            cards=machine.empty(num_actions, np.int64),
            inputs=inputs,
        )
        machine.launch(self._body, num_decisions, args)
        return inputs


class GenericHidden:
    """The global observation (`Batch.global_observation`) on a machine."""

    def __init__(self, machine: Machine, rules: AnyRules) -> None:
        game = game_of(rules)
        self._machine = machine
        self._body = _bodies(game)[1]
        self._size = game.global_observation_size(rules, 0)

    def __call__(self, position: Position, games: Any) -> Any:
        """uint8 (n, S) of 0 and 1, absolute seats."""
        out = self._machine.empty((len(games), self._size), np.uint8)
        args = ObserveArgs(position.rows, games, position.spec, position.actions, out)
        self._machine.launch(self._body, len(games), args)
        return out


GENERIC: Final = ParallelFeatures(reader=GenericReader, privileged=GenericHidden)
