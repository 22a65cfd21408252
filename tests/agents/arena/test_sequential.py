"""Stopping early: error rates by simulation, and matches that stop."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tienlen_agents import arena
from tienlen_agents.arena.stats import ALPHA, FIRST_LOOK, anytime_factor, estimate

# Points of one seat over four games of a deal, less parity: some value that deals really have.
DEALS = np.repeat(
    [-1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5], [1, 3, 9, 20, 30, 20, 12, 4, 2]
).astype(float)
SKEWED = np.repeat([-0.2, 2.8], [95, 5]).astype(float)


class ErrorRates(NamedTuple):
    """The verdicts of simulated matches.

    Attributes:
        gain: true advantage in points, in standard deviations of a deal.
        above: share that stopped with the verdict "above".
        below: share that stopped with the verdict "below".
        mean_deals: mean number of deals; a match without a verdict has all planned deals.
    """

    gain: float
    above: float
    below: float
    mean_deals: float


def simulate(
    deals: npt.NDArray[np.float64], gain: float, *, planned: int, look_every: int, repetitions: int, seed: int
) -> ErrorRates:
    """Simulate matches by drawing deals, and stop them as the arena does.

    Args:
        deals: float64 (N,), values to draw from; shifted so that their mean is the true advantage.
        gain: the true advantage, in standard deviations of `deals`.
        planned: maximum number of deals of a match.
        look_every: deals between looks.
        repetitions: number of matches.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    spread = float(deals.std())
    values = (deals - deals.mean()) / spread + gain
    looks = np.unique([*range(look_every, planned, look_every), planned])
    is_look = looks >= min(FIRST_LOOK, planned)
    factor = anytime_factor(looks, planned)
    counts = np.zeros(2, np.int64)
    total = 0
    for _ in range(repetitions):
        drawn = values[rng.integers(len(values), size=planned)]
        first, second = np.cumsum(drawn)[looks - 1], np.cumsum(drawn * drawn)[looks - 1]
        mean = first / looks
        deviation = np.sqrt(np.maximum(second - first * mean, 0) / np.maximum(looks - 1, 1))
        is_clear = (np.abs(mean) > factor * deviation) & is_look
        if is_clear.any():
            stop = int(is_clear.argmax())
            counts[int(mean[stop] < 0)] += 1
            total += int(looks[stop])
        else:
            total += planned
    above, below = (counts / repetitions).tolist()
    return ErrorRates(gain, above, below, total / repetitions)


@pytest.mark.parametrize("deals", [DEALS, SKEWED])
@pytest.mark.parametrize("look_every", [16, 512])
def test_equal_players_are_seldom_called_unequal(deals, look_every):
    found = simulate(deals, 0.0, planned=2500, look_every=look_every, repetitions=1000, seed=1)
    assert found.above + found.below <= ALPHA
    assert found.mean_deals > 2400


def test_intervals_for_one_look_would_err_often():
    """What the sequence guards against, so that the test above can be seen to test something."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        sums = np.cumsum(rng.standard_normal(2500))
        looks = np.arange(FIRST_LOOK, 2501, 16)
        wrong += (np.abs(sums[looks - 1]) > 1.96 * np.sqrt(looks)).any()
    assert wrong / 300 > 3 * ALPHA


def test_power():
    """An advantage of a tenth of a deal's deviation is found, and a large one soon."""
    small = simulate(DEALS, 0.1, planned=2500, look_every=64, repetitions=300, seed=2)
    large = simulate(DEALS, -0.4, planned=2500, look_every=64, repetitions=300, seed=3)
    assert small.above > 0.95
    assert small.below == 0
    assert small.mean_deals < 1500
    assert large.below == 1
    assert large.mean_deals < 400


def test_the_factor_is_the_boundary_of_the_paper():
    """Waudby-Smith et al. 2024, theorem 2.2, written out for one number."""
    rho2 = (-2 * np.log(0.05) + np.log(-2 * np.log(0.05) + 1)) / 500
    for t in (300, 1000, 2000):
        spread = t * rho2 + 1
        wanted = np.sqrt(2 * spread / (t**2 * rho2) * np.log(np.sqrt(spread) / 0.05))
        assert anytime_factor(t, 2000) == pytest.approx(wanted)
    widths = anytime_factor(np.array([300, 1000, 2000]), 2000) * np.sqrt([300, 1000, 2000]) / 1.96
    assert (widths > 1.4).all()
    assert (widths < 1.8).all()


def test_a_clear_match_stops_and_says_so(tmp_path, capsys):
    options = {"num_deals": 640, "deals_per_job": 64, "stop_when_clear": True, "seed": 3}
    result = arena.match("greedy", "random", **options)
    assert result.num_deals == FIRST_LOOK
    assert result.planned_deals == 640
    score = result.scores[0]
    assert score.points.verdict(1.5) == "above"
    fixed = estimate(result.deal_points[:, 0], result.num_seatings)
    assert score.points.mean == fixed.mean
    assert 1.4 * fixed.half_width < score.points.half_width < 2 * fixed.half_width
    # Nor does it matter who plays, or that chunks beyond the stop are there already.
    kept = arena.match("greedy", "random", **{**options, "stop_when_clear": False}, out=tmp_path)
    assert kept.num_deals == 640
    again = arena.match("greedy", "random", **options, out=tmp_path)
    assert replace(again.scores[0], seconds=0.0) == replace(score, seconds=0.0)
    arena.Report((result,)).print()
    assert "clear after 256 of 640 deals" in " ".join(capsys.readouterr().out.split())


def test_an_unclear_match_plays_all_deals():
    result = arena.match("greedy", "greedy", num_deals=300, deals_per_job=64, stop_when_clear=True)
    assert result.num_deals == 300
    assert result.scores[0].points == arena.Estimate(1.5, 0.0)
