"""Stopping early without fooling oneself: intervals that hold at every look, so a match may stop at any.

Who looks at 95 % intervals again and again and stops at the first that leaves out parity will call equal
players unequal far more often than in one match of twenty. The intervals here, a confidence sequence, hold
parity at *all* numbers of deals at once with probability 95 %. So a match that stops at the first one that
leaves it out errs with at most 5 %, however often one looks; the price is a width about 1.6 times that of an
interval for a number of deals that was fixed before.

The boundary is Robbins' normal mixture with the estimated variance: valid for means of many independent
deals whatever their distribution, hence no look before `FIRST_LOOK` deals. Error rates and power are checked
by simulation: ``python -m tienlen_agents.arena.error_rates`` (and a test).

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
    """Half the width of the interval over the standard deviation of a deal.

    Args:
        num_deals: int (any shape), deals so far.
        planned: deals after which the match ends anyway; a quarter of it is where the interval is tightest
            for its kind. Fixed before the match.
    """
    t = np.asarray(num_deals, np.float64)
    log_term = -2 * math.log(ALPHA)
    rho2 = (log_term + math.log(log_term + 1)) / max(planned / 4, FIRST_LOOK)
    spread = t * rho2 + 1
    factor: npt.NDArray[np.float64] = np.sqrt(spread / (t * t * rho2) * np.log(spread / ALPHA**2))
    return factor
