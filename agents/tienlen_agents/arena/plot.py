"""The plot of a report, drawn with matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tienlen_agents.arena.labels import heading, interval_note, ordinal, place_colours
from tienlen_agents.arena.run_results import League, RunResults
from tienlen_agents.arena.stats import Estimate, Verdict
from tienlen_env.games.common.game import AnyRules

_COLOUR: dict[Verdict, str] = {"above": "#1a7f4b", "at": "#b7791f", "below": "#c0392b"}
_MARGIN = 0.25  # inches
# Left and right ends of the drawings, as shares of the width; the second list begins with the payments.
_ENDS = ((0.0, 0.33), (0.355, 0.685), (0.71, 1.0))
_PAID_ENDS = ((0.0, 0.24), (0.26, 0.5), (0.52, 0.755), (0.78, 1.0))


class _Row(NamedTuple):
    """One agent of a match-up or a league, and its height in the plot."""

    y: float
    label: str
    points: Estimate
    first: Estimate
    places: tuple[float, ...]
    parity_points: float
    parity_first: float
    units: Estimate | None


class _Block(NamedTuple):
    """The rows of one variant."""

    heading: str
    note: str
    rows: list[_Row]
    league: League | None


def plot(report: RunResults) -> bytes:
    """Draw points and first places beside parity, with intervals, and the distribution of places.

    For a league, draw its standings, with ratings and payoffs below.

    Args:
        report: its variants are drawn from top to bottom.

    Returns:
        A PNG file.
    """
    blocks = [_block(report, rules) for rules in report.variants]
    labels = max(len(row.label) for block in blocks for row in block.rows)
    label_inches = 0.35 + 0.075 * labels
    paid = any(row.units is not None for block in blocks for row in block.rows)
    width = (13.0 if paid else 10.5) + label_inches
    # The first term is the height of heading, legend and axis labels.
    heights = [1.95 + 0.33 * block.rows[-1].y for block in blocks]
    extra = [0.0 if b.league is None else 1.9 + 0.36 * len(b.rows) for b in blocks]
    total = sum(heights) + sum(extra)
    figure = Figure(figsize=(width, total), dpi=150, facecolor="white")
    top = total
    for block, height, more in zip(blocks, heights, extra, strict=True):
        _draw_block(figure, block, (label_inches, top - height, width, height))
        if block.league is not None:
            _draw_league(figure, block.league, (label_inches, top - height - more, width, more))
        top -= height + more
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _block(report: RunResults, rules: AnyRules) -> _Block:
    results = report.of(rules)
    rows: list[_Row] = []
    y = 0.0
    found = [league for league in report.leagues if league.rules == rules]
    if found:
        parity = results[0].parity_points, results[0].parity_first
        for index in found[0].ranking:
            s = found[0].standings[index]
            rates = tuple(value.mean for value in s.places)
            rows.append(_Row(y, s.name, s.points, s.first, rates, *parity, s.units))
            y += 1
    else:
        for result in results:
            for label, score in zip(result.labels, result.scores, strict=True):
                parity = result.parity_points, result.parity_first
                rows.append(_Row(y, label, score.points, score.first, score.places, *parity, score.units))
                y += 1
            y += 0.6  # a gap between match-ups
    title = heading(rules, results)
    if found:
        title = title.replace("Duplicate matches", f"League of {len(rows)}")
    return _Block(title, f"± {interval_note(results)}", rows, found[0] if found else None)


def _axes(figure: Figure, box: tuple[float, float, float, float], place: tuple[float, float]) -> Axes:
    """Axes in a box of a figure, both in inches; `place`: left and right ends, shares of the free width."""
    label_inches, bottom, width, height = box
    total = figure.get_figheight()
    free = width - label_inches - _MARGIN
    left, right = (label_inches + share * free for share in place)
    low, high = bottom + 0.65, bottom + height - 0.6
    return figure.add_axes((left / width, low / total, (right - left) / width, (high - low) / total))


def _draw_block(figure: Figure, block: _Block, box: tuple[float, float, float, float]) -> None:
    rows, total = block.rows, figure.get_figheight()
    width, line = box[2], (box[1] + box[3] - 0.3) / total
    figure.text(_MARGIN / width, line, block.heading, fontsize=12, fontweight="bold", va="center")
    right = 1 - _MARGIN / width
    figure.text(right, line, block.note, fontsize=8.5, color="#777777", va="center", ha="right")
    paid = [(row.y, row.units, 0.0) for row in rows if row.units is not None]
    ends = _PAID_ENDS if paid else _ENDS
    *money, points, firsts, places = (_axes(figure, box, place) for place in ends)
    for axes in money:
        _error_bars(axes, paid, 1.0, 2)
        axes.set_xlabel("mean units per round (payments)")
    _error_bars(points, [(r.y, r.points, r.parity_points) for r in rows], 1.0, 2)
    _error_bars(firsts, [(r.y, r.first, r.parity_first) for r in rows], 100.0, 1)
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
    num_places = len(rows[0].places)
    colours = place_colours(num_places)
    for row in rows:
        left = 0.0
        for share, colour in zip(row.places, colours, strict=True):
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
