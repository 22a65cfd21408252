"""Training is the package `tienlen_train`, in this folder; this file names new modules for old ones.

No wheel contains it: a top-level ``train`` would collide with another distribution's.
"""

from tienlen_env._moved import replace_package

replace_package(
    __name__,
    "tienlen_train",
    {
        "bench": "benchmarks.speed",
        "bench_endgame": "benchmarks.endgame",
        "bench_learning": "benchmarks.learning",
        "bench_search": "benchmarks.search",
        "best_response": "best_response",
        "config": "config",
        "curves": "benchmarks.curves",
        "dmc": "dmc",
        "ppo": "ppo",
        "ppo_sb3": "ppo_sb3",
        "progress": "progress",
        "rollout": "rollout",
        "runs": "runs",
        "selfplay": "trainer",
        "ship": "ship",
        "tune_heuristic": "tune_heuristic",
    },
)
