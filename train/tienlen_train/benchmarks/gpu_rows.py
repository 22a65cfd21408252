"""What a row of `tienlen_train.benchmarks.gpu` is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tienlen_agents.settings import COUNT, Choice, Config, FreeText, Range, setting
from tienlen_env.games.registry import games

PRESETS = tuple(preset for game in games() for preset in game.presets)


@dataclass(frozen=True, kw_only=True)
class GpuConfig(Config):
    """Settings of the benchmark.

    Attributes:
        rules: the preset that is played.
        equal: the preset whose digests are compared, ``"all"`` for all of them.
        digest_games: games of that comparison, with 200 decisions each.
        seconds: length of one run of one row.
        runs: runs of each row.
        only: measure only rows whose name contains this text.
        out: the JSON file of the result.
    """

    rules: str = setting("cardgames", Choice(lambda: PRESETS))
    equal: str = setting("cardgames", Choice(lambda: ("all", *PRESETS)))
    digest_games: int = setting(65536, COUNT)
    seconds: float = setting(2.0, Range(0, 86_400, above=True))
    runs: int = setting(3, COUNT)
    only: str = setting("", FreeText())
    out: str = setting("runs/bench-gpu.json", FreeText("a file"))

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
class Row:
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
