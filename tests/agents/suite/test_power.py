"""What two packets can tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from tests.suites import TINY
from tienlen_agents.suite import Entry, PacketError, run, running
from tienlen_agents.suite.power import difference, found_share, power, smallest_effect


def test_the_difference_is_paired(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "units", lambda agent, rules: 0.5)
    folder = tmp_path_factory.mktemp("power")
    strong = run(Entry("heuristic", "A", TINY), folder / "strong")
    weak = run(Entry("random", "A", TINY), folder / "weak")
    found = difference(strong, weak)
    scores = [packet.values["figures"]["score"] for packet in (strong, weak)]
    assert found.mean == pytest.approx(scores[0]["mean"] - scores[1]["mean"], abs=1e-5)
    assert found.verdict(0) == "above"
    assert difference(strong, strong).half_width == 0
    assert "heuristic - random: +" in power(strong, weak)
    other = run(Entry("heuristic", "B", TINY), folder / "other")
    with pytest.raises(PacketError, match="track: expected two packets of the same deals"):
        difference(strong, other)
    exact = run(Entry("heuristic", "D", TINY), folder / "exact")
    with pytest.raises(PacketError, match="no rounds"):
        difference(exact, exact)


def test_the_power_is_that_of_a_t_test() -> None:
    differences = np.random.default_rng(1).normal(size=1024)
    error = differences.std(ddof=1) / 32
    assert found_share(differences, 0.0) == pytest.approx(0.025, abs=0.02)
    assert found_share(differences, 2.8016 * error) == pytest.approx(0.8, abs=0.05)
    assert smallest_effect(differences) == pytest.approx(2.8016 * error, abs=0.006)
