"""The small suite is registered, and the time of a decision is not measured (`test_budget.py` measures)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.extensions.suite.suites import TINY
from tienlen_suite import running
from tienlen_suite.checking import SUITES


@pytest.fixture(autouse=True, scope="module")
def _small_suite() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "tiny", TINY)
        patch.setattr(running, "units", lambda agent, rules: 0.5)
        yield
