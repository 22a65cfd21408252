"""What two packets can tell apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.extensions.suite.suites import tiny
from tienlen_suite import PacketError, run
from tienlen_suite.figures import difference, lower_ends, power, smallest_effect


def test_the_difference_is_paired(tmp_path: Path) -> None:
    strong = run("heuristic", tiny("A"), tmp_path / "strong")
    weak = run("random", tiny("A"), tmp_path / "weak")
    found = difference(strong, weak)
    scores = [packet.values["figures"]["score"] for packet in (strong, weak)]
    assert found.mean == pytest.approx(scores[0]["mean"] - scores[1]["mean"], abs=1e-5)
    assert found.verdict(0) == "above"
    assert difference(strong, strong).half_width == 0
    assert "heuristic - random: +" in power(strong, weak)
    other = run("heuristic", tiny("B"), tmp_path / "other")
    with pytest.raises(PacketError, match="track: expected two packets of the same deals"):
        difference(strong, other)
    exact = run("heuristic", tiny("D"), tmp_path / "exact")
    with pytest.raises(PacketError, match="no rounds"):
        difference(exact, exact)


def test_the_power_is_that_of_a_t_test() -> None:
    values = np.random.default_rng(1).normal(size=1024)
    error, ends = values.std(ddof=1) / 32, lower_ends(values)
    assert np.mean(ends > 0) == pytest.approx(0.025, abs=0.02)
    assert np.mean(ends + 2.8016 * error > 0) == pytest.approx(0.8, abs=0.05)
    assert smallest_effect(values) == pytest.approx(2.8016 * error, abs=0.006)
