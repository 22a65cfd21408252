"""The unit of budgets: the same class with another load of the machine."""

from __future__ import annotations

import bz2
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tienlen_agents
from tienlen_env.engine.agent import View
from tienlen_env.games.registry import get_rules
from tienlen_suite import budget
from tienlen_suite.budget import budget_class, units

RULES = get_rules("cardgames")
BUDGETS = (1.0, 20.0, 200.0, 0.0)


class Slow:
    """Works for a time that does not depend on the machine's clock: steps of the same Python loop."""

    name = "slow"

    def __init__(self, steps: int, threads: int = 1) -> None:
        self.steps, self.threads = steps, threads

    def reset(self, seed: int) -> None:
        pass

    def _work(self, _: int = 0) -> None:
        x = 1
        for _ in range(self.steps):
            x = x * 6364136223846793005 % 2**64

    def act(self, view: View) -> np.ndarray:
        for _ in range(len(view)):
            self._work()
        legal = view.legal_actions
        return legal.action[legal.start]


def test_classes() -> None:
    assert [budget_class(found, BUDGETS) for found in (0.0, 1.0, 1.1, 20, 21, 200, 201)] == [
        1.0, 1.0, 20.0, 20.0, 200.0, 200.0, 0.0,
    ]  # fmt: skip


def test_units_grow_with_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "TURNS", 7)
    few, many = units(Slow(1000), RULES), units(Slow(10_000), RULES)
    assert 5 < many / few < 20


@pytest.mark.nightly  # it keeps both cores busy
def test_another_load_gives_the_same_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "TURNS", 9)
    agents = [tienlen_agents.load("heuristic"), Slow(60_000)]
    quiet = [units(agent, RULES) for agent in agents]
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        time.sleep(0.5)
        busy = [units(agent, RULES) for agent in agents]
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert (
        [budget_class(u, BUDGETS) for u in quiet] == [budget_class(u, BUDGETS) for u in busy] == [1.0, 20.0]
    )


def test_the_time_of_all_threads_counts() -> None:
    def work(_: int = 0) -> None:
        bz2.compress(budget._WORK)  # without Python's lock

    def several() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(8)))

    def one() -> None:
        for _ in range(8):
            work()

    fastest = [min(budget._times(work)[0] for _ in range(7)) for work in (several, one)]
    assert fastest[0] > 0.5 * fastest[1]


def test_work_in_another_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "TURNS", 7)

    class Hidden(Slow):
        """Lets another process work, which takes as long by the clock."""

        def act(self, view: View) -> np.ndarray:
            time.sleep(0.001 * len(view))
            legal = view.legal_actions
            return legal.action[legal.start]

    assert units(Hidden(0), RULES) > 0.05
