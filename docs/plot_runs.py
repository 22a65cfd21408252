"""Draws the learning curves of run folders.

    python docs/plot_runs.py runs/a runs/b --out docs/pictures/curves

One panel for each opponent that the runs were compared with (``points_v_<opponent>`` in metrics.jsonl), one
line a run, over the decisions trained on. Two SVG files are written, for light and for dark pages.
"""

from __future__ import annotations

import argparse
import io
import json
import math
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from agents.files import write_atomic

INK = {"light": "#24292f", "dark": "#d7dce1"}
COLOURS = ("#2a9d5c", "#e0a13a", "#3f8fd2", "#d1584c", "#9467bd", "#7f8c8d")
PREFIX = "points_v_"


def read_run(folder: Path) -> dict[str, tuple[list[float], list[float]]]:
    """The curves of a run.

    Args:
        folder: with config.json and metrics.jsonl (`train.runs.RunFolder`).

    Returns:
        Opponent to decisions and mean points, of every comparison during the run.

    Raises:
        ValueError: the run was never compared with anybody.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["config"]
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        metrics: dict[str, Any] = json.loads(line)
        decisions = metrics.get("decisions")
        if decisions is None:
            decisions = metrics["iteration"] * config["num_games"] * config["num_steps"]
        for key, value in metrics.items():
            if key.startswith(PREFIX):
                x, y = curves.setdefault(key.removeprefix(PREFIX), ([], []))
                x.append(decisions)
                y.append(value)
    if not curves:
        raise ValueError(f"{folder}: metrics.jsonl has no {PREFIX}...; train with --eval-every above 0")
    return curves


def draw(runs: dict[str, dict[str, tuple[list[float], list[float]]]], ink: str) -> bytes:
    """An SVG with a panel for every opponent; the ground is transparent.

    Args:
        runs: name to what `read_run` gives.
        ink: colour of text and axes.
    """
    opponents = sorted({name for curves in runs.values() for name in curves})
    columns = min(len(opponents), 2)
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
        figure = Figure(figsize=(4.6 * columns, 3.1 * rows + 0.3), layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, opponent in zip(grid.flat, opponents, strict=False):
            for index, (name, curves) in enumerate(runs.items()):
                if opponent in curves:
                    x, y = curves[opponent]
                    axes.plot([n / 1e6 for n in x], y, color=COLOURS[index % len(COLOURS)], label=name, lw=2)
            axes.axhline(1.5, color=ink, lw=1, ls=":")
            axes.set_title(f"alone against three {opponent}", fontsize=11)
            axes.grid(alpha=0.2)
            axes.patch.set_alpha(0)
        for axes in list(grid.flat)[len(opponents) :]:
            axes.set_axis_off()
        figure.supxlabel("million decisions", fontsize=11)
        figure.supylabel("points a round", fontsize=11)
        if len(runs) > 1:
            figure.legend(
                *grid.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False
            )
        out = io.BytesIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return out.getvalue()


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(".")[0])
    parser.add_argument("runs", nargs="+", type=Path, help="run folders; the folder's name is the line's")
    parser.add_argument(
        "--out", default="curves", help="path without ending: <out>-light.svg, <out>-dark.svg"
    )
    options = parser.parse_args(arguments)
    runs = {folder.name: read_run(folder) for folder in options.runs}
    for theme, ink in INK.items():
        write_atomic(Path(f"{options.out}-{theme}.svg"), draw(runs, ink))


if __name__ == "__main__":
    main()
