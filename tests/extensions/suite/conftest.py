"""The small suite is registered, ratings have few resamples, and only `test_budget.py` measures times."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.extensions.suite.suites import TINY
from tienlen_suite import figures, running
from tienlen_suite.checking import SUITES


@pytest.fixture(autouse=True, scope="module")
def _small_suite() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "tiny", TINY)
        patch.setattr(running, "units", lambda agent, rules: 0.5)
        patch.setattr(figures, "rate", partial(figures.rate, resamples=4))
        yield
