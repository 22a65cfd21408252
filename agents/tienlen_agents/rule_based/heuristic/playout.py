"""Rollouts by the rule-based agent to the end of the round, in compiled code on the engine's rows."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from tienlen_agents.rule_based.heuristic import decide, splits
from tienlen_agents.rule_based.heuristic.parameters import IntArray, Parameters
from tienlen_agents.rule_based.rollout import Rollout, RolloutGame, make_rollout
from tienlen_env.engine.backends import jit
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R


@noinline
def choose_index(workspace: Any, spec: Any, actions: Any, row: Any, ids: Any, cards: Any) -> int:
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
def is_choice(workspace: Any, spec: Any, actions: Any, row: Any, played: int, ids: Any, cards: Any) -> bool:
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
apply_to, play_out, rollout = make_rollout(GAME)


@jit.loop
def _returns(  # type: ignore[no-untyped-def]
    workspace, spec, actions, rows, start, ids, cards, row, some_ids, some_cards, rewards, out
):
    splits.set_rules(workspace, spec)
    line = Rollout(workspace, spec, actions, row, some_ids, some_cards, rewards)
    for b in range(rows.shape[0]):
        seat = rows[b, R.TURN]
        end = start[b + 1] if b + 1 < rows.shape[0] else ids.shape[0]
        for i in range(start[b], end):
            rollout(line, rows[b], spec[S.PLAY_SUMMARY], ids[i], cards[i], seat)
            out[i] = rewards[seat]


@jit.loop
def _places(workspace, spec, actions, rows, games, row, ids, cards, rewards, out):  # type: ignore[no-untyped-def]
    splits.set_rules(workspace, spec)
    line = Rollout(workspace, spec, actions, row, ids, cards, rewards)
    for b in range(games.shape[0]):
        for column in range(spec[S.PLAY_SUMMARY]):
            row[column] = rows[games[b], column]
        for seat in range(out.shape[1]):
            play_out(line, seat)
        for seat in range(out.shape[1]):
            out[b, seat] = row[R.PLACE + seat]


class _Setup(NamedTuple):
    """Arrays of a call of `_returns` or `_places`: a workspace, a spec without history, and scratch."""

    workspace: IntArray
    spec: IntArray
    row: IntArray
    ids: IntArray
    cards: IntArray


def _set_up(rows: IntArray, spec: IntArray) -> _Setup:
    spec = spec.copy()
    spec[S.NUM_KEPT] = 0  # a playout stores no history
    ids, cards = np.empty((2, int(spec[S.NUM_ACTIONS])), np.int64)
    row = np.empty(rows.shape[1], np.int64)
    return _Setup(decide.new_workspace(Parameters()), spec, row, ids, cards)


def action_returns(
    rows: IntArray, spec: IntArray, actions: IntArray, start: IntArray, ids: IntArray, cards: IntArray
) -> npt.NDArray[np.float32]:
    """The return of each legal action for the seat to move if all seats then follow the rule-based agent.

    All returns of one decision are computed with the same hidden cards, those in `rows`.

    Args:
        rows: int64 (n, ROW), rounds that are not over, all hands included
            (`tienlen_env.games.tienlen.state`).
        spec: the variant, with its reward scheme, for single rounds.
        actions: its action table.
        start: int64 (n,), where each round's actions begin.
        ids: int64 (N,), legal actions ...
        cards: int64 (N,), ... and what each would play.

    Returns:
        float32 (N,).
    """
    some = _set_up(rows, spec)
    rewards = np.zeros(int(spec[S.NUM_PLAYERS]), np.float32)
    out = np.empty(len(ids), np.float32)
    _returns(
        some.workspace, some.spec, actions, rows, start, ids, cards, some.row, some.ids, some.cards, rewards,
        out,
    )  # fmt: skip
    return out


def final_places(rows: IntArray, spec: IntArray, actions: IntArray, games: IntArray) -> IntArray:
    """The final places if all seats follow the rule-based agent.

    Args:
        rows: int64 (B, ROW), rounds, all hands included; they are not changed.
        spec: the variant, for single rounds.
        actions: its action table.
        games: int64 (n,), which of them; none that is over.

    Returns:
        int64 (n, P), 0 to P - 1, by seat.
    """
    some = _set_up(rows, spec)
    num_players = int(spec[S.NUM_PLAYERS])
    out = np.empty((len(games), num_players), np.int64)
    _places(
        some.workspace, some.spec, actions, rows, games, some.row, some.ids, some.cards,
        np.zeros(num_players), out,
    )  # fmt: skip
    return out
