"""Draws the learning curves that `tienlen bench nash-conv` has measured.

    python tools/docs/plot_nash_conv.py runs/nash_conv --out docs/pictures/nash-conv

A column for each game: NashConv over the decisions trained on, and below over the processor time, where the
solvers stand, too. A line is the geometric mean of the seeds, its band the 95 % interval of that mean. Four
SVG files are written: for light and for dark pages, and for phones the same with the panels below one
another.
"""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tienlen_agents.files import write_atomic
from tienlen_exact.nash_conv import LEARNERS, SOLVERS, geometric_mean

INK = {"light": "#24292f", "dark": "#d7dce1"}
COLOURS = ("#2a9d5c", "#e0a13a", "#3f8fd2", "#d1584c", "#9467bd", "#7f8c8d", "#c27ba0")
FLOOR = 1e-5  # below it a curve is drawn there: equilibria for all purposes
Runs = dict[str, dict[str, list[np.ndarray]]]  # game to algorithm to an array (points, 3) for each seed


def read(folder: Path) -> Runs:
    """All runs in a folder.

    Raises:
        ValueError: there is none.
    """
    found: Runs = {}
    for path in sorted(folder.glob("*/*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(run["rules"], {}).setdefault(run["algorithm"], []).append(np.array(run["points"]))
    if not found:
        raise ValueError(f"{folder}: no results of tienlen bench nash-conv")
    return found


def draw_line(axes: Axes, runs: list[np.ndarray], column: int, colour: str, label: str) -> None:
    """The geometric mean of the seeds and its interval, point by point."""
    num = min(map(len, runs))
    x = np.mean([run[:num, column] for run in runs], axis=0)
    values = np.maximum([run[:num, 2] for run in runs], FLOOR)
    if len(runs) == 1:
        axes.plot(x, values[0], color=colour, label=label, lw=2)
        return
    mean, low, high = np.array([geometric_mean(values[:, k]) for k in range(num)]).T
    axes.plot(x, mean, color=colour, label=label, lw=2)
    axes.fill_between(x, np.maximum(low, FLOOR), high, color=colour, alpha=0.2, lw=0)


def draw(runs: Runs, ink: str, *, phone: bool) -> bytes:
    """An SVG with a transparent ground."""
    colour_of = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    # A fixed salt: the same curves give the same file.
    style = {
        **dict.fromkeys(colour_of, ink),
        "svg.hashsalt": "tienlen",
        "svg.fonttype": "none",
        "font.size": 11,
    }
    games = [name for name in ("mini", "small", "medium", "large") if name in runs]
    games += sorted(runs.keys() - set(games))
    with rc_context(style):
        rows, columns = (2 * len(games), 1) if phone else (2, len(games))
        figure = Figure(figsize=(1.6 + 3.2 * columns, 2.9 * rows + 0.6), layout="constrained")
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for g, game in enumerate(games):
            for over in range(2):
                axes = grid[2 * g + over, 0] if phone else grid[over, g]
                names = [name for name in (*LEARNERS, *(SOLVERS if over else ())) if name in runs[game]]
                for name in names:
                    colour = COLOURS[[*LEARNERS, *SOLVERS].index(name)]
                    draw_line(axes, runs[game][name], over, colour, name)
                axes.set(xscale="log", yscale="log", ylim=(FLOOR, 2))
                axes.set_xlabel("seconds of one core" if over else "decisions")
                axes.set_title(game, fontsize=11)
                axes.grid(alpha=0.2)
                axes.patch.set_alpha(0)
        figure.supylabel("NashConv", fontsize=11)
        lines = grid[1, 0].get_legend_handles_labels()
        figure.legend(*lines, loc="outside upper center", ncols=2 if phone else 7, frameon=False)
        out = io.BytesIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return out.getvalue()


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(".")[0])
    parser.add_argument("folder", type=Path, help="the folder of the results")
    parser.add_argument(
        "--out", default="nash-conv", help="path without ending: <out>-light.svg, <out>-dark.svg"
    )
    options = parser.parse_args(arguments)
    runs = read(options.folder)
    for theme, ink in INK.items():
        for end, phone in (("", False), ("-phone", True)):
            write_atomic(Path(f"{options.out}-{theme}{end}.svg"), draw(runs, ink, phone=phone))


if __name__ == "__main__":
    main()
