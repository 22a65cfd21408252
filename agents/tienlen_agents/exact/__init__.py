"""The exact laboratory: small Tiến lên, solved.

    from tienlen_agents import load
    from tienlen_agents.exact import build, measure, policy_of, small_game, solve

    tree = build(small_game("mini"))
    print(measure(tree, policy_of(tree, load("heuristic"))).nash_conv)
    found = solve(tree, "cfr+", until=1e-4)

`tienlen exact` is the command; docs/exact.md explains both.
"""

from tienlen_agents.exact.agent import ExactAgent, load_exact, save_policy
from tienlen_agents.exact.policies import (
    Measure,
    best_responses,
    check_policy,
    information_sets,
    lookahead,
    measure,
    method_of,
    nash_conv,
    policy_of,
    uniform,
)
from tienlen_agents.exact.small_tienlen import GameTooLargeError, PolicyError, SmallGame, small_game
from tienlen_agents.exact.solvers import ALGORITHMS, Solver, Steps, solve
from tienlen_agents.exact.tree import Size, Tree, build, estimate

__all__ = [
    "ALGORITHMS",
    "ExactAgent",
    "GameTooLargeError",
    "Measure",
    "PolicyError",
    "Size",
    "SmallGame",
    "Solver",
    "Steps",
    "Tree",
    "best_responses",
    "build",
    "check_policy",
    "estimate",
    "information_sets",
    "load_exact",
    "lookahead",
    "measure",
    "method_of",
    "nash_conv",
    "policy_of",
    "save_policy",
    "small_game",
    "solve",
    "uniform",
]
