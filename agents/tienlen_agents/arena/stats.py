"""Estimates with 95 % intervals, clustered by deal.

The games of one deal share its cards, so they are no independent observations; their total is one. What comes
in are whole numbers (points, first places), and sums stay whole until the last division: a table of identical
agents then gives exactly parity with an interval of width 0, not nearly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from tienlen_agents.arena.sequential import anytime_factor

IntArray = npt.NDArray[np.int64]
Verdict = Literal["above", "at", "below"]

# The 97.5 % quantile of Student's t: the first four degrees of freedom, then an expansion about the normal's.
_T_FIRST = (12.7062, 4.3027, 3.1824, 2.7764)
_Z = 1.959963984540054


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval.

    Attributes:
        mean: the mean of the deals' means.
        half_width: of the interval, in the same unit.
    """

    mean: float
    half_width: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width

    def verdict(self, parity: float) -> Verdict:
        """Whether the whole interval lies above parity, or below, or it holds parity."""
        return "above" if self.low > parity else "below" if self.high < parity else "at"


def t_quantile(degrees: int) -> float:
    """The 97.5 % quantile of Student's t, right to 4 digits or better.

    Args:
        degrees: of freedom, at least 1.

    Source:
        Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    if degrees <= len(_T_FIRST):
        return _T_FIRST[degrees - 1]
    z, n = _Z, degrees
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def estimate(totals: IntArray, per_deal: int, *, planned: int | None = None) -> Estimate:
    """Mean and t interval from one total a deal.

    Args:
        totals: int64 (D,), D at least 2: each deal's sum over its games (and an agent's seats in them).
        per_deal: how many numbers each total sums.
        planned: None, or the most deals of a match that may stop earlier: the interval is then one that holds
            at every D at once (see `sequential`).
    """
    num_deals, first, second = _moments(totals)
    mean = first / (num_deals * per_deal)
    variance = _variance(num_deals, first, second) / per_deal**2
    if planned is not None:
        return Estimate(mean, float(anytime_factor(num_deals, planned)) * math.sqrt(variance))
    return Estimate(mean, t_quantile(num_deals - 1) * math.sqrt(variance / num_deals))


def ratio_estimate(tops: IntArray, bottoms: IntArray) -> Estimate:
    """The ratio of two totals with its t interval, clustered by deal.

    Args:
        tops: int64 (D,), each deal's part of the one total.
        bottoms: int64 (D,), of the other, whose sum is not 0.

    Source:
        W. G. Cochran, Sampling Techniques, 1977, section 2.11 (linearised variance of a ratio).
    """
    num_deals, total = len(tops), int(bottoms.sum())
    mean = int(tops.sum()) / total
    if num_deals < 2:
        return Estimate(mean, math.inf)
    residuals = tops - mean * bottoms
    deviation = math.sqrt(num_deals / (num_deals - 1) * float(residuals @ residuals)) / total
    return Estimate(mean, t_quantile(num_deals - 1) * deviation)


def deals_needed(pilot: Estimate, num_deals: int, precision: float) -> int:
    """How many deals give an interval of ± a precision, by the spread that a pilot found.

    Args:
        pilot: its estimate.
        num_deals: of the pilot.
        precision: half the width wanted, in the estimate's unit, above 0.

    Raises:
        ValueError: a precision that is not above 0.
    """
    if not precision > 0:
        raise ValueError(f"precision={precision}: expected a number above 0")
    deviation = pilot.half_width / t_quantile(num_deals - 1) * math.sqrt(num_deals)
    return max(2, math.ceil((_Z * deviation / precision) ** 2))


def bootstrap_interval(
    totals: IntArray, per_deal: int, *, seed: int = 0, num_resamples: int = 2000
) -> tuple[float, float]:
    """The 95 % interval again, by resampling whole deals: a check on `estimate` that assumes no distribution.

    Args:
        totals: int64 (D,), as for `estimate`.
        per_deal: as for `estimate`.
        seed: of the resampling.
        num_resamples: how many samples of D deals are drawn.

    Returns:
        The 2.5 % and 97.5 % percentiles of the resampled means.
    """
    rng = np.random.default_rng(seed)
    # How often each deal is drawn is multinomial; over the distinct totals that is a far smaller table.
    found, count = np.unique(totals, return_counts=True)
    drawn = rng.multinomial(len(totals), count / len(totals), size=num_resamples)
    means = drawn @ found / (len(totals) * per_deal)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def variance_ratio(deal_totals: IntArray, game_totals: IntArray) -> float | None:
    """What duplication does to the variance of the mean: 0.5 is as good as twice the independent games.

    Args:
        deal_totals: int64 (D,), each deal's sum over its R games.
        game_totals: int64 (D * R,), one number a game.

    Returns:
        The variance of the mean over that of as many games on independent deals in random seats; None where
        the games do not vary.
    """
    games_per_deal = len(game_totals) // len(deal_totals)
    of_games = _variance(*_moments(game_totals))
    return float(_variance(*_moments(deal_totals)) / (games_per_deal * of_games)) if of_games else None


def _moments(values: IntArray) -> tuple[int, int, int]:
    """How many there are, their sum and the sum of their squares."""
    return len(values), int(values.sum()), int((values * values).sum())


def _variance(count: int, first: int, second: int) -> Fraction:
    """The unbiased sample variance from `_moments`."""
    return Fraction(count * second - first * first, count * (count - 1))
