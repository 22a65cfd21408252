"""General inputs: the inputs of one network that plays every variant of a game.

The inputs of a variant are some columns of the general ones, and the rules themselves are further inputs,
which are the same in every decision of a variant. So a general network is fitted to a variant
(`tienlen_agents.networks.general.fitted`): its first layers keep the columns of the variant, and what the
inputs of the rules contribute is added to a bias. Whatever plays the network of one variant plays it.

A network of one variant is fitted in the same way to an observation that has got more pieces since it was
trained: columns are found by the names of the pieces, and those of others get weights of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.backends import jit
from tienlen_env.games.common.arrays import ByteArray, Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules, Layout

DROPPED: Final = -1  # a column of a variant that the general inputs do not have


class ColumnMap:
    """Where each column of a variant's inputs is among the general ones.

    Args:
        index: int64 (k,): the general column of each column, ascending; `DROPPED` for none.
        size: the number of general columns.
    """

    def __init__(self, index: npt.ArrayLike, size: int) -> None:
        self.index = np.asarray(index, np.int64)
        self.size = size
        self._spans: list[tuple[slice, slice]] = []  # of a variant's inputs, and where they go
        cuts = np.flatnonzero(np.diff(self.index) != 1) + 1
        for part in np.split(np.arange(len(self.index)), cuts):
            # Of columns that are dropped, every one is a part of its own.
            if part.size and self.index[part[0]] != DROPPED:
                begin, to = int(part[0]), int(self.index[part[0]])
                self._spans.append((slice(begin, begin + len(part)), slice(to, to + len(part))))

    def expand(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The general inputs (n, `size`) of a variant's (n, k); zeros where the variant has no column."""
        out = np.zeros((len(rows), self.size), rows.dtype)
        for own, to in self._spans:
            out[:, to] = rows[:, own]
        return out


@jit.loop
def pick_columns(weights: Float32Array, index: IntArray, out: Float32Array) -> None:
    """Write the columns of a variant of a layer's weights.

    Args:
        weights: float32 (m, `ColumnMap.size`), of general inputs.
        index: int64 (k,), see `ColumnMap`.
        out: float32 (m, k), written; 0 in dropped columns.
    """
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = weights[i, index[j]] if index[j] >= 0 else np.float32(0)


@jit.loop
def add_rule_inputs(weights: Float32Array, rule_inputs: ByteArray, bias: Float32Array) -> None:
    """Add to a layer's bias what the inputs of the rules contribute, in their order.

    Args:
        weights: float32 (m, k), whose last columns are those of the rules.
        rule_inputs: uint8 (K,), 0 and 1.
        bias: float32 (m,), added to.
    """
    begin = weights.shape[1] - rule_inputs.shape[0]
    for i in range(bias.shape[0]):
        for j in range(rule_inputs.shape[0]):
            if rule_inputs[j] != 0:
                bias[i] += weights[i, begin + j]


def pieces_of(layout: Layout, names: Iterable[str]) -> Layout:
    """A layout of some pieces of another one, in the order of their names.

    Raises:
        ValueError: there is no such piece.
    """
    names = list(names)
    if missing := [name for name in names if name not in layout]:
        raise ValueError(f"the network reads {', '.join(missing)}, but an observation has no such piece")
    return Layout((layout[name].name, layout[name].shape, layout[name].meaning) for name in names)


def columns_by_name(layout: Layout, known: Layout) -> IntArray:
    """Where each column of a layout is in another one: pieces are found by their names.

    A piece may be larger in the other one, which then has more players; `DROPPED` for what it lacks.
    """
    parts = [np.zeros(0, np.int64)]
    for piece in layout.values():
        if piece.name in known:
            other = known[piece.name]
            parts.append(first_of_each_axis(piece.shape, other.shape, other.slice.start))
        else:
            parts.append(np.full(prod(piece.shape), DROPPED))
    return np.concatenate(parts)


def first_of_each_axis(shape: tuple[int, ...], general: tuple[int, ...], start: int) -> IntArray:
    """The columns of a piece among those of another piece: along each axis, the first ones.

    Args:
        shape: of the piece.
        general: of the other piece, with as many axes.
        start: the column where the other piece begins.

    Returns:
        int64; `DROPPED` where the piece is larger than the other one.
    """
    columns = start + np.arange(prod(general)).reshape(general)
    found, common = np.full(shape, DROPPED), tuple(map(slice, map(min, shape, general)))
    found[common] = columns[common]
    return found.ravel()


@dataclass(frozen=True, kw_only=True)
class GeneralInputs:
    """The general inputs of a game.

    Attributes:
        layout: the pieces of a general observation.
        num_state_inputs: number of columns of a general observation with play summary and derived inputs,
            without those of the rules.
        num_action_inputs: number of general features of an action.
        num_players: the largest number of players.
        num_rule_inputs: K, the number of inputs that describe the rules.
        num_rule_inputs_before: the numbers that K had before; a network with such a K reads the first ones.
        state_columns: of a variant's observation with play summary and derived inputs.
        action_columns: of a variant's action features.
        privileged_columns: of a variant's privileged features.
        outcome_columns: of a variant's outcome of a rollout.
        rule_inputs: the inputs that describe the rules and the objective (see `SelfPlayConfig.reward`), uint8
            (K,) of 0 and 1.
        unseen_cards: of general observations (n, S): the cards that the player to move has not seen, uint8
            (n, C) of 0 and 1; None if the game has no belief networks.
    """

    layout: Layout
    num_state_inputs: int
    num_action_inputs: int
    num_players: int
    num_rule_inputs: int
    state_columns: Callable[[AnyRules], ColumnMap]
    action_columns: Callable[[AnyRules], ColumnMap]
    privileged_columns: Callable[[AnyRules], ColumnMap]
    outcome_columns: Callable[[AnyRules], ColumnMap]
    rule_inputs: Callable[[AnyRules, str], ByteArray]
    num_rule_inputs_before: tuple[int, ...] = ()
    unseen_cards: Callable[[ByteArray], ByteArray] | None = None
