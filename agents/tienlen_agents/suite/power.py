"""What a track can see: the paired difference of two packets, and the smallest one that it finds."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from tienlen_agents.arena.stats import Estimate, estimate
from tienlen_agents.suite.packet import Packet, PacketError
from tienlen_env.games.common.arrays import FloatArray

SHARE: Final = 0.8
REPEATS: Final = 1000
SEED: Final = 43


def difference(first: Packet, second: Packet) -> Estimate:
    """The mean difference of two agents' scores on the same deals, with its 95 % interval.

    Raises:
        PacketError: packets of other tracks or deals, or without rounds.
    """
    return estimate(_differences(first, second), 1)


def _differences(first: Packet, second: Packet) -> FloatArray:
    for key in ("track", "track_digest", "quick", "held_out"):
        if first.values[key] != second.values[key]:
            raise PacketError(f"{key}: expected two packets of the same deals")
    scores = [packet.values["figures"].get("deals") for packet in (first, second)]
    if scores[0] is None:
        raise PacketError("the track has no rounds")
    found: FloatArray = np.subtract(*(np.array(some, np.float64) for some in scores))
    return found


def found_share(differences: FloatArray, effect: float, repeats: int = REPEATS) -> float:
    """How often a difference is found: the share of simulated packets whose interval leaves out 0.

    Args:
        differences: float64 (D,), of the deals of two real agents; their mean is replaced by the effect.
        effect: the true difference.
        repeats: number of simulated packets; each has D deals, drawn from the given ones.
    """
    rng = np.random.default_rng(SEED)
    centred = differences - differences.mean() + effect
    drawn = (centred[rng.integers(len(centred), size=len(centred))] for _ in range(repeats))
    return float(np.mean([estimate(some, 1).verdict(0.0) == "above" for some in drawn]))


def smallest_effect(differences: FloatArray, repeats: int = REPEATS) -> float:
    """The smallest difference that is found with a probability of 80 %, by simulation, in steps of 0.001."""
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    effect = math.ceil(1000 * 2.4 * error) / 1000
    while found_share(differences, effect, repeats) < SHARE:
        effect += 0.001
    return effect


def power(first: Packet, second: Packet) -> str:
    """Both, in words."""
    differences = _differences(first, second)
    value = estimate(differences, 1)
    names = [packet.values["declaration"]["name"] for packet in (first, second)]
    return (
        f"{names[0]} - {names[1]}: {value.mean:+.4f} ± {value.half_width:.4f} in {len(differences)} deals\n"
        f"found with {SHARE:.0%} power: a difference of {smallest_effect(differences):.3f} "
        f"({REPEATS} simulated packets a step)"
    )
