"""The exponential function and the logarithm, for kernels: the same bits in every backend.

Those of the C library differ between platforms in the last bits, and WebAssembly has none. These are plain
additions, multiplications and divisions in a fixed order. Method and coefficients: fdlibm, ``e_exp.c`` and
``e_log.c`` (Sun Microsystems 1993); the error is below one unit in the last place.
"""

from __future__ import annotations

import math
from typing import Final

from tienlen_env.games.common.hints import noinline

_LN2_HIGH: Final = 6.93147180369123816490e-01  # its last 32 bits are 0, so that k times it is exact
_LN2_LOW: Final = 1.90821492927058770002e-10
_PER_LN2: Final = 1.44269504088896338700e00
_LARGEST: Final = 7.09782712893383973096e02  # beyond it, exp is infinite
_LEAST: Final = -7.45133219101941108420e02  # below it, exp is 0
_ROOT: Final = 1.4142135623730951

_P1: Final = 1.66666666666666019037e-01
_P2: Final = -2.77777777770155933842e-03
_P3: Final = 6.61375632143793436117e-05
_P4: Final = -1.65339022054652515390e-06
_P5: Final = 4.13813679705723846039e-08

_L1: Final = 6.666666666666735130e-01
_L2: Final = 3.999999999940941908e-01
_L3: Final = 2.857142874366239149e-01
_L4: Final = 2.222219843214978396e-01
_L5: Final = 1.818357216161805012e-01
_L6: Final = 1.531383769920937332e-01
_L7: Final = 1.479819860511658591e-01


@noinline
def exp(x: float) -> float:
    """e to the power of `x`; 0 or infinity where it is out of range, NaN of NaN."""
    if not _LEAST <= x <= _LARGEST:
        return 0.0 if x < _LEAST else x + math.inf
    k = int(x * _PER_LN2 + (0.5 if x >= 0 else -0.5))
    high, low = x - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low  # x = k ln 2 + r, and r is at most ln 2 / 2
    t = r * r
    c = r - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    power = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    while k >= 16:
        power *= 65536.0
        k -= 16
    while k <= -16:
        power *= 1 / 65536.0
        k += 16
    while k > 0:
        power *= 2.0
        k -= 1
    while k < 0:
        power *= 0.5
        k += 1
    return power


@noinline
def log(x: float) -> float:
    """The natural logarithm; of 0, infinity and NaN -infinity, infinity and NaN; of numbers below 0 NaN."""
    if not 0 < x < math.inf:
        return -math.inf if x == 0 else math.nan if x < 0 else x
    k = 0
    while x < 1 / 65536.0:
        x *= 65536.0
        k -= 16
    while x >= 65536.0:
        x *= 1 / 65536.0
        k += 16
    while x < _ROOT / 2:
        x *= 2.0
        k -= 1
    while x >= _ROOT:
        x *= 0.5
        k += 1
    f = x - 1.0
    s = f / (2.0 + f)
    z = s * s
    rest = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + rest) + k * _LN2_LOW)) - f)
