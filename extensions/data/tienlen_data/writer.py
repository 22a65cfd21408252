"""Write a data set in shards, by any number of workers: its columns, its files and its card."""

from __future__ import annotations

import io
import json
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tienlen_agents.arena.play import batch_for
from tienlen_agents.command import with_bar
from tienlen_agents.executors import WorkerPool
from tienlen_agents.external.seeds import seed_key_of
from tienlen_agents.files import locked, remove_temporaries, write_atomic
from tienlen_agents.quoting import split_list
from tienlen_data.config import (
    KEY,
    SCHEMA,
    TABLES,
    DataConfig,
    header,
    header_of,
    num_rounds,
    path_of,
)
from tienlen_data.croissant import FILE, croissant
from tienlen_data.rounds import Block, Deal, Players, loaded, play_block, search_of
from tienlen_env.engine.agent import Agent
from tienlen_env.engine.batch import Batch
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import AnyArray, IntArray
from tienlen_env.games.registry import main_reward
from tienlen_env.texts import markup

BLOCK: Final = 4096  # rounds played at once; a shard depends on it


# ---------------------------------------------------------------- columns

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


# ---------------------------------------------------------------- shards


def write_shard(config: DataConfig, out: Path, index: int) -> None:
    """Play or read the rounds of a shard and write its files, the rounds last.

    Raises:
        OSError: the folder cannot be written.
        ValueError: see `play_block`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    total = num_rounds(config)
    first = index * config.shard_rounds
    end = min(first + config.shard_rounds, total)
    files: dict[str, io.BytesIO] = {name: io.BytesIO() for name in TABLES}
    writers: dict[str, Any] = {}
    for begin in range(first, end, BLOCK):
        block = play_block(config, begin, min(BLOCK, end - begin))
        for name, columns in columns_of(config, block, begin).items():
            table = pa.table(columns)
            if name not in writers:
                writers[name] = pq.ParquetWriter(
                    files[name],
                    table.schema,
                    compression="lz4",
                    use_dictionary=["agent"],
                    write_statistics=["round"],
                    store_schema=False,  # `agent` is a text for every reader
                )
            writers[name].write_table(table)
    for name in reversed(TABLES):
        writers[name].add_key_value_metadata({KEY: header(config)})
        writers[name].close()
        write_atomic(path_of(out, name, index), files[name].getvalue())


def write_data(config: DataConfig, out: str | Path, workers: int = 1) -> int:
    """Write a data set, or what is missing of it; the number of rounds.

    Args:
        config: the settings.
        out: the folder.
        workers: number of processes.

    Raises:
        MissingExtraError: pyarrow is not installed.
        ValueError: the folder has another data set, or see `play_block`.
        OSError: it cannot be written, or another process writes there.
    """
    require("pyarrow", "data", "writing data")
    agents: list[Agent] = []
    if config.records is None:
        agents = [loaded(name, place) for place, name in enumerate(split_list(config.agents))]
        if not agents:
            config.refuse("agents", "expected one or more")
        batch_for(agents, config.variant, 1, config.history)
    if config.estimates:
        search_of(config.estimates)
    out, total = Path(out), num_rounds(config)
    if not total:
        raise ValueError(f"{config.records}: expected one or more records")
    indices = range(-(-total // config.shard_rounds))
    with locked(out / ".data"):
        there = [path for index in indices if (path := path_of(out, "rounds", index)).exists()]
        stored = json.loads(header_of(there[0])).get("seed_key", "") if there else ""
        config = replace(config, seed_key=seed_key_of(agents, config.seed_key, stored))
        for folder in (out, *(out / name for name in TABLES)):
            remove_temporaries(folder)
        left = []
        for index in indices:
            if not path_of(out, "rounds", index).exists():
                left.append(index)
            elif (found := header_of(path_of(out, "rounds", index))) != header(config):
                raise ValueError(f"{out} has another data set, {found.decode()}; use another folder")
        if workers == 1:
            for index in with_bar(left, "writing", len(left)):
                write_shard(config, out, index)
        elif left:
            with WorkerPool(workers) as pool:
                jobs = [pool.submit(write_shard, config, out, index) for index in left]
                try:
                    for job in with_bar(jobs, "writing", len(jobs)):
                        job.result()
                except BrokenProcessPool as error:
                    raise OSError("a worker process died; the same command goes on from here") from error
                finally:
                    pool.shutdown(cancel_futures=True)
        write_atomic(out / "README.md", card(config, out, len(indices)).encode())
        write_atomic(out / FILE, metadata(config, out).encode())
    return total


# ---------------------------------------------------------------- the card

_COLUMNS: Final = {
    "decisions": {
        "round": "number of the round, as in `rounds`",
        "step": "0 for the first decision of the round",
        "seat": "who decides",
        "agent": "its name; null for records",
        "observation": "{size} bits; `numpy.unpackbits(..., bitorder='little')`",
        "legal_actions": "ids, ascending",
        "probabilities": "of the legal actions, by the agent; NaN if it has none",
        "estimates": "return of each legal action, by `{estimates}`",
        "estimate_errors": "half of the 95 % interval of each estimate",
        "action": "id of the action that was played",
        "cards": "the exact cards, card 4 × rank + suit is a bit; 0 for none",
        "return": "of the seat, from here to the end of the round ({reward})",
    },
    "rounds": {
        "round": "number",
        "key": "64-bit key of the deal; null if the hands were given",
        "round_index": "which round of the key's game",
        "leader": "who leads; null if the deal decides",
        "hands": "cards of each seat if they were given",
        "extra": "the game's other cards, with given hands",
        "agents": "name of the agent in each seat",
        "num_decisions": "rows of the round in `decisions`",
        "places": "of each seat, 0 is first",
        "points": "of each seat",
        "units": "what each seat got in payments, less what it paid",
    },
}


def metadata(config: DataConfig, out: Path) -> str:
    """The columns of both tables, and where the data set is from, for programs (`tienlen_data.croissant`)."""
    import pyarrow.parquet as pq

    rules = config.variant
    words = _words(config, Batch(rules, history=config.history))
    tables = {
        name: {
            field.name: (str(field.type), _COLUMNS[name][field.name].format(**words))
            for field in pq.read_schema(path_of(out, name, 0))
        }
        for name in TABLES
    }
    title = f"tienlen-{rules.name}-{rules.num_players}-players"
    about = f"Rounds of {rules.name}, {rules.num_players} players. Settings: {header(config).decode()}"
    return croissant(title, about, f"{SCHEMA}.0.0", tables, is_played=config.records is None)


def _words(config: DataConfig, batch: Batch) -> dict[str, Any]:
    """What stands in the meanings of columns."""
    reward = main_reward(config.variant)
    return {"size": batch.observation_size, "estimates": config.estimates, "reward": reward}


def card(config: DataConfig, out: Path, num_shards: int) -> str:
    """The data card: metadata of the hub in YAML, then the tables for people."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rules, batch = config.variant, Batch(config.variant, history=config.history)
    sizes = {
        name: sum(pq.read_metadata(path_of(out, name, index)).num_rows for index in range(num_shards))
        for name in TABLES
    }
    of, by = f"records of {Path(config.records or '').name}", f"played by {config.agents}"
    source = markup(of if config.records else by)
    title = f"{sizes['rounds']:,} rounds of {batch.game.name}, {rules.name}, {rules.num_players} players"
    words = _words(config, batch)
    lines = [
        "---",
        f"pretty_name: {json.dumps(title)}",
        "tags: [reinforcement-learning, imitation-learning, card-game, imperfect-information]",
        "configs:",
    ]
    for name in reversed(TABLES):
        lines += [f"- config_name: {name}", f"  data_files: {name}/*.parquet"]
        lines += ["  default: true"] if name == "decisions" else []
    lines += ["---", "", f"# {title}", "", f"{sizes['decisions']:,} decisions, {source}. Settings:", ""]
    lines += ["```json", header(config).decode(), "```", "", f"Rules: `{rules!r}`", ""]
    for name in reversed(TABLES):
        schema = pq.read_schema(path_of(out, name, 0))
        lines += [f"## `{name}`", "", "| column | type | meaning |", "|---|---|---|"]
        for field in schema:
            kind = str(field.type).replace("element: ", "").replace(" not null", "")
            lines.append(f"| `{field.name}` | {kind} | {_COLUMNS[name][field.name].format(**words)} |")
        lines.append("")
    lines += ["## Pieces of the observation", "", "| bits | piece | meaning |", "|---|---|---|"]
    lines += [
        f"| {piece.slice.start} to {piece.slice.stop - 1} | `{name}` | {piece.meaning} |"
        for name, piece in batch.layout.items()
    ]
    lines += ["", f"Written by `tienlen data` with pyarrow {pa.__version__}, schema {SCHEMA}.", ""]
    return "\n".join(lines)
