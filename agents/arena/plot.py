"""The picture of an arena run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from agents.arena.match import PLACE_NAMES, Score, TableResult
from agents.arena.stats import Estimate, Verdict

_COLOUR: dict[Verdict, str] = {"above": "#1a7f4b", "at": "#b7791f", "below": "#c0392b"}
_PLACE_COLOURS = ("#4fa97c", "#a5d3b7", "#ecd2a8", "#d98b7c")  # first .. last
_MORE_COLOURS = (
    "#4fa97c",
    "#7fc09a",
    "#a5d3b7",
    "#d9dcb4",
    "#ecd2a8",
    "#e3af92",
    "#d98b7c",
)  # of more than four


class _Row(NamedTuple):
    """One agent of one table at a height of the plot."""

    y: float
    label: str
    result: TableResult
    score: Score


def plot(results: Sequence[TableResult], heading: str) -> bytes:
    """Draw points and first places against parity, with intervals, and how the places fell.

    Args:
        results: tables under the same rules, drawn from the top down.
        heading: one line above.

    Returns:
        A PNG file.
    """
    rows: list[_Row] = []
    y = 0.0
    for result in results:
        for label, score in zip(result.labels, result.scores, strict=True):
            rows.append(_Row(y, label, result, score))
            y += 1
        y += 0.6  # a gap between tables
    bottom = rows[-1].y

    height = 1.95 + 0.33 * bottom  # inches; the first term holds heading, legend and axis labels
    label_inches = 0.35 + 0.075 * max(len(row.label) for row in rows)
    width = 10.5 + label_inches
    figure = Figure(figsize=(width, height), dpi=150, facecolor="white")
    points, firsts, places = figure.subplots(1, 3, sharey=True, width_ratios=(1.0, 1.0, 0.9))
    figure.subplots_adjust(
        left=label_inches / width,
        right=1 - 0.25 / width,
        wspace=0.07,
        top=1 - 0.6 / height,
        bottom=0.65 / height,
    )
    line = 1 - 0.3 / height
    figure.text(0.25 / width, line, heading, fontsize=12, fontweight="bold", va="center")
    note = "± 95 % intervals, clustered by deal"
    figure.text(1 - 0.25 / width, line, note, fontsize=8.5, color="#777777", va="center", ha="right")
    _error_bars(points, [(r.y, r.score.points, r.result.parity_points) for r in rows], 1.0, 2)
    _error_bars(firsts, [(r.y, r.score.first, r.result.parity_first) for r in rows], 100.0, 1)
    _place_bars(places, rows)
    points.set_xlabel("mean points a round")
    firsts.set_xlabel("first places, %")
    places.set_xlabel("places, % of rounds")

    points.set_ylim(bottom + 0.6, -1.2)  # the first agent on top; above it the legends
    points.set_yticks([r.y for r in rows], [r.label for r in rows])
    for axes in (points, firsts, places):
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _error_bars(axes: Axes, rows: Sequence[tuple[float, Estimate, float]], scale: float, digits: int) -> None:
    """One dot with its interval a row, against the parity line, coloured by the verdict."""
    parity = rows[0][2]
    axes.axvline(scale * parity, color="#444444", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.text(
        scale * parity,
        1.0,
        f"  parity {scale * parity:.4g}",
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
    room = max(high - low, 0.1 * parity)
    axes.set_xlim(scale * (low - 0.1 * room), scale * (high + 0.32 * room))
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)


def _place_bars(axes: Axes, rows: Sequence[_Row]) -> None:
    """The distribution of places as one stacked bar a row."""
    num_players = len(rows[0].score.places)
    palette = _PLACE_COLOURS if num_players <= len(_PLACE_COLOURS) else _MORE_COLOURS
    colours = palette[: num_players - 1] + palette[-1:]
    for row in rows:
        left = 0.0
        for share, colour in zip(row.score.places, colours, strict=True):
            axes.barh(row.y, 100 * share, left=left, height=0.64, color=colour, edgecolor="white")
            if share >= 0.08:
                middle = left + 50 * share
                axes.text(middle, row.y, f"{100 * share:.0f}", fontsize=8, ha="center", va="center")
            left += 100 * share
    axes.legend(
        handles=[Patch(color=colour, label=PLACE_NAMES[place]) for place, colour in enumerate(colours)],
        ncols=num_players,
        loc="upper center",
        bbox_to_anchor=(0.5, 1.03),
        frameon=False,
        fontsize=8.5 if num_players <= 4 else 7.5,
        handlelength=0.9,
        handletextpad=0.4 if num_players <= 4 else 0.2,
        columnspacing=1.4 if num_players <= 4 else 0.6,
    )
    axes.set_xlim(0, 100)
