"""The rule-based agent of Tiến lên on a machine (`tienlen_agents.parallel`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tienlen_agents.parallel import Machine, Position
from tienlen_agents.rule_based.heuristic import decide, splits
from tienlen_agents.rule_based.heuristic.parameters import Parameters
from tienlen_env.games.common.arrays import ActionFields, IntArray, Spec
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of


class ChooseArgs(NamedTuple):
    """Arguments of `choose_item`: see `decide.choose_row`; a workspace and scratch for each slot.

    Attributes:
        rows: int64 (B, ROW).
        games: int64 (n,), the game of each decision.
        spec: the variant.
        actions: its action table.
        workspaces: int64 (T, W).
        ids: int64 (T, A), scratch.
        cards: int64 (T, A), scratch.
        out: int64 (n,), overwritten with action ids.
    """

    rows: IntArray
    games: Any
    spec: Spec
    actions: ActionFields
    workspaces: Any
    ids: Any
    cards: Any
    out: Any


def choose_item(item: int, slot: int, args: ChooseArgs) -> None:
    """Choose for decision number `item`."""
    ids = args.ids[slot]
    row = args.rows[args.games[item]]
    index = decide.choose_row(args.workspaces[slot], args.spec, args.actions, row, ids, args.cards[slot])
    args.out[item] = ids[index]


class RulesArgs(NamedTuple):
    """Arguments of `set_rules`: workspaces int64 (T, W), and the variant."""

    workspaces: Any
    spec: Spec


def set_rules(item: int, slot: int, args: RulesArgs) -> None:
    """Prepare workspace number `item` for the variant."""
    splits.set_rules(args.workspaces[item], args.spec)


def new_workspaces(machine: Machine, spec: Spec, parameters: Parameters | None = None) -> Any:
    """int64 (T, W): a workspace for each slot, prepared for the variant."""
    workspaces = machine.per_slot(decide.new_workspace(parameters))
    machine.launch(set_rules, machine.num_slots, RulesArgs(workspaces, spec))
    return workspaces


class HeuristicChooser:
    """The choices of `HeuristicAgent` on a machine.

    Args:
        machine: where.
        rules: the variant of all batches.
        parameters: the weights of the rules; None for the tuned ones.
    """

    def __init__(self, machine: Machine, rules: AnyRules, parameters: Parameters | None) -> None:
        self._machine = machine
        self._parameters = parameters
        self._size = game_of(rules).build_table(rules).num_actions
        self._workspaces: Any = None
        self._ids: Any = None
        self._cards: Any = None

    def choose(self, position: Position, games: Any, step: int, out: Any) -> None:
        """Choose for n decisions (see `tienlen_agents.parallel.Chooser`)."""
        machine = self._machine
        if self._workspaces is None:
            self._workspaces = new_workspaces(machine, position.spec, self._parameters)
            row = np.zeros(self._size, np.int64)
            self._ids, self._cards = machine.per_slot(row), machine.per_slot(row)
        args = ChooseArgs(
            position.rows, games, position.spec, position.actions, self._workspaces, self._ids, self._cards,
            out,
        )  # fmt: skip
        machine.launch(choose_item, len(games), args)
