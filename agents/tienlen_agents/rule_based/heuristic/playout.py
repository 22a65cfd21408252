"""Rounds played to their end by the heuristic player, in compiled code on the engine's own rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from tienlen_agents.rule_based.heuristic import decide, parameters
from tienlen_agents.rule_based.heuristic.parameters import IntArray, Parameters
from tienlen_env.engine.backends import overloads as numba_bits
from tienlen_env.engine.backends.build import build_of
from tienlen_env.games.tienlen import actions as combos
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.game import TIENLEN


def _jit(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False)


@_jit
def choose_index(desk: Any, spec: Any, actions: Any, row: Any, ids: Any, cards: Any) -> int:
    """The heuristic player's choice for the seat to act.

    Args:
        desk: the desk of `tienlen_agents.rule_based.heuristic.decide`, its variant set.
        spec: the variant.
        actions: its action table.
        row: a round that is not over, hands included; its legal actions are worked out here.
        ids: scratch, gets the legal actions ...
        cards: ... and their cards.

    Returns:
        Index of the choice in `ids` and `cards`.
    """
    kernels.update_legal(row, spec, actions)
    end = kernels.list_legal(row, spec, actions, ids, cards, 0)
    if end == 1:
        return 0
    hand, unseen, left, live, passed, table, owner = decide.look(spec, row)
    action = decide.choose(
        desk, spec, actions, hand, unseen, left, live, passed, table, owner, ids, cards, 0, end
    )
    index = 0
    while ids[index] != action:
        index += 1
    return index


@_jit
def is_choice(desk: Any, spec: Any, actions: Any, row: Any, played: int, ids: Any, cards: Any) -> bool:
    """Whether the heuristic player plays exactly these cards (0: passes); arguments as for `choose_index`.

    It is judged first and the others only until one is better, so that a no is cheaper than the choice.
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
    hand, unseen, left, live, passed, table, owner = decide.look(spec, row)
    around = decide.prepare(desk, spec, hand, unseen, left, live, passed, table)
    least = 0  # the score of what was played
    for k in range(end):
        i = index if k == 0 else k - 1 if k <= index else k
        score = decide.judge(
            desk, spec, actions, around, hand, unseen, left, live, table, owner, ids[i], cards[i]
        )[0]
        if k == 0:
            least = score
        elif score > least or (score == least and i < index):
            return False
    return True


@_jit
def play_out(
    desk: Any, spec: Any, actions: Any, row: Any, seat: int, ids: Any, cards: Any, rewards: Any
) -> None:
    """Play a round on until `seat` has its place, everyone by the heuristic player's rules.

    Args:
        desk: see `choose_index`.
        spec: the variant.
        actions: its action table.
        row: the round; it is changed.
        seat: who is asked about.
        ids: scratch, as `cards`.
        cards: scratch.
        rewards: P numbers, to which all rewards on the way are added.
    """
    while row[R.TURN] >= 0 and row[R.PLACE + seat] < 0:
        index = choose_index(desk, spec, actions, row, ids, cards)
        kernels.play(row, spec, actions, ids[index], cards[index], rewards)


@cache
def _compiled() -> tuple[Any, Any]:
    build = build_of((*TIENLEN.sources, combos, numba_bits, parameters, decide))

    def returns(  # type: ignore[no-untyped-def]
        desk, spec, actions, rows, start, ids, cards, row, some_ids, some_cards, rewards, out
    ):
        build  # noqa: B018
        decide.set_variant(desk, spec)
        for b in range(rows.shape[0]):
            seat = rows[b, R.TURN]
            end = start[b + 1] if b + 1 < rows.shape[0] else ids.shape[0]
            for i in range(start[b], end):
                for column in range(spec[S.RECORD]):
                    row[column] = rows[b, column]
                for player in range(rewards.shape[0]):
                    rewards[player] = 0
                kernels.play(row, spec, actions, ids[i], cards[i], rewards)
                play_out(desk, spec, actions, row, seat, some_ids, some_cards, rewards)
                out[i] = rewards[seat]

    def places(desk, spec, actions, rows, games, row, ids, cards, rewards, out):  # type: ignore[no-untyped-def]
        build  # noqa: B018
        decide.set_variant(desk, spec)
        for b in range(games.shape[0]):
            for column in range(spec[S.RECORD]):
                row[column] = rows[games[b], column]
            for seat in range(out.shape[1]):
                play_out(desk, spec, actions, row, seat, ids, cards, rewards)
            for seat in range(out.shape[1]):
                out[b, seat] = row[R.PLACE + seat]

    def compiled(function: Any) -> Any:
        return njit(function, nogil=True, cache=True, _nrt=False)

    return compiled(returns), compiled(places)


def action_returns(
    rows: IntArray, spec: IntArray, actions: IntArray, start: IntArray, ids: IntArray, cards: IntArray
) -> npt.NDArray[np.float32]:
    """What the seat to move gets for each of its legal actions if all play on by the heuristic's rules.

    The hidden cards are where they are, so the returns of one decision differ by the action alone.

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
    spec = spec.copy()
    spec[S.NUM_KEPT] = 0  # nobody looks back in a playout
    row = np.empty(rows.shape[1], np.int64)
    some_ids, some_cards = np.empty((2, int(spec[S.NUM_ACTIONS])), np.int64)
    rewards = np.zeros(int(spec[S.NUM_PLAYERS]), np.float32)
    out = np.empty(len(ids), np.float32)
    _compiled()[0](
        decide.new_desk(Parameters()), spec, actions, rows, start, ids, cards, row, some_ids, some_cards,
        rewards, out,
    )  # fmt: skip
    return out


def final_places(rows: IntArray, spec: IntArray, actions: IntArray, games: IntArray) -> IntArray:
    """Which places the seats would take if all played on by the heuristic's rules.

    Args:
        rows: int64 (B, ROW), rounds, all hands included; they are not changed.
        spec: the variant, for single rounds.
        actions: its action table.
        games: int64 (n,), which of them; none that is over.

    Returns:
        int64 (n, P), 0 to P - 1, by seat.
    """
    spec = spec.copy()
    spec[S.NUM_KEPT] = 0  # nobody looks back in a playout
    row = np.empty(rows.shape[1], np.int64)
    ids, cards = np.empty((2, int(spec[S.NUM_ACTIONS])), np.int64)
    num_players = int(spec[S.NUM_PLAYERS])
    out = np.empty((len(games), num_players), np.int64)
    _compiled()[1](
        decide.new_desk(Parameters()), spec, actions, rows, games, row, ids, cards, np.zeros(num_players), out
    )
    return out
