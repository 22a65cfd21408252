"""Learning curves from the run folders of training."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Final, NamedTuple

_COMPARISONS: Final = ("points_v_", "units_v_")


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
        folder: of the run. Lines and values that are not metrics are left out.

    Raises:
        ValueError: there are no metrics.
    """
    path = Path(folder) / "metrics.jsonl"
    if not path.is_file():
        raise ValueError(f"no learning curves: there is no {path}")
    found: dict[str, list[tuple[float, float]]] = {}
    for line in path.read_bytes().splitlines():
        try:
            metrics = json.loads(line)
        except (ValueError, RecursionError):
            continue
        at = _number(metrics.get("iteration")) if isinstance(metrics, dict) else None
        if at is None:
            continue
        for key, given in metrics.items():
            value = _number(given)
            if value is not None and (key.startswith(_COMPARISONS) or key == "reward"):
                found.setdefault(key, []).append((at, value))
    if len(found) > 1:
        found.pop("reward", None)
    if not found:
        raise ValueError(f"no learning curves: {path} has neither points_v_... nor reward")
    return [
        Curve(
            Path(folder).name,
            key.replace("_v_", " v. ", 1),
            tuple(at for at, _ in points),
            tuple(value for _, value in points),
        )
        for key, points in found.items()
    ]


def _number(value: object) -> float | None:
    """A finite number, or None for any other JSON value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
