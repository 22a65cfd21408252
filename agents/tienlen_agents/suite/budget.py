"""The unit of budgets: what a decision costs, beside a fixed piece of work in the same process.

The work is bzip2 on fixed bytes: branches and memory like a game, one thread, no special instructions, and
the same program for many years; faster loops of this project do not change it. One unit is one millisecond of
the processor where `WORK_MS` was measured. Agent and work take turns of about the same length, and the median
of their ratios counts, so that another load of the machine slows both.
"""

from __future__ import annotations

import bz2
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tienlen_agents.arena.play import batch_for, warm_up
from tienlen_env.engine.agent import Agent
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.games.common.game import AnyRules

WORK_MS: Final = 5.0
TURNS: Final = 25
GAMES: Final = 64
SEED: Final = 43
_WORK: Final = random.Random(SEED).randbytes(1 << 16)


def _seconds(act: Callable[[], object]) -> float:
    """Time of one core: that of all threads here, or the clock's if another process did the work."""
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return max(time.perf_counter() - wall, time.process_time() - cpu)


def positions(agent: Agent, rules: AnyRules) -> list[Batch]:
    """Batches of decisions, from rounds of random play, the same for all agents."""
    batch = batch_for([agent], rules, GAMES, 0)
    batch.deal(np.arange(GAMES) + SEED)
    rng, found = np.random.default_rng(SEED), []
    while (batch.state.turn >= 0).any():
        games = np.flatnonzero(batch.state.turn >= 0)
        found.append(batch.select(games))
        batch.step(batch.sample(rng))
    return found


def units(agent: Agent, rules: AnyRules) -> float:
    """Units of a decision in large batches; decisions with one legal action count, too.

    Args:
        agent: it is reset.
        rules: the variant.
    """
    warm_up([agent], rules)
    agent.reset(SEED)
    batches = positions(agent, rules)
    batches.sort(key=lambda batch: batch.num_games)
    ratios, at = [], 0
    for turn in range(TURNS + 2):
        work = _seconds(lambda: bz2.compress(_WORK))
        seconds, decisions = 0.0, 0
        while seconds < work:
            # Strides through all stages of a round, in every turn.
            batch = batches[at % len(batches)]
            seconds += _seconds(lambda batch=batch: agent.act(View(batch)))  # type: ignore[misc]
            decisions += batch.num_games
            at += _stride(len(batches))
        work = (work + _seconds(lambda: bz2.compress(_WORK))) / 2
        if turn > 1:  # the first ones are cold
            ratios.append(seconds / decisions / work)
    return WORK_MS * statistics.median(ratios)


def _stride(size: int) -> int:
    """A step without a common divisor with a size, near its golden section."""
    step = max(1, round(size * 0.382))
    while np.gcd(step, size) != 1:
        step += 1
    return step


def budget_class(found: float, budgets: Sequence[float]) -> float:
    """The smallest class that holds so many units; 0 is the one without a limit."""
    return next((most for most in budgets if most and found <= most), 0.0)
