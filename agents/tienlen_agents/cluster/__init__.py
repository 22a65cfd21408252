"""Arena runs on a Ray cluster: `connect` gives an executor that plays chunks on every node.

    from tienlen_agents import arena, cluster

    with cluster.connect("auto", ["heuristic", "policy:runs/a/policy.safetensors"]) as executor:
        arena.match("heuristic", "policy:runs/a/policy.safetensors", executor=executor)

The package ``ray`` is in the extra ``cluster``; this module imports it in `connect` and not before.
"""

from __future__ import annotations

from tienlen_agents.cluster.connection import ClusterError, RayExecutor, connect, connected
from tienlen_agents.cluster.identity import Identity, NodeRefusedError, Refusal
from tienlen_agents.cluster.tasks import TaskPool

__all__ = [
    "ClusterError",
    "Identity",
    "NodeRefusedError",
    "RayExecutor",
    "Refusal",
    "TaskPool",
    "connect",
    "connected",
]
