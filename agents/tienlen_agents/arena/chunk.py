"""A chunk: the unit of work of the arena, a pure function of what `Job` holds.

Workers play chunks in any order, a file keeps them one a line, and a result is what all of a table's chunks
add up to. A chunk has each game's points and places and nothing derived from them, all in whole numbers.
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
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.tienlen.rules import Rules

# Keys are drawn for so many deals at once, and agents reset at least as often. A part of every result's
# definition: another number gives other games.
BLOCK_DEALS = 512


@dataclass(frozen=True)
class Job:
    """What decides a chunk, besides the agents themselves.

    Attributes:
        lineup: an agent's index for each of P chairs, ascending.
        rules: the variant.
        seed: of deals and agents.
        first_deal: index of the chunk's first deal in the match.
        num_deals: how many it has; they lie in one block of `BLOCK_DEALS`.
        permutations: in which seatings each deal is played, see `lineup.blocks`.
        history: plays that observations show.
        blunder_deals: blunders are counted in the match's first so many deals.
        chunk_deals: deals after which agents are reset.
    """

    lineup: tuple[int, ...]
    rules: AnyRules
    seed: int
    first_deal: int
    num_deals: int
    permutations: Permutations = "rotations"
    history: int = 0
    blunder_deals: int = 0
    chunk_deals: int = BLOCK_DEALS


class Chunk(NamedTuple):
    """What was played (D deals, R games of each, P chairs in the order of the lineup, E agents).

    Attributes:
        points: int16 (D, R, P), of each chair.
        places: int8 (D, R, P), 0 is first.
        decisions: int64 (E,), taken by each agent.
        seconds: float64 (E,), that each agent took for them.
        forfeits: E tuples, what each agent forfeited.
        blunders: int64 (L, E, 2), blunders and decisions in solved endings of the first L deals, those that
            were judged.
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
        """From `to_dict`.

        Raises:
            KeyError, ValueError, TypeError: something else.
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
    """Play the deals of one chunk; but for `seconds`, the result depends on the job alone.

    Args:
        agents: E agents; they are reset.
        job: what to play.
        on_step: see `play_deals`.
    """
    block, first = divmod(job.first_deal, BLOCK_DEALS)
    part = () if job.chunk_deals == BLOCK_DEALS else (first,)
    for index, agent in enumerate(agents):
        agent.reset(int(SeedSequence(job.seed, spawn_key=(block, index, *part)).generate_state(1)[0]))
    # NumPy promises never to change what a SeedSequence generates; a Generator's draws it may.
    keys = SeedSequence(job.seed, spawn_key=(block,)).generate_state(BLOCK_DEALS, np.uint64)
    keys = keys[first : first + job.num_deals]

    chairs = blocks(job.lineup, job.permutations)  # (N, R, P): the chair in each seat
    deals = np.arange(job.first_deal, job.first_deal + job.num_deals)
    chair_of = chairs[deals % len(chairs)].reshape(-1, len(job.lineup))  # (G, P)
    seats = np.asarray(job.lineup)[chair_of]
    num_games = chairs.shape[1]
    counter = None
    # Only Tiến lên's endings can be solved.
    if job.blunder_deals > job.first_deal and isinstance(job.rules, Rules):
        num_looked_at = min(job.blunder_deals - job.first_deal, job.num_deals)
        counter = BlunderCounter(job.rules, num_looked_at, num_games, len(agents))
    played = play_deals(
        agents,
        seats,
        np.repeat(keys.view(np.int64), num_games),
        job.rules,
        history=job.history,
        on_step=on_step,
        on_decisions=counter,
    )

    def by_chair(values: IntArray) -> IntArray:
        out = np.empty_like(values)
        np.put_along_axis(out, chair_of, values, axis=1)
        return out.reshape(job.num_deals, num_games, -1)

    return Chunk(
        points=by_chair(played.points).astype(np.int16),
        places=by_chair(played.places).astype(np.int8),
        decisions=played.decisions,
        seconds=played.seconds,
        forfeits=played.forfeits,
        blunders=np.zeros((0, len(agents), 2), np.int64) if counter is None else counter.counts,
    )
