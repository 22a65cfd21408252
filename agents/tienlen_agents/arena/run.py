"""Playing many tables: over worker processes, into a file, stopped early where a verdict is clear.

The result depends on the tables and the settings alone: chunks are the same whoever plays them (see `chunk`),
and whether a table stops is decided by its chunks in the order of their deals.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from multiprocessing.connection import wait as wait_for_sentinels
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack

import tienlen_agents
from tienlen_agents.arena.chunk import BLOCK_DEALS, Chunk, Job, play_chunk
from tienlen_agents.arena.lineup import Permutations, blocks, title_of
from tienlen_agents.arena.play import warm_up
from tienlen_agents.arena.result import TableResult, add_up
from tienlen_agents.arena.sequential import FIRST_LOOK
from tienlen_agents.arena.store import ArenaRunError, ChunkStore, file_digests
from tienlen_agents.versions import code_digest, versions
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_env.rendering.view import plural

Entrant: TypeAlias = Agent | str

CHUNKS_FILE: Final = "chunks.jsonl"


class Progress(Protocol):
    """Is told how a run gets on."""

    def start(self, title: str, num_games: int) -> None:
        """A run of so many games begins."""

    def advance(self, num_games: float, num_decisions: int) -> None:
        """So much more has been played; games in progress count by the share of their cards played."""


class Options(TypedDict, total=False):
    """What every way of playing in the arena takes by keyword; the defaults are those of `Settings`.

    Attributes:
        num_deals: deals of each table, the same ones at all; at least 2 (2500).
        seed: of deals and agents, 0 or more (0).
        history: plays that observations show; policies need what they were trained with (0).
        permutations: ``"rotations"`` of the table in each deal, or ``"all"`` seatings (see `lineup.blocks`).
        chunk_deals: agents are reset after so many deals, and a worker takes so many at a time; divides
            512 (512). The deals are the same for any number, the draws of stochastic agents are not.
        blunder_deals: count blunders in solved endings in the first so many deals of each table (0).
        stop_when_clear: end a table when its first agent is proven above or below parity. Its intervals
            are then such that the error is at most 5 % (see `sequential`), and wider (False).
        workers: processes that play (1: this one). Agents must be given by name.
        out: a folder for the chunks played; if it holds some of the same match, it goes on from there. Agents
            must be given by name.
        fresh: drop the chunks in `out` (False).
        progress: is told how it gets on.
    """

    num_deals: int
    seed: int
    history: int
    permutations: Permutations
    chunk_deals: int
    blunder_deals: int
    stop_when_clear: bool
    workers: int
    out: str | Path | None
    fresh: bool
    progress: Progress | None


@dataclass(frozen=True)
class Settings:
    """What decides results; see `Options`.

    Raises:
        ValueError: a number out of range or an unknown word.
    """

    num_deals: int = 2500
    seed: int = 0
    history: int = 0
    permutations: Permutations = "rotations"
    chunk_deals: int = BLOCK_DEALS
    blunder_deals: int = 0
    stop_when_clear: bool = False

    def __post_init__(self) -> None:
        if self.num_deals < 2 or self.seed < 0 or self.blunder_deals < 0:
            raise ValueError(
                f"num_deals={self.num_deals}, seed={self.seed}, blunder_deals={self.blunder_deals}: "
                "expected 2 deals or more, a seed from 0 and blunder deals from 0"
            )
        if self.chunk_deals < 1 or BLOCK_DEALS % self.chunk_deals:
            raise ValueError(f"chunk_deals={self.chunk_deals}: expected a divisor of {BLOCK_DEALS}")
        blocks((0, 1), self.permutations)  # refuses other words


class Table(NamedTuple):
    """One table of a run (E agents at it).

    Attributes:
        seated: indices of E agents in the run's list.
        names: theirs, unique at the table.
        lineup: for each chair an index into `seated`, ascending.
        rules: the variant.
    """

    seated: tuple[int, ...]
    names: tuple[str, ...]
    lineup: tuple[int, ...]
    rules: AnyRules


def load_all(entrants: Sequence[Entrant]) -> list[Agent]:
    """The agents, those given by name loaded."""
    return [tienlen_agents.load(entrant) if isinstance(entrant, str) else entrant for entrant in entrants]


def run_tables(
    tables: Sequence[Table],
    entrants: Sequence[Entrant],
    loaded: Sequence[Agent],
    **options: Unpack[Options],
) -> list[TableResult]:
    """Play tables.

    Args:
        tables: what to play.
        entrants: agents as they were given.
        loaded: the same, loaded; they play where there is one worker.
        options: see `Options`.

    Raises:
        ValueError: a setting out of range, or an agent that workers or a file cannot know by name.
        ArenaRunError: `out` holds another match, another run is writing there, or a worker died.
        IllegalPlayError: an agent chose what the rules refuse.
    """
    chosen = {field.name: options[field.name] for field in fields(Settings) if field.name in options}  # type: ignore[literal-required]
    settings = Settings(**chosen)
    workers, out, progress = options.get("workers", 1), options.get("out"), options.get("progress")
    if workers < 1:
        raise ValueError(f"workers={workers}: expected 1 or more")
    specs = [entrant for entrant in entrants if isinstance(entrant, str)]
    if (workers > 1 or out is not None) and len(specs) < len(entrants):
        raise ValueError("workers and out: expected agents by name, which another process can load")
    run = _Run(tables, settings, progress)
    with ExitStack() as stack:
        if out is not None:
            store = ChunkStore(Path(out) / CHUNKS_FILE, run.header(specs), fresh=options.get("fresh", False))
            run.recall(stack.enter_context(store))
        if workers == 1:
            _play_here(run, loaded)
        else:
            _play_in_workers(run, specs, workers)
    return run.results()


class _Run:
    """What has been played of each table, and what is still to be played."""

    def __init__(self, tables: Sequence[Table], settings: Settings, progress: Progress | None) -> None:
        self.tables = tables
        self.settings = settings
        self.progress = progress
        self._store: ChunkStore | None = None
        self._chunks: list[dict[int, Chunk]] = [{} for _ in tables]
        self._num_wanted = [settings.num_deals] * len(tables)  # deals; fewer once a verdict is clear
        self._num_looked_at = [0] * len(tables)
        self._games_per_deal = [blocks(t.lineup, settings.permutations).shape[1] for t in tables]
        self._times: list[list[float]] = [[] for _ in tables]
        if progress is not None:
            first = title_of(tables[0].names, tables[0].lineup)
            title = first if len(tables) == 1 else plural(len(tables), "table")
            progress.start(title, settings.num_deals * sum(self._games_per_deal))

    def header(self, specs: Sequence[str]) -> dict[str, Any]:
        """What decides the chunks (see `store`)."""
        settings = asdict(self.settings)
        # Neither changes a chunk; a longer run, or one that stops, may go on from the same file.
        del settings["num_deals"], settings["stop_when_clear"]
        tables = [
            {
                "agents": [specs[index] for index in table.seated],
                "lineup": table.lineup,
                "rules": table.rules.name,
                "rules_digest": table.rules.digest(),
            }
            for table in self.tables
        ]
        made_of = {"code": code_digest(), "files": file_digests(list(specs)), "versions": versions()}
        return {**settings, "tables": tables, **made_of}

    def recall(self, store: ChunkStore) -> None:
        """Take what a file has, and put there what comes."""
        for index in range(len(self.tables)):
            for first_deal, num_deals in self._parts():
                chunk = store.chunks.get((index, first_deal))
                if chunk is not None and len(chunk.points) == num_deals:
                    self.add(index, first_deal, chunk)
        self._store = store

    def _parts(self) -> Iterator[tuple[int, int]]:
        """The first deal and the number of deals of each chunk of a table."""
        size, total = self.settings.chunk_deals, self.settings.num_deals
        for first_deal in range(0, total, size):
            yield first_deal, min(size, total - first_deal)

    def jobs(self) -> Iterator[tuple[int, Job]]:
        """What is still to be played, as (index of the table, job); asked one by one, as results come in."""
        s = self.settings
        for index, table in enumerate(self.tables):
            for first_deal, num_deals in self._parts():
                if first_deal < self._num_wanted[index] and first_deal not in self._chunks[index]:
                    self._times[index].append(time.perf_counter())
                    yield index, Job(
                        table.lineup, table.rules, s.seed, first_deal, num_deals,
                        s.permutations, s.history, s.blunder_deals, s.chunk_deals,
                    )  # fmt: skip

    def add(self, index: int, first_deal: int, chunk: Chunk, *, told: bool = False) -> None:
        """Take a chunk of a table; `told`: the progress has been told of its games."""
        self._chunks[index][first_deal] = chunk
        self._times[index].append(time.perf_counter())
        if self._store is not None:
            self._store.add(index, first_deal, chunk)
        if self.progress is not None and not told and first_deal < self._num_wanted[index]:
            self.progress.advance(len(chunk.points) * self._games_per_deal[index], int(chunk.decisions.sum()))
        if self.settings.stop_when_clear:
            self._look(index)

    def _look(self, index: int) -> None:
        """See whether a table is clear, after each chunk in order and nowhere else."""
        while (end := self._next_end(index)) is not None and end <= self._num_wanted[index]:
            self._num_looked_at[index] = end
            if not FIRST_LOOK <= end < self.settings.num_deals:
                continue
            result = self._result(index, end)
            if result.scores[0].points.verdict(result.parity_points) != "at":
                if self.progress is not None:
                    unplayed = sum(
                        num_deals
                        for first_deal, num_deals in self._parts()
                        if first_deal >= end and first_deal not in self._chunks[index]
                    )
                    self.progress.advance(unplayed * self._games_per_deal[index], 0)
                self._num_wanted[index] = end

    def _next_end(self, index: int) -> int | None:
        chunk = self._chunks[index].get(self._num_looked_at[index])
        return None if chunk is None else self._num_looked_at[index] + len(chunk.points)

    def _result(self, index: int, num_deals: int) -> TableResult:
        table, settings, times = self.tables[index], self.settings, self._times[index]
        chunks = self._chunks[index]
        return add_up(
            (chunks[first_deal] for first_deal in sorted(chunks) if first_deal < num_deals),
            names=table.names,
            lineup=table.lineup,
            rules=table.rules,
            seed=settings.seed,
            planned_deals=settings.num_deals if settings.stop_when_clear else None,
            seconds=times[-1] - times[0],
        )

    def results(self) -> list[TableResult]:
        """Of all tables."""
        return [self._result(index, wanted) for index, wanted in enumerate(self._num_wanted)]


# ---------------------------------------------------------------- in this process


def _play_here(run: _Run, loaded: Sequence[Agent]) -> None:
    on_step = None if run.progress is None else run.progress.advance
    warm: set[int] = set()
    for index, job in run.jobs():
        table = run.tables[index]
        seated = [loaded[entrant] for entrant in table.seated]
        if index not in warm:
            warm_up(seated, table.rules, run.settings.history)
            warm.add(index)
        run.add(index, job.first_deal, play_chunk(seated, job, on_step), told=True)


# ---------------------------------------------------------------- in others


def _play_in_workers(run: _Run, specs: Sequence[str], workers: int) -> None:
    # A new interpreter each: a fork would copy the threads of Numba and torch halfway through their work.
    context = multiprocessing.get_context("spawn")
    waiting: dict[Future[Chunk], tuple[int, Job]] = {}
    jobs = run.jobs()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
        try:
            while True:
                # A few more than workers, so that none waits; no more, since a table may stop.
                while len(waiting) < workers + 1 and (item := next(jobs, None)) is not None:
                    index, job = item
                    names = tuple(specs[entrant] for entrant in run.tables[index].seated)
                    waiting[pool.submit(_work, names, job)] = item
                if not waiting:
                    break
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    index, job = waiting.pop(future)
                    run.add(index, job.first_deal, future.result())
        except BrokenProcessPool as error:
            raise ArenaRunError(
                "a worker of the arena died; with `out`, a new run goes on from here"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """In a worker: end when the run is killed, instead of waiting for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait_for_sentinels([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_loaded: dict[tuple[str, int], Agent] = {}
_warm: set[tuple[tuple[str, ...], AnyRules]] = set()


def _work(names: tuple[str, ...], job: Job) -> Chunk:
    """In a worker: play a chunk. Agents stay loaded from chunk to chunk, one for each seat of a name."""
    seated = []
    for place, name in enumerate(names):
        key = name, names[:place].count(name)
        if key not in _loaded:
            _loaded[key] = tienlen_agents.load(name)
        seated.append(_loaded[key])
    if (names, job.rules) not in _warm:
        warm_up(seated, job.rules, job.history)
        _warm.add((names, job.rules))
    return play_chunk(seated, job)
