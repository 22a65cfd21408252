"""Train a population: main learners, exploiters, and the past selves of both, with a table of payoffs.

    tienlen train league --out runs/league                      # in this process
    tienlen train league --out runs/league --executor ray:auto  # the same figures on a cluster
    tienlen train league --out runs/league --resume             # continue a run that was stopped

A generation has two parts. First every learner trains for some iterations: a *main* learner plays itself and
every policy of the population, those that it loses to more often; an *exploiter* plays the present main
learners alone. Then the arena plays duplicate matches of the new policies with all others, and the table has
the points of each policy alone against each other one in all other seats. What exploits a policy is read from
it: an entry whose whole interval is above parity. An exploiter that beats the main learners this way begins
again from a main learner's weights in the next generation; its past self remains in the population.

The work of a generation, a learner's iterations or one entry of the table, is a pure function: it runs in
this process or by an executor, and gives the same.

Source: Vinyals et al., Grandmaster level in StarCraft II using multi-agent reinforcement learning, 2019.
"""

from __future__ import annotations

import json
import math
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from tienlen_agents import arena
from tienlen_agents.arena.league import find_cycles
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.executors import Executor, Threads
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import Network
from tienlen_agents.quoting import quoted
from tienlen_agents.settings import COUNT, DEALS, Range, fixed, setting
from tienlen_env.games.common.game import AnyRules
from tienlen_train.loop import Metrics, TrainingTask, prepare_process, training_command
from tienlen_train.opponent_pool import Snapshot
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.runs import write_atomic, writing

PAYOFF_SEED: Final = 3_000_000  # of the table's deals, plus the run's seed
POLICIES: Final = "policies"  # the folder of the members' files

# Set when the run ends early: threads that train would hold up the end of the process until they are done.
_stop: Final = threading.Event()


@dataclass(frozen=True, kw_only=True)
class LeagueConfig(PPOConfig):
    """Settings of a population; those of every learner are the settings of PPO.

    Attributes:
        generations: number of generations.
        iterations: iterations of every learner in a generation.
        mains: number of main learners.
        exploiters: number of exploiters.
        payoff_deals: deals of an entry of the table, each in all seats.
        decisions: decisions of a learner until its learning rate has fallen to a tenth.
        snapshot_share: share of a main learner's games where a member of the population has some seats.
    """

    groups: ClassVar[Mapping[str, str]] = {
        **PPOConfig.groups,
        "the population": "generations iterations mains exploiters payoff_deals",
    }
    generations: int = setting(8, COUNT)
    iterations: int = setting(20, COUNT)
    mains: int = setting(1, Range(1, 1000))
    exploiters: int = setting(1, Range(0, 1000))
    payoff_deals: int = setting(500, DEALS)
    decisions: int = 2_000_000
    snapshot_share: float = 0.5
    baseline_share: float = 0.1

    # A learner of a population trains in one process.
    staleness: int = fixed(0)
    actors: int | None = fixed(None)
    # A population is saved after each of its generations.
    stop_after: int = fixed(0)
    checkpoint_every: int = fixed(1)
    # The table of payoffs measures it.
    eval_every: int = fixed(0)
    eval_deals: int = fixed(250)
    evaluators: str = fixed("")
    final_deals: int = fixed(2500)
    # It takes the place of a learner's own snapshots.
    snapshot_every: int = fixed(10**9)
    num_snapshots: int = fixed(10)

    def learner(self, index: int) -> PPOConfig:
        """The settings of a learner: the main learners first, then the exploiters."""
        shared = {field.name: getattr(self, field.name) for field in fields(PPOConfig)}
        shared.update(
            seed=self.seed + 1000 * index,
            threads=1,
            out=None,
            resume=False,
            new_metrics=False,
            executor=None,
        )
        if index >= self.mains:
            shared.update(snapshot_share=1.0, baseline_share=0.0)
        return PPOConfig(**shared)

    @property
    def names(self) -> tuple[str, ...]:
        """The learners."""
        return (
            *(f"main{index or ''}" for index in range(self.mains)),
            *(f"exploiter{index or ''}" for index in range(self.exploiters)),
        )


# ---------------------------------------------------------------- the table


@dataclass(frozen=True, eq=False)
class Member:
    """A policy of the population, which does not change.

    Attributes:
        name: of the learner that it was.
        generation: after which it was taken, from 1.
        network: the policy.
    """

    name: str
    generation: int
    network: Network

    @property
    def label(self) -> str:
        """Its name in the table and among the files."""
        return f"{self.name}-{self.generation}"


@dataclass
class PayoffTable:
    """The members and their payoffs.

    Attributes:
        members: in order of arrival.
        payoffs: by indices of two members: points above parity of the first, alone against the second in all
            other seats.
    """

    members: list[Member] = field(default_factory=list)
    payoffs: dict[tuple[int, int], Estimate] = field(default_factory=dict)

    def missing(self) -> list[tuple[int, int]]:
        """The entries that have not been played."""
        everyone = range(len(self.members))
        return [(i, j) for i in everyone for j in everyone if i != j and (i, j) not in self.payoffs]

    def matrix(self) -> list[list[Estimate | None]]:
        """The payoffs by row and column, None where there is none."""
        everyone = range(len(self.members))
        return [[self.payoffs.get((row, column)) for column in everyone] for row in everyone]

    def exploiters_of(self, column: int) -> list[tuple[int, Estimate]]:
        """The members that are proven above parity against a member, the strongest first."""
        found = [(row, value) for (row, at), value in self.payoffs.items() if at == column]
        proven = [(row, value) for row, value in found if value.verdict(0.0) == "above"]
        return sorted(proven, key=lambda pair: (-pair[1].mean, pair[0]))

    def best(self) -> Member:
        """The member with the lowest exploitability: the highest payoff of another one against it."""
        worst = [
            max((value.mean for (_, at), value in self.payoffs.items() if at == column), default=math.nan)
            for column in range(len(self.members))
        ]
        return self.members[worst.index(min(worst))]


def show(table: PayoffTable, console: Console) -> None:
    """Print the table, and for each member who exploits it."""
    rich = Table(title="points above parity: the row alone against the column in all other seats")
    rich.add_column("")
    for member in table.members:
        rich.add_column(member.label, justify="right")
    for member, row in zip(table.members, table.matrix(), strict=True):
        cells = ["" if value is None else f"{value.mean:+.2f} ± {value.half_width:.2f}" for value in row]
        rich.add_row(member.label, *cells)
    console.print(rich)
    for index, member in enumerate(table.members):
        found = [
            f"{table.members[row].label} ({value.mean:+.2f} ± {value.half_width:.2f})"
            for row, value in table.exploiters_of(index)
        ]
        console.print(f"{member.label} is exploited by {', '.join(found) or 'none'}", highlight=False)


def table_json(table: PayoffTable) -> bytes:
    """The table as a JSON file, with its cycles: members, each above the next."""
    labels, matrix = [member.label for member in table.members], table.matrix()
    value = {
        "members": [{"name": member.name, "generation": member.generation} for member in table.members],
        "payoffs": [
            [None if entry is None else {"mean": entry.mean, "half_width": entry.half_width} for entry in row]
            for row in matrix
        ],
        "exploited_by": {
            label: [labels[row] for row, _ in table.exploiters_of(index)]
            for index, label in enumerate(labels)
        },
        "cycles": [[labels[index] for index in cycle] for cycle in find_cycles(matrix)],
    }
    return (json.dumps(value, indent=1) + "\n").encode()


# ---------------------------------------------------------------- the work of a generation


class Trained(NamedTuple):
    """A learner after an iteration.

    Attributes:
        iteration: number of its iterations so far.
        state: of its trainer, without opponents.
        weights: of the policy.
        metrics: of the last iteration.
    """

    iteration: int
    state: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    metrics: Mapping[str, float] = MappingProxyType({})


class TrainingSegment(NamedTuple):
    """A learner's iterations in one generation.

    Attributes:
        config: of the learner.
        iterations: how many.
        before: the learner before them; None for a new one.
        start: weights of the policy to begin with, if they are not those of `before`.
        opponents: version, weights and the learner's score against each.
    """

    config: PPOConfig
    iterations: int
    before: Trained | None
    start: Mapping[str, Tensor] | None
    opponents: tuple[tuple[int, Mapping[str, Tensor], float], ...]


def train_segment(segment: TrainingSegment) -> Trained:
    """Train a learner for the iterations of a generation; depends on the segment alone."""
    prepare_process()
    trainer = PPOTrainer(segment.config)
    if segment.before is not None:
        trainer.restore(segment.before.iteration, {**segment.before.state, **_NO_SNAPSHOTS})
    if segment.start is not None:
        trainer.network.load_state_dict(segment.start)
    trainer.pool.snapshots = [Snapshot(*opponent) for opponent in segment.opponents]
    metrics: dict[str, float] = {}
    for _ in range(segment.iterations):
        if _stop.is_set():
            raise RuntimeError("the run has ended")
        metrics = trainer.iterate()
    state = {name: value for name, value in trainer.state().items() if name not in _NO_SNAPSHOTS}
    return Trained(trainer.iteration, state, trainer.policy_weights(), metrics)


_NO_SNAPSHOTS: Final[Mapping[str, Any]] = {
    "snapshots": [],
    "snapshot_scores": [],
    "snapshot_versions": [],
}


def payoff(pair: tuple[Network, Network], rules: AnyRules, num_deals: int, seed: int) -> Estimate:
    """The points (units, where there are payments) of a policy above parity, with their interval.

    Args:
        pair: the policy alone in its seat, and that in all other seats.
        rules: the variant.
        num_deals: each is played in all seats.
        seed: of the deals, the same for all entries.
    """
    row, column = NetworkAgent(pair[0], "row"), NetworkAgent(pair[1], "column")
    result = arena.match(row, column, rules=rules, num_deals=num_deals, seed=seed)
    main = result.scores[0].main
    return Estimate(main.mean - result.parity, main.half_width)


class Population(TrainingTask):
    """The learners and their past selves.

    The run folder has the files of every run, `league.json` with the table, and the policies of all members.

    Args:
        config: the settings.

    Attributes:
        table: the members and their payoffs.
    """

    config: LeagueConfig
    name: ClassVar[str] = "league"
    unit: ClassVar[str] = "generation"
    folders: ClassVar[tuple[str, ...]] = (POLICIES,)

    def __init__(self, config: LeagueConfig) -> None:
        super().__init__(config)
        self._shape = PPOTrainer(config.learner(0)).network.config  # refuses what a learner cannot use
        self.table = PayoffTable()
        self._executor: Executor = Threads(config.threads)
        self._learners: dict[str, Trained] = {}
        self._restarts: dict[str, Mapping[str, Tensor]] = {}

    @property
    def is_done(self) -> bool:
        """Whether the run has ended."""
        return self.iteration >= self.config.generations

    @property
    def description(self) -> str:
        """A description of the run, for the console."""
        names = ", ".join(self.config.names)
        return f"{super().description}, {self.config.generations} generations of {names}"

    @contextmanager
    def workplace(self, console: Console) -> Iterator[None]:
        """Where the generations are computed: in threads, or by the executor that the settings name.

        Raises:
            RunError: it cannot be reached, or a package is not installed.
        """
        _stop.clear()
        with self.opened_executor(console) as executor:
            self._executor = executor or self._executor
            try:
                yield
            except BaseException:
                _stop.set()
                raise

    def advance(self) -> Metrics:
        """Train all learners for one generation, and play the new entries of the table; the metrics."""
        begin = time.perf_counter()
        names = self.config.names
        segments = [self._segment(index, name) for index, name in enumerate(names)]
        for name, trained in zip(names, self._executor.map(train_segment, segments), strict=True):
            self._learners[name] = trained
            network = Network(self._shape, _arrays(trained.weights))
            self.table.members.append(Member(name, self.iteration + 1, network))
        missing, members = self.table.missing(), self.table.members
        pairs = [(members[row].network, members[column].network) for row, column in missing]
        num_deals, seed = self.config.payoff_deals, self.config.seed + PAYOFF_SEED
        play = partial(payoff, rules=self.rules, num_deals=num_deals, seed=seed)
        self.table.payoffs.update(zip(missing, self._executor.map(play, pairs), strict=True))
        self.iteration += 1
        self._restart_exploiters()
        return {"seconds": time.perf_counter() - begin, **self._metrics()}

    def _segment(self, index: int, name: str) -> TrainingSegment:
        config = self.config
        if index < config.mains:
            opponents = list(range(len(self.table.members)))
        else:
            opponents = self._present(config.names[: config.mains])
        own = self._present((name,))
        scores = {
            other: self.table.payoffs[own[0], other].mean
            for other in opponents
            if own and (own[0], other) in self.table.payoffs
        }
        return TrainingSegment(
            config=config.learner(index),
            iterations=config.iterations,
            before=self._learners.get(name),
            start=self._restarts.pop(name, None),
            opponents=tuple(
                (other, _tensors(self.table.members[other].network), scores.get(other, 0.0))
                for other in opponents
                if other not in own
            ),
        )

    def _present(self, names: Sequence[str]) -> list[int]:
        """The indices of the newest selves of some learners."""
        members = self.table.members
        return [
            index
            for index, member in enumerate(members)
            if member.name in names and member.generation == self.iteration
        ]

    def _restart_exploiters(self) -> None:
        """Let the exploiters that beat every main learner begin again from the first main learner."""
        mains = self._present(self.config.names[: self.config.mains])
        for name in self.config.names[self.config.mains :]:
            (own,) = self._present((name,))
            if all(self.table.payoffs[own, main].verdict(0.0) == "above" for main in mains):
                self._restarts[name] = _tensors(self.table.members[mains[0]].network)

    def state(self) -> dict[str, Any]:
        """The contents of a checkpoint."""
        return {
            "learners": {
                name: {"iteration": t.iteration, "state": t.state, "weights": t.weights}
                for name, t in self._learners.items()
            },
            "restarts": {name: dict(weights) for name, weights in self._restarts.items()},
            "members": [
                (member.name, member.generation, _tensors(member.network)) for member in self.table.members
            ],
            "payoffs": [
                (row, column, value.mean, value.half_width)
                for (row, column), value in self.table.payoffs.items()
            ],
        }

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        trainer = PPOTrainer(self.config.learner(0))
        if iteration and set(state["learners"]) != set(self.config.names):
            raise ValueError(f"it has the learners {', '.join(state['learners'])}")
        for values in state["learners"].values():
            trainer.restore(values["iteration"], {**values["state"], **_NO_SNAPSHOTS})
            trainer.network.load_state_dict(values["weights"])
        self.iteration = iteration
        self._learners = {name: Trained(**values) for name, values in state["learners"].items()}
        self._restarts = dict(state["restarts"])
        self.table = PayoffTable(
            [
                Member(name, born, Network(self._shape, _arrays(weights)))
                for name, born, weights in state["members"]
            ],
            {
                (row, column): Estimate(float(mean), float(width))
                for row, column, mean, width in state["payoffs"]
            },
        )
        born = [(member.name, member.generation) for member in self.table.members]
        if born != [(name, number) for number in range(1, iteration + 1) for name in self.config.names]:
            raise ValueError("it has other members")
        if self.table.missing() or len(self.table.payoffs) != len(born) * (len(born) - 1):
            raise ValueError("its table is not complete")

    def _metrics(self) -> Metrics:
        """Figures of the last generation, by learner."""
        found = {}
        for name, trained in self._learners.items():
            found[f"{name}_decisions"] = float(trained.state["num_decisions"])
            found.update((f"{name}_{key}", trained.metrics[key]) for key in _SHOWN if key in trained.metrics)
        return found

    def save(self, out: Path) -> None:
        """Write the table, the policies of the present generation, and those that are missing."""
        for member in self.table.members:
            path = out / POLICIES / f"{member.label}.safetensors"
            if member.generation == self.iteration or not path.exists():
                with writing(path):
                    NetworkAgent(member.network, member.label).save(path)
        write_atomic(out / "league.json", table_json(self.table))

    @contextmanager
    def display(self, console: Console) -> Iterator[Callable[[Metrics], None]]:
        """The table after every generation."""

        def show_generation(metrics: Metrics) -> None:
            console.print(
                f"generation {self.iteration} of {self.config.generations}, {metrics['seconds']:.0f} s"
            )
            show(self.table, console)

        yield show_generation

    def finish(self, out: Path, console: Console) -> None:
        """Name the policy that is the hardest to exploit."""
        console.print(f"run folder: {out}")
        path = out / POLICIES / self.table.best().label
        policy = shlex.quote(f"policy:{quoted(f'{path}.safetensors')}")
        console.print(f"hardest to exploit: {policy}", markup=False, highlight=False, soft_wrap=True)


_SHOWN: Final = ("policy_loss", "value_loss", "entropy", "approx_kl", "explained_variance")


def _arrays(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: value.numpy() for name, value in weights.items()}


def _tensors(network: Network) -> dict[str, Tensor]:
    """The weights of a network in its own memory; they never change."""
    return {name: torch.from_numpy(value) for name, value in network.tensors.items()}


main = training_command(Population, LeagueConfig, "Train a population of main learners and exploiters.")


if __name__ == "__main__":
    sys.exit(main())
