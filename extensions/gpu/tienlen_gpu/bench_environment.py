"""What a row of `tienlen_gpu.bench` is, and those of the environment, on a device and a processor.

A step is one decision in every game: a uniform legal action, the next mask and the next observation, with
resets. The actions are in an array; on a device the step that plays them chooses the next ones, by draws that
lie there.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from tienlen_agents.settings import COUNT, Choice, setting
from tienlen_env.engine.backends import MAX_THREADS
from tienlen_env.engine.batch import Batch
from tienlen_env.games.registry import games
from tienlen_train.benchmarks import BenchConfig, batched, run_program

PRESETS: Final = tuple(preset for game in games() for preset in game.presets)
# Numbers of games that are tried, to find the fastest.
SIZES: Final = tuple(1 << power for power in range(14, 21))
CPU_GAMES: Final = 16384
NUM_DRAWS: Final = 8  # arrays of draws that lie on the device and are used in turn
NUM_DIGEST_STEPS: Final = 200
STEPS_A_WAIT: Final = 50


@dataclass(frozen=True, kw_only=True)
class GpuConfig(BenchConfig):
    """Settings of the benchmark.

    Attributes:
        rules: the preset that is played.
        equal: the preset whose digests are compared, ``"all"`` for all of them.
        digest_games: games of that comparison, with 200 decisions each.
    """

    rules: str = setting("cardgames", Choice(lambda: PRESETS))
    equal: str = setting("cardgames", Choice(lambda: ("all", *PRESETS)))
    digest_games: int = setting(65536, COUNT)
    out: str = "runs/bench-gpu.json"

    @property
    def presets(self) -> tuple[str, ...]:
        """The presets whose digests are compared."""
        return PRESETS if self.equal == "all" else (self.equal,)


@dataclass(frozen=True)
class Figure:
    """A result.

    Attributes:
        value: the rate, the time or another number.
        details: what else was found, as JSON values.
    """

    value: float
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BenchRow:
    """A row of the table.

    Attributes:
        name: what is measured.
        unit: of its value.
        measure: measures it.
        goal: the value to reach, None for no goal.
        less_is_better: whether the goal is an upper limit.
        needs_device: whether it waits for a device.
    """

    name: str
    unit: str
    measure: Callable[[GpuConfig], Figure]
    goal: float | None = None
    less_is_better: bool = False
    needs_device: bool = True

    def is_reached(self, value: float) -> bool:
        """Whether a value reaches the goal; True without one."""
        if self.goal is None:
            return True
        return value <= self.goal if self.less_is_better else value >= self.goal


PlaySeconds = Callable[[float], float]  # plays for some seconds; decisions a second, by the clock on the wall


# ---------------------------------------------------------------- loops


def device_loop(rules: str, num_games: int, packed: bool) -> PlaySeconds:
    """The loop on the device; the host waits for it once every 50 steps."""
    from tienlen_gpu.cuda import device_array, to_device

    batch: Any = Batch(rules, num_games, auto_reset=True, backend="cuda")
    batch.reset(0)
    rng = np.random.default_rng(0)
    draws = [to_device(rng.random(num_games)) for _ in range(NUM_DRAWS)]
    if packed:
        mask, observation = batch.packed_mask(), batch.packed_observation()
    else:
        mask = device_array((num_games, batch.num_actions), np.int8)
        observation = device_array((num_games, batch.observation_size), np.uint8)
    actions = batch.sample(draws=draws[0])

    def steps(number: int) -> None:
        for i in range(number):
            batch.step(
                actions,
                mask=mask,
                observation=observation,
                draws=draws[i % NUM_DRAWS],
                next_actions=actions,
            )
        batch.check()

    def play(seconds: float) -> float:
        number, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            steps(STEPS_A_WAIT)
            number += STEPS_A_WAIT
        return number * num_games / (time.perf_counter() - start)

    steps(2)
    return play


def host_loop(rules: str, num_games: int, packed: bool, threads: int) -> PlaySeconds:
    """The same loop on the processor."""
    loop = batched(rules, num_games, threads, packed)

    def play(seconds: float) -> float:
        start = time.perf_counter()
        number = loop(start + seconds)
        return number / (time.perf_counter() - start)

    play(0.0)
    return play


def fastest(rules: str, packed: bool, seconds: float) -> tuple[int, PlaySeconds]:
    """The fastest number of games on the device, and its loop."""
    best: tuple[float, int] = (0.0, 0)
    for size in SIZES:
        rate = device_loop(rules, size, packed)(seconds)
        best = max(best, (rate, size))
    return best[1], device_loop(rules, best[1], packed)


# ---------------------------------------------------------------- digests


def digest_of(
    rules: str, num_games: int, num_steps: int, on_device: bool, threads: int = 1
) -> tuple[str, int]:
    """A digest of all states and outputs of `num_steps` steps, and the number of rounds that ended.

    Args:
        rules: a preset.
        num_games: B.
        num_steps: steps of every game; games start anew.
        on_device: whether the device plays.
        threads: of the processor.
    """
    rng = np.random.default_rng(7)
    where: dict[str, Any] = {"backend": "cuda"} if on_device else {"threads": threads}
    batch: Any = Batch(rules, num_games, auto_reset=True, **where)
    batch.deal(rng.integers(-(2**63), 2**63, num_games, np.int64))
    mask, observation = batch.packed_mask(), batch.packed_observation()
    digest, ended = hashlib.blake2b(digest_size=8), 0
    for _ in range(num_steps):
        rewards, dones = batch.step(batch.sample(rng), mask=mask, observation=observation)
        written = (batch.kernel_arrays.rows, mask, observation, rewards, dones)
        found = [array.copy_to_host() if on_device else array for array in written]
        for array in found:
            digest.update(np.ascontiguousarray(array).tobytes())
        ended += int(found[-1].sum())
    if on_device:
        batch.check()
    return digest.hexdigest(), ended


# ---------------------------------------------------------------- rows


def _threads() -> int:
    return min(os.cpu_count() or 1, MAX_THREADS)


def on_device(packed: bool) -> Callable[[GpuConfig], Figure]:
    """The device beside all cores of the processor, in pairs of runs."""

    def measure(config: GpuConfig) -> Figure:
        size, play = fastest(config.rules, packed, min(0.3, config.seconds))
        beside = host_loop(config.rules, CPU_GAMES, packed, _threads())
        pairs = [(play(config.seconds), beside(config.seconds)) for _ in range(config.runs)]
        found = [a for a, _ in pairs]
        return Figure(
            statistics.median(found),
            {
                "games": size,
                "runs": found,
                "cpu_runs": [b for _, b in pairs],
                "cpu_threads": _threads(),
                "times_the_cpu": statistics.median(a / b for a, b in pairs),
            },
        )

    return measure


def packed_on_one_core(config: GpuConfig) -> Figure:
    """The packed form's speed over the bytes' on one core, in pairs of runs."""
    loops = [host_loop(config.rules, 4096, packed, 1) for packed in (True, False)]
    pairs = [tuple(play(config.seconds) for play in loops) for _ in range(config.runs)]
    ratio = statistics.median(a / b for a, b in pairs)
    return Figure(ratio, {"packed": [a for a, _ in pairs], "bytes": [b for _, b in pairs]})


def all_cores(config: GpuConfig) -> Figure:
    """The processor with all its cores, packed."""
    play = host_loop(config.rules, CPU_GAMES, True, _threads())
    found = [play(config.seconds) for _ in range(config.runs)]
    return Figure(statistics.median(found), {"runs": found, "threads": _threads(), "games": CPU_GAMES})


def same_digest(rules: str) -> Callable[[GpuConfig], Figure]:
    """Rounds whose states, masks, observations and rewards are the processor's, bit for bit."""

    def measure(config: GpuConfig) -> Figure:
        there, ended = digest_of(rules, config.digest_games, NUM_DIGEST_STEPS, True)
        here, _ = digest_of(rules, config.digest_games, NUM_DIGEST_STEPS, False, _threads())
        if there != here:
            raise RuntimeError(f"{rules}: the device's digest is {there}, the processor's {here}")
        return Figure(ended, {"digest": there, "decisions": config.digest_games * NUM_DIGEST_STEPS})

    return measure


FIRST_STEP: Final = """
from tienlen_env.engine.batch import Batch
import numpy as np
batch = Batch("RULES", 1024, auto_reset=True, backend="cuda")
batch.reset(1)
actions = batch.sample(np.random.default_rng(0))
batch.step(actions, mask=batch.packed_mask(), observation=batch.packed_observation())
batch.check()
"""


def first_step(config: GpuConfig) -> Figure:
    """Seconds of a process that makes one step, with an empty and with a filled cache."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (run_program(FIRST_STEP.replace("RULES", config.rules), cache).wall for _ in range(2))
    return Figure(cold, {"cached": warm})


def rows(config: GpuConfig) -> list[BenchRow]:
    """The rows of the environment."""
    return [
        BenchRow("packed mask and observation", "decisions/s", on_device(True), goal=500e6),
        BenchRow("bytes of mask and observation", "decisions/s", on_device(False), goal=300e6),
        BenchRow("compilation and first step", "s", first_step, goal=20, less_is_better=True),
        *(
            BenchRow(f"rounds bit for bit the CPU's: {rules}", "rounds", same_digest(rules))
            for rules in config.presets
        ),
        BenchRow("CPU, all cores, packed", "decisions/s", all_cores, needs_device=False),
        BenchRow("CPU, one core, packed / bytes", "x", packed_on_one_core, goal=1.3, needs_device=False),
    ]
