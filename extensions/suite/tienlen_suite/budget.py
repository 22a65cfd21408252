"""The unit of budgets: what a decision costs, beside a fixed piece of work in the same process.

The work is bzip2 on fixed bytes: branches and memory like a game, one thread, no special instructions, and
the same program for many years; faster loops of this project do not change it. One unit is one millisecond of
the processor where `WORK_MS` was measured. Agent and work take turns of about the same length, so that a load
of the machine slows both. The processor's time counts; where an agent works in another process or on a
device, the clock's.
"""

from __future__ import annotations

import bz2
import random
import time
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tienlen_agents.arena.play import batch_for, random_positions, warm_up
from tienlen_env.engine.agent import Agent
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import FloatArray
from tienlen_env.games.common.game import AnyRules

WORK_MS: Final = 5.0
TURNS: Final = 25
GAMES: Final = 64
SEED: Final = 43
ELSEWHERE: Final = 1.5  # the clock counts above this multiple: another process or a device works
_WORK: Final = random.Random(SEED).randbytes(1 << 16)


def _times(act: Callable[[], object]) -> FloatArray:
    """float64 (2,): seconds of the processor, of all threads here, and of the clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    act()
    return np.array((time.process_time() - cpu, time.perf_counter() - wall))


def positions(agent: Agent, rules: AnyRules) -> list[Batch]:
    """Batches of decisions, from rounds of random play, the same for all agents."""
    batch = batch_for([agent], rules, GAMES, 0)
    batch.deal(np.arange(GAMES) + SEED)
    return random_positions(batch, np.random.default_rng(SEED))


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
    agent_times, work_times, decisions, at = np.zeros(2), np.zeros(2), 0, 0
    for turn in range(-2, TURNS):
        if turn == 0:  # those before are cold
            agent_times[:], work_times[:], decisions = 0, 0, 0
        work, spent = _times(lambda: bz2.compress(_WORK)), np.zeros(2)
        while spent.max() < work.max():
            # Strides through all stages of a round, in every turn.
            batch = batches[at % len(batches)]
            spent += _times(lambda batch=batch: agent.act(View(batch)))  # type: ignore[misc]
            decisions += batch.num_games
            at += _stride(len(batches))
        agent_times += spent
        work_times += (work + _times(lambda: bz2.compress(_WORK))) / 2
    processor, clock = (WORK_MS * agent_times / decisions / (work_times / TURNS)).tolist()
    found: float = clock if clock > ELSEWHERE * processor else processor
    return found


def _stride(size: int) -> int:
    """A step without a common divisor with a size, near its golden section."""
    step = max(1, round(size * 0.382))
    while np.gcd(step, size) != 1:
        step += 1
    return step


def budget_class(found: float, budgets: Sequence[float]) -> float:
    """The smallest class that holds so many units; 0 is the one without a limit."""
    return next((most for most in budgets if most and found <= most), 0.0)
