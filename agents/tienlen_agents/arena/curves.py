"""Learning curves from the run folders of training."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple


class Curve(NamedTuple):
    """One measure of one training run.

    Attributes:
        run: name of the folder.
        measure: ``"points v. greedy"``.
        iterations: float, ascending.
        values: as many.
    """

    run: str
    measure: str
    iterations: tuple[float, ...]
    values: tuple[float, ...]


def read_curves(folder: str | Path) -> list[Curve]:
    """The evaluations in a run's ``metrics.jsonl``, or its reward if it was not evaluated.

    Args:
        folder: of the run. Incomplete lines are left out.

    Raises:
        ValueError: there are no metrics.
    """
    path = Path(folder) / "metrics.jsonl"
    if not path.is_file():
        raise ValueError(f"no learning curves: there is no {path}")
    found: dict[str, list[tuple[float, float]]] = {}
    for line in path.read_text().splitlines():
        try:
            metrics = json.loads(line)
            at = float(metrics["iteration"])
        except (ValueError, KeyError, TypeError):
            continue
        for key, value in metrics.items():
            is_wanted = key.startswith("points_v_") or key == "reward"
            if is_wanted and isinstance(value, int | float) and math.isfinite(value):
                found.setdefault(key, []).append((at, float(value)))
    if len(found) > 1:
        found.pop("reward", None)
    if not found:
        raise ValueError(f"no learning curves: {path} has neither points_v_... nor reward")
    return [
        Curve(
            Path(folder).name,
            key.replace("points_v_", "points v. "),
            tuple(at for at, _ in points),
            tuple(value for _, value in points),
        )
        for key, points in found.items()
    ]
