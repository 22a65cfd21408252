"""The figures of a packet, computed from rounds by the arena's functions. Runs and checks share them.

And what a track can see: the paired difference of two packets, and the smallest one that it finds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tienlen_agents.arena.league import rate
from tienlen_agents.arena.result import MatchResult, figures_of
from tienlen_agents.arena.stats import Estimate, estimate, t_quantile
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import FloatArray
from tienlen_exact.policies import Measure
from tienlen_suite.packet import Packet, PacketError
from tienlen_suite.table import AGENT, Track

DIGITS: Final = 6
TOLERANCE: Final = 1.5e-6  # a last digit of another processor's exponential function
POWER: Final = 0.8
REPEATS: Final = 1000  # simulated packets
SEED: Final = 43


def estimate_of(value: Estimate) -> dict[str, float]:
    """An estimate in JSON."""
    return {"mean": round(value.mean, DIGITS), "half_width": round(value.half_width, DIGITS)}


def deal_scores(track: Track, results: Sequence[MatchResult | None]) -> FloatArray:
    """float64 (D,): the agent's score in each deal, the mean over all tables, which share their deals.

    It is points a round, or the normalised score: 0 is `Table.zero`, 1 is `Table.one`; a table that the agent
    does not play is 0.
    """
    total = np.zeros(track.num_deals)
    for table, result in zip(track.tables, results, strict=True):
        if result is None:
            continue
        found = result.deal_main[:, 0] / result.num_seatings
        if track.kind == "normalised":
            found = (found - table.zero) / (table.one - table.zero)
        total += found
    return total / len(results)


def require_ratings(track: Track, *, quick: bool) -> None:
    """Refuse before any work if the ratings of a track need a package that is not installed.

    Raises:
        MissingExtraError: openskill is not installed (the extra ``arena``).
    """
    if track.kind == "points" and not quick:
        require("openskill", "arena", f"track {track.name} with its ratings")


def figures_of_rounds(track: Track, results: Sequence[MatchResult | None], *, quick: bool) -> dict[str, Any]:
    """The figures of a track with rounds.

    Args:
        track: the track, short if `quick`.
        results: one for each table; None where the agent does not play.
        quick: no ratings.
    """
    scores = deal_scores(track, results)
    tables: list[dict[str, Any]] = []
    for table, result in zip(track.tables, results, strict=True):
        if result is None:
            tables.append({"title": table.title, "plays": False})
            continue
        score = result.scores[0]
        row: dict[str, Any] = {"title": table.title, result.figure: estimate_of(score.main)}
        row["first"] = estimate_of(score.first)
        if track.kind == "endings":
            if score.blunders is not None:
                row["blunders_per_100"] = estimate_of(score.blunders)
            row["endings"] = score.endings
        tables.append(row)
    figures: dict[str, Any] = {
        "num_deals": len(scores),
        "score": estimate_of(estimate(scores, 1)),
        "deals": [round(score, DIGITS) for score in scores.tolist()],
        "tables": tables,
    }
    played = [result for result in results if result is not None]
    if track.kind == "points":
        # One denominator for all tables: exact, and 0 wide where all decisions are identical.
        figures["score"] = estimate_of(figures_of(AGENT, [(result, 0) for result in played]).points)
        if not quick:
            figures["ratings"] = _ratings(track, played)
    return figures


def _ratings(track: Track, results: Sequence[MatchResult]) -> dict[str, dict[str, float]]:
    """Plackett-Luce strengths of the agent and the panel; their mean is 25."""
    names = list(dict.fromkeys(name for result in results for name in result.names))
    seated = [(tuple(names.index(name) for name in result.names), result) for result in results]
    found, _ = rate(len(names), seated, track.seed)
    return {name: estimate_of(rating) for name, rating in zip(names, found, strict=True)}


def nash_conv_figures(track: Track, found: Sequence[Measure]) -> dict[str, Any]:
    """The figures of small games; the score is the mean of the NashConv, less is better."""
    values = [round(one.nash_conv, DIGITS) for one in found]
    tables = [{"title": t.title, "nash_conv": value} for t, value in zip(track.tables, values, strict=True)]
    score = {"mean": round(sum(one.nash_conv for one in found) / len(found), DIGITS), "half_width": 0.0}
    return {"score": score, "tables": tables}


def first_difference(said: Any, found: Any, where: str = "figures") -> str:
    """Where two sets of figures differ, and how; empty if they agree."""
    if isinstance(said, Mapping) and isinstance(found, Mapping):
        if set(said) != set(found):
            return f"{where}: expected {', '.join(sorted(found))}, got {', '.join(sorted(map(str, said)))}"
        parts = [(f"{where}.{key}", said[key], found[key]) for key in found]
    elif isinstance(said, list) and isinstance(found, list):
        if len(said) != len(found):
            return f"{where}: expected {len(found)} values, got {len(said)}"
        parts = [(f"{where}[{i}]", *pair) for i, pair in enumerate(zip(said, found, strict=True))]
    else:
        is_number = type(said) in (int, float) and type(found) in (int, float)
        if said == found or (is_number and math.isclose(said, found, rel_tol=0, abs_tol=TOLERANCE)):
            return ""
        return f"{where}: the packet says {said!r:.200}, its records give {found!r:.200}"
    return next((text for part in parts if (text := first_difference(part[1], part[2], part[0]))), "")


# ---------------------------------------------------------------- two packets


def differences(first: Packet, second: Packet) -> FloatArray:
    """float64 (D,): the differences of two agents' scores on the same deals.

    Raises:
        PacketError: packets of other tracks or deals, or without rounds.
    """
    for key in ("track", "track_digest", "quick", "held_out"):
        if first.values[key] != second.values[key]:
            raise PacketError(f"{key}: expected two packets of the same deals")
    scores = [packet.values["figures"].get("deals") for packet in (first, second)]
    if scores[0] is None:
        raise PacketError("the track has no rounds")
    found: FloatArray = np.subtract(*(np.array(some, np.float64) for some in scores))
    return found


def difference(first: Packet, second: Packet) -> Estimate:
    """The mean difference, with its 95 % interval; see `differences`."""
    return estimate(differences(first, second), 1)


def lower_ends(values: FloatArray) -> FloatArray:
    """float64 (`REPEATS`,): the lower ends of the 95 % intervals of simulated packets without an effect.

    Args:
        values: float64 (D,), the difference of two agents on each deal of their packets. Their mean is set to
            0, and a simulated packet draws D of them. A true difference only moves the ends.
    """
    size = len(values)
    drawn = (values - values.mean())[np.random.default_rng(SEED).integers(size, size=(REPEATS, size))]
    ends: FloatArray = drawn.mean(axis=1) - t_quantile(size - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(size)
    return ends


def smallest_effect(values: FloatArray) -> float:
    """The smallest difference that leaves out 0 in 80 % of simulated packets, rounded up to 0.001."""
    needed = np.sort(-lower_ends(values)).tolist()
    return math.ceil(1000 * float(needed[math.ceil(POWER * REPEATS) - 1])) / 1000


def power(first: Packet, second: Packet) -> str:
    """Both, in words."""
    values = differences(first, second)
    value = estimate(values, 1)
    names = [packet.values["declaration"]["name"] for packet in (first, second)]
    return (
        f"{names[0]} - {names[1]}: {value.mean:+.4f} ± {value.half_width:.4f} in {len(values)} deals\n"
        f"found with {POWER:.0%} power: a difference of {smallest_effect(values):.3f} "
        f"({REPEATS} simulated packets)"
    )
