"""The exact laboratory: small Tiến lên, solved.

    from tienlen_agents import load
    from tienlen_exact import build, measure, policy_of, small_game, solve

    tree = build(small_game("mini"))
    print(measure(tree, policy_of(tree, load("heuristic"))).nash_conv)
    found = solve(tree, "cfr+", until=1e-4)

`tienlen exact` is the command; docs/exact.md explains both.
"""

from tienlen_exact.agent import ExactAgent
from tienlen_exact.policies import best_responses, measure, policy_of
from tienlen_exact.small_tienlen import small_game
from tienlen_exact.solvers import Solver, solve
from tienlen_exact.tree import build

__all__ = [
    "ExactAgent",
    "Solver",
    "best_responses",
    "build",
    "measure",
    "policy_of",
    "small_game",
    "solve",
]
