"""Runs: all match-ups of a command, played by an executor, saved to a file, stopped early on request.

The result depends on the match-ups and the settings only. Every executor computes the same chunks (see
`chunk`), and whether a match-up stops depends on its chunks in the order of their deals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack

import tienlen_agents
from tienlen_agents.arena.chunk import BLOCK_DEALS, Chunk, Job
from tienlen_agents.arena.lineup import Permutations, blocks, title_of
from tienlen_agents.arena.result import MAX_FORFEITS, MatchResult
from tienlen_agents.arena.stats import FIRST_LOOK
from tienlen_agents.arena.store import ArenaRunError, ChunkStore, file_digests, stored_seed_key
from tienlen_agents.arena.tasks import LocalPlay, Task, play_task
from tienlen_agents.command import code_digest, versions
from tienlen_agents.executors import Executor, Processes, Threads, WorkerDiedError
from tienlen_agents.external.seeds import MAX_SEATINGS, SEED_KEY, seed_key_of
from tienlen_agents.settings import COUNT, COUNT_OR_NONE, DEALS, SHARE, Config, DivisorOf, setting
from tienlen_env.engine.agent import Agent, check_plays
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import unexpected_keyword
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import has_payments
from tienlen_env.rendering.view import plural

Entrant: TypeAlias = Agent | str

CHUNKS_FILE: Final = "chunks.jsonl"
# The settings that change the chunks.
_CHUNK_SETTINGS: Final = ("seed", "history", "permutations", "deals_per_job", "blunder_deals")


class Progress(Protocol):
    """Receives the progress of a run."""

    def start(self, title: str, num_games: int) -> None:
        """A run of `num_games` games begins."""

    def advance(self, num_games: float, num_decisions: int) -> None:
        """So much more has been played; unfinished games count by the share of their cards played."""


@dataclass(frozen=True, kw_only=True)
class ArenaSettings(Config):
    """How match-ups are played.

    Raises:
        ConfigError: a number out of range or an unknown word.

    Attributes:
        num_deals: deals of each match-up, the same for all.
        seed: of deals and agents.
        history: number of past plays in observations; a policy needs the number it was trained with.
        permutations: seatings of each deal: the rotations of one circular order, which changes from deal to
            deal, or all distinct seatings (see `lineup.blocks`).
        deals_per_job: deals that a worker plays at a time, and after which agents are reset: fewer for slow
            agents. The deals are the same for any number, the draws of stochastic agents are not.
        blunder_deals: number of first deals of each match-up where blunders in solved endgames are
            counted.
        stop_when_clear: end a match-up when its first agent is proven above or below parity. The intervals
            are then wider, so that at most 5 % of the verdicts are false (see `stats.anytime_factor`).
        workers: number of processes; 1 is this one.
        fresh: delete the chunks in the folder of the results first.
        max_forfeits: a program that does not start, or forfeits a larger share of its seats of rounds, has
            failed: the command fails, and a league does not rate it; 1 for no limit.
        records: number of rounds whose records are kept, the first ones of each match-up.
        seed_key: of the seeds of agents in other processes, as arena.json has it; empty: that of the run in
            the folder of the results, or a new one (`tienlen_agents.external.seeds`).
    """

    num_deals: int = setting(2500, DEALS)
    seed: int = setting(0, COUNT_OR_NONE)
    history: int = setting(0, COUNT_OR_NONE)
    permutations: Permutations = "rotations"
    deals_per_job: int = setting(BLOCK_DEALS, DivisorOf(BLOCK_DEALS))
    blunder_deals: int = setting(0, COUNT_OR_NONE)
    stop_when_clear: bool = False
    workers: int = setting(1, COUNT)
    fresh: bool = False
    max_forfeits: float = setting(MAX_FORFEITS, SHARE)
    records: int = setting(0, COUNT_OR_NONE)
    seed_key: str = setting("", SEED_KEY)


class ArenaOptions(TypedDict, total=False):
    """The keyword arguments of all functions that play: those of `ArenaSettings`, and others.

    Attributes:
        executor: plays the jobs instead of `workers`.
        out: a folder for the chunks; the run resumes from those that are there.
        progress: receives the progress.

    Agents must be given by name if there is an `executor`, a folder `out` or more than one worker.
    """

    num_deals: int
    seed: int
    history: int
    permutations: Permutations
    deals_per_job: int
    blunder_deals: int
    stop_when_clear: bool
    workers: int
    fresh: bool
    max_forfeits: float
    records: int
    seed_key: str
    executor: Executor | None
    out: str | Path | None
    progress: Progress | None


class MatchUp(NamedTuple):
    """The agents that play together, with their seats and the rules (E agents).

    Attributes:
        seated: indices of E agents in the run's list.
        names: E names, unique in the match-up.
        lineup: for each of P slots an index into `seated`, ascending.
        rules: the variant.
    """

    seated: tuple[int, ...]
    names: tuple[str, ...]
    lineup: tuple[int, ...]
    rules: AnyRules


def load_all(entrants: Sequence[Entrant]) -> list[Agent]:
    """The agents as objects; those given by name are loaded."""
    return [tienlen_agents.load(entrant) if isinstance(entrant, str) else entrant for entrant in entrants]


def play_match_ups(
    match_ups: Sequence[MatchUp],
    entrants: Sequence[Entrant],
    loaded: Sequence[Agent],
    **options: Unpack[ArenaOptions],
) -> list[MatchResult]:
    """Play match-ups.

    Args:
        match_ups: what to play.
        entrants: the agents as they were given, names or objects.
        loaded: the same agents as objects; they play if there is one worker.
        options: see `ArenaOptions`.

    Raises:
        TypeError: an unknown option.
        ValueError: a setting out of range, or an agent that is not given by name where that is necessary.
        WrongGameError: an agent plays another game.
        ArenaRunError: `out` holds another match, another run writes there, or a worker died.
        ExecutorError: the executor cannot be reached any more.
        IllegalPlayError: an agent chose an action that is not legal.
    """
    settings = check_options(options)
    executor, out, progress = options.get("executor"), options.get("out"), options.get("progress")
    workers = settings.workers
    names = [entrant for entrant in entrants if isinstance(entrant, str)]
    if len(names) < len(entrants):
        if workers > 1 or executor is not None or out is not None:
            raise ValueError(
                "workers, executor and out: expected agents by name, which another process can load"
            )
        names = []
    is_local = executor is None and workers == 1
    play: Callable[[Task], Chunk] = play_task
    if is_local:
        play = LocalPlay(loaded, None if progress is None else progress.advance)
    if executor is None:
        executor = Threads() if is_local else Processes(workers)
    executor.check(settings)
    for match_up in match_ups:
        check_plays([loaded[index] for index in match_up.seated], Batch(match_up.rules, 1))
    chunks_file = None if out is None else Path(out) / CHUNKS_FILE
    stored = "" if chunks_file is None or settings.fresh else stored_seed_key(chunks_file)
    key = seed_key_of(loaded, settings.seed_key, stored)
    run = _Run(match_ups, replace(settings, seed_key=key), progress)
    if key:
        run.check_processes()
    with ExitStack() as stack:
        if chunks_file is not None:
            header = run.header(names) | dict(executor.header)
            store = ChunkStore(chunks_file, header, fresh=settings.fresh)
            run.resume_from(stack.enter_context(closing(store)))
        played = executor.unordered(play, run.tasks(names))
        if isinstance(played, Generator):
            stack.enter_context(closing(played))  # ends the workers if a chunk cannot be saved
        try:
            for task, chunk in played:
                run.add(task.match_up, task.job.first_deal, chunk, reported=is_local)
        except WorkerDiedError as error:
            lost = dict.fromkeys(" v. ".join(task.names) for task in error.items if isinstance(task, Task))
            raise ArenaRunError(
                f"a worker process of the arena died while it played {' or '.join(lost)}: too little memory, "
                "or an agent that ends its process (isolate=1 shows which); a run with `out` resumes from "
                "its last chunk"
            ) from error
    return run.results()


def check_options(options: Mapping[str, object]) -> ArenaSettings:
    """The settings among some options; each must be known.

    Raises:
        TypeError: an unknown option.
        ConfigError: a value out of range.
    """
    for name in options:
        if name not in ArenaOptions.__annotations__:
            raise unexpected_keyword("match", name, ArenaOptions.__annotations__)
    chosen: dict[str, Any] = {f.name: options[f.name] for f in fields(ArenaSettings) if f.name in options}
    return ArenaSettings(**chosen)


class _Run:
    """The chunks that each match-up has, and the tasks that remain."""

    def __init__(
        self, match_ups: Sequence[MatchUp], settings: ArenaSettings, progress: Progress | None
    ) -> None:
        self.match_ups = match_ups
        self.settings = settings
        self.progress = progress
        self._store: ChunkStore | None = None
        self._chunks: list[dict[int, Chunk]] = [{} for _ in match_ups]
        self._num_wanted = [settings.num_deals] * len(match_ups)  # deals; fewer once a verdict is clear
        self._num_looked_at = [0] * len(match_ups)
        self._games_per_deal = [blocks(m.lineup, settings.permutations).shape[1] for m in match_ups]
        self._times: list[list[float]] = [[] for _ in match_ups]
        self._is_resumed = [False] * len(match_ups)
        share, more = divmod(settings.records, len(match_ups))
        self._num_records = [share + (index < more) for index in range(len(match_ups))]
        if progress is not None:
            first = title_of(match_ups[0].names, match_ups[0].lineup)
            title = first if len(match_ups) == 1 else plural(len(match_ups), "match-up")
            progress.start(title, settings.num_deals * sum(self._games_per_deal))

    def header(self, names: Sequence[str]) -> dict[str, Any]:
        """Everything that determines the chunks (see `store`); its keys are part of the file format."""
        # Not the number of deals: a longer run, or one that stops early, can resume from the same file.
        names_there = {"deals_per_job": "chunk_deals"}
        settings = {names_there.get(name, name): getattr(self.settings, name) for name in _CHUNK_SETTINGS}
        tables = [
            {
                "agents": [names[index] for index in match_up.seated],
                "lineup": match_up.lineup,
                "rules": match_up.rules.name,
                "rules_digest": match_up.rules.digest(),
                **({"payments": True} if has_payments(match_up.rules) else {}),
            }
            for match_up in self.match_ups
        ]
        made_of = {"code": code_digest(), "files": file_digests(list(names)), "versions": versions()}
        if self.settings.seed_key:
            settings["seed_key"] = self.settings.seed_key
        return {**settings, "tables": tables, **made_of}

    def check_processes(self) -> None:
        """Refuse seatings that would take too many processes of each agent that has its own.

        Raises:
            ValueError: there are more than `MAX_SEATINGS` of a deal.
        """
        if (most := max(self._games_per_deal)) > MAX_SEATINGS:
            raise ValueError(
                f"permutations={self.settings.permutations!r}: {most} seatings of a deal, expected at most "
                f"{MAX_SEATINGS}, each with a process of every agent that runs in another process"
            )

    def resume_from(self, store: ChunkStore) -> None:
        """Take the chunks of a file, and append later ones to it."""
        for index in range(len(self.match_ups)):
            for first_deal, num_deals in self._parts():
                chunk = store.chunks.get((index, first_deal))
                # Chunks of a run that kept fewer records are played again.
                missing = chunk is None or len(chunk.records) < self._records_of(index, first_deal, num_deals)
                if chunk is not None and not missing and len(chunk.points) == num_deals:
                    self._is_resumed[index] = True
                    self.add(index, first_deal, chunk)
        self._store = store

    def _parts(self) -> Iterator[tuple[int, int]]:
        """The first deal and the number of deals of each chunk of a match-up."""
        size, total = self.settings.deals_per_job, self.settings.num_deals
        for first_deal in range(0, total, size):
            yield first_deal, min(size, total - first_deal)

    def _records_of(self, index: int, first_deal: int, num_deals: int) -> int:
        """The number of records that a chunk of a match-up keeps."""
        games: int = self._games_per_deal[index]
        return min(max(self._num_records[index] - first_deal * games, 0), num_deals * games)

    def tasks(self, names: Sequence[str]) -> Iterator[Task]:
        """The tasks that remain; evaluated lazily, since results may end a match-up.

        Args:
            names: of all agents of the run; empty if they were given as objects.
        """
        s = self.settings
        for index, match_up in enumerate(self.match_ups):
            seated = match_up.seated
            for first_deal, num_deals in self._parts():
                if first_deal < self._num_wanted[index] and first_deal not in self._chunks[index]:
                    self._times[index].append(time.perf_counter())
                    job = Job(
                        match_up.lineup, match_up.rules, s.seed, first_deal, num_deals,
                        s.permutations, s.history, s.blunder_deals, s.deals_per_job,
                        self._records_of(index, first_deal, num_deals), s.seed_key,
                    )  # fmt: skip
                    yield Task(index, seated, tuple(names[i] for i in seated) if names else (), job)

    def add(self, index: int, first_deal: int, chunk: Chunk, *, reported: bool = False) -> None:
        """Take a chunk of a match-up; `reported`: the progress has received its games already."""
        self._chunks[index][first_deal] = chunk
        self._times[index].append(time.perf_counter())
        if self._store is not None:
            self._store.add(index, first_deal, chunk)
        if self.progress is not None and not reported and first_deal < self._num_wanted[index]:
            self.progress.advance(len(chunk.points) * self._games_per_deal[index], int(chunk.decisions.sum()))
        if self.settings.stop_when_clear:
            self._test_early_stop(index)

    def _test_early_stop(self, index: int) -> None:
        """Test whether a match-up is clear, after each chunk in the order of the deals."""
        while (chunk := self._chunks[index].get(self._num_looked_at[index])) is not None:
            end = self._num_looked_at[index] + len(chunk.points)
            if end > self._num_wanted[index]:
                return
            self._num_looked_at[index] = end
            if not FIRST_LOOK <= end < self.settings.num_deals:
                continue
            result = self._result(index, end)
            if result.scores[0].main.verdict(result.parity) != "at":
                if self.progress is not None:
                    unplayed = sum(
                        num_deals
                        for first_deal, num_deals in self._parts()
                        if first_deal >= end and first_deal not in self._chunks[index]
                    )
                    self.progress.advance(unplayed * self._games_per_deal[index], 0)
                self._num_wanted[index] = end

    def _result(self, index: int, num_deals: int) -> MatchResult:
        match_up, settings, times = self.match_ups[index], self.settings, self._times[index]
        chunks = self._chunks[index]
        played = [chunks[first_deal] for first_deal in sorted(chunks) if first_deal < num_deals]
        return MatchResult(
            match_up.names,
            match_up.lineup,
            match_up.rules,
            settings.seed,
            settings.num_deals if settings.stop_when_clear else None,
            Chunk.joined(played, self._num_records[index]),
            None if self._is_resumed[index] else times[-1] - times[0],
            settings.permutations,
            settings.seed_key,
        )

    def results(self) -> list[MatchResult]:
        """Of all match-ups."""
        return [self._result(index, wanted) for index, wanted in enumerate(self._num_wanted)]
