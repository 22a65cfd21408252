"""`play_chunk(agents, job)`: the unit of work of the arena, a pure function of the agents and a `Job`.

Executors play jobs in any order (`executors`), a file keeps one chunk a line (`store`), and `Chunk.joined` is
all chunks of a match-up. A chunk holds the points, payments and places of every game, as integers.
A chunk from a file is checked value by value (`Chunk.from_dict`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import SeedSequence

from tienlen_agents.arena.lineup import Permutations, blocks
from tienlen_agents.arena.play import Forfeits, Played, by_reason, play_deals
from tienlen_agents.endgame import can_solve, open_endings, solver_of
from tienlen_agents.external.seeds import set_seed_key, spread
from tienlen_env.engine.agent import Agent, AgentCode, View
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.base import AnyRound, round_type

# Number of deals whose keys are drawn at once; agents are reset at least as often. It is part of the
# definition of every result: another number gives other games.
BLOCK_DEALS = 512
# Points and payments of a round are int32, so that sums and products of totals fit in int64 (see `stats`).
MAX_POINTS: Final = 2**31 - 1
_MAX_COUNT: Final = 2**53  # of decisions; JSON readers may keep no larger integer


@dataclass(frozen=True)
class Job:
    """Everything that determines a chunk, besides the agents.

    Attributes:
        lineup: the index of an agent for each of P slots, ascending.
        rules: the variant.
        seed: of deals and agents.
        first_deal: index of the chunk's first deal in the match.
        num_deals: D; the deals are in one block of `BLOCK_DEALS`.
        permutations: the seatings of each deal, see `lineup.blocks`.
        history: number of past plays in observations.
        blunder_deals: blunders are counted in the first `blunder_deals` deals of the match.
        deals_per_job: deals between two resets of the agents.
        num_records: games of the chunk, the first ones, whose records are kept.
        seed_key: of the seeds of agents in other processes (`tienlen_agents.external.seeds`); empty: each
            of them has a key of its own.
    """

    lineup: tuple[int, ...]
    rules: AnyRules
    seed: int
    first_deal: int
    num_deals: int
    permutations: Permutations = "rotations"
    history: int = 0
    blunder_deals: int = 0
    deals_per_job: int = BLOCK_DEALS
    num_records: int = 0
    seed_key: str = ""


class ChunkShape(NamedTuple):
    """The sizes of a chunk.

    Attributes:
        num_deals: D.
        num_games: R, of each deal.
        num_slots: P.
        num_agents: E.
        has_payments: whether its rules have payments.
    """

    num_deals: int
    num_games: int
    num_slots: int
    num_agents: int
    has_payments: bool = False


class Chunk(NamedTuple):
    """Played games (D deals, R games of each, P slots in the order of the lineup, E agents).

    Attributes:
        points: int32 (D, R, P), of each slot.
        places: int8 (D, R, P), 0 is first.
        decisions: int64 (E,), number of decisions of each agent.
        seconds: float64 (E,), time that each agent took for them.
        forfeits: E tuples, the forfeits of each agent.
        blunders: int64 (L, E, 2), blunders and counted decisions in solved endgames of each of the first L
            deals.
        records: of the first games, in the order of `points`.
        units: int32 (D, R, P), what each slot got in payments, less what it paid; None without payments.
    """

    points: npt.NDArray[np.int32]
    places: npt.NDArray[np.int8]
    decisions: IntArray
    seconds: npt.NDArray[np.float64]
    forfeits: tuple[tuple[Forfeits, ...], ...]
    blunders: IntArray
    records: tuple[str, ...] = ()
    units: npt.NDArray[np.int32] | None = None

    @classmethod
    def joined(cls, parts: Sequence[Chunk], num_records: int) -> Chunk:
        """The chunks of a match-up, in the order of their deals, as one, with no more records."""
        units = [part.units for part in parts if part.units is not None]
        return cls(
            points=np.concatenate([part.points for part in parts]),
            places=np.concatenate([part.places for part in parts]),
            decisions=np.sum([part.decisions for part in parts], axis=0),
            seconds=np.sum([part.seconds for part in parts], axis=0),
            forfeits=tuple(
                by_reason(forfeits for some in of_agent for forfeits in some)
                for of_agent in zip(*(part.forfeits for part in parts), strict=True)
            ),
            blunders=np.concatenate([part.blunders for part in parts]),
            records=tuple(record for part in parts for record in part.records)[:num_records],
            units=np.concatenate(units) if units else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; ``records`` and ``units`` only if there are any."""
        records = {"records": list(self.records)} if self.records else {}
        units = {} if self.units is None else {"units": self.units.tolist()}
        return {
            **records,
            **units,
            "points": self.points.tolist(),
            "places": self.places.tolist(),
            "decisions": self.decisions.tolist(),
            "seconds": self.seconds.tolist(),
            "forfeits": [[list(f) for f in one] for one in self.forfeits],
            "blunders": self.blunders.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, object], shape: ChunkShape) -> Chunk:
        """Read what `to_dict` returned.

        Args:
            values: any JSON values.
            shape: the sizes that the chunk must have.

        Raises:
            ValueError: a value is missing, of another type or shape, or out of range; the message names it.
        """
        games, agents = shape[:3], (shape.num_agents,)
        blunders = values.get("blunders")
        counted = len(blunders) if isinstance(blunders, list) else 0
        if counted > shape.num_deals:
            raise ValueError(f"blunders of {counted} deals: expected at most {shape.num_deals}")
        # In a file, blunders of no deals are an empty list.
        endings = (counted, *agents, 2) if counted else (0,)
        units = None
        if shape.has_payments:
            units = _integers(values, "units", games, -MAX_POINTS, MAX_POINTS).astype(np.int32)
        elif "units" in values:
            raise ValueError("units: expected none, since the rules have no payments")
        return cls(
            points=_integers(values, "points", games, -MAX_POINTS, MAX_POINTS).astype(np.int32),
            places=_integers(values, "places", games, 0, shape.num_slots - 1).astype(np.int8),
            decisions=_integers(values, "decisions", agents, 0, _MAX_COUNT),
            seconds=_seconds(values, shape.num_agents),
            forfeits=_forfeits(values, shape),
            blunders=_integers(values, "blunders", endings, 0, _MAX_COUNT).reshape(-1, *agents, 2),
            records=_records(values, shape),
            units=units,
        )


def _integers(
    values: Mapping[str, object], name: str, shape: tuple[int, ...], low: int, high: int
) -> IntArray:
    """An array of integers of this shape and range, from nested lists.

    Raises:
        ValueError: it is anything else.
    """
    what = f"{name}: expected integers {low}..{high} of shape {shape}"
    if not isinstance(values.get(name), list):
        raise ValueError(what)
    try:
        found = np.array(values[name], dtype=object)
    except ValueError:  # lists of different lengths
        raise ValueError(what) from None
    flat = found.ravel().tolist()
    # An object array keeps what JSON has: True is not 1, 1.0 is not 1, and no integer is too large.
    if found.shape != shape or not all(type(value) is int and low <= value <= high for value in flat):
        raise ValueError(what)
    return found.astype(np.int64)


def _seconds(values: Mapping[str, object], num_agents: int) -> npt.NDArray[np.float64]:
    found = values.get("seconds")
    if isinstance(found, list) and len(found) == num_agents:
        times = [value for value in found if type(value) in (int, float) and 0 <= value < math.inf]
        if len(times) == num_agents:
            return np.array(times, np.float64)
    raise ValueError(f"seconds: expected {num_agents} finite numbers, 0 or more")


def _forfeits(values: Mapping[str, object], shape: ChunkShape) -> tuple[tuple[Forfeits, ...], ...]:
    found = values.get("forfeits")
    if not isinstance(found, list) or len(found) != shape.num_agents:
        raise ValueError(f"forfeits: expected {shape.num_agents} lists")
    most = math.prod(shape[:3])
    for one in found:
        for entry in one if isinstance(one, list) else [None]:
            match entry:
                case [str(), int(number), str()] if type(number) is int and 1 <= number <= most:
                    continue
            raise ValueError(f"forfeits: expected lists of [reason, seats, example], 1..{most} seats")
    return tuple(tuple(Forfeits(*entry) for entry in one) for one in found)


def _records(values: Mapping[str, object], shape: ChunkShape) -> tuple[str, ...]:
    found, most = values.get("records", []), shape.num_deals * shape.num_games
    if isinstance(found, list) and len(found) <= most:
        lines = [line for line in found if isinstance(line, str) and line.isprintable()]
        if len(lines) == len(found):
            return tuple(lines)
    raise ValueError(f"records: expected at most {most} lines of text")


def play_chunk(
    agents: Sequence[Agent], job: Job, on_step: Callable[[float, int], None] | None = None
) -> Chunk:
    """Play the deals of one job. All but `seconds` depends on the agents and the job only.

    Args:
        agents: E agents; they are reset.
        job: what to play.
        on_step: see `play_deals`.

    Raises:
        ValueError: a round has more than `MAX_POINTS` points, or units of payments.
    """
    games = games_of(job)
    deals = {(job.seed, job.first_deal + deal) for deal in range(job.num_deals)}
    players, owner, number, seats = spread(agents, games.seats, games.num_per_deal, deals)
    set_seed_key(players, job.seed_key)
    for player, index, process in zip(players, owner.tolist(), number.tolist(), strict=True):
        with AgentCode(player.name):
            player.reset(seed_of(job, index) | process << 32)
    counter = None
    if job.blunder_deals > job.first_deal and can_solve(job.rules):
        num_counted = min(job.blunder_deals - job.first_deal, job.num_deals)
        counter = BlunderCounter(num_counted, games.num_per_deal, len(agents))
    recorder = Recorder(job.rules, games.keys[: job.num_records]) if job.num_records else None
    played = play_deals(
        players,
        seats,
        games.keys,
        job.rules,
        history=job.history,
        on_step=on_step,
        on_decisions=None if counter is None else lambda player, *made: counter(int(owner[player]), *made),
        on_plays=recorder,
    ).of_owners(owner)
    blunders = np.zeros((0, len(agents), 2), np.int64) if counter is None else counter.counts
    return chunk_of(job, games, played, blunders, () if recorder is None else recorder.records)


class Games(NamedTuple):
    """The games of a job (G games, P seats).

    Attributes:
        keys: int64 (G,), the deals.
        slot_of: int64 (G, P), the slot in each seat.
        seats: int64 (G, P), the agent in each seat.
        num_per_deal: R.
    """

    keys: IntArray
    slot_of: IntArray
    seats: IntArray
    num_per_deal: int


def games_of(job: Job) -> Games:
    """The games of a job, R for each deal."""
    block, first = divmod(job.first_deal, BLOCK_DEALS)
    # NumPy guarantees the values of a SeedSequence for all versions, but not the draws of a Generator.
    keys = SeedSequence(job.seed, spawn_key=(block,)).generate_state(BLOCK_DEALS, np.uint64)
    keys = keys[first : first + job.num_deals]
    slots = blocks(job.lineup, job.permutations)  # (N, R, P): the slot in each seat
    deals = np.arange(job.first_deal, job.first_deal + job.num_deals)
    slot_of = slots[deals % len(slots)].reshape(-1, len(job.lineup))
    num_per_deal = slots.shape[1]
    dealt = np.repeat(keys.view(np.int64), num_per_deal)
    return Games(dealt, slot_of, np.asarray(job.lineup)[slot_of], num_per_deal)


def seed_of(job: Job, index: int) -> int:
    """The seed of an agent of a job, by its index."""
    block, first = divmod(job.first_deal, BLOCK_DEALS)
    part = () if job.deals_per_job == BLOCK_DEALS else (first,)
    return int(SeedSequence(job.seed, spawn_key=(block, index, *part)).generate_state(1)[0])


def chunk_of(
    job: Job, games: Games, played: Played, blunders: IntArray, records: tuple[str, ...] = ()
) -> Chunk:
    """The chunk of a job from its played games.

    Raises:
        ValueError: a round has more than `MAX_POINTS` points.
    """

    def by_slot(values: IntArray) -> IntArray:
        out = np.empty_like(values)
        np.put_along_axis(out, games.slot_of, values, axis=1)
        return out.reshape(job.num_deals, games.num_per_deal, -1)

    for what, values in (("points", played.points), ("payments", played.units)):
        if values is not None and values.size and int(np.abs(values).max()) > MAX_POINTS:
            raise ValueError(f"{job.rules.name}: {what} of a round: expected -{MAX_POINTS}..{MAX_POINTS}")
    return Chunk(
        points=by_slot(played.points).astype(np.int32),
        places=by_slot(played.places).astype(np.int8),
        decisions=played.decisions,
        seconds=played.seconds,
        forfeits=played.forfeits,
        blunders=blunders,
        records=records,
        units=None if played.units is None else by_slot(played.units).astype(np.int32),
    )


class Recorder:
    """Callback of `play_deals` (``on_plays``) that records the first rounds.

    Args:
        rules: the variant.
        keys: int64 (n,), the deals of the first n games.
    """

    def __init__(self, rules: AnyRules, keys: IntArray) -> None:
        self._rounds: list[AnyRound] = [round_type(rules)(rules, key) for key in keys.tolist()]

    def __call__(self, actions: IntArray, cards: IntArray | None) -> None:
        """Take the actions of one step, int64 (B,); below 0: the game is over. `cards`: their exact cards."""
        for game, played in enumerate(self._rounds):
            action = int(actions[game])
            if action >= 0:
                played.play(action if cards is None else played.play_of(action, int(cards[game])))

    @property
    def records(self) -> tuple[str, ...]:
        """n records, one line each."""
        return tuple(played.record() for played in self._rounds)


class BlunderCounter:
    """Callback of `play_deals` that counts blunders in endgames that can be solved exactly.

    In an endgame two of four players are left, and each can infer the other's cards (see
    `tienlen_agents.endgame`). A decision in an endgame counts if there was a choice and the solver
    finished. It is a blunder if the player could force the better of the two places before it, but not
    after it.

    Args:
        num_deals: D; only decisions in the first D deals of the chunk count.
        num_games: games of each deal; they are adjacent in the batch.
        num_agents: E.

    Attributes:
        counts: int64 (D, E, 2), blunders and counted decisions.
    """

    def __init__(self, num_deals: int, num_games: int, num_agents: int) -> None:
        self.counts = np.zeros((num_deals, num_agents, 2), np.int64)
        self._num_games = num_games

    def __call__(self, index: int, view: View, chosen: IntArray) -> None:
        """Count the blunders among the actions (n,) that an agent chose in n decisions."""
        deals = view.games // self._num_games
        # The games of a deal are adjacent, so the decisions of the first deals come first.
        if deals[0] >= len(self.counts):
            return
        found, rows = open_endings(view)
        is_wanted = (view.num_legal[found] > 1) & (deals[found] < len(self.counts))
        found, rows = found[is_wanted], rows[is_wanted]
        if not found.size:
            return
        solution = solver_of(view.rules).solve(rows)
        is_blunder = (solution.value == 1) & ~solution.best_mask[np.arange(len(found)), chosen[found]]
        np.add.at(self.counts[:, index, 0], deals[found], is_blunder)
        np.add.at(self.counts[:, index, 1], deals[found], solution.value != 0)
