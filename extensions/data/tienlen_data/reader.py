"""Read a data set: its rounds a shard at a time, or one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.files import refusing
from tienlen_data.config import config_of, path_of
from tienlen_data.rounds import Deal
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.single.base import AnyRound

# The results of a round by column.
_RESULTS: Final[dict[str, Callable[[AnyRound], Iterable[int | None]]]] = {
    "places": lambda found: found.places,
    "points": lambda found: found.scores,
    "units": lambda found: found.balances,
}


class ShardRounds(NamedTuple):
    """The rounds of a shard.

    Attributes:
        deals: of n rounds.
        num_decisions: int64 (n,).
        actions: int64 (N,), those of a round one after the other.
        cards: int64 (N,), their exact cards.
        num_legal: int64 (N,), number of legal actions.
        results: int64 (n, P) each: ``places``, ``points``, and ``units`` if the variant has payments.
    """

    deals: list[Deal]
    num_decisions: IntArray
    actions: IntArray
    cards: IntArray
    num_legal: IntArray
    results: dict[str, IntArray]


def read_shards(folder: str | Path) -> Iterator[ShardRounds]:
    """The rounds of a data set, a shard at a time.

    Raises:
        MissingExtraError, ValueError: see `config_of`; or a file is missing or damaged.
    """
    config_of(folder)
    for index in itertools.count():
        rounds, decisions = (path_of(Path(folder), name, index) for name in ("rounds", "decisions"))
        if not rounds.is_file():
            return
        if not decisions.is_file():
            raise ValueError(f"{decisions}: there is no such file")
        with refusing(str(rounds)):
            played = _read(rounds, decisions)
        yield played


def _read(rounds_path: Path, decisions_path: Path) -> ShardRounds:
    """The rounds of a shard."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    names = [name for name in _RESULTS if name in pq.read_schema(rounds_path).names]
    rounds = pq.read_table(rounds_path, columns=[*Deal._fields, "num_decisions", *names])
    with refusing(str(decisions_path)):
        plays = pq.read_table(decisions_path, columns=["action", "cards", "legal_actions"])
        actions, cards = _integers(plays, "action"), _integers(plays, "cards")
        legal = plays["legal_actions"]
        num_legal = _integers({"legal_actions": pc.list_value_length(legal)}, "legal_actions")
    num = _integers(rounds, "num_decisions")
    if num.min(initial=0) < 0 or num.sum() != len(plays):
        raise ValueError(f"{num.sum()} decisions, and {len(plays)} in its other file")
    results = {
        name: _integers({name: pc.list_flatten(rounds[name])}, name).reshape(len(rounds), -1)
        for name in names
    }
    columns = rounds.select(Deal._fields).to_pydict()
    for name, values in columns.items():
        kind = list if name in ("hands", "extra") else int
        if any(value is not None and type(value) is not kind for value in values):
            raise ValueError(f"{name}: a column of another type")
    deals = [
        Deal(*deal[:3], *(None if cards is None else tuple(cards) for cards in deal[3:]))
        for deal in zip(*columns.values(), strict=True)
    ]
    return ShardRounds(deals, num, actions, cards, num_legal, results)


def _integers(table: Any, name: str) -> IntArray:
    """int64: a column of a table, of integers without nulls.

    Raises:
        ValueError: it is another one.
    """
    import pyarrow as pa

    column = table[name]
    if not pa.types.is_integer(column.type) or column.null_count:
        raise ValueError(f"{name}: expected integers, got {column.type} with {column.null_count} nulls")
    found: IntArray = column.to_numpy().astype(np.int64)
    return found


def read_rounds(folder: str | Path) -> Iterator[AnyRound]:
    """The rounds of a data set as `tienlen_env.Round`, or the class of their game.

    Raises:
        MissingExtraError, ValueError: see `read_shards`; or a play is not legal, or the plays of a round lead
            to other results.
    """
    rules = config_of(folder).variant
    number = 0
    for played in read_shards(folder):
        results = [(name, _RESULTS[name], values.tolist()) for name, values in played.results.items()]
        ends = np.cumsum(played.num_decisions)
        plays = list(zip(played.actions.tolist(), played.cards.tolist(), strict=True))
        begins = (ends - played.num_decisions).tolist()
        for at, (deal, begin, end) in enumerate(zip(played.deals, begins, ends.tolist(), strict=True)):
            with refusing(f"{folder}, round {number}"):
                found = deal.round(rules)
                for action, cards in plays[begin:end]:
                    found.play(found.play_of(action, cards))
                for name, get, written in results:
                    if (result := list(get(found))) != written[at]:
                        raise ValueError(
                            f"the file has {name} {written[at]}, but its plays end with {result}"
                        )
            number += 1
            yield found
