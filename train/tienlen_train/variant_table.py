"""The result of a policy in several variants, as a table in the terminal and as CSV."""

from __future__ import annotations

import csv
import io
from typing import Final, NamedTuple

from rich.table import Table

from tienlen_agents.arena import Estimate, MatchResult
from tienlen_train.variants import Variant

COLUMNS: Final = (
    "variant",
    "opponent",
    "figure",
    "mean",
    "half_width",
    "parity",
    "first",
    "first_half_width",
)


class Line(NamedTuple):
    """The policy alone in a variant, all other seats being one opponent's.

    Attributes:
        variant: see `Variant.name`.
        opponent: its name.
        figure: what is counted: points, or units of payments.
        main: the policy's, a round.
        parity: of equal players.
        first: its share of first places.
    """

    variant: str
    opponent: str
    figure: str
    main: Estimate
    parity: float
    first: Estimate

    @classmethod
    def of(cls, variant: Variant, result: MatchResult) -> Line:
        """The line of a match; payments count where they are the objective."""
        score = result.scores[0]
        about = variant.name, result.names[1]
        if variant.reward == "payments" and score.units is not None:
            return cls(*about, "units", score.units, 0.0, score.first)
        return cls(*about, "points", score.points, result.parity_points, score.first)

    def cells(self) -> tuple[object, ...]:
        """One value for each of `COLUMNS`."""
        return (
            *(self.variant, self.opponent, self.figure, self.main.mean, self.main.half_width, self.parity),
            *(self.first.mean, self.first.half_width),
        )


def drawn(lines: list[Line]) -> Table:
    """The lines for the terminal."""
    opponent = lines[0].opponent if lines else ""
    table = Table(title=f"alone against {opponent} in all other seats", title_justify="left", box=None)
    for name in ("variant", "a round", "parity", "first %"):
        table.add_column(name, justify="left" if name == "variant" else "right", no_wrap=True)
    for line in lines:
        main, first = line.main, line.first
        table.add_row(
            line.variant,
            f"{main.mean:.3f} ± {main.half_width:.3f} {line.figure}",
            f"{line.parity:.2f}",
            f"{100 * first.mean:.1f} ± {100 * first.half_width:.1f}",
        )
    return table


def as_csv(lines: list[Line]) -> str:
    """The lines as CSV, with a head."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(line.cells() for line in lines)
    return out.getvalue()
