"""How many deals a precision needs, found out before the match by a small one of its own deals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.random import SeedSequence

from tienlen_agents.arena.report import Report
from tienlen_agents.arena.stats import deals_needed

PILOT_DEALS = 200


class Need(NamedTuple):
    """Of one figure.

    Attributes:
        title: whose.
        half_width: of its interval after the pilot.
        num_deals: that the precision needs.
    """

    title: str
    half_width: float
    num_deals: int


class Pilot(NamedTuple):
    """What a pilot found.

    Attributes:
        precision: half the width wanted, in points.
        num_deals: of the pilot.
        seed: of the pilot; its deals are not those of the match, so the match is not picked by its own data.
        needs: of each figure.
    """

    precision: float
    num_deals: int
    seed: int
    needs: tuple[Need, ...]

    @property
    def deals_needed(self) -> int:
        """The most that a figure needs."""
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
    """Play a small match and tell how many deals the large one needs.

    Args:
        play: plays so many deals with a seed.
        precision: half the width wanted of the points' 95 % intervals, above 0.
        seed: of the large match; the pilot's own is drawn from it.
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
