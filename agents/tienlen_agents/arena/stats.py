"""Estimates with 95 % intervals, clustered by deal.

The games of one deal share its cards, so they are not independent observations; their total is one
observation. All inputs are integers (points, places), and all sums are exact until the last division. So a
match-up of identical agents gives parity exactly, with an interval of width 0, and large points do not wrap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from tienlen_env.games.common.arrays import IntArray

ALPHA: Final = 0.05
FIRST_LOOK: Final = 256  # deals
NUM_RESAMPLES: Final = 2000  # of all deals, for a bootstrap interval


def anytime_factor(num_deals: npt.ArrayLike, planned: int) -> npt.NDArray[np.float64]:
    """The half width of an interval that is valid at every look, divided by the standard deviation of a deal.

    If a match stopped at the first ordinary 95 % interval that excludes parity, it would call equal players
    unequal in far more than 5 % of matches. These intervals (a confidence sequence) contain parity of equal
    players at *all* numbers of deals simultaneously with probability 95 %. So a match that stops at the first
    one that excludes parity errs in at most 5 % of matches, however often it is tested. Their width is about
    1.6 times that of an interval for a fixed number of deals.

    The boundary is Robbins' normal mixture with the estimated variance. It is valid for means of many
    independent deals of any distribution, so there is no look before `FIRST_LOOK` deals. A
    simulation in the tests checks error rates and power.

    Source:
        H. Robbins, Statistical methods related to the law of the iterated logarithm, 1970; I. Waudby-Smith et
        al., Time-uniform central limit theory and asymptotic confidence sequences, Annals of Statistics 2024,
        theorem 2.2 and appendix B.1.

    Args:
        num_deals: int (any shape), deals so far.
        planned: maximum number of deals, fixed before the match; the boundary is optimal at a quarter of it.
    """
    t = np.asarray(num_deals, np.float64)
    log_term = -2 * math.log(ALPHA)
    rho2 = (log_term + math.log(log_term + 1)) / max(planned / 4, FIRST_LOOK)
    spread = t * rho2 + 1
    factor: npt.NDArray[np.float64] = np.sqrt(spread / (t * t * rho2) * np.log(spread / ALPHA**2))
    return factor


Verdict = Literal["above", "at", "below"]

# The 97.5 % quantile of Student's t: the first four degrees of freedom, then an expansion about the normal's.
_T_FIRST = (12.7062, 4.3027, 3.1824, 2.7764)
_Z = 1.959963984540054

UNSEEN_EVENTS = 2  # events that the variance of a rate gets in addition; about half the square of _Z


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
        """Whether the whole interval is above parity or below it, or contains it ("at")."""
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


def estimate(
    totals: npt.NDArray[np.int64 | np.float64], per_deal: int, *, planned: int | None = None, event: int = 0
) -> Estimate:
    """Mean and t interval from one total per deal.

    Args:
        totals: int64 or float64 (D,), D at least 2: each deal's sum over its games (and an agent's seats in
            them).
        per_deal: number of values in each total.
        planned: None, or the maximum number of deals of a match that may stop earlier: the interval is then
            valid at every D simultaneously (see `anytime_factor`).
        event: where totals count events that may be rare: what one of them adds to a total. The interval is
            as if `UNSEEN_EVENTS` more had been counted: without a single event the deals do not vary, but
            the rate need not be 0.
    """
    num_deals, first, second = _moments(totals)
    mean = float(first / (num_deals * per_deal))
    unseen = Fraction(UNSEEN_EVENTS * event**2, num_deals)
    variance = (_variance(num_deals, first, second) + unseen) / per_deal**2
    if planned is not None:
        return Estimate(mean, float(anytime_factor(num_deals, planned)) * math.sqrt(variance))
    return Estimate(mean, t_quantile(num_deals - 1) * math.sqrt(variance / num_deals))


def ratio_estimate(tops: IntArray, bottoms: IntArray, event: int = 0) -> Estimate:
    """The ratio of two totals with its t interval, clustered by deal.

    Args:
        tops: int64 (D,), the numerator of each deal.
        bottoms: int64 (D,), the denominator of each deal; their sum is not 0.
        event: as for `estimate`.

    Source:
        W. G. Cochran, Sampling Techniques, 1977, section 2.11 (linearised variance of a ratio), with
        `UNSEEN_EVENTS` as in A. Agresti and B. A. Coull, Approximate is better than "exact", 1998.
    """
    num_deals, total = len(tops), int(bottoms.sum())
    mean = int(tops.sum()) / total
    if num_deals < 2:
        return Estimate(mean, math.inf)
    residuals = tops - mean * bottoms
    squares = num_deals / (num_deals - 1) * float(residuals @ residuals) + UNSEEN_EVENTS * event**2
    deviation = math.sqrt(squares) / total
    return Estimate(mean, t_quantile(num_deals - 1) * deviation)


def deals_needed(pilot: Estimate, num_deals: int, precision: float) -> int:
    """The number of deals that give an interval of ± a precision, from the variance of a pilot.

    Args:
        pilot: its estimate.
        num_deals: of the pilot.
        precision: the wanted half width, in the estimate's unit, above 0.

    Raises:
        ValueError: a precision that is not above 0.
    """
    if not precision > 0:
        raise ValueError(f"precision={precision}: expected a number above 0")
    deviation = pilot.half_width / t_quantile(num_deals - 1) * math.sqrt(num_deals)
    return max(2, math.ceil((_Z * deviation / precision) ** 2))


def bootstrap_interval(totals: IntArray, per_deal: int, *, seed: int = 0) -> tuple[float, float]:
    """The 95 % bootstrap interval, by resampling whole deals: a check of `estimate` without its assumptions.

    Args:
        totals: int64 (D,), as for `estimate`.
        per_deal: as for `estimate`.
        seed: of the resampling.

    Returns:
        The 2.5 % and 97.5 % percentiles of the resampled means.
    """
    rng = np.random.default_rng(seed)
    # The counts of the drawn deals are multinomial; there are far fewer distinct totals than deals.
    found, count = np.unique(totals, return_counts=True)
    drawn = rng.multinomial(len(totals), count / len(totals), size=NUM_RESAMPLES)
    means = drawn @ found / (len(totals) * per_deal)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def variance_ratio(deal_totals: IntArray, game_totals: IntArray) -> float | None:
    """The effect of duplication on the variance of the mean: 0.5 equals twice as many independent games.

    Args:
        deal_totals: int64 (D,), each deal's sum over its R games.
        game_totals: int64 (D * R,), one number per game.

    Returns:
        The variance of the mean, divided by that of the same number of games on independent deals in random
        seats; None if the games do not vary.
    """
    games_per_deal = len(game_totals) // len(deal_totals)
    of_games = _variance(*_moments(game_totals))
    return float(_variance(*_moments(deal_totals)) / (games_per_deal * of_games)) if of_games else None


def _moments(values: npt.NDArray[np.int64 | np.float64]) -> tuple[int, Fraction, Fraction]:
    """The number of values, their sum and the sum of their squares; exact, whatever their size."""
    # Fractions do not wrap, as squares of large points would; there are far fewer values than deals.
    found, counts = np.unique(values, return_counts=True)
    pairs = [(Fraction(value), count) for value, count in zip(found.tolist(), counts.tolist(), strict=True)]
    first = sum((value * count for value, count in pairs), Fraction(0))
    return len(values), first, sum((value * value * count for value, count in pairs), Fraction(0))


def _variance(count: int, first: Fraction, second: Fraction) -> Fraction:
    """The unbiased sample variance from `_moments`."""
    return (count * second - first * first) / (count * (count - 1))
