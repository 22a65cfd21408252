"""Functions of one item that run for many items at once, on a processor or on a device.

A *body* is a plain Python function ``body(item, slot, args)``: it computes item number `item`, from and to
the arrays of `args`, a NamedTuple. A `Machine` compiles it and calls it for every item, many at the same time
on a device. Items are independent of one another; memory to work in belongs to a *slot*: no two items use one
slot at the same time.

The bodies of features, agents and sampling call the functions that the processor's loops call, so a machine
gives the same bits as these loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.backends import jit

Body = Callable[[Any, Any, Any], None]


@cache
def host_loop(body: Body) -> Any:
    """A body as a compiled loop on the processor: ``loop(num_items, args)``, arrays of NumPy, one slot."""

    @jit.loop
    def loop(num_items, args):  # type: ignore[no-untyped-def]
        for item in range(num_items):
            body(item, 0, args)

    return loop


class Machine:
    """Runs bodies on arrays of its own memory: here on the processor, with NumPy's arrays and one thread.

    The machine of a device is a class that overrides every method.

    Attributes:
        num_slots: T, the number of slots.
        multiple: rows that a network multiplies are filled up to a multiple of this size with zeros.
    """

    num_slots: int = 1
    multiple: int = 1

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Any:
        """A new array of the machine, not initialised."""
        return np.empty(shape, dtype)

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Any:
        """A new array of the machine."""
        return np.zeros(shape, dtype)

    def array(self, values: npt.NDArray[Any]) -> Any:
        """A copy of an array in the machine's memory."""
        return np.array(values)

    def per_slot(self, row: npt.NDArray[Any]) -> Any:
        """A new array with a copy of a row for each slot, (T, n), in the order that is fast for slots."""
        return np.array(row)[None]

    def host(self, array: Any) -> npt.NDArray[Any]:
        """A copy of an array of the machine in the processor's memory."""
        return np.array(array)

    def view(self, array: Any, dtype: npt.DTypeLike) -> Any:
        """The memory of an array as numbers of another type of the same size."""
        return array.view(dtype)

    def launch(self, body: Body, num_items: int, args: Any) -> None:
        """Call ``body(item, slot, args)`` for `item` in 0..num_items-1; it may still run on return.

        Args:
            body: a plain function, the same object in every call.
            num_items: number of items.
            args: a NamedTuple of arrays of the machine, numbers, and such tuples.
        """
        host_loop(body)(num_items, args)


HOST: Final = Machine()


class GameArrays(NamedTuple):
    """The games of a batch, as bodies read them; arrays of a machine.

    Attributes:
        rows: int64 (B, ROW), all hands included.
        spec: int64 (S,), the variant.
        actions: int64 (A * F,), its action table.
    """

    rows: Any
    spec: Any
    actions: Any


class DecisionArrays(NamedTuple):
    """n decisions with N legal actions in total; arrays of a machine.

    Attributes:
        games: int64 (n,), the game of each decision.
        num_legal: int64 (n,), its number of legal actions.
        segment_start: int64 (n,), where they begin among the N.
        num_actions: N.
    """

    games: Any
    num_legal: Any
    segment_start: Any
    num_actions: int


class Chooser(Protocol):
    """The choices of an agent on a machine."""

    def choose(self, position: GameArrays, games: Any, step: int, out: Any) -> None:
        """Choose for n decisions.

        Args:
            position: the batch.
            games: int64 (n,), the game of each decision; none that is over.
            step: number of the step since the deal; draws are functions of it and of the game.
            out: int64 (n,), overwritten with legal action ids.
        """


def has_chooser(agent: object) -> bool:
    """Whether an agent can also play on a machine: ``chooser(machine, rules)`` makes its `Chooser`.

    There it chooses what `Agent.act` chooses.
    """
    return callable(getattr(type(agent), "chooser", None))
