"""What each action earns on average, with intervals that hold: all worlds, or independent series of worlds.

Where there are at most `MAX_LISTED` worlds, each is evaluated once and weighted by its probability. The
estimates are then exact, for these probabilities and rollouts, and equal plays are equal.

Otherwise `NUM_SERIES` series of worlds are drawn, each from a new start. The worlds of one Markov chain
resemble one another and repeat, so their spread says little about the error. Series are independent: the
error comes from the spread of their means, by Student's t. All series may agree by chance. So the error
includes what one more world would add where an action earns a point more or less.

The best of many estimates is too high, because it is the best. So the first half of the series chooses the
best action, and the losses are those of the second half.

``tests/agents/arena/test_coverage.py`` measures how often these intervals hold the truth.
"""

from __future__ import annotations

import math
from typing import Final

from tienlen_agents.search.interface import Estimates
from tienlen_env.games.common.arrays import FloatArray

MAX_LISTED: Final = 2048
NUM_SERIES: Final = 16
HALF: Final = NUM_SERIES // 2
# The 97.5 % quantiles of Student's t with NUM_SERIES - 1 and with HALF - 1 degrees of freedom.
T_ALL: Final = 2.13145
T_HALF: Final = 2.36462


def series_size(num_worlds: int) -> int:
    """The number of worlds in each series, for at least `num_worlds` in all."""
    return (num_worlds + NUM_SERIES - 1) // NUM_SERIES


def summarise(series: FloatArray, num: int, least: float, out: Estimates) -> None:
    """Write the estimates.

    Args:
        series: float64 (NUM_SERIES, A), the mean of each action in each series.
        num: number of actions.
        least: what a point in one world changes in a mean over all worlds.
        out: its first `num` entries are written.
    """
    best, most = 0, -math.inf
    for k in range(num):
        early, late, squares = 0.0, 0.0, 0.0
        for s in range(NUM_SERIES):
            early += series[s, k] if s < HALF else 0.0
            late += series[s, k] if s >= HALF else 0.0
        mean = (early + late) / NUM_SERIES
        for s in range(NUM_SERIES):
            squares += (series[s, k] - mean) ** 2
        variance = squares / (NUM_SERIES * (NUM_SERIES - 1))
        out.mean[k], out.half_width[k] = mean, T_ALL * math.sqrt(variance + least * least)
        if early > most:
            best, most = k, early
    for k in range(num):
        mean, squares = 0.0, 0.0
        for s in range(HALF, NUM_SERIES):
            mean += (series[s, best] - series[s, k]) / HALF
        for s in range(HALF, NUM_SERIES):
            squares += (series[s, best] - series[s, k] - mean) ** 2
        variance = squares / (HALF * (HALF - 1))
        out.loss[k] = mean
        out.loss_half_width[k] = 0.0 if k == best else T_HALF * math.sqrt(variance + 4 * least * least)


def summarise_exact(series: FloatArray, num: int, out: Estimates) -> None:
    """Write the estimates where the first of the series has the exact means."""
    most = -math.inf
    for k in range(num):
        most = max(most, series[0, k])
    for k in range(num):
        out.mean[k], out.half_width[k] = series[0, k], 0.0
        out.loss[k], out.loss_half_width[k] = most - series[0, k], 0.0
