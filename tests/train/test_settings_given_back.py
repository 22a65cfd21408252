"""What a call sets in the whole process is as before when it returns: threads, seeds, signals, streams."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from rich.console import Console

import tienlen_agents
from tests.needs import needs_bench, needs_exact
from tests.train.test_trainer import TINY
from tienlen_agents import arena
from tienlen_env import OneSeatVectorEnv, SelfPlayEnv, tienlen_v1
from tienlen_train import cli, dmc, loop, ppo

SETTINGS: dict[str, Any] = {**TINY, "final_deals": 0, "stop_after": 1, "eval_every": 0}


def settings() -> dict[str, Any]:
    """The settings of the process."""
    return {
        "torch's threads": torch.get_num_threads(),
        "torch's random numbers": torch.get_rng_state().tolist(),
        "checks of distributions": torch.distributions.Distribution._validate_args,
        "types of tensors": torch.get_default_dtype(),
        "NumPy's random numbers": str(np.random.get_state()),  # noqa: NPY002
        "NumPy's errors": np.geterr(),
        "Python's random numbers": random.getstate(),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)],
        "filters": list(warnings.filters),
        "finders": list(sys.meta_path),
        "path": list(sys.path),
        "words": list(sys.argv),
        "streams": [(stream, getattr(stream, "errors", None)) for stream in (sys.stdout, sys.stderr)],
        "folder": os.getcwd(),
        "variables": dict(os.environ),
        "frozen objects": gc.get_freeze_count(),
        "recursion": sys.getrecursionlimit(),
        "hooks": (sys.excepthook, threading.excepthook, sys.displayhook),
    }


def trained(trainer: type[Any], config: type[Any]) -> None:
    loop.train(trainer, config(**SETTINGS, out="runs/a"), Console(quiet=True))


def refused() -> None:
    with pytest.raises(ValueError, match="baselines"):
        loop.train(ppo.PPOTrainer, ppo.PPOConfig(**SETTINGS, baselines="nobody"), Console(quiet=True))


def environments() -> None:
    for env in (tienlen_v1.env(), gymnasium.make("tienlen_env:tienlen_env/TienLen-v1"), OneSeatVectorEnv(2)):
        env.reset(seed=1)
    SelfPlayEnv("cardgames", 2, threads=2).reset(1)


def agents() -> None:
    for name in ("champion:worlds=2", "heuristic", "endgame:random"):
        agent = tienlen_agents.load(name)
        agent.reset(1)
        arena.match(agent, "random", num_deals=4)


def refused_words() -> None:
    with pytest.raises(SystemExit):
        cli.main(["match", "random", "--deals", "x"])


BENCH = ["bench", "speed", "--seconds", "0.001", "--runs", "1", "--only", "Batch"]
OF_EXTENSIONS = {"tienlen exact": needs_exact, "tienlen bench": needs_bench}
CALLS: dict[str, Callable[[], object]] = {
    "train, PPO": lambda: trained(ppo.PPOTrainer, ppo.PPOConfig),
    "train, DMC": lambda: trained(dmc.DMCTrainer, dmc.DMCConfig),
    "train, refused": refused,
    "environments": environments,
    "agents": agents,
    "tienlen match": lambda: cli.main(["match", "random", "greedy", "--deals", "4"]),
    "tienlen match, refused": refused_words,
    "tienlen exact": lambda: cli.main(["exact", "nashconv", "random", "--rules", "mini"]),
    "tienlen bench": lambda: cli.main(BENCH),
}


@pytest.mark.parametrize("call", [pytest.param(call, marks=OF_EXTENSIONS.get(call, ())) for call in CALLS])
def test_settings_are_given_back(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mine.py", "--own"])
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # imports sympy, which sets filters and variables
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    torch.manual_seed(5)
    before = settings()
    try:
        CALLS[call]()
        after = settings()
    finally:
        torch.set_num_threads(threads)
    assert after == before
