"""Latency: the time of one decision at a time, as an opponent in a real game waits for it.

In a match agents take thousands of decisions in one call, so decisions per second do not give this time.
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
        decisions: number of timed decisions, forced ones included.
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
    """Time an agent in self-play, one decision at a time.

    Args:
        agent: the agent; it is reset.
        rules: the variant.
        decisions: maximum number of decisions.
        seconds: maximum time, but at least one decision is timed.
        history: number of past plays in observations.
        seed: of the deals and the agent.
        name: for the report; the agent's own name if empty.

    Raises:
        ValueError: `decisions` is below 1.
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
