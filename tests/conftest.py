"""Settings for all tests: hypothesis draws the same examples every time, so a failure never comes and goes.

Longer runs carry the `nightly` marker, which the default options in pyproject.toml leave out.
"""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

from tests.high_card import HIGH_CARD
from tienlen_env.games.registry import register

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,  # the first example may compile
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deterministic")

register(HIGH_CARD)  # a game from outside, known to every test

# A shell starts background jobs with Ctrl-C ignored, and every child would inherit that; some tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
