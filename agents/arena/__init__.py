"""The arena: duplicate matches between agents, with intervals that another person would reproduce.

Every deal is played in all distinct seatings of the table, so luck of the cards and of the seat falls on all
agents alike. `match` compares two agents, `table` several at one table, `compare` one agent with a panel::

    from agents import arena, load

    report = arena.compare(load("greedy"), [load("random"), load("greedy_long")], num_deals=1000, seed=1)
    report.print()
    report.write("runs/greedy")

From a terminal: ``python -m agents.arena greedy random greedy_long --deals 1000 --seed 1``.
"""

from agents.arena.lineup import seatings
from agents.arena.match import Forfeits, Played, Progress, Score, TableResult, match, play_deals, table
from agents.arena.report import LiveProgress, Report, compare
from agents.arena.stats import Estimate, bootstrap_interval, estimate, variance_ratio

__all__ = [
    "Estimate",
    "Forfeits",
    "LiveProgress",
    "Played",
    "Progress",
    "Report",
    "Score",
    "TableResult",
    "bootstrap_interval",
    "compare",
    "estimate",
    "match",
    "play_deals",
    "seatings",
    "table",
    "variance_ratio",
]
