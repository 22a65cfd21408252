"""``tienlen data``: rounds and decisions as Parquet files, which other tools read without this project.

    tienlen data --agents heuristic --rounds 100000 --out data/heuristic
    tienlen data --records games.txt --out data/mine

A data set has one variant. Its folder has a card, ``README.md`` in the form of the Hugging Face hub, and two
tables in *shards*, ``rounds/*.parquet`` and ``decisions/*.parquet``; the card describes every column. A shard
is a pure function of the settings and its number: any number of workers writes the same bytes, and the same
command goes on after a kill. The package pyarrow (the extra ``data``) is imported when a function is called.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import SeedSequence
from rich.console import Console
from rich.progress import track

import tienlen_agents
from tienlen_agents.arena.executors import end_with_parent
from tienlen_agents.arena.play import batch_for
from tienlen_agents.command import Interrupted, interruptible, program
from tienlen_agents.files import locked, remove_temporaries, write_atomic
from tienlen_agents.search import SearchAgent
from tienlen_agents.settings import (
    COUNT,
    COUNT_OR_NONE,
    Choice,
    Config,
    ExistingFile,
    FreeText,
    Range,
    add_options,
    make_config,
    setting,
)
from tienlen_env.engine.agent import Agent, CardAgent, ScoringAgent, View, choose_cards
from tienlen_env.engine.batch import Batch
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import AnyArray, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import PRESETS, get_rules, main_reward
from tienlen_env.single.base import AnyRound, game_of_line, plain_notation, round_type

MODULE: Final = "tienlen_agents.data"
SCHEMA: Final = 1  # of the tables; a change of a column's name, type or meaning raises it
BLOCK: Final = 1024  # rounds played at once; a shard depends on it
TABLES: Final = ("rounds", "decisions")
KEY: Final = b"tienlen"  # of the settings in a file's metadata


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config):
    """What determines the bytes of a data set, besides the versions of this project and of pyarrow.

    Attributes:
        rules: the variant.
        players: number of players, if not that of the rules.
        agents: names, separated by blanks; of E agents, number (s + i) % E has the seat s of round i.
        records: read rounds from this file, a record a line, in place of playing.
        rounds: how many; of records, at most.
        history: number of past plays in observations.
        probabilities: write the probability of each legal action, of agents that have them.
        estimates: name of a search that estimates the return of every legal action; empty for none.
        seed: of the deals and the agents.
        shard_rounds: rounds of a shard.
    """

    rules: str = setting("cardgames", Choice(lambda: PRESETS))
    players: int | None = setting(None, Range(2))
    agents: str = setting("random", FreeText("names of agents"))
    records: str | None = setting(None, ExistingFile())
    rounds: int = setting(10_000, COUNT)
    history: int = setting(0, COUNT_OR_NONE)
    probabilities: bool = False
    estimates: str = setting("", FreeText("an agent"))
    seed: int = setting(0, COUNT_OR_NONE)
    shard_rounds: int = setting(16_384, COUNT)

    @property
    def variant(self) -> AnyRules:
        """The rules with their number of players."""
        return get_rules(self.rules, self.players)


@dataclass(frozen=True, kw_only=True)
class CommandLine(DataConfig):
    """The options of the command.

    Attributes:
        out: the folder of the data set.
        workers: number of processes.
    """

    out: str = setting("data", FreeText("a folder"))
    workers: int = setting(1, Range(1, 1024))


class Deal(NamedTuple):
    """How a round was dealt, as in `tienlen_env.games.common.notation.Record`."""

    key: int | None
    round_index: int = 0
    leader: int | None = None
    hands: tuple[int, ...] | None = None
    extra: tuple[int | None, ...] | None = None

    def round(self, rules: AnyRules) -> AnyRound:
        """The round before its first play."""
        kind = round_type(rules)
        if self.hands is None:
            return kind(rules, self.key, round_index=self.round_index, leader=self.leader)
        names = _names_of_extra(rules)
        extra = {
            name: cards for name, cards in zip(names, self.extra or (), strict=True) if cards is not None
        }
        return kind.from_hands(rules, self.hands, leader=self.leader, **extra)  # type: ignore[arg-type]


def _names_of_extra(rules: AnyRules) -> tuple[str, ...]:
    return tuple(Batch(rules).game.extra_hands)


# ---------------------------------------------------------------- playing


class _Players:
    """Decide by agents.

    Args:
        config: the settings.
        first: number of the first round; the agents are reset.
    """

    def __init__(self, config: DataConfig, first: int, num_rounds: int) -> None:
        self.agents = [_loaded(name, place) for place, name in enumerate(config.agents.split())]
        rules, num_agents = config.variant, len(self.agents)
        keys = SeedSequence(config.seed, spawn_key=(first,)).generate_state(num_rounds, np.uint64)
        self.deals = [Deal(key) for key in keys.view(np.int64).tolist()]
        self.batch = batch_for(self.agents, rules, num_rounds, config.history)
        self.batch.deal(keys.view(np.int64))
        numbers = first + np.arange(num_rounds)
        self.seats = (numbers[:, None] + np.arange(rules.num_players)) % num_agents
        for index, agent in enumerate(self.agents):
            seed = SeedSequence(config.seed, spawn_key=(first, index)).generate_state(1)
            agent.reset(int(seed[0]))

        self._by_cards = any(isinstance(agent, CardAgent) for agent in self.agents)

    def act(self, view: View, games: IntArray, step: int) -> tuple[IntArray, IntArray | None]:
        """Choose in n running games; the actions, and their exact cards if an agent chooses them.

        Args:
            view: the decisions.
            games: int64 (n,), their rounds in the block.
            step: how many plays were made in each.
        """
        if len(self.agents) == 1 and not self._by_cards:
            return self.agents[0].act(view), None
        actions, cards = np.empty(len(games), np.int64), np.zeros(len(games), np.int64)
        for index, mine in self.decisions(view, games):
            actions[mine], cards[mine] = choose_cards(self.agents[index], view.select(mine))
        return actions, cards if self._by_cards else None

    def decisions(self, view: View, games: IntArray) -> Iterator[tuple[int, IntArray]]:
        """The decisions of each agent: its index, and theirs in the view."""
        who = self.seats[games, view.seat]
        for index in range(len(self.agents)):
            if (mine := np.flatnonzero(who == index)).size:
                yield index, mine


class _Records:
    """Decide as recorded rounds did.

    Args:
        config: the settings.
        first: number of the first line.

    Raises:
        ValueError: a line is not the record of a whole round of the variant.
    """

    agents: Sequence[Agent] = ()

    def __init__(self, config: DataConfig, first: int, num_rounds: int) -> None:
        rules = config.variant
        self.batch = batch_for([], rules, num_rounds, config.history)
        self.deals, plays = [], []
        for number, line in enumerate(_lines(config, first, num_rounds), first + 1):
            try:
                kind = round_type(rules)
                found = (kind.notation or plain_notation(game_of_line(line))).parse(line)
                played = kind.from_record(line)
                if found.rules != rules or not played.is_over:
                    raise ValueError(f"expected a whole round of {rules.name}, {rules.num_players} players")
            except ValueError as error:
                raise ValueError(f"{config.records}, line {number}: {error}") from error
            extra = tuple(map(found.extra.get, _names_of_extra(rules)))
            self.deals.append(
                Deal(found.key, found.round_index, found.leader, found.hands, found.hands and extra)
            )
            row = self.deals[-1].round(rules).row  # without a history
            self.batch.state.rows[len(self.deals) - 1, : len(row)] = row
            plays.append([(play.action, play.cards) for play in played.plays])
        lengths = np.array([len(each) for each in plays])
        self._start = np.cumsum(lengths) - lengths
        self._plays = np.array(list(itertools.chain(*plays)), np.int64).reshape(-1, 2)

    def act(self, view: View, games: IntArray, step: int) -> tuple[IntArray, IntArray]:
        """See `_Players.act`."""
        actions, cards = np.ascontiguousarray(self._plays[self._start[games] + step].T)
        return actions, cards

    def decisions(self, view: View, games: IntArray) -> Iterator[tuple[int, IntArray]]:
        """There are no agents."""
        yield from ()


def _lines(config: DataConfig, first: int, num_rounds: int) -> list[str]:
    assert config.records is not None
    with open(config.records, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in itertools.islice(file, first, first + num_rounds)]


@cache
def _loaded(name: str, place: int) -> Agent:
    """An agent of this process; the same name in two places is two objects."""
    return tienlen_agents.load(name)


def _search(name: str) -> SearchAgent:
    found = _loaded(name, -1)
    if not isinstance(found, SearchAgent):
        raise ValueError(f"estimates={name!r}: expected a search, such as search:worlds=64")
    return found


def play_block(config: DataConfig, first: int, num_rounds: int) -> dict[str, dict[str, Any]]:
    """The columns of both tables for some rounds, as arrays of pyarrow.

    Args:
        config: the settings.
        first: number of the first round.
        num_rounds: how many.

    Raises:
        ValueError: a record of something else, or an agent that does not play the variant.
    """
    players = (_Players if config.records is None else _Records)(config, first, num_rounds)
    search = _search(config.estimates) if config.estimates else None
    if search is not None:
        search.reset(
            int(SeedSequence(config.seed, spawn_key=(first, len(players.agents))).generate_state(1)[0])
        )
    batch, rules = players.batch, players.batch.rules
    shape = num_rounds, batch.num_players
    returns = np.zeros(shape, np.float32)
    results = {name: np.zeros(shape, np.int64) for name in ("places", "points", "units")}
    games = np.arange(num_rounds)
    steps: list[dict[str, AnyArray]] = []
    for step in itertools.count():
        if not (running := batch.turn >= 0).all():
            over, ended = ~running, batch.select(~running)
            results["places"][games[over]] = ended.state.places
            results["points"][games[over]] = ended.scores()
            results["units"][games[over]] = ended.balances()
            games = games[running]
            if not games.size:
                break
            batch = batch.select(running)
        batch.game.check_decisions(rules, step + 1, config.agents)
        num_legal, view = batch.count_legal(), View(batch, copy=False)
        start = np.cumsum(num_legal) - num_legal
        legal = np.empty((2, num_legal.sum()), np.int64)  # actions and cards
        batch.loops.list_legal(*batch.kernel_arrays, start, *legal)
        found: dict[str, AnyArray] = {
            "game": games,
            "seat": view.seat,
            "num_legal": num_legal,
            "legal_actions": legal[0],
            "observation": batch.packed_observation(),
        }
        if config.probabilities:
            owner = np.repeat(np.arange(len(games)), num_legal)
            found["probabilities"] = np.full(len(owner), np.nan, np.float32)
            for index, mine in players.decisions(view, games):
                if isinstance(agent := players.agents[index], ScoringAgent):
                    chosen = np.exp(agent.log_probabilities(view.select(mine)))
                    found["probabilities"][np.isin(owner, mine)] = chosen
        if search is not None:
            estimates = search.estimate(View(batch))
            for name, field in (("estimates", "mean"), ("estimate_errors", "half_width")):
                found[name] = np.concatenate([getattr(one, field) for one in estimates]).astype(np.float32)
        actions, cards = players.act(view, games, step)
        found["action"], found["cards"] = actions, batch.action_to_cards(actions) if cards is None else cards
        rewards, _ = batch.step(actions, cards)
        returns[games] += rewards
        steps.append(found)
    return _columns(config, players, first, steps, returns, results)


# ---------------------------------------------------------------- tables

# Columns with an item for each legal action, and their types.
_RAGGED: Final = {
    "legal_actions": np.int16,
    "probabilities": np.float32,
    "estimates": np.float32,
    "estimate_errors": np.float32,
}


def _columns(
    config: DataConfig,
    players: _Players | _Records,
    first: int,
    steps: Sequence[Mapping[str, AnyArray]],
    returns: npt.NDArray[np.float32],
    results: Mapping[str, IntArray],
) -> dict[str, dict[str, Any]]:
    """The columns of both tables; decisions in the order of rounds, in each in the order of play."""
    import pyarrow as pa

    columns = {name: np.concatenate([each[name] for each in steps]) for name in (steps[0] if steps else ())}
    num_rounds, num_players = returns.shape
    game, seat, num_legal = columns["game"], columns["seat"], columns["num_legal"]
    order = np.argsort(game, kind="stable")
    starts = np.cumsum(num_legal) - num_legal
    num_legal, starts = num_legal[order], starts[order]
    ends = np.cumsum(num_legal)
    ragged = np.repeat(starts - (ends - num_legal), num_legal) + np.arange(len(columns["legal_actions"]))
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    game, seat = game[order], seat[order]
    num_decisions = np.bincount(game, minlength=num_rounds)
    step = np.arange(len(game)) - np.repeat(np.cumsum(num_decisions) - num_decisions, num_decisions)
    words = columns["observation"][order].astype("<i8", copy=False)
    width = words.shape[1] * 8
    observation = pa.Array.from_buffers(
        pa.binary(),
        len(words),
        [None, pa.py_buffer(np.arange(len(words) + 1, dtype=np.int32) * width), pa.py_buffer(words)],
    )
    names = [agent.name for agent in players.agents]
    if isinstance(players, _Players):
        by_seat = players.seats.astype(np.int8)
        agent = pa.DictionaryArray.from_arrays(pa.array(by_seat[game, seat]), names)
        agents = pa.FixedSizeListArray.from_arrays(pa.array(names).take(by_seat.ravel()), num_players)
    else:
        agent = pa.DictionaryArray.from_arrays(pa.nulls(len(game), pa.int8()), pa.array([], pa.string()))
        agents = pa.nulls(num_rounds, pa.list_(pa.string()))
    decisions = {
        "round": pa.array(first + game),
        "step": pa.array(step.astype(np.int16)),
        "seat": pa.array(seat.astype(np.int8)),
        "agent": agent,
        "observation": observation,
        **{
            name: pa.ListArray.from_arrays(offsets, pa.array(columns[name][ragged].astype(kind, copy=False)))
            for name, kind in _RAGGED.items()
            if name in columns
        },
        "action": pa.array(columns["action"][order].astype(np.int16)),
        "cards": pa.array(columns["cards"][order]),
        "return": pa.array(returns[game, seat]),
    }

    def by_seats(values: IntArray, kind: Any) -> Any:
        return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), kind), num_players)

    deals = players.deals
    has_units = players.batch.has_payments
    rounds = {
        "round": pa.array(first + np.arange(num_rounds)),
        "key": pa.array([deal.key for deal in deals], pa.int64()),
        "round_index": pa.array([deal.round_index for deal in deals], pa.int32()),
        "leader": pa.array([deal.leader for deal in deals], pa.int8()),
        "hands": pa.array([deal.hands for deal in deals], pa.list_(pa.int64())),
        "extra": pa.array([deal.extra for deal in deals], pa.list_(pa.int64())),
        "agents": agents,
        "num_decisions": pa.array(num_decisions, pa.int32()),
        "places": by_seats(results["places"], pa.int8()),
        "points": by_seats(results["points"], pa.int32()),
        **({"units": by_seats(results["units"], pa.int32())} if has_units else {}),
    }
    return {"rounds": rounds, "decisions": decisions}


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
        for name, columns in play_block(config, begin, min(BLOCK, end - begin)).items():
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
        write_atomic(_path(out, name, index), files[name].getvalue())


def header(config: DataConfig) -> bytes:
    """What the metadata of each file has under the key ``tienlen``: the schema and the settings as JSON."""
    settings = {name: getattr(config, name) for name in asdict(DataConfig())}
    return json.dumps({"schema": SCHEMA, **settings}, sort_keys=True).encode()


def num_rounds(config: DataConfig) -> int:
    """The number of rounds of a data set."""
    if config.records is None:
        return config.rounds
    with open(config.records, "rb") as file:
        return sum(1 for _ in itertools.islice(file, config.rounds))


def _path(out: Path, table: str, index: int) -> Path:
    return out / table / f"{index:05d}.parquet"


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
    if config.records is None:
        agents = [_loaded(name, place) for place, name in enumerate(config.agents.split())]
        if not agents:
            config.refuse("agents", "expected one or more")
        batch_for(agents, config.variant, 1, config.history)
    if config.estimates:
        _search(config.estimates)
    out, total = Path(out), num_rounds(config)
    if not total:
        raise ValueError(f"{config.records}: expected one or more records")
    indices = range(-(-total // config.shard_rounds))
    with locked(out / ".data"):
        for name in TABLES:
            remove_temporaries(out / name)
        left = []
        for index in indices:
            if not _path(out, "rounds", index).exists():
                left.append(index)
            elif (found := _header_of(_path(out, "rounds", index))) != header(config):
                raise ValueError(f"{out} has another data set, {found.decode()}; use another folder")
        shown = partial(track, description="writing", console=Console(stderr=True), transient=True)
        if workers == 1:
            for index in shown(left):
                write_shard(config, out, index)
        elif left:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent) as pool:
                jobs = [pool.submit(write_shard, config, out, index) for index in left]
                try:
                    for job in shown(jobs):
                        job.result()
                except BrokenProcessPool as error:
                    raise OSError("a worker process died; the same command goes on from here") from error
                finally:
                    pool.shutdown(cancel_futures=True)
        write_atomic(out / "README.md", card(config, out, len(indices)).encode())
    return total


def _header_of(path: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path).metadata or {}
        return bytes(metadata[KEY])
    except (pa.ArrowException, KeyError) as error:
        raise ValueError(f"{path}: not a file of `tienlen data`") from error


# ---------------------------------------------------------------- reading


def config_of(folder: str | Path) -> DataConfig:
    """The settings of a data set.

    Raises:
        MissingExtraError: pyarrow is not installed.
        ValueError: the folder has none, or one of another schema.
    """
    require("pyarrow", "data", "reading data")
    path = _path(Path(folder), "rounds", 0)
    if not path.is_file():
        raise ValueError(f"{str(folder)!r}: expected a folder of `tienlen data`")
    found = json.loads(_header_of(path))
    if found.pop("schema", None) != SCHEMA:
        raise ValueError(f"{folder}: expected schema {SCHEMA} of `tienlen data`")
    # The rounds are in the files: records that they came from need not exist any more.
    return DataConfig(**{**found, "records": None})


class Played(NamedTuple):
    """The rounds of a shard.

    Attributes:
        deals: of n rounds.
        num_decisions: int64 (n,).
        actions: int64 (N,), those of a round one after the other.
        cards: int64 (N,), their exact cards.
        num_legal: int64 (N,), number of legal actions.
    """

    deals: list[Deal]
    num_decisions: IntArray
    actions: IntArray
    cards: IntArray
    num_legal: IntArray


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
        path = _path(Path(folder), "rounds", index)
        if not path.is_file():
            return
        try:
            rounds = pq.read_table(path, columns=[*Deal._fields, "num_decisions"]).to_pydict()
            plays = pq.read_table(
                _path(Path(folder), "decisions", index), columns=["action", "cards", "legal_actions"]
            )
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path}: {error}") from error
        num = np.array(rounds.pop("num_decisions"), np.int64)
        if num.sum() != len(plays):
            raise ValueError(f"{path}: {num.sum()} decisions, and {len(plays)} in its other file")
        deals = [
            Deal(*deal[:3], *(None if cards is None else tuple(cards) for cards in deal[3:]))
            for deal in zip(*rounds.values(), strict=True)
        ]
        columns = plays["action"], plays["cards"], pc.list_value_length(plays["legal_actions"])
        yield Played(deals, num, *(column.to_numpy().astype(np.int64) for column in columns))


def read_rounds(folder: str | Path) -> Iterator[AnyRound]:
    """The rounds of a data set as `tienlen_env.Round`, or the class of their game.

    Raises:
        MissingExtraError, ValueError: see `read_shards`; or a round does not follow from its plays.
    """
    rules = config_of(folder).variant
    for played in read_shards(folder):
        ends = np.cumsum(played.num_decisions)
        plays = list(zip(played.actions.tolist(), played.cards.tolist(), strict=True))
        for deal, begin, end in zip(
            played.deals, (ends - played.num_decisions).tolist(), ends.tolist(), strict=True
        ):
            found = deal.round(rules)
            for action, cards in plays[begin:end]:
                found.play(found.play_of(action, cards))
            yield found


# ---------------------------------------------------------------- card

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


def card(config: DataConfig, out: Path, num_shards: int) -> str:
    """The data card: metadata of the hub in YAML, then the tables for people."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rules, batch = config.variant, Batch(config.variant, history=config.history)
    sizes = {
        name: sum(pq.read_metadata(_path(out, name, index)).num_rows for index in range(num_shards))
        for name in TABLES
    }
    source = f"records of {Path(config.records).name}" if config.records else f"played by {config.agents}"
    title = f"{sizes['rounds']:,} rounds of {batch.game.name}, {rules.name}, {rules.num_players} players"
    words = {"size": batch.observation_size, "estimates": config.estimates, "reward": main_reward(rules)}
    lines = [
        "---",
        f"pretty_name: {json.dumps(title)}",
        "tags: [reinforcement-learning, imitation-learning, card-game, imperfect-information]",
        "configs:",
    ]
    for name in reversed(TABLES):
        lines += [f"- config_name: {name}", f"  data_files: {name}/*.parquet"]
    lines += ["---", "", f"# {title}", "", f"{sizes['decisions']:,} decisions, {source}. Settings:", ""]
    lines += ["```json", header(config).decode(), "```", "", f"Rules: `{rules!r}`", ""]
    for name in reversed(TABLES):
        schema = pq.read_schema(_path(out, name, 0))
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog=program(MODULE), description="Rounds and decisions as Parquet files."
    )
    add_options(parser, CommandLine)
    options = make_config(parser, CommandLine, vars(parser.parse_args(argv)))
    try:
        with interruptible():
            total = write_data(options, options.out, options.workers)
    except Interrupted as error:
        print(f"{parser.prog}: {error}: the same command goes on from here", file=sys.stderr)
        return error.exit_code
    except (ValueError, OSError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    print(f"{total:,} rounds in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
