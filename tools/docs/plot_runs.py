"""Draws the learning curves of run folders.

    python tools/docs/plot_runs.py runs/curves/* --over cpu --out docs/pictures/curves

One panel for each opponent that the runs were compared with (``points_v_<opponent>`` in metrics.jsonl), over
the decisions trained on, the processor time or the time by the clock. Runs whose folders are called alike but
for a number at the end, ``ppo-1``, ``ppo-2``, are seeds of one line: their mean, and a band from the least to
the most. Four SVG files are written: for light and for dark pages, and for phones the same with the panels
below one another.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from tienlen_agents.files import write_atomic

INK = {"light": "#24292f", "dark": "#d7dce1"}
COLOURS = ("#2a9d5c", "#e0a13a", "#3f8fd2", "#d1584c", "#9467bd", "#7f8c8d")
PREFIX = "points_v_"
Over = Literal["decisions", "cpu", "wall"]
LABELS: dict[Over, str] = {
    "decisions": "million decisions",
    "cpu": "minutes on one core (processor time; comparisons do not count)",
    "wall": "seconds by the clock (comparisons do not count)",
}
Curves = dict[str, tuple[list[float], list[float]]]  # opponent to x and mean points


def read_run(folder: Path, over: Over = "decisions") -> Curves:
    """The curves of a run.

    Args:
        folder: with config.json and metrics.jsonl (`tienlen_train.runs.RunFolder`).
        over: what x is.

    Returns:
        Opponent to x (million decisions, minutes or seconds) and mean points, of every comparison in the run.

    Raises:
        ValueError: the run has no comparison with a baseline.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["config"]
    curves: Curves = {}
    for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        metrics: dict[str, Any] = json.loads(line)
        decisions = metrics.get("decisions")
        if decisions is None:
            decisions = metrics["iteration"] * config["num_games"] * config["num_steps"]
        for key, value in metrics.items():
            if key.startswith(PREFIX):
                x, y = curves.setdefault(key.removeprefix(PREFIX), ([], []))
                if over == "decisions":
                    x.append(decisions / 1e6)
                else:
                    x.append(metrics["seconds"] if over == "wall" else metrics["cpu_seconds"] / 60)
                y.append(value)
    if not curves:
        raise ValueError(f"{folder}: metrics.jsonl has no {PREFIX}...; train with --eval-every above 0")
    return curves


def group(runs: dict[str, Curves]) -> dict[str, list[Curves]]:
    """Seeds of one line together: by the name without the number at its end, if another one has that, too."""
    stems = [re.sub(r"-\d+$", "", name) for name in runs]
    found: dict[str, list[Curves]] = {}
    for (name, curves), stem in zip(runs.items(), stems, strict=True):
        found.setdefault(stem if stems.count(stem) > 1 else name, []).append(curves)
    return found


def draw(runs: dict[str, Curves], ink: str, over: Over = "decisions", columns: int = 3) -> bytes:
    """An SVG with a panel for every opponent; the ground is transparent.

    Args:
        runs: name to what `read_run` gives.
        ink: colour of text and axes.
        over: what x is.
        columns: of panels, at most.
    """
    lines = group(runs)
    opponents = sorted({name for curves in runs.values() for name in curves})
    columns = min(len(opponents), columns)
    style = {
        "text.color": ink,
        "axes.labelcolor": ink,
        "axes.edgecolor": ink,
        "xtick.color": ink,
        "ytick.color": ink,
    }
    # A fixed salt: the same curves give the same file.
    with rc_context({**style, "svg.hashsalt": "tienlen", "svg.fonttype": "none", "font.size": 11}):
        rows = math.ceil(len(opponents) / columns)
        figure = Figure(figsize=(1.6 + 3 * columns, 3.2 * rows + 0.3), layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, opponent in zip(grid.flat, opponents, strict=False):
            for index, (name, seeds) in enumerate(lines.items()):
                colour = COLOURS[index % len(COLOURS)]
                found = [curves[opponent] for curves in seeds if opponent in curves]
                if not found:
                    continue
                # Seeds compare at nearly the same moments; where one ends the line does.
                num = min(len(y) for _, y in found)
                x = np.mean([x[:num] for x, _ in found], axis=0)
                points = np.array([y[:num] for _, y in found])
                axes.plot(x, points.mean(axis=0), color=colour, label=name, lw=2)
                if len(found) > 1:
                    axes.fill_between(
                        x, points.min(axis=0), points.max(axis=0), color=colour, alpha=0.2, lw=0
                    )
            axes.axhline(1.5, color=ink, lw=1, ls=":")
            axes.set_title(f"alone against three {opponent}", fontsize=11)
            axes.grid(alpha=0.2)
            axes.patch.set_alpha(0)
        for axes in list(grid.flat)[len(opponents) :]:
            axes.set_axis_off()
        label = LABELS[over] if columns > 1 else LABELS[over].replace(" (", "\n(")
        figure.supxlabel(label, fontsize=11)
        figure.supylabel("points a round", fontsize=11)
        if len(lines) > 1:
            figure.legend(
                *grid.flat[0].get_legend_handles_labels(),
                loc="outside upper center",
                ncols=5 if columns > 1 else 2,
                frameon=False,
            )
        out = io.BytesIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return out.getvalue()


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(".")[0])
    parser.add_argument("runs", nargs="+", type=Path, help="run folders; the folder's name is the line's")
    parser.add_argument("--over", choices=LABELS, default="decisions", help="what x is")
    parser.add_argument(
        "--out",
        default="curves",
        help="path without ending: <out>-light.svg, <out>-dark.svg, -phone",
    )
    options = parser.parse_args(arguments)
    runs = {folder.name: read_run(folder, options.over) for folder in options.runs}
    for theme, ink in INK.items():
        for end, columns in (("", 3), ("-phone", 1)):
            write_atomic(Path(f"{options.out}-{theme}{end}.svg"), draw(runs, ink, options.over, columns))


if __name__ == "__main__":
    main()
