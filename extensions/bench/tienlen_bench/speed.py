"""Decisions per second of every environment.

    python -m tienlen_bench.speed
    python -m tienlen_bench.speed --only Batch

A step is one decision, with the observation and the legal-action mask of the next player; resets are inside
the timed loop and are not counted. Single-threaded rows are steps per CPU second of the process, because
other programs influence it little; the rows about threads are per second of wall time. The cases
are measured in turn, three times, so that ratios hold when the machine's speed drifts.
"""

from __future__ import annotations

import gc
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from rich.console import Console
from rich.progress import Progress

from tienlen_agents.command import cpu_name, versions
from tienlen_agents.settings import parse_args
from tienlen_train.benchmarks import (
    BenchConfig,
    PlayUntil,
    batched,
    chosen,
    measure,
    new_table,
    rounds,
    short,
    write_result,
)
from tienlen_train.config import command

# ---------------------------------------------------------------- the AEC loop


def aec_loop(env: Any) -> PlayUntil:
    """The loop of PettingZoo's documentation with a uniform legal action."""
    draw = random.Random(0).random

    def play_round() -> int:
        steps = 0
        env.reset()
        for _ in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                env.step(None)
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(int(legal[int(draw() * len(legal))]))
            steps += 1
        return steps

    return rounds(play_round)


def null_aec(num_observations: int, num_actions: int) -> Any:
    """An AEC environment that does nothing, at the lowest cost that the interface allows: the upper limit."""
    import gymnasium
    from pettingzoo import AECEnv

    class NullEnv(AECEnv):  # type: ignore[misc]
        metadata: ClassVar = {"name": "null_v0", "is_parallelizable": False, "render_modes": []}
        render_mode = None
        num_steps = 66

        def __init__(self) -> None:
            self.possible_agents = [f"player_{i}" for i in range(4)]
            self._next = {f"player_{i}": f"player_{(i + 1) % 4}" for i in range(4)}
            space = gymnasium.spaces.Dict(
                observation=gymnasium.spaces.Box(0, 1, (num_observations,), np.uint8),
                action_mask=gymnasium.spaces.Box(0, 1, (num_actions,), np.int8),
            )
            self.observation_spaces = dict.fromkeys(self.possible_agents, space)
            self.action_spaces = {a: gymnasium.spaces.Discrete(num_actions) for a in self.possible_agents}
            mask = np.zeros(num_actions, np.int8)
            mask[[0, 5, 17, 200]] = 1
            self._observation = {"observation": np.zeros(num_observations, np.uint8), "action_mask": mask}

        def observation_space(self, agent: str) -> Any:
            return self.observation_spaces[agent]

        def action_space(self, agent: str) -> Any:
            return self.action_spaces[agent]

        def observe(self, agent: str) -> Any:
            return self._observation

        def reset(self, seed: int | None = None, options: Any = None) -> None:
            self.agents = self.possible_agents[:]
            self.rewards = dict.fromkeys(self.agents, 0)
            self._cumulative_rewards = dict.fromkeys(self.agents, 0)
            self.terminations = dict.fromkeys(self.agents, False)
            self.truncations = dict.fromkeys(self.agents, False)
            self.infos: dict[str, dict[str, Any]] = {a: {} for a in self.agents}
            self.agent_selection = self.agents[0]
            self.t = 0

        def last(self, observe: bool = True) -> Any:
            a = self.agent_selection
            return (
                self._observation if observe else None,
                self._cumulative_rewards[a],
                self.terminations[a],
                self.truncations[a],
                self.infos[a],
            )

        def step(self, action: int | None) -> None:
            if self.t >= self.num_steps:
                self._was_dead_step(action)
                return
            self.t += 1
            self.agent_selection = self._next[self.agent_selection]
            if self.t >= self.num_steps:
                self.terminations = dict.fromkeys(self.agents, True)

    return NullEnv()


def wrapped(env: Any) -> Any:
    """The three wrappers of PettingZoo's classic games, in their order."""
    from pettingzoo.utils import wrappers

    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=-1)
    env = wrappers.AssertOutOfBoundsWrapper(env)
    return wrappers.OrderEnforcingWrapper(env)


# ---------------------------------------------------------------- our other paths


def round_loop() -> PlayUntil:
    """The scalar `Round`: the list of legal plays, a choice, the play."""
    from tienlen_env import Round

    draw = random.Random(0).random
    keys = iter(range(1 << 40))

    def play_round() -> int:
        steps = 0
        game = Round("cardgames", key=next(keys))
        while plays := game.legal_plays():
            game.play(plays[int(draw() * len(plays))])
            steps += 1
        return steps

    return rounds(play_round)


def batched_halves(rules: str, num_games: int) -> PlayUntil:
    """The games in two batches, each stepped by a Python thread: the kernels release the lock."""
    halves = [batched(rules, num_games // 2) for _ in range(2)]
    pool = ThreadPoolExecutor(2)
    return lambda deadline: sum(pool.map(lambda half: half(deadline), halves))


# ---------------------------------------------------------------- measuring


ABSOLUTE = "decisions/s"


@dataclass(frozen=True)
class Case:
    """One row: a function that makes its loop, and the rows that it is compared with."""

    name: str
    make: Callable[[], PlayUntil]
    wall: bool = False  # per second of wall time, for rows about threads
    targets: tuple[tuple[str, float], ...] = ()  # (another row or ABSOLUTE, at least this multiple of it)


def cases() -> list[Case]:
    """All rows, the environments that do nothing first."""
    from tienlen_env import thirteens_v0, tienlen_v1
    from tienlen_env.games.registry import games

    goals = {**{next(iter(game.presets)): 5e6 for game in games()}, "cardgames": 15e6, "foicica": 8e6}
    probe = tienlen_v1.raw_env()
    space = probe.observation_space("player_0")
    size = int(np.prod(space["observation"].shape or ())), int(np.prod(space["action_mask"].shape or ()))
    return [
        Case("do-nothing AEC, raw", lambda: aec_loop(null_aec(*size))),
        Case("do-nothing AEC, wrapped", lambda: aec_loop(wrapped(null_aec(*size)))),
        Case(
            "tienlen_v1.raw_env()",
            lambda: aec_loop(tienlen_v1.raw_env()),
            targets=(("do-nothing AEC, raw", 0.4),),
        ),
        Case(
            "tienlen_v1.env()",
            lambda: aec_loop(tienlen_v1.env()),
            targets=(("do-nothing AEC, wrapped", 0.8),),
        ),
        Case(
            "thirteens_v0.raw_env()",
            lambda: aec_loop(thirteens_v0.raw_env()),
            targets=(("tienlen_v1.raw_env()", 1),),
        ),
        Case("Round, legal_plays()", round_loop),
        *(
            Case(f"Batch {rules}", partial(batched, rules, 4096), targets=((ABSOLUTE, goal),))
            for rules, goal in goals.items()
        ),
        # With payments, chops and instant wins, or other bombs, which the others do not have.
        *(
            Case(
                f"Batch {rules}",
                partial(batched, rules, 4096),
                targets=(("Batch cardgames", 0.85),) if rules in ("south", "south_winner", "bga") else (),
            )
            for rules in ("south", "south_count", "north", "south_winner", "bga")
        ),
        Case(
            "Batch cardgames, packed",
            partial(batched, "cardgames", 4096, packed=True),
            targets=(("Batch cardgames", 1.3),),
        ),
        Case("Batch cardgames, 1 thread", lambda: batched("cardgames", 16384), wall=True),
        Case(
            "Batch cardgames, 2 threads",
            lambda: batched("cardgames", 16384, 2),
            wall=True,
            targets=((ABSOLUTE, 1.8 * 15e6),),
        ),
        Case(
            "2 batches, a thread each",
            lambda: batched_halves("cardgames", 16384),
            wall=True,
            targets=(("Batch cardgames, 1 thread", 1.8),),
        ),
    ]


@contextmanager
def frozen() -> Iterator[None]:
    """Else every collection of a row's garbage walks through the libraries that other rows have loaded."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print the table and write the JSON."""
    config = parse_args(BenchConfig, __doc__, argv)
    console = Console(width=max(Console().width, 92))  # the table needs as much
    measured = list(chosen(config, {case.name: case for case in cases()}).values())
    plays = {case.name: case.make() for case in measured}
    rates: dict[str, list[float]] = {case.name: [] for case in measured}
    # Drawn by hand between two runs: the bar's own thread would take its share of what is measured.
    with frozen(), Progress(console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("measuring", total=len(measured) * (config.runs + 1))
        for run in range(config.runs + 1):
            for case in measured:
                progress.update(task, description=case.name, refresh=True)
                seconds = config.seconds if run else min(1.0, config.seconds)  # the first run warms up
                clock = time.perf_counter if case.wall else time.process_time
                rate = measure(plays[case.name], seconds, clock)
                if run:
                    rates[case.name].append(rate)
                progress.advance(task)
    console.print(f"{cpu_name()} · " + " · ".join(f"{k} {v}" for k, v in versions().items()), style="dim")
    table = new_table(title="decisions a second", padding=(0, 1, 0, 0))
    for header, width in (("", 2), ("path", 32), ("median", 7), ("min", 7), ("max", 7), ("", 26)):
        table.add_column(header, min_width=width)
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[2:5]:
        column.justify = "right"
    number = {case.name: i for i, case in enumerate(measured, 1)}
    rows: dict[str, Any] = {}
    for case in measured:
        runs = rates[case.name]
        goals, ratios = [], {}
        for other, factor in case.targets:
            if other == ABSOLUTE:
                goals.append(f"goal {short(factor)}")
            elif other in rates:
                # Run by run, as the runs of the two alternate.
                pairs = [a / b for a, b in zip(runs, rates[other], strict=True)]
                ratios[other] = statistics.median(pairs)
                goals.append(f"{ratios[other]:.2f} x row {number[other]}, goal {factor:g}")
        rows[case.name] = {"median": statistics.median(runs), "runs": runs, "ratios": ratios}
        figures = [short(f(runs)) for f in (statistics.median, min, max)]
        style = "" if case.targets else "dim"
        table.add_row(str(number[case.name]), case.name, *figures, "\n".join(goals), style=style)
    console.print(table)
    write_result(config, rows, console, seconds=config.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
