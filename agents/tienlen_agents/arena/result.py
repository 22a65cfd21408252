"""What a table's chunks add up to: scores with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_agents.arena.chunk import Chunk
from tienlen_agents.arena.lineup import title_of
from tienlen_agents.arena.play import Forfeits, IntArray, by_reason
from tienlen_agents.arena.stats import Estimate, bootstrap_interval, estimate, ratio_estimate, variance_ratio
from tienlen_env.games.common.game import AnyRules

# A place that is shared is counted in integers, so that figures stay exact: 2 to 7 seats divide it.
WHOLE: Final = 420


class Score(NamedTuple):
    """How one agent did at a table; everything is a mean over the seats that it held.

    Attributes:
        name: of the agent, made unique at the table.
        num_seats: seats that it holds in each game.
        points: a game.
        first: rate of first places; one that k seats share counts as 1/k for each.
        places: rate of each place, first to last; k seats that share one have each of k places to 1/k.
        variance_ratio: see `stats.variance_ratio`; of the points.
        decisions: that it took.
        seconds: that it needed for them.
        forfeits: rounds that it forfeited, by reason.
        blunders: per 100 decisions in solved endings; None where none was judged.
        endings: decisions that were judged.
        place_estimates: `places` with their intervals.
    """

    name: str
    num_seats: int
    points: Estimate
    first: Estimate
    places: tuple[float, ...]
    variance_ratio: float | None
    decisions: int
    seconds: float
    forfeits: tuple[Forfeits, ...] = ()
    blunders: Estimate | None = None
    endings: int = 0
    place_estimates: tuple[Estimate, ...] = ()


@dataclass(frozen=True, eq=False)
class TableResult:
    """A duplicate match (D deals, R games of each, P chairs, E agents).

    Attributes:
        title: ``"greedy v. 3 × random"``.
        names: E names, unique at the table.
        lineup: the agent of each chair, ascending.
        rules: the variant, with its number of players.
        seed: decides deals and agents.
        num_deals: D.
        planned_deals: None, or the D after which the match would have ended at the latest: it could stop
            earlier, and its intervals are of the kind that holds at every look (see `sequential`).
        points: int16 (D, R, P), of each chair in each game.
        game_places: int8 (D, R, P), 0 is first.
        scores: one `Score` an agent.
        seconds: from its first game to its last, other tables' games between them included.
    """

    title: str
    names: tuple[str, ...]
    lineup: tuple[int, ...]
    rules: AnyRules
    seed: int
    num_deals: int
    planned_deals: int | None
    points: npt.NDArray[np.int16]
    game_places: npt.NDArray[np.int8]
    scores: tuple[Score, ...]
    seconds: float

    @property
    def num_seatings(self) -> int:
        """Games of each deal."""
        return int(self.points.shape[1])

    @property
    def num_games(self) -> int:
        """Rounds played."""
        return self.num_deals * self.num_seatings

    @property
    def deal_points(self) -> IntArray:
        """int64 (D, E): each deal's total over its games and the agent's seats."""
        return self._by_agent(self.points.sum(axis=1, dtype=np.int64))

    @property
    def deal_firsts(self) -> npt.NDArray[np.float64]:
        """float64 (D, E): each deal's first places, over its games and the agent's seats."""
        return self._by_agent(place_shares(self.game_places)[..., 0].sum(axis=1)) / WHOLE

    def deal_places(self, index: int, place: int) -> IntArray:
        """int64 (D,): what an agent has of a place in each deal, its games and seats together, × `WHOLE`."""
        mine = np.flatnonzero(np.asarray(self.lineup) == index)
        counts: IntArray = place_shares(self.game_places)[:, :, mine, place].sum(axis=(1, 2))
        return counts

    @property
    def parity_points(self) -> float:
        """Points of each of P equal players: what the table's players got on average."""
        return int(self.points.sum(dtype=np.int64)) / self.points.size

    @property
    def parity_first(self) -> float:
        """Rate of first places of each of P equal players."""
        return 1 / self.rules.num_players

    @property
    def labels(self) -> tuple[str, ...]:
        """What the agents' rows are called: ``("greedy", "v. 3 × random")``."""
        seats = (f"{s.num_seats} × {s.name}" if s.num_seats > 1 else s.name for s in self.scores)
        return tuple(f"v. {text}" if index else text for index, text in enumerate(seats))

    def bootstrap(self, index: int, seed: int = 0) -> tuple[float, float]:
        """An agent's interval of the points again, by resampling deals (see `stats.bootstrap_interval`)."""
        per_deal = self.num_seatings * self.lineup.count(index)
        return bootstrap_interval(self.deal_points[:, index], per_deal, seed=seed)

    def _by_agent(self, chairs: IntArray) -> IntArray:
        """Sums over the chairs of each agent: (..., P) to (..., E)."""
        starts = [self.lineup.index(agent) for agent in range(len(self.names))]
        return np.add.reduceat(chairs, starts, axis=-1)


def place_shares(places: npt.NDArray[np.int8]) -> IntArray:
    """What each chair has of each place.

    Args:
        places: int (D, R, P), 0 is first; k chairs that share places p .. p + k - 1 all have p.

    Returns:
        int64 (D, R, P, place), `WHOLE` / k in k places for a chair that shares them; each adds up to `WHOLE`.
    """
    shared = (places[..., :, None] == places[..., None, :]).sum(axis=-1)[..., None]
    behind = np.arange(places.shape[-1]) - places[..., None]
    shares: IntArray = np.where((behind >= 0) & (behind < shared), WHOLE // shared, 0)
    return shares


def add_up(
    chunks: Iterable[Chunk],
    *,
    names: Sequence[str],
    lineup: tuple[int, ...],
    rules: AnyRules,
    seed: int,
    planned_deals: int | None,
    seconds: float,
) -> TableResult:
    """The result of a table.

    Args:
        chunks: in the order of their deals.
        names: see `TableResult`, as for all that follow.
        lineup: the chairs.
        rules: the variant.
        seed: of deals and agents.
        planned_deals: None for a fixed number.
        seconds: of the whole match.
    """
    parts = list(chunks)
    points = np.concatenate([part.points for part in parts])
    places = np.concatenate([part.places for part in parts])
    blunders = np.concatenate([part.blunders for part in parts])
    num_deals, num_games = points.shape[:2]
    shares = place_shares(places)
    scores = []
    for index, name in enumerate(names):
        mine = np.flatnonzero(np.asarray(lineup) == index)
        game_points = points[:, :, mine].sum(axis=2, dtype=np.int64)
        per_deal = num_games * len(mine)
        deal_points = game_points.sum(axis=1)
        counted = blunders[:, index]
        endings = int(counted[:, 1].sum())
        by_place = tuple(
            estimate(taken, per_deal * WHOLE, planned=planned_deals)
            for taken in shares[:, :, mine].sum(axis=(1, 2)).T
        )
        scores.append(
            Score(
                name=name,
                num_seats=len(mine),
                points=estimate(deal_points, per_deal, planned=planned_deals),
                first=by_place[0],
                places=tuple(value.mean for value in by_place),
                variance_ratio=variance_ratio(deal_points, game_points.ravel()),
                decisions=int(sum(part.decisions[index] for part in parts)),
                seconds=float(sum(part.seconds[index] for part in parts)),
                forfeits=by_reason(f for part in parts for f in part.forfeits[index]),
                blunders=ratio_estimate(100 * counted[:, 0], counted[:, 1]) if endings else None,
                endings=endings,
                place_estimates=by_place,
            )
        )
    return TableResult(
        title=title_of(names, lineup),
        names=tuple(names),
        lineup=lineup,
        rules=rules,
        seed=seed,
        num_deals=num_deals,
        planned_deals=planned_deals,
        points=points,
        game_places=places,
        scores=tuple(scores),
        seconds=seconds,
    )
