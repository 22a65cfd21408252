"""The plot of a report, drawn with matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tienlen_agents.arena.page import place_colours
from tienlen_agents.arena.result import Figures, League, MatchResult, RunResults, ordinal
from tienlen_agents.arena.stats import Estimate, Verdict

_COLOUR: dict[Verdict, str] = {"above": "#1a7f4b", "at": "#b7791f", "below": "#c0392b"}
_MARGIN = 0.25  # inches
# Left and right ends of the drawings, as shares of the width; the second list begins with the payments.
_ENDS = ((0.0, 0.33), (0.355, 0.685), (0.71, 1.0))
_PAID_ENDS = ((0.0, 0.24), (0.26, 0.5), (0.52, 0.755), (0.78, 1.0))


class _Row(NamedTuple):
    """One agent of a match-up or a league, its height in the plot, and a match-up with its parity."""

    y: float
    label: str
    figures: Figures
    result: MatchResult


def plot(report: RunResults) -> bytes:
    """Draw points and first places beside parity, with intervals, and the distribution of places.

    For a league, draw its standings, with ratings and payoffs below.

    Args:
        report: its variants are drawn from top to bottom.

    Returns:
        A PNG file.
    """
    leagues = [report.league_of(rules) for rules in report.variants]
    blocks = [_rows(report.of(rules), league) for rules, league in zip(report.variants, leagues, strict=True)]
    label_inches = 0.35 + 0.075 * max(len(row.label) for rows in blocks for row in rows)
    paid = any(row.figures.units is not None for rows in blocks for row in rows)
    width = (13.0 if paid else 10.5) + label_inches
    # The first term is the height of heading, legend and axis labels.
    heights = [1.95 + 0.33 * rows[-1].y for rows in blocks]
    extra = [
        0.0 if league is None else 1.9 + 0.36 * len(rows)
        for league, rows in zip(leagues, blocks, strict=True)
    ]
    top = sum(heights) + sum(extra)
    figure = Figure(figsize=(width, top), dpi=150, facecolor="white")
    for rules, league, rows, height, more in zip(
        report.variants, leagues, blocks, heights, extra, strict=True
    ):
        line, right = (top - 0.3) / figure.get_figheight(), 1 - _MARGIN / width
        bold, note = {"fontsize": 12, "fontweight": "bold"}, f"± {report.interval_note}"
        figure.text(_MARGIN / width, line, report.heading(rules), bold, va="center")
        figure.text(right, line, note, {"fontsize": 8.5, "color": "#777777"}, va="center", ha="right")
        _draw_rows(figure, rows, (label_inches, top - height, width, height))
        if league is not None:
            _draw_league(figure, league, (label_inches, top - height - more, width, more))
        top -= height + more
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _rows(results: Sequence[MatchResult], league: League | None) -> list[_Row]:
    if league is not None:
        standings = [league.standings[index] for index in league.ranking]
        return [_Row(float(y), standing.name, standing, results[0]) for y, standing in enumerate(standings)]
    rows: list[_Row] = []
    for number, result in enumerate(results):
        for label, score in zip(result.labels, result.scores, strict=True):
            rows.append(_Row(len(rows) + 0.6 * number, label, score, result))  # a gap between match-ups
    return rows


def _axes(figure: Figure, box: tuple[float, float, float, float], place: tuple[float, float]) -> Axes:
    """Axes in a box of a figure, both in inches; `place`: left and right ends, shares of the free width."""
    label_inches, bottom, width, height = box
    total = figure.get_figheight()
    free = width - label_inches - _MARGIN
    left, right = (label_inches + share * free for share in place)
    low, high = bottom + 0.65, bottom + height - 0.6
    return figure.add_axes((left / width, low / total, (right - left) / width, (high - low) / total))


def _draw_rows(figure: Figure, rows: list[_Row], box: tuple[float, float, float, float]) -> None:
    paid = [(row.y, row.figures.units, 0.0) for row in rows if row.figures.units is not None]
    ends = _PAID_ENDS if paid else _ENDS
    *money, points, firsts, places = (_axes(figure, box, place) for place in ends)
    for axes in money:
        _error_bars(axes, paid, 1.0, 2)
        axes.set_xlabel("mean units per round (payments)")
    _error_bars(points, [(r.y, r.figures.points, r.result.parity_points) for r in rows], 1.0, 2)
    _error_bars(firsts, [(r.y, r.figures.first, r.result.parity_first) for r in rows], 100.0, 1)
    _place_bars(places, rows)
    points.set_xlabel("mean points per round")
    firsts.set_xlabel("first places, %")
    places.set_xlabel("places, % of rounds")
    everything = (*money, points, firsts, places)
    for axes in everything:
        axes.set_ylim(rows[-1].y + 0.6, -1.2)  # the first agent on top; above it the legends
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_yticks([])
    everything[0].set_yticks([r.y for r in rows], [r.label for r in rows])
    everything[0].tick_params(axis="y", length=0)


def _draw_league(figure: Figure, league: League, box: tuple[float, float, float, float]) -> None:
    """Draw ratings with intervals, and the payoff matrix as a heat map."""
    order = league.ranking
    names = [league.standings[index].name for index in order]
    ratings, heat = _axes(figure, box, (0.0, 0.33)), _axes(figure, box, (0.52, 1.0))
    strengths = [(float(y), league.standings[i].rating, 25.0) for y, i in enumerate(order)]
    _error_bars(ratings, strengths, 1.0, 1, "mean")
    ratings.set_xlabel("Plackett–Luce rating, mean 25")
    ratings.set_ylim(len(order) - 0.4, -1.2)
    ratings.set_yticks(range(len(order)), names)
    ratings.tick_params(axis="y", length=0)
    ratings.spines[["top", "right", "left"]].set_visible(False)

    payoffs = [[league.payoffs[i][j] for j in order] for i in order]
    values = np.array([[np.nan if value is None else value.mean for value in row] for row in payoffs])
    most = float(np.nanmax(np.abs(values))) or 1.0
    heat.imshow(values, cmap="RdYlGn", vmin=-1.4 * most, vmax=1.4 * most, aspect="auto")
    for y, row in enumerate(values.tolist()):
        for x, value in enumerate(row):
            text = "–" if value != value else f"{value:+.2f}"
            heat.text(x, y, text, fontsize=8.5, ha="center", va="center", color="#222222")
    heat.set_xticks(range(len(order)), names, fontsize=8.5)
    heat.set_yticks(range(len(order)), names)
    heat.tick_params(length=0)
    heat.spines[:].set_visible(False)
    what = "points" if league.standings[0].units is None else "units"
    heat.set_title(f"{what} per seat above the column's agent, in match-ups of only these two", fontsize=8.5)


def _error_bars(
    axes: Axes, rows: Sequence[tuple[float, Estimate, float]], scale: float, digits: int, what: str = "parity"
) -> None:
    """Draw one dot with its interval per row, beside the parity line, coloured by the verdict."""
    parity = rows[0][2]
    axes.axvline(scale * parity, color="#444444", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.text(
        scale * parity,
        1.0,
        f"  {what} {scale * parity:g}",
        transform=axes.get_xaxis_transform(),
        fontsize=8.5,
        color="#444444",
        va="top",
    )
    for y, value, _ in rows:
        colour = _COLOUR[value.verdict(parity)]
        axes.errorbar(
            scale * value.mean,
            y,
            xerr=scale * value.half_width,
            fmt="o",
            markersize=4,
            color=colour,
            capsize=4,
            linewidth=1.6,
            zorder=3,
        )
        axes.annotate(
            f"{scale * value.mean:.{digits}f} ± {scale * value.half_width:.{digits}f}",
            (scale * value.high, y),
            xytext=(7, 0),
            textcoords="offset points",
            fontsize=8.5,
            color=colour,
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},  # over the parity line
        )
    low = min(parity, *(value.low for _, value, _ in rows))
    high = max(parity, *(value.high for _, value, _ in rows))
    room = max(high - low, 0.1 * parity) or 1.0
    axes.set_xlim(scale * (low - 0.1 * room), scale * (high + 0.32 * room))
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)


def _place_bars(axes: Axes, rows: Sequence[_Row]) -> None:
    """Draw the distribution of places as one stacked bar per row."""
    num_places = len(rows[0].figures.places)
    colours = place_colours(num_places)
    for row in rows:
        left = 0.0
        for share, colour in zip((place.mean for place in row.figures.places), colours, strict=True):
            axes.barh(row.y, 100 * share, left=left, height=0.64, color=colour, edgecolor="white")
            if share >= 0.08:
                middle = left + 50 * share
                axes.text(middle, row.y, f"{100 * share:.0f}", fontsize=8, ha="center", va="center")
            left += 100 * share
    axes.legend(
        handles=[Patch(color=colour, label=ordinal(place)) for place, colour in enumerate(colours)],
        ncols=num_places,
        loc="upper center",
        bbox_to_anchor=(0.5, 1.03),
        frameon=False,
        fontsize=8.5,
        handlelength=0.9,
        handletextpad=0.4,
        columnspacing=1.4,
    )
    axes.set_xlim(0, 100)
