"""The agents are the package `tienlen_agents`, in this folder; this file only says so.

No wheel contains it: a top-level ``agents`` would collide with another distribution's.
"""

raise ImportError(
    "the package 'agents' is now 'tienlen_agents': import tienlen_agents; "
    "'python -m agents.arena' is now 'python -m tienlen_agents.arena'"
)
