"""`play_chunk(agents, job)`: the unit of work of the arena, a pure function of the agents and a `Job`.

Executors play jobs in any order (`executors`), a file keeps one chunk a line (`store`), and `result.add_up`
merges all chunks of a match-up. A chunk holds the points and places of every game, as integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import SeedSequence

from tienlen_agents.arena.blunders import BlunderCounter
from tienlen_agents.arena.lineup import Permutations, blocks
from tienlen_agents.arena.play import Forfeits, IntArray, play_deals
from tienlen_agents.endgame import can_solve
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules

# The keys of so many deals are drawn at once, and agents are reset at least as often. It is part of the
# definition of every result: another number gives other games.
BLOCK_DEALS = 512


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
        deals_per_job: agents are reset after so many deals.
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


class Chunk(NamedTuple):
    """Played games (D deals, R games of each, P slots in the order of the lineup, E agents).

    Attributes:
        points: int16 (D, R, P), of each slot.
        places: int8 (D, R, P), 0 is first.
        decisions: int64 (E,), number of decisions of each agent.
        seconds: float64 (E,), time that each agent took for them.
        forfeits: E tuples, the forfeits of each agent.
        blunders: int64 (L, E, 2), blunders and counted decisions in solved endgames of each of the first L
            deals.
    """

    points: npt.NDArray[np.int16]
    places: npt.NDArray[np.int8]
    decisions: IntArray
    seconds: npt.NDArray[np.float64]
    forfeits: tuple[tuple[Forfeits, ...], ...]
    blunders: IntArray

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "points": self.points.tolist(),
            "places": self.places.tolist(),
            "decisions": self.decisions.tolist(),
            "seconds": self.seconds.tolist(),
            "forfeits": [[list(f) for f in one] for one in self.forfeits],
            "blunders": self.blunders.tolist(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Chunk:
        """Read what `to_dict` returned.

        Raises:
            KeyError, ValueError, TypeError: the values are not those of a chunk.
        """
        chunk = cls(
            points=np.array(values["points"], np.int16),
            places=np.array(values["places"], np.int8),
            decisions=np.array(values["decisions"], np.int64),
            seconds=np.array(values["seconds"], np.float64),
            forfeits=tuple(tuple(Forfeits(*f) for f in one) for one in values["forfeits"]),
            blunders=np.array(values["blunders"], np.int64).reshape(-1, len(values["decisions"]), 2),
        )
        if chunk.points.ndim != 3 or chunk.points.shape != chunk.places.shape:
            raise ValueError("points and places: expected (D, R, P) each")
        return chunk


def play_chunk(
    agents: Sequence[Agent], job: Job, on_step: Callable[[float, int], None] | None = None
) -> Chunk:
    """Play the deals of one job. All but `seconds` depends on the agents and the job only.

    Args:
        agents: E agents; they are reset.
        job: what to play.
        on_step: see `play_deals`.
    """
    block, first = divmod(job.first_deal, BLOCK_DEALS)
    part = () if job.deals_per_job == BLOCK_DEALS else (first,)
    for index, agent in enumerate(agents):
        agent.reset(int(SeedSequence(job.seed, spawn_key=(block, index, *part)).generate_state(1)[0]))
    # NumPy guarantees the values of a SeedSequence for all versions, but not the draws of a Generator.
    keys = SeedSequence(job.seed, spawn_key=(block,)).generate_state(BLOCK_DEALS, np.uint64)
    keys = keys[first : first + job.num_deals]

    slots = blocks(job.lineup, job.permutations)  # (N, R, P): the slot in each seat
    deals = np.arange(job.first_deal, job.first_deal + job.num_deals)
    slot_of = slots[deals % len(slots)].reshape(-1, len(job.lineup))  # (G, P)
    seats = np.asarray(job.lineup)[slot_of]
    num_games = slots.shape[1]
    counter = None
    if job.blunder_deals > job.first_deal and can_solve(job.rules):
        num_counted = min(job.blunder_deals - job.first_deal, job.num_deals)
        counter = BlunderCounter(job.rules, num_counted, num_games, len(agents))
    played = play_deals(
        agents,
        seats,
        np.repeat(keys.view(np.int64), num_games),
        job.rules,
        history=job.history,
        on_step=on_step,
        on_decisions=counter,
    )

    def by_slot(values: IntArray) -> IntArray:
        out = np.empty_like(values)
        np.put_along_axis(out, slot_of, values, axis=1)
        return out.reshape(job.num_deals, num_games, -1)

    return Chunk(
        points=by_slot(played.points).astype(np.int16),
        places=by_slot(played.places).astype(np.int8),
        decisions=played.decisions,
        seconds=played.seconds,
        forfeits=played.forfeits,
        blunders=np.zeros((0, len(agents), 2), np.int64) if counter is None else counter.counts,
    )
