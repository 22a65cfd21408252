"""Rollouts by the rule-based agent to the end of the round, in compiled code on the engine's rows."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import numpy as np

from tienlen_agents.parallel import GameArrays, Machine
from tienlen_agents.rule_based import rollout as rollouts
from tienlen_agents.rule_based.heuristic import decide
from tienlen_agents.rule_based.rollout import Rollout, RolloutGame
from tienlen_env.games.common.arrays import ActionFields, Float32Array, IntArray, Row, Spec
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.specialise import specialise
from tienlen_env.games.tienlen import kernels, spec as S, state as R


@noinline
def choose_index(workspace: Row, spec: Spec, actions: ActionFields, row: Row, ids: Row, cards: Row) -> int:
    """The rule-based agent's choice for the seat to act.

    Args:
        workspace: of `tienlen_agents.rule_based.heuristic.decide`; its rules are set.
        spec: the variant.
        actions: its action table.
        row: a round that is not over, all hands included; its legal actions are computed here.
        ids: scratch, gets the legal actions ...
        cards: ... and their cards.

    Returns:
        Index of the choice in `ids` and `cards`.
    """
    kernels.update_legal(row, spec, actions)
    return decide.choose_row(workspace, spec, actions, row, ids, cards)


@noinline
def is_choice(
    workspace: Row, spec: Spec, actions: ActionFields, row: Row, played: int, ids: Row, cards: Row
) -> bool:
    """Whether the rule-based agent plays exactly these cards (0: passes); arguments as for `choose_index`.

    That play is evaluated first, and others only until one has a higher score: a negative result costs less
    than the choice.
    """
    kernels.update_legal(row, spec, actions)
    end = kernels.list_legal(row, spec, actions, ids, cards, 0)
    index = 0
    while index < end and cards[index] != played:
        index += 1
    if index == end:
        return False
    if end == 1:
        return True
    view = decide.public_view(spec, row)
    context = decide.compute_context(workspace, spec, view)
    least = 0  # the score of what was played
    for k in range(end):
        i = index if k == 0 else k - 1 if k <= index else k
        score = decide.evaluate_action(workspace, spec, actions, context, view, ids[i], cards[i]).score
        if k == 0:
            least = score
        elif score > least or (score == least and i < index):
            return False
    return True


GAME = RolloutGame(
    kernels.play, choose_index, R.TURN, R.PLACE, late_reward=get_args(S.Reward).index("payments")
)
apply_to, play_out, rollout = specialise(
    (rollouts.apply_to, rollouts.play_out, rollouts.rollout), rollout_game=GAME
)


def play_to_end(line: Rollout, source: Row) -> None:
    """Play the state `source` to the end in ``line.row``; history is not copied."""
    for column in range(line.spec[S.PLAY_SUMMARY]):
        line.row[column] = source[column]
    for seat in range(line.spec[S.NUM_PLAYERS]):
        play_out(line, seat)


def action_return(line: Rollout, source: Row, action: int) -> Any:
    """The return of a legal action for the seat to move of `source` if all seats then follow the agent."""
    seat = source[R.TURN]
    cards = kernels.action_cards(source[R.HAND + seat], line.actions, action)
    rollout(line, source, line.spec[S.PLAY_SUMMARY], action, cards, seat)
    return line.rewards[seat]


class PlayoutArgs(NamedTuple):
    """Arrays of playouts on a machine, a row for each of T slots.

    Attributes:
        workspaces: int64 (T, W), of `tienlen_agents.rule_based.heuristic.decide`; their rules are set.
        spec: the variant, without history.
        actions: its action table.
        rows: int64 (T, ROW), scratch.
        ids: int64 (T, A), scratch.
        cards: int64 (T, A), scratch.
        rewards: float32 (T, P), scratch.
    """

    workspaces: Any
    spec: Spec
    actions: ActionFields
    rows: IntArray
    ids: Any
    cards: Any
    rewards: Float32Array


def line_of_slot(args: PlayoutArgs, slot: int) -> Rollout:
    """The arrays of one slot."""
    return Rollout(
        args.workspaces[slot], args.spec, args.actions, args.rows[slot], args.ids[slot], args.cards[slot],
        args.rewards[slot],
    )  # fmt: skip


def new_args(machine: Machine, position: GameArrays) -> PlayoutArgs:
    """Arrays for playouts of a batch."""
    spec = machine.host(position.spec)
    spec[S.NUM_KEPT] = 0  # a playout stores no history
    scratch = np.zeros(int(spec[S.NUM_ACTIONS]), np.int64)
    return PlayoutArgs(
        decide.new_workspaces(machine, position.spec),
        machine.array(spec),
        position.actions,
        machine.per_slot(np.zeros(position.rows.shape[1], np.int64)),
        machine.per_slot(scratch),
        machine.per_slot(scratch),
        machine.per_slot(np.zeros(int(spec[S.NUM_PLAYERS]), np.float32)),
    )
