"""The arena: duplicate matches between agents, with intervals that another person would reproduce.

Every deal is played in seatings that put every agent as often in every seat, so luck of the cards and of the
seat falls on all agents alike. `match` compares two agents, `table` several at one table, `compare` one agent
with others, `gauntlet` one with the standard panel, `league` all with all::

    from tienlen_agents import arena

    report = arena.gauntlet("greedy", num_deals=1000, seed=1, workers=2)
    report.print()
    report.write("runs/greedy")

From a terminal: ``python -m tienlen_agents.arena gauntlet greedy --deals 1000 --seed 1 --workers 2``.

Agents are given by name (``"search:worlds=64"``) or as objects; worker processes and runs that can be
resumed need names. With ``workers`` above 1 a script of your own keeps its calls under
``if __name__ == "__main__":``, and agents that it registers, it registers above that: the workers import it.
"""

from tienlen_agents.arena.curves import Curve, read_curves
from tienlen_agents.arena.latency import Latency, latency
from tienlen_agents.arena.league import League, Standing, league
from tienlen_agents.arena.lineup import blocks, seatings
from tienlen_agents.arena.match import PANEL, compare, gauntlet, match, table
from tienlen_agents.arena.pilot import Pilot, pilot
from tienlen_agents.arena.play import Forfeits, Played, play_deals
from tienlen_agents.arena.report import Report
from tienlen_agents.arena.result import Score, TableResult
from tienlen_agents.arena.run import Options, Progress
from tienlen_agents.arena.stats import Estimate, bootstrap_interval, estimate, variance_ratio
from tienlen_agents.arena.store import ArenaRunError
from tienlen_agents.arena.terminal import LiveProgress

__all__ = [
    "PANEL",
    "ArenaRunError",
    "Curve",
    "Estimate",
    "Forfeits",
    "Latency",
    "League",
    "LiveProgress",
    "Options",
    "Pilot",
    "Played",
    "Progress",
    "Report",
    "Score",
    "Standing",
    "TableResult",
    "blocks",
    "bootstrap_interval",
    "compare",
    "estimate",
    "gauntlet",
    "latency",
    "league",
    "match",
    "pilot",
    "play_deals",
    "read_curves",
    "seatings",
    "table",
    "variance_ratio",
]
