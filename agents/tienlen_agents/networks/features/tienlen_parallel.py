"""The features of Tiến lên on a machine (`tienlen_agents.parallel`).

Its bodies call the functions that the loops of `tienlen_agents.networks.features.tienlen` call.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.networks.features.base import Inputs, Prior
from tienlen_agents.networks.features.parallel import ParallelFeatures, padded
from tienlen_agents.networks.features.tienlen import (
    NUM_AUX,
    HiddenArgs,
    ReadArgs,
    hidden_item,
    num_action_features,
    num_outcome,
    num_privileged,
    read_item,
    reader_settings,
    set_any_hand,
)
from tienlen_agents.networks.features.tienlen_play_summary import num_summary_bits
from tienlen_agents.parallel import Decisions, Machine, Position
from tienlen_agents.rule_based.heuristic import decide, playout
from tienlen_agents.rule_based.heuristic.parallel import RulesArgs, new_workspaces
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.cards import NUM_CARDS
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of
from tienlen_env.games.tienlen import spec as S, state as R


class ParallelReader:
    """`tienlen_agents.networks.features.tienlen.FeatureReader` on a machine; see there."""

    def __init__(
        self, machine: Machine, rules: AnyRules, prior: Prior, prior_scale: float, *, record: bool
    ) -> None:
        self.history = int(record)
        observation_size = game_of(rules).observation(rules, 0).size
        self._machine = machine
        self._settings = reader_settings(observation_size, prior, prior_scale, record=record)
        self._width = observation_size + record * num_summary_bits(rules.num_players) + NUM_CARDS
        self._num_action_features = num_action_features(rules)
        self._workspaces: Any = None
        self._aux: Any = machine.per_slot(np.zeros(NUM_AUX, np.float32))
        self._bits: Any = machine.view(self._aux, np.uint32)

    def read(self, position: Position, decisions: Decisions) -> Inputs:
        """The inputs of n decisions, arrays of the machine; see `ParallelFeatures.reader`."""
        machine, num_actions = self._machine, decisions.num_actions
        num_decisions = len(decisions.games)
        if self._workspaces is None:
            self._workspaces = new_workspaces(machine, position.spec)
        inputs = Inputs(
            machine.empty((num_decisions, self._width), np.uint8),
            decisions.segment_start,
            decisions.num_legal,
            machine.empty(num_actions, np.int64),
            machine.zeros((num_actions, padded(self._num_action_features)), np.uint16),
            machine.zeros(num_actions, np.float32),
        )
        args = ReadArgs(
            *(position.rows, decisions.games, position.spec, position.actions),
            *(self._workspaces, self._settings),
            cards=machine.empty(num_actions, np.int64),
            scores=machine.empty(num_actions, np.int64),
            hand_values=machine.empty((num_actions, 5), np.float32),
            aux_features=self._aux,
            bits=self._bits,
            inputs=inputs,
        )
        machine.launch(read_item, num_decisions, args)
        return inputs


class ParallelHidden:
    """`tienlen_agents.networks.features.tienlen.PrivilegedFeatures` on a machine; see there."""

    def __init__(self, machine: Machine, rules: AnyRules) -> None:
        self._machine = machine
        self._size = num_privileged(rules)
        self._num_players = rules.num_players
        self._workspaces: Any = None
        self._hands: Any = None
        self._num_plays: Any = None

    def __call__(self, position: Position, games: Any) -> Any:
        """uint8 (n, H); see `ParallelFeatures.privileged`."""
        machine = self._machine
        if self._workspaces is None:
            self._workspaces = machine.per_slot(decide.new_workspace())
            machine.launch(set_any_hand, machine.num_slots, RulesArgs(self._workspaces, position.spec))
        shape = len(position.rows), self._num_players
        if self._hands is None or tuple(self._hands.shape) != shape:
            self._hands, self._num_plays = machine.zeros(shape, np.int64), machine.zeros(shape, np.int64)
        out = machine.empty((len(games), self._size), np.uint8)
        machine.launch(
            hidden_item,
            len(games),
            HiddenArgs(
                position.rows, games, position.spec, self._workspaces, self._hands, self._num_plays, out
            ),
        )
        return out


class OutcomeArgs(NamedTuple):
    """Arguments of `outcome_item`: see `playout.PlayoutArgs`; `out` is uint8 (n, F)."""

    rows: IntArray
    games: Any
    playout: Any
    out: Any


def outcome_item(item: int, slot: int, args: OutcomeArgs) -> None:
    """Write the final places of a game if all seats follow the rule-based agent."""
    line = playout.line_of_slot(args.playout, slot)
    row, num_players = args.rows[args.games[item]], line.spec[S.NUM_PLAYERS]
    playout.play_to_end(line, row)
    for after in range(num_players):
        seat = (row[R.TURN] + after) % num_players
        for place in range(num_players):
            args.out[item, after * num_players + place] = line.row[R.PLACE + seat] == place


class ReturnArgs(NamedTuple):
    """Arguments of `return_item`: see `playout.PlayoutArgs`; `ids`, `owner` and `out` are (N,)."""

    rows: IntArray
    games: Any
    playout: Any
    owner: Any
    ids: Any
    out: Any


def return_item(item: int, slot: int, args: ReturnArgs) -> None:
    """Write the return of a legal action if all seats follow the rule-based agent afterwards."""
    line = playout.line_of_slot(args.playout, slot)
    row = args.rows[args.games[args.owner[item]]]
    args.out[item] = playout.action_return(line, row, args.ids[item])


class _Playouts:
    """Arrays of playouts for each slot of a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._args: Any = None

    def args(self, position: Position) -> Any:
        """`playout.PlayoutArgs` for a batch, made at the first call."""
        if self._args is None:
            workspaces = new_workspaces(self._machine, position.spec)
            self._args = playout.new_args(self._machine, position, workspaces)
        return self._args


class ParallelOutcome(_Playouts):
    """`tienlen_agents.networks.features.tienlen.rollout_outcome` on a machine; see there."""

    def __init__(self, machine: Machine, rules: AnyRules) -> None:
        super().__init__(machine)
        self._size = num_outcome(rules)

    def __call__(self, position: Position, games: Any) -> Any:
        """uint8 (n, F); see `ParallelFeatures.outcome`."""
        out = self._machine.empty((len(games), self._size), np.uint8)
        args = OutcomeArgs(position.rows, games, self.args(position), out)
        self._machine.launch(outcome_item, len(games), args)
        return out


class ParallelReturns(_Playouts):
    """`tienlen_agents.networks.features.tienlen.action_values` on a machine; see there."""

    def __init__(self, machine: Machine, rules: AnyRules) -> None:
        super().__init__(machine)

    def __call__(self, position: Position, games: Any, owner: Any, ids: Any) -> Any:
        """float32 (N,); see `ParallelFeatures.action_values`."""
        out = self._machine.empty(len(ids), np.float32)
        args = ReturnArgs(position.rows, games, self.args(position), owner, ids, out)
        self._machine.launch(return_item, len(ids), args)
        return out


PARALLEL: Final = ParallelFeatures(
    reader=ParallelReader,
    privileged=ParallelHidden,
    outcome=ParallelOutcome,
    action_values=ParallelReturns,
)
