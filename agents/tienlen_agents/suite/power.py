"""What a track can see: the paired difference of two packets, and the smallest one that it finds."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from tienlen_agents.arena.stats import Estimate, estimate, t_quantile
from tienlen_agents.suite.packet import Packet, PacketError
from tienlen_env.games.common.arrays import FloatArray

SHARE: Final = 0.8
REPEATS: Final = 1000
SEED: Final = 43


def differences(first: Packet, second: Packet) -> FloatArray:
    """float64 (D,): the differences of two agents' scores on the same deals.

    Raises:
        PacketError: packets of other tracks or deals, or without rounds.
    """
    for key in ("track", "track_digest", "quick", "held_out"):
        if first.values[key] != second.values[key]:
            raise PacketError(f"{key}: expected two packets of the same deals")
    scores = [packet.values["figures"].get("deals") for packet in (first, second)]
    if scores[0] is None:
        raise PacketError("the track has no rounds")
    found: FloatArray = np.subtract(*(np.array(some, np.float64) for some in scores))
    return found


def difference(first: Packet, second: Packet) -> Estimate:
    """The mean difference, with its 95 % interval; see `differences`."""
    return estimate(differences(first, second), 1)


def lower_ends(values: FloatArray) -> FloatArray:
    """float64 (`REPEATS`,): the lower ends of the 95 % intervals of simulated packets without an effect.

    Args:
        values: float64 (D,), the difference of two agents on each deal of their packets. Their mean is set to
            0, and a simulated packet draws D of them. A true difference only moves the ends.
    """
    size = len(values)
    drawn = (values - values.mean())[np.random.default_rng(SEED).integers(size, size=(REPEATS, size))]
    ends: FloatArray = drawn.mean(axis=1) - t_quantile(size - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(size)
    return ends


def smallest_effect(values: FloatArray) -> float:
    """The smallest difference that leaves out 0 in 80 % of simulated packets, rounded up to 0.001."""
    needed = np.sort(-lower_ends(values)).tolist()
    return math.ceil(1000 * float(needed[math.ceil(SHARE * REPEATS) - 1])) / 1000


def power(first: Packet, second: Packet) -> str:
    """Both, in words."""
    values = differences(first, second)
    value = estimate(values, 1)
    names = [packet.values["declaration"]["name"] for packet in (first, second)]
    return (
        f"{names[0]} - {names[1]}: {value.mean:+.4f} ± {value.half_width:.4f} in {len(values)} deals\n"
        f"found with {SHARE:.0%} power: a difference of {smallest_effect(values):.3f} "
        f"({REPEATS} simulated packets)"
    )
