"""Tables of results: a policy in several variants, and the payoffs of a population."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table as RichTable

from tienlen_agents.arena import Estimate, MatchResult
from tienlen_agents.networks.network import Network
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


class VariantLine(NamedTuple):
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
    def of(cls, variant: Variant, result: MatchResult) -> VariantLine:
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


def draw_variants(lines: list[VariantLine]) -> RichTable:
    """The lines for the terminal."""
    opponent = lines[0].opponent if lines else ""
    table = RichTable(title=f"alone against {opponent} in all other seats", title_justify="left", box=None)
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


def variants_csv(lines: list[VariantLine]) -> str:
    """The lines as CSV, with a head."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(line.cells() for line in lines)
    return out.getvalue()


@dataclass(frozen=True, eq=False)
class Member:
    """A policy of the population, which does not change.

    Attributes:
        name: of the learner that it was.
        generation: after which it was taken, from 1.
        network: the policy.
    """

    name: str
    generation: int
    network: Network

    @property
    def label(self) -> str:
        """Its name in the table and among the files."""
        return f"{self.name}-{self.generation}"


@dataclass
class Table:
    """The members and their payoffs.

    Attributes:
        members: in order of arrival.
        payoffs: by indices of two members: points above parity of the first, alone against the second in all
            other seats.
    """

    members: list[Member] = field(default_factory=list)
    payoffs: dict[tuple[int, int], Estimate] = field(default_factory=dict)

    def add(self, member: Member) -> None:
        """Add a member, whose payoffs are missing."""
        self.members.append(member)

    def missing(self) -> list[tuple[int, int]]:
        """The entries that have not been played."""
        everyone = range(len(self.members))
        return [(i, j) for i in everyone for j in everyone if i != j and (i, j) not in self.payoffs]

    def matrix(self) -> list[list[Estimate | None]]:
        """The payoffs by row and column, None where there is none."""
        everyone = range(len(self.members))
        return [[self.payoffs.get((row, column)) for column in everyone] for row in everyone]

    def exploiters_of(self, column: int) -> list[tuple[int, Estimate]]:
        """The members that are proven above parity against a member, the strongest first."""
        found = [(row, value) for (row, at), value in self.payoffs.items() if at == column]
        proven = [(row, value) for row, value in found if value.verdict(0.0) == "above"]
        return sorted(proven, key=lambda pair: (-pair[1].mean, pair[0]))

    def exploitability(self, column: int) -> float:
        """The highest payoff of another member against a member, in points above parity."""
        return max(
            (value.mean for (_, at), value in self.payoffs.items() if at == column), default=float("nan")
        )

    def best(self) -> Member:
        """The member with the lowest exploitability by the others; the first of several."""
        values = [self.exploitability(index) for index in range(len(self.members))]
        return self.members[values.index(min(values))]


def show(table: Table, console: Console) -> None:
    """Print the table, and for each member who exploits it."""
    rich = RichTable(title="points above parity: the row alone against the column in all other seats")
    rich.add_column("")
    for member in table.members:
        rich.add_column(member.label, justify="right")
    for member, row in zip(table.members, table.matrix(), strict=True):
        cells = ["" if value is None else f"{value.mean:+.2f} ± {value.half_width:.2f}" for value in row]
        rich.add_row(member.label, *cells)
    console.print(rich)
    for index, member in enumerate(table.members):
        found = [
            f"{table.members[row].label} ({value.mean:+.2f} ± {value.half_width:.2f})"
            for row, value in table.exploiters_of(index)
        ]
        console.print(f"{member.label} is exploited by {', '.join(found) or 'none'}", highlight=False)


def table_json(table: Table, cycles: Sequence[Sequence[int]]) -> bytes:
    """The table as a JSON file.

    Args:
        table: the table.
        cycles: indices of members, each above the next.
    """
    labels = [member.label for member in table.members]
    value = {
        "members": [{"name": member.name, "generation": member.generation} for member in table.members],
        "payoffs": [
            [None if entry is None else {"mean": entry.mean, "half_width": entry.half_width} for entry in row]
            for row in table.matrix()
        ],
        "exploited_by": {
            label: [labels[row] for row, _ in table.exploiters_of(index)]
            for index, label in enumerate(labels)
        },
        "cycles": [[labels[index] for index in cycle] for cycle in cycles],
    }
    return (json.dumps(value, indent=1) + "\n").encode()
