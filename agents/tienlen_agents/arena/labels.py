"""Texts and colours that the outputs of a run share: terminal, plot and page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tienlen_agents.arena.result import MatchResult, Score
from tienlen_env.games.common.game import AnyRules


def heading(rules: AnyRules, results: Sequence[MatchResult]) -> str:
    """The heading of the results of a variant, one line."""
    games = sum(result.num_games for result in results)
    deals = sorted({result.num_deals for result in results})
    num_deals = f"{deals[0]:,}" if len(deals) == 1 else f"{deals[0]:,} to {deals[-1]:,}"
    return (
        f"Duplicate matches · {rules.name}, {rules.num_players} players · "
        f"{num_deals} deals, {games:,} games · seed {results[0].seed}"
    )


UNITS_NOTE: Final = " · units: payments a round"


def interval_note(results: Sequence[MatchResult]) -> str:
    """The meaning of ± in the results."""
    if results[0].planned_deals is None:
        return "95 % intervals, clustered by deal"
    return "95 % intervals that are valid at every look, clustered by deal"


def ordinal(place: int) -> str:
    """``"1st"`` for 0, ``"2nd"`` for 1, ...; for at most 20 places."""
    return f"{place + 1}{('st', 'nd', 'rd', 'th')[min(place, 3)]}"


def decisions_per_second(score: Score) -> float:
    """Decisions per second in the match, with many games at once; 0 if no time was measured."""
    return score.decisions / score.seconds if score.seconds else 0.0


def place_colours(num_places: int) -> list[str]:
    """A colour for each place, from green for the first to red for the last; for the plot and the page."""
    best, worst = "#4fa97c", "#d98b7c"
    middle = ["#a5d3b7", "#c9dfc0", "#ecd2a8", "#e8c09c", "#e0a68a"]
    picked = np.linspace(0, len(middle) - 1, max(num_places - 2, 0)).round().astype(int)
    if num_places == 3:
        picked = np.array([2])
    if num_places == 4:
        picked = np.array([0, 2])
    return [best, *(middle[i] for i in picked), worst]
