"""The number of deals that a precision needs, estimated by a small match on other deals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.random import SeedSequence

from tienlen_agents.arena.report import Report
from tienlen_agents.arena.stats import deals_needed

PILOT_DEALS = 200


class Need(NamedTuple):
    """The number of deals that one figure needs.

    Attributes:
        title: of the figure.
        half_width: of its interval after the pilot.
        num_deals: that the precision needs.
    """

    title: str
    half_width: float
    num_deals: int


class Pilot(NamedTuple):
    """The result of a pilot.

    Attributes:
        precision: the wanted half width, in points.
        num_deals: of the pilot.
        seed: of the pilot. Its deals are not those of the match, so the length of the match does not depend
            on its own data.
        needs: one per figure.
    """

    precision: float
    num_deals: int
    seed: int
    needs: tuple[Need, ...]

    @property
    def deals_needed(self) -> int:
        """The maximum over all figures."""
        return max(need.num_deals for need in self.needs)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "precision": self.precision,
            "num_deals": self.num_deals,
            "seed": self.seed,
            "deals_needed": self.deals_needed,
            "needs": [need._asdict() for need in self.needs],
        }


def pilot(play: Callable[[int, int], Report], precision: float, seed: int, num_deals: int) -> Pilot:
    """Play a small match and compute the number of deals that the large one needs.

    Args:
        play: plays a number of deals with a seed.
        precision: the wanted half width of the points' 95 % intervals, above 0.
        seed: of the large match; the seed of the pilot is derived from it.
        num_deals: of the pilot, at least 2.

    Raises:
        ValueError: a precision that is not above 0; and what `play` raises.
    """
    if not precision > 0:
        raise ValueError(f"precision={precision}: expected a number above 0")
    own_seed = int(SeedSequence(seed, spawn_key=(0x9170,)).generate_state(1)[0])
    needs = [
        Need(head.title, head.points.half_width, deals_needed(head.points, head.num_deals, precision))
        for head in play(num_deals, own_seed).headlines
    ]
    return Pilot(precision, num_deals, own_seed, tuple(needs))
