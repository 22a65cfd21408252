"""Rounds played to their end by the heuristic player, in compiled code on the engine's own rows."""

from __future__ import annotations

from typing import Any

from numba import njit

from agents.heuristic import decide
from tienlen_env.core import kernels
from tienlen_env.core import spec as S
from tienlen_env.core import state as R
from tienlen_env.core.bits import FULL, popcount


def _jit(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False)


def _inline(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False, forceinline=True)


@_inline
def rotate(seats: int, first: int, num_players: int) -> int:
    """A seat mask as `first` sees it: bit 0 is `first`, bit 1 the next seat."""
    rotated: int = (seats >> first | seats << (num_players - first)) & ((1 << num_players) - 1)
    return rotated


@_jit
def choose_index(desk: Any, spec: Any, actions: Any, row: Any, ids: Any, cards: Any) -> int:
    """The heuristic player's choice for the seat to act.

    Args:
        desk: the desk of `agents.heuristic.decide`, its variant set.
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
    num_players, turn = spec[S.NUM_PLAYERS], row[R.TURN]
    seen, left = row[R.HAND + turn], 0
    for seat in range(num_players):
        seen |= row[R.PLAYED + seat]
        relative = seat - turn if seat >= turn else seat - turn + num_players
        left |= popcount(row[R.HAND + seat]) << (4 * relative)
    owner = row[R.OWNER] - turn
    action = decide.choose(
        desk,
        spec,
        actions,
        row[R.HAND + turn],
        FULL & ~seen,
        left,
        rotate(row[R.LIVE], turn, num_players),
        rotate(row[R.PASSED], turn, num_players),
        row[R.TABLE],
        owner if owner >= 0 else owner + num_players,
        ids,
        cards,
        0,
        end,
    )
    index = 0
    while ids[index] != action:
        index += 1
    return index


@_jit
def play_out(
    desk: Any, spec: Any, actions: Any, row: Any, seat: int, first_bonus: float, ids: Any, cards: Any,
    rewards: Any,
) -> float:  # fmt: skip
    """Play a round on until `seat` has its place, everyone by the heuristic player's rules.

    Args:
        desk: see `choose_index`.
        spec: the variant; its reward is points.
        actions: its action table.
        row: the round; it is changed.
        seat: who is asked about.
        first_bonus: what a first place is worth beyond its points.
        ids: scratch, as `cards`.
        cards: scratch.
        rewards: P numbers; what has been earned before counts.

    Returns:
        The seat's points and bonus.
    """
    while row[R.TURN] >= 0 and row[R.PLACE + seat] < 0:
        index = choose_index(desk, spec, actions, row, ids, cards)
        kernels.play(row, spec, actions, ids[index], cards[index], rewards)
    value: float = rewards[seat] + (first_bonus if row[R.PLACE + seat] == 0 else 0.0)
    return value
