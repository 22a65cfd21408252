"""The result of a match-up: scores with intervals, merged from its chunks. Data only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_agents.arena.chunk import Chunk
from tienlen_agents.arena.lineup import Permutations, blocks, title_of
from tienlen_agents.arena.play import Forfeits, by_reason
from tienlen_agents.arena.stats import Estimate, bootstrap_interval, estimate, ratio_estimate, variance_ratio
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules

# Shares of places are counted in integers, so that sums stay exact; 2 to 7 seats divide this number.
PLACE_SHARE_DENOMINATOR: Final = 420


class Score(NamedTuple):
    """The result of one agent in a match-up; every figure is a mean over the agent's seats.

    Attributes:
        name: of the agent, unique in the match-up.
        num_seats: seats of the agent in each game.
        points: per game.
        first: rate of first places; if k seats share it, each counts 1/k.
        places: rate of each place, first to last; if k seats share k places, each has 1/k of each.
        variance_ratio: of the main figure, see `stats.variance_ratio`.
        decisions: number of decisions.
        seconds: time for them.
        forfeits: forfeited rounds, by reason.
        blunders: per 100 counted decisions in solved endgames; None if no decision counted.
        endings: number of counted decisions.
        place_estimates: `places` with their intervals.
        units: what it got in payments per game, less what it paid; None under rules without payments.
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
    units: Estimate | None = None

    @property
    def main(self) -> Estimate:
        """The figure that decides who is better: `units` under rules with payments, else `points`."""
        return self.points if self.units is None else self.units


@dataclass(frozen=True, eq=False)
class MatchResult:
    """The result of a duplicate match (D deals, R games of each, P slots, E agents).

    Attributes:
        title: ``"greedy v. 3 × random"``.
        names: E names, unique in the match-up.
        lineup: the agent of each slot, ascending.
        rules: the variant, with its number of players.
        seed: of deals and agents.
        num_deals: D.
        planned_deals: None for a fixed number of deals; else the maximum of a match that could stop earlier,
            with intervals that are valid at every number of deals (see `stats.anytime_factor`).
        points: int32 (D, R, P), of each slot in each game.
        game_places: int8 (D, R, P), 0 is first.
        scores: E scores.
        seconds: from the first game to the last, including games of other match-ups between them.
        permutations: the seatings of each deal, see `lineup.blocks`.
        records: of the first games, one line each, deal by deal; all seatings of a deal are adjacent.
        units: int32 (D, R, P), what each slot got in payments, less what it paid; None without payments.
    """

    title: str
    names: tuple[str, ...]
    lineup: tuple[int, ...]
    rules: AnyRules
    seed: int
    num_deals: int
    planned_deals: int | None
    points: npt.NDArray[np.int32]
    game_places: npt.NDArray[np.int8]
    scores: tuple[Score, ...]
    seconds: float
    permutations: Permutations = "rotations"
    records: tuple[str, ...] = ()
    units: npt.NDArray[np.int32] | None = None

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
        """int64 (D, E): points of each deal, summed over its games and the agent's seats."""
        return self._by_agent(self.points.sum(axis=1, dtype=np.int64))

    @property
    def deal_main(self) -> IntArray:
        """int64 (D, E): the main figure (`Score.main`) of each deal, as for `deal_points`."""
        if self.units is None:
            return self.deal_points
        return self._by_agent(self.units.sum(axis=1, dtype=np.int64))

    def deal_places(self, index: int, place: int) -> IntArray:
        """int64 (D,): an agent's shares of a place in each deal, summed over games and seats.

        Args:
            index: of the agent.
            place: 0 is first.

        Returns:
            Multiples of 1 / `PLACE_SHARE_DENOMINATOR`.
        """
        mine = np.flatnonzero(np.asarray(self.lineup) == index)
        counts: IntArray = place_shares(self.game_places)[:, :, mine, place].sum(axis=(1, 2))
        return counts

    def seats_of(self, deal: int) -> IntArray:
        """int64 (R, P): the agent in each seat, an index into `names`, in each game of a deal."""
        slots = blocks(self.lineup, self.permutations)
        seats: IntArray = np.asarray(self.lineup)[slots[deal % len(slots)]]
        return seats

    @property
    def has_identical_decisions(self) -> bool:
        """Whether each deal ended the same for every seat in all its seatings.

        Then it made no difference which agent sat where: the agents took the same decisions, or decisions
        with the same results. (One deal can end like this by chance; many cannot.)
        """
        slots = blocks(self.lineup, self.permutations)  # (N, R, P): the slot in each seat
        which = slots[np.arange(self.num_deals) % len(slots)]
        for values in (self.points, self.game_places, *(() if self.units is None else (self.units,))):
            by_seat = np.take_along_axis(values, which, axis=2)
            if (by_seat != by_seat[:, :1]).any():
                return False
        return True

    @property
    def parity_points(self) -> float:
        """Points per game of each of P equal players: the mean over all seats."""
        return int(self.points.sum(dtype=np.int64)) / self.points.size

    @property
    def figure(self) -> str:
        """The name of the main figure (`Score.main`): ``"points"``, or ``"units"`` of payments."""
        return "points" if self.units is None else "units"

    @property
    def parity(self) -> float:
        """The main figure (`Score.main`) of each of P equal players: payments sum to zero."""
        return self.parity_points if self.units is None else 0.0

    @property
    def parity_first(self) -> float:
        """Rate of first places of each of P equal players."""
        return 1 / self.rules.num_players

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the agents' rows: ``("greedy", "v. 3 × random")``."""
        seats = (f"{s.num_seats} × {s.name}" if s.num_seats > 1 else s.name for s in self.scores)
        return tuple(f"v. {text}" if index else text for index, text in enumerate(seats))

    def bootstrap(self, index: int, seed: int = 0) -> tuple[float, float]:
        """The bootstrap interval of an agent's main figure (see `stats.bootstrap_interval`)."""
        per_deal = self.num_seatings * self.lineup.count(index)
        return bootstrap_interval(self.deal_main[:, index], per_deal, seed=seed)

    def _by_agent(self, slots: IntArray) -> IntArray:
        """Sums over the slots of each agent: (..., P) to (..., E)."""
        starts = [self.lineup.index(agent) for agent in range(len(self.names))]
        return np.add.reduceat(slots, starts, axis=-1)


def place_shares(places: npt.NDArray[np.int8]) -> IntArray:
    """The share of each slot in each place, in multiples of 1 / `PLACE_SHARE_DENOMINATOR`.

    Args:
        places: int (D, R, P), 0 is first; k slots that share places p .. p + k - 1 all have p.

    Returns:
        int64 (D, R, P, place), 1/k in k places for a slot that shares them; the shares of a slot sum to 1.
    """
    shared = (places[..., :, None] == places[..., None, :]).sum(axis=-1)[..., None]
    behind = np.arange(places.shape[-1]) - places[..., None]
    shares: IntArray = np.where((behind >= 0) & (behind < shared), PLACE_SHARE_DENOMINATOR // shared, 0)
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
    permutations: Permutations = "rotations",
    num_records: int = 0,
) -> MatchResult:
    """Merge the chunks of a match-up.

    Args:
        chunks: in the order of their deals.
        names: see `MatchResult`; the same for the other arguments.
        lineup: the agent of each slot.
        rules: the variant.
        seed: of deals and agents.
        planned_deals: None for a fixed number.
        seconds: of the whole match.
        permutations: the seatings of each deal.
        num_records: how many records to keep, at most.
    """
    parts = list(chunks)
    points = np.concatenate([part.points for part in parts])
    places = np.concatenate([part.places for part in parts])
    blunders = np.concatenate([part.blunders for part in parts])
    paid = [part.units for part in parts if part.units is not None]
    units = np.concatenate(paid) if paid else None
    main = points if units is None else units
    num_deals, num_games = points.shape[:2]
    shares = place_shares(places)
    scores = []
    for index, name in enumerate(names):
        mine = np.flatnonzero(np.asarray(lineup) == index)
        deal_points = points[:, :, mine].sum(axis=(1, 2), dtype=np.int64)
        game_main = main[:, :, mine].sum(axis=2, dtype=np.int64)
        per_deal = num_games * len(mine)
        deal_main = game_main.sum(axis=1)
        counted = blunders[:, index]
        endings = int(counted[:, 1].sum())
        # Equal agents share all places in every deal: then no other place is a rare event that was not seen.
        whole = per_deal * PLACE_SHARE_DENOMINATOR
        taken = shares[:, :, mine].sum(axis=(1, 2))
        event = 0 if (taken * rules.num_players == whole).all() else PLACE_SHARE_DENOMINATOR
        by_place = tuple(estimate(some, whole, planned=planned_deals, event=event) for some in taken.T)
        scores.append(
            Score(
                name=name,
                num_seats=len(mine),
                points=estimate(deal_points, per_deal, planned=planned_deals),
                first=by_place[0],
                places=tuple(value.mean for value in by_place),
                variance_ratio=variance_ratio(deal_main, game_main.ravel()),
                decisions=int(sum(part.decisions[index] for part in parts)),
                seconds=float(sum(part.seconds[index] for part in parts)),
                forfeits=by_reason(f for part in parts for f in part.forfeits[index]),
                blunders=ratio_estimate(100 * counted[:, 0], counted[:, 1], 100) if endings else None,
                endings=endings,
                place_estimates=by_place,
                units=None if units is None else estimate(deal_main, per_deal, planned=planned_deals),
            )
        )
    return MatchResult(
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
        permutations=permutations,
        records=tuple(record for part in parts for record in part.records)[:num_records],
        units=units,
    )
