"""The number of deals that a precision needs, estimated by a small match on other deals."""

from __future__ import annotations

from collections.abc import Callable

from numpy.random import SeedSequence

from tienlen_agents.arena.run_results import Need, Pilot, RunResults
from tienlen_agents.arena.stats import deals_needed

PILOT_DEALS = 200


def pilot(play: Callable[[int, int], RunResults], precision: float, seed: int, num_deals: int) -> Pilot:
    """Play a small match and compute the number of deals that the large one needs.

    Args:
        play: plays a number of deals with a seed.
        precision: the wanted half width of the 95 % intervals of the points (or units), above 0.
        seed: of the large match; the seed of the pilot is derived from it.
        num_deals: of the pilot, at least 2.

    Raises:
        ValueError: a precision that is not above 0; and what `play` raises.
    """
    if not precision > 0:
        raise ValueError(f"precision={precision}: expected a number above 0")
    own_seed = int(SeedSequence(seed, spawn_key=(0x9170,)).generate_state(1)[0])
    played = play(num_deals, own_seed)
    needs = [
        Need(head.title, head.value.half_width, deals_needed(head.value, head.num_deals, precision))
        for head in played.headlines
    ]
    unit = " or ".join(dict.fromkeys(result.figure for result in played.results))
    return Pilot(precision, num_deals, own_seed, tuple(needs), unit)
