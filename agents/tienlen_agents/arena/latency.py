"""What one decision costs when it is asked for alone, as at a real table.

A match asks agents for thousands of decisions at once, and its decisions a second are right for that; how
long somebody waits for a move is another figure, and its tail matters.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from tienlen_agents.arena.play import batch_for, warm_up
from tienlen_env.engine.agent import Agent, View
from tienlen_env.games.common.game import AnyRules


class Latency(NamedTuple):
    """Times of single decisions.

    Attributes:
        name: of the agent.
        rules: the variant's name.
        decisions: how many were timed; forced ones count.
        mean_ms: milliseconds.
        p99_ms: milliseconds, the 99th percentile.
    """

    name: str
    rules: str
    decisions: int
    mean_ms: float
    p99_ms: float


def latency(
    agent: Agent,
    rules: AnyRules,
    *,
    decisions: int = 500,
    seconds: float = 5.0,
    history: int = 0,
    seed: int = 0,
    name: str = "",
) -> Latency:
    """Time an agent at a table of its own kind, one decision after the other.

    Args:
        agent: whose; it is reset.
        rules: the variant.
        decisions: end after so many,
        seconds: or after this time, but for one decision at least.
        history: plays that observations show.
        seed: of the deals and the agent.
        name: what to call it; its own name if empty.

    Raises:
        ValueError: no decision is asked for.
    """
    if decisions < 1:
        raise ValueError(f"decisions={decisions}: expected 1 or more")
    warm_up([agent], rules, history)
    agent.reset(seed)
    batch = batch_for([agent], rules, 1, history)
    rng = np.random.default_rng(seed)
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < decisions and (not times or time.perf_counter() - begin < seconds):
        if not times or batch.state.turn[0] < 0:
            batch.deal(rng.integers(2**63, size=1))
        start = time.perf_counter()
        chosen = np.asarray(agent.act(View(batch, [0])))
        times.append(1000 * (time.perf_counter() - start))
        batch.step(chosen)
    return Latency(
        name or agent.name, rules.name, len(times), float(np.mean(times)), float(np.percentile(times, 99))
    )
