"""The arena: duplicate matches between agents, with 95 % confidence intervals.

Every deal is played in several seatings, so that every agent sits in every seat equally often, and luck of
the cards and of the seat affects all agents alike. `match` compares two agents, `match_up` seats several,
`compare` compares one agent with others, `gauntlet` with the standard panel, and `league` plays a
round-robin:

    from tienlen_agents import arena

    report = arena.gauntlet("greedy", panel=arena.FAST_PANEL, num_deals=1000, seed=1)
    report.print()
    report.write("runs/greedy")

In a terminal: ``tienlen gauntlet greedy --fast --deals 1000 --seed 1``.

Agents are given by name (``"search:worlds=64"``) or as objects; worker processes and runs that can be
resumed need names. A script that uses ``workers`` above 1 has its calls under ``if __name__ ==
"__main__":``, and calls `tienlen_agents.register` above that, because every worker imports the script.
"""

from tienlen_agents.arena.league import league
from tienlen_agents.arena.lineup import blocks, seatings
from tienlen_agents.arena.match import FAST_PANEL, PANEL, compare, gauntlet, match, match_up, pilot
from tienlen_agents.arena.play import Forfeits, Latency, Played, latency, play_deals
from tienlen_agents.arena.report import Report
from tienlen_agents.arena.result import (
    MAX_FORFEITS,
    FailedAgent,
    League,
    MatchResult,
    RunResults,
    SampleSizeEstimate,
    Score,
    Standing,
)
from tienlen_agents.arena.run import ArenaOptions, Progress
from tienlen_agents.arena.stats import Estimate, bootstrap_interval, estimate, variance_ratio
from tienlen_agents.arena.store import ArenaRunError
from tienlen_agents.arena.tasks import Task, play_task
from tienlen_agents.arena.terminal import LiveProgress
from tienlen_agents.executors import Executor, ExecutorError

__all__ = [
    "FAST_PANEL",
    "MAX_FORFEITS",
    "PANEL",
    "ArenaOptions",
    "ArenaRunError",
    "Estimate",
    "Executor",
    "ExecutorError",
    "FailedAgent",
    "Forfeits",
    "Latency",
    "League",
    "LiveProgress",
    "MatchResult",
    "Played",
    "Progress",
    "Report",
    "RunResults",
    "SampleSizeEstimate",
    "Score",
    "Standing",
    "Task",
    "blocks",
    "bootstrap_interval",
    "compare",
    "estimate",
    "gauntlet",
    "latency",
    "league",
    "match",
    "match_up",
    "pilot",
    "play_deals",
    "play_task",
    "seatings",
    "variance_ratio",
]
