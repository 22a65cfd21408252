"""The columns of both tables, as arrays of pyarrow."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tienlen_agents.data.config import DataConfig
from tienlen_agents.data.rounds import Block, Deal, Players
from tienlen_env.games.common.arrays import AnyArray, IntArray

# Columns with an item for each legal action, and their types.
_RAGGED: Final = {
    "legal_actions": np.int16,
    "probabilities": np.float32,
    "estimates": np.float32,
    "estimate_errors": np.float32,
}


class _InOrder:
    """The decisions of a block in the order of rounds, in each in the order of play."""

    def __init__(self, block: Block) -> None:
        self._steps = block.steps
        begin = np.cumsum(block.num_decisions) - block.num_decisions
        self.game = np.repeat(np.arange(len(begin)), block.num_decisions)
        self.step = np.arange(len(self.game)) - begin[self.game]
        self._rows = [begin[each["game"]] + step for step, each in enumerate(block.steps)]
        self._items: list[IntArray] = []
        num_legal = self.column("num_legal", np.int64)
        self.ends = np.cumsum(num_legal)
        starts = self.ends - num_legal
        for rows, each in zip(self._rows, block.steps, strict=True):
            num = each["num_legal"]
            total = num.sum()
            self._items.append(np.repeat(starts[rows] - (np.cumsum(num) - num), num) + np.arange(total))

    def column(self, name: str, kind: Any, *width: int) -> AnyArray:
        """A column with an item, or a row of items of a width, for each decision."""
        return self._placed(self._rows, np.empty((len(self.game), *width), kind), name)

    def ragged(self, name: str) -> AnyArray:
        """The items of all decisions of a column with an item for each legal action."""
        return self._placed(self._items, np.empty(self.ends[-1:].sum(), _RAGGED[name]), name)

    def _placed(self, places: list[IntArray], out: AnyArray, name: str) -> AnyArray:
        # NumPy copies an item of many bytes at once, and a row of items one by one.
        target = out.view(f"V{out.strides[0]}").reshape(len(out)) if out.ndim > 1 else out
        for where, each in zip(places, self._steps, strict=True):
            values = np.ascontiguousarray(each[name], out.dtype)
            target[where] = values.view(target.dtype).reshape(len(where))
        return out


def columns_of(config: DataConfig, block: Block, first: int) -> dict[str, dict[str, Any]]:
    """The columns of both tables.

    Args:
        config: the settings.
        block: one round or more.
        first: number of its first round.
    """
    import pyarrow as pa

    order, players = _InOrder(block), block.players
    game, seat = order.game, order.column("seat", np.int8)
    num_rounds, num_players = block.returns.shape
    words = order.column("observation", "<i8", players.batch.packed_observation_size)
    observation = pa.Array.from_buffers(
        pa.binary(),
        len(words),
        [
            None,
            pa.py_buffer(np.arange(len(words) + 1, dtype=np.int32) * words.strides[0]),
            pa.py_buffer(words),
        ],
    )
    if isinstance(players, Players):
        names, by_seat = [agent.name for agent in players.agents], players.seats.astype(np.int8)
        agent = pa.DictionaryArray.from_arrays(pa.array(by_seat[game, seat]), names)
        agents = pa.FixedSizeListArray.from_arrays(pa.array(names).take(by_seat.ravel()), num_players)
    else:
        agent = pa.DictionaryArray.from_arrays(pa.nulls(len(game), pa.int8()), pa.array([], pa.string()))
        agents = pa.nulls(num_rounds, pa.list_(pa.string()))
    offsets = pa.array(np.concatenate([[0], order.ends]).astype(np.int32))
    decisions = {
        "round": pa.array(first + game),
        "step": pa.array(order.step.astype(np.int16)),
        "seat": pa.array(seat),
        "agent": agent,
        "observation": observation,
        **{
            name: pa.ListArray.from_arrays(offsets, pa.array(order.ragged(name)))
            for name, is_written in {
                "legal_actions": True,
                "probabilities": config.probabilities,
                "estimates": config.estimates,
                "estimate_errors": config.estimates,
            }.items()
            if is_written
        },
        "action": pa.array(order.column("action", np.int16)),
        "cards": pa.array(order.column("cards", np.int64)),
        "return": pa.array(block.returns[game, seat] - order.column("paid", np.float32)),
    }

    def by_seats(name: str, kind: Any) -> Any:
        return pa.FixedSizeListArray.from_arrays(pa.array(block.results[name].ravel(), kind), num_players)

    cards = pa.list_(pa.int64())
    kinds = dict(zip(Deal._fields, (pa.int64(), pa.int32(), pa.int8(), cards, cards), strict=True))
    rounds = {
        "round": pa.array(first + np.arange(num_rounds)),
        **{
            name: pa.array(players.deals[name], kind) if name in players.deals else pa.nulls(num_rounds, kind)
            for name, kind in kinds.items()
        },
        "agents": agents,
        "num_decisions": pa.array(block.num_decisions, pa.int32()),
        "places": by_seats("places", pa.int8()),
        "points": by_seats("points", pa.int32()),
        **({"units": by_seats("units", pa.int32())} if players.batch.has_payments else {}),
    }
    return {"rounds": rounds, "decisions": decisions}
