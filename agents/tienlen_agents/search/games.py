"""What a search must know of a game: one desk a game, found by the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from tienlen_agents.search import loops, thirteens
from tienlen_agents.search.loops import FloatArray, IntArray, Position
from tienlen_env.engine.agent import View
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of


class AnyDesk(Protocol):
    """The memory of one search at a time, for one variant of a game; see `tienlen_agents.search.loops.Desk`.

    Attributes:
        rules: the variant.
        times: how many times its budget in worlds a search may spend on the decision.
    """

    rules: Any
    times: float

    def glance(self, view: View) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Choose without search.

        Args:
            view: n decisions.

        Returns:
            ``(chosen, is_open)``: int64 (n,) actions; bool (n,), whether a search might find better ones.
        """

    def begin(self, position: Position, seed: int, inference: float, effort: float = 1.0) -> bool:
        """Turn to a decision, see `tienlen_agents.search.loops.Desk.begin`."""

    def draw(self, num_worlds: int) -> IntArray:
        """int64 (num_worlds, K): the next worlds, K numbers each."""

    def evaluate(self, drawn: IntArray, alive: IntArray, first_bonus: float) -> FloatArray:
        """float64 (worlds, len(alive)): what each of these candidates earns in each world, played out."""

    def fill(self, rows: IntArray, drawn: IntArray) -> None:
        """Put worlds (n, K) into the hidden columns of states (n, ROW)."""


_DESKS: Final[Mapping[str, Callable[[Any], AnyDesk]]] = {"tienlen": loops.Desk, "thirteens": thirteens.Desk}


def new_desk(rules: AnyRules) -> AnyDesk:
    """A desk for these rules."""
    return _DESKS[game_of(rules).name](rules)
