"""Read a data set: its rounds a shard at a time, or one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from tienlen_data.config import config_of, path_of
from tienlen_data.rounds import Deal
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.single.base import AnyRound

# The results of a round by column.
_RESULTS: Final[dict[str, Callable[[AnyRound], Iterable[int | None]]]] = {
    "places": lambda found: found.places,
    "points": lambda found: found.scores,
    "units": lambda found: [
        sum(pay.amount * ((pay.payee == seat) - (pay.payer == seat)) for pay in found.payment_list)
        for seat in range(found.num_players)
    ],
}


class Played(NamedTuple):
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


def read_shards(folder: str | Path) -> Iterator[Played]:
    """The rounds of a data set, a shard at a time.

    Raises:
        MissingExtraError, ValueError: see `config_of`; or a file is missing or damaged.
    """
    config_of(folder)
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for index in itertools.count():
        path = path_of(Path(folder), "rounds", index)
        if not path.is_file():
            return
        try:
            names = [name for name in _RESULTS if name in pq.read_schema(path).names]
            rounds = pq.read_table(path, columns=[*Deal._fields, "num_decisions", *names])
            plays = pq.read_table(
                path_of(Path(folder), "decisions", index), columns=["action", "cards", "legal_actions"]
            )
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path}: {error}") from error
        num = rounds["num_decisions"].to_numpy().astype(np.int64)
        if num.sum() != len(plays):
            raise ValueError(f"{path}: {num.sum()} decisions, and {len(plays)} in its other file")
        deals = [
            Deal(*deal[:3], *(None if cards is None else tuple(cards) for cards in deal[3:]))
            for deal in zip(*rounds.select(Deal._fields).to_pydict().values(), strict=True)
        ]
        results = {
            name: pc.list_flatten(rounds[name]).to_numpy().astype(np.int64).reshape(len(rounds), -1)
            for name in names
        }
        num_legal = pc.list_value_length(plays["legal_actions"])
        actions, cards, num_legal = (
            column.to_numpy().astype(np.int64) for column in (plays["action"], plays["cards"], num_legal)
        )
        yield Played(deals, num, actions, cards, num_legal, results)


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
            found = deal.round(rules)
            for action, cards in plays[begin:end]:
                found.play(found.play_of(action, cards))
            for name, get, written in results:
                if (result := list(get(found))) != written[at]:
                    raise ValueError(
                        f"{folder}, round {number}: the file has {name} {written[at]}, but its plays "
                        f"end with {result}"
                    )
            number += 1
            yield found
