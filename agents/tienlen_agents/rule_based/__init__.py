"""Rule-based agents: each is a compiled function of the state of a game."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tienlen_agents.parallel import HOST, Body, GameArrays, Machine
from tienlen_env.engine.agent import check_plays
from tienlen_env.engine.checks import owned
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import ActionFields, AnyArray, IntArray, Row, Spec
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of


class ChooseArgs(NamedTuple):
    """Arguments of the bodies of `RuleChooser`.

    Attributes:
        rows: int64 (B, ROW).
        games: int64 (n,), the game of each decision.
        spec: the variant.
        actions: its action table.
        states: (T, W), the state of the agent for each slot.
        ids: int64 (T, A), scratch.
        cards: int64 (T, A), scratch.
        out: int64 (n,), overwritten with action ids.
    """

    rows: IntArray
    games: Any
    spec: Spec
    actions: ActionFields
    states: Any
    ids: Any
    cards: Any
    out: Any


@cache
def bodies(prepare: Callable[..., None], choose: Callable[..., int]) -> tuple[Body, Body]:
    """The bodies of a rule-based agent's functions (see `RuleAgent`)."""

    def prepare_item(item: int, slot: int, args: ChooseArgs) -> None:
        prepare(args.states[item], args.spec)

    def choose_item(item: int, slot: int, args: ChooseArgs) -> None:
        row, ids, cards = args.rows[args.games[item]], args.ids[slot], args.cards[slot]
        args.out[item] = choose(args.spec, args.actions, row, args.states[slot], ids, cards)

    return prepare_item, choose_item


class RuleChooser:
    """The choices of a `RuleAgent` on a machine (see `tienlen_agents.parallel.Chooser`).

    Args:
        machine: where.
        agent: the agent.
        rules: the variant of all batches.
    """

    def __init__(self, machine: Machine, agent: RuleAgent, rules: AnyRules) -> None:
        scratch = np.zeros(game_of(rules).build_table(rules).num_actions, np.int64)
        self.rules = rules
        self._machine = machine
        self._prepare, self._choose = bodies(agent._prepare, agent._choose)
        self._states = machine.per_slot(agent.state)
        self._ids, self._cards = machine.per_slot(scratch), machine.per_slot(scratch)
        self._spec: Any = None  # the states are prepared for it

    def choose(self, position: GameArrays, games: Any, step: int, out: Any) -> None:
        """Choose for n decisions."""
        args = ChooseArgs(
            position.rows, games, position.spec, position.actions, self._states, self._ids, self._cards, out
        )
        if position.spec is not self._spec:
            self._machine.launch(self._prepare, self._machine.num_slots, args)
            self._spec = position.spec
        self._machine.launch(self._choose, len(games), args)


class RuleAgent:
    """An agent that draws nothing and remembers nothing.

    Args:
        state: (W,), what its functions read and work in: weights and memory; None for nothing.

    Attributes:
        name: as `tienlen_agents.load` knows it.
        plays: the name of the game that it plays.
        state: see above.
        _choose: ``(spec, actions, row, state, ids, cards)``: the action of the seat to act of a game that is
            not over, whose legal actions are up to date; `ids` and `cards` are scratch, int64 (A,).
        _prepare: ``(state, spec)``: prepare the state for a variant.
    """

    name: str
    plays: str
    _choose: Callable[..., int]

    def __init__(self, state: AnyArray | None = None) -> None:
        self.state = np.zeros(0, np.int64) if state is None else state
        self._chooser: RuleChooser | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_chooser": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(owned(state))

    @staticmethod
    def _prepare(state: Row, spec: Spec) -> None:
        """Nothing to prepare."""

    def reset(self, seed: int) -> None:
        """No effect."""

    def act(self, view: View) -> IntArray:
        """Choose by the rules of the agent (see `Agent.act`)."""
        batch, games = view.source
        chooser, rules = self._chooser, batch.rules
        # Mostly the same object: to compare all fields takes longer than to choose.
        if chooser is None or (chooser.rules is not rules and chooser.rules != rules):
            check_plays([self], batch)
            self._chooser = chooser = RuleChooser(HOST, self, rules)
        out = np.empty(len(view), np.int64)
        chooser.choose(GameArrays(*batch.kernel_arrays), games, 0, out)
        return out
