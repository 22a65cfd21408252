"""The agents are the package `tienlen_agents`, in this folder; this file names new modules for old ones.

No wheel contains it: a top-level ``agents`` would collide with another distribution's.
"""

from tienlen_env._moved import replace_package

replace_package(
    __name__,
    "tienlen_agents",
    {
        "arena": "arena",
        "champion": "networks.champion",
        "dialogue": "terminal.dialogue",
        "endgame": "endgame",
        "features": "networks.features",
        "files": "files",
        "greedy": "rule_based.greedy",
        "heuristic": "rule_based.heuristic",
        "human": "terminal.human",
        "network": "networks.network",
        "play": "terminal.play",
        "policy": "networks.sb3_policy",
        "process": "external.process",
        "protocol": "external.protocol",
        "record": "networks.features.tienlen_play_summary",
        "search": "search",
        "trickster": "rule_based.trickster",
        "versions": "versions",
    },
)
