"""Simulated rates of wrong, right and missing verdicts of matches that may stop early.

    python -m tienlen_agents.arena.error_rates

See `tienlen_agents.arena.stats.anytime_factor` for the test.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_agents.arena.match import match
from tienlen_agents.arena.stats import FIRST_LOOK, anytime_factor
from tienlen_agents.command import program


class ErrorRates(NamedTuple):
    """The verdicts of simulated matches.

    Attributes:
        gain: true advantage in points, in standard deviations of a deal.
        above: share that stopped with the verdict "above".
        below: share that stopped with the verdict "below".
        mean_deals: mean number of deals; a match without a verdict has all planned deals.
    """

    gain: float
    above: float
    below: float
    mean_deals: float


def simulate(
    deals: npt.NDArray[np.float64], gain: float, *, planned: int, look_every: int, repetitions: int, seed: int
) -> ErrorRates:
    """Simulate matches by drawing deals, and stop them as the arena does.

    Args:
        deals: float64 (N,), values to draw from; shifted so that their mean is the true advantage.
        gain: the true advantage, in standard deviations of `deals`.
        planned: maximum number of deals of a match.
        look_every: deals between looks.
        repetitions: number of matches.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    spread = float(deals.std())
    values = (deals - deals.mean()) / spread + gain
    looks = np.unique([*range(look_every, planned, look_every), planned])
    is_look = looks >= min(FIRST_LOOK, planned)
    factor = anytime_factor(looks, planned)
    counts = np.zeros(2, np.int64)
    total = 0
    for _ in range(repetitions):
        drawn = values[rng.integers(len(values), size=planned)]
        first, second = np.cumsum(drawn)[looks - 1], np.cumsum(drawn * drawn)[looks - 1]
        mean = first / looks
        deviation = np.sqrt(np.maximum(second - first * mean, 0) / np.maximum(looks - 1, 1))
        is_clear = (np.abs(mean) > factor * deviation) & is_look
        if is_clear.any():
            stop = int(is_clear.argmax())
            counts[int(mean[stop] < 0)] += 1
            total += int(looks[stop])
        else:
            total += planned
    above, below = (counts / repetitions).tolist()
    return ErrorRates(gain, above, below, total / repetitions)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the rates for deals of `random` against itself, shifted by an advantage.

    Args:
        argv: the arguments; None for those of the process.
    """
    argparse.ArgumentParser(
        prog=program("tienlen_agents.arena.error_rates"), description=__doc__.partition("\n")[0]
    ).parse_args(argv)
    planned, look_every, repetitions = 2500, 64, 4000
    result = match("random", "random", num_deals=2000, seed=1)
    deals = result.deal_points[:, 0] / result.num_seatings
    deviation = float(deals.std())
    print(f"{repetitions} matches of at most {planned} deals, a look every {look_every} from {FIRST_LOOK} on")
    print(f"{'advantage':>16}{'above':>9}{'below':>9}{'deals':>9}")
    for points in (0.0, 0.02, 0.04, 0.06, 0.08, 0.12, 0.2):
        found = simulate(
            deals,
            points / deviation,
            planned=planned,
            look_every=look_every,
            repetitions=repetitions,
            seed=1,
        )
        print(f"{points:>9.2f} points{found.above:>9.2%}{found.below:>9.2%}{found.mean_deals:>9.0f}")


if __name__ == "__main__":
    main()
