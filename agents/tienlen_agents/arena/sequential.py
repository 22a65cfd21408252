"""Early stopping with a bounded error: intervals that are valid at every look (a confidence sequence).

If a match stopped at the first ordinary 95 % interval that excludes parity, it would call equal players
unequal in far more than 5 % of matches. The intervals here contain parity of equal players at *all* numbers
of deals simultaneously with probability 95 %. So a match that stops at the first interval that excludes
parity errs in at most 5 % of matches, however often it is tested. Their width is about 1.6 times that of an
interval for a fixed number of deals.

The boundary is Robbins' normal mixture with the estimated variance. It is valid for means of many independent
deals of any distribution, so there is no look before `FIRST_LOOK` deals. A simulation checks error rates and
power: ``python -m tienlen_agents.arena.error_rates`` (and a test).

Source:
    H. Robbins, Statistical methods related to the law of the iterated logarithm, 1970; I. Waudby-Smith et
    al., Time-uniform central limit theory and asymptotic confidence sequences, Annals of Statistics 2024,
    theorem 2.2 and appendix B.1.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

ALPHA: Final = 0.05
FIRST_LOOK: Final = 256  # deals


def anytime_factor(num_deals: npt.ArrayLike, planned: int) -> npt.NDArray[np.float64]:
    """The half width of the interval, divided by the standard deviation of a deal.

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
