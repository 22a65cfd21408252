"""Train a population: main learners, exploiters, and the past selves of both, with a table of payoffs.

    tienlen train league --out runs/league                      # in this process
    tienlen train league --out runs/league --cluster auto       # the same figures on a cluster
    tienlen train league --out runs/league --resume             # continue a run that was stopped

A generation has two parts. First every learner trains for some iterations: a *main* learner plays itself and
every policy of the population, those that it loses to more often; an *exploiter* plays the present main
learners alone. Then the arena plays duplicate matches of the new policies with all others, and the table has
the points of each policy alone against each other one in all other seats. What exploits a policy is read from
it: an entry whose whole interval is above parity. An exploiter that beats the main learners this way begins
again from a main learner's weights in the next generation; its past self remains in the population.

The work of a generation, a learner's iterations or one entry of the table, is a pure function: it runs in
this process or as a task on a cluster, and gives the same.

Source: Vinyals et al., Grandmaster level in StarCraft II using multi-agent reinforcement learning, 2019.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import torch
from rich.console import Console
from torch import Tensor

from tienlen_agents import arena
from tienlen_agents.arena.league import find_cycles
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.extras import MissingExtraError
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import Network, NetworkConfig
from tienlen_agents.settings import COUNT, DEALS, Range, fixed, setting
from tienlen_env.games.common.game import AnyRules
from tienlen_train.config import RunError, command
from tienlen_train.executor import Executor, ThreadExecutor
from tienlen_train.loop import Metrics, Task, make_console, run_in_folder
from tienlen_train.opponent_pool import Snapshot
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.runs import parse_run_args, write_atomic, writing
from tienlen_train.tables import Member, Table, show, table_json

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
            cluster=None,
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


class TrainingSegment(NamedTuple):
    """A learner's iterations in one generation.

    Attributes:
        config: of the learner.
        iterations: how many.
        iteration: of the learner before them.
        state: of the learner before them; None for a new one.
        start: weights of the policy to begin with, if they are not those of the state.
        opponents: version, weights and the learner's score against each.
    """

    config: PPOConfig
    iterations: int
    iteration: int
    state: Mapping[str, Any] | None
    start: Mapping[str, Tensor] | None
    opponents: tuple[tuple[int, Mapping[str, Tensor], float], ...]


class Trained(NamedTuple):
    """What `train_segment` returns.

    Attributes:
        iteration: of the learner after it.
        state: of the learner after it, without opponents.
        config: the shape of its network.
        weights: of the policy.
        metrics: of the last iteration.
    """

    iteration: int
    state: dict[str, Any]
    config: NetworkConfig
    weights: dict[str, Tensor]
    metrics: dict[str, float]


def train_segment(segment: TrainingSegment) -> Trained:
    """Train a learner for the iterations of a generation; depends on the segment alone."""
    PPOTrainer.prepare_process(segment.config)
    trainer = PPOTrainer(segment.config)
    if segment.state is not None:
        trainer.restore(segment.iteration, {**segment.state, **_NO_SNAPSHOTS})
    if segment.start is not None:
        trainer.network.load_state_dict(segment.start)
    trainer.pool.snapshots = [Snapshot(*opponent) for opponent in segment.opponents]
    metrics: dict[str, float] = {}
    for _ in range(segment.iterations):
        if _stop.is_set():
            raise RuntimeError("the run has ended")
        metrics = trainer.iterate()
    weights = {name: value.detach().cpu().clone() for name, value in trainer.network.state_dict().items()}
    state = {name: value for name, value in trainer.state().items() if name not in _NO_SNAPSHOTS}
    return Trained(trainer.iteration, state, trainer.network.config, weights, metrics)


_NO_SNAPSHOTS: Final[Mapping[str, Any]] = {
    "snapshots": [],
    "snapshot_scores": [],
    "snapshot_versions": [],
}


class Entry(NamedTuple):
    """An entry of the table.

    Attributes:
        row: the policy alone in its seat.
        column: the policy in all other seats.
        rules: the variant.
        num_deals: each is played in all seats.
        seed: of the deals, the same for all entries.
    """

    row: Network
    column: Network
    rules: AnyRules
    num_deals: int
    seed: int


def payoff(entry: Entry) -> Estimate:
    """The points (units, where there are payments) of the row's policy above parity, with their interval."""
    result = arena.match(
        NetworkAgent(entry.row, "row"),
        NetworkAgent(entry.column, "column"),
        rules=entry.rules,
        num_deals=entry.num_deals,
        seed=entry.seed,
    )
    main = result.scores[0].main
    return Estimate(main.mean - result.parity, main.half_width)


class Population(Task):
    """The learners and their past selves.

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
        self.table = Table()
        self._executor: Executor = ThreadExecutor(config.threads)
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
        """Where the generations are computed: in threads, or on the cluster that the settings name.

        Raises:
            RunError: there is no cluster at the address, or ray is not installed.
        """
        config = self.config
        _stop.clear()
        with ExitStack() as stack:
            if config.cluster is not None:
                from tienlen_agents.cluster import connect

                about: dict[str, Any] = {"packages": ["tienlen_train"], "quiet": True}
                try:
                    connection = connect(config.cluster, config.agent_names(), **about)
                    self._executor = stack.enter_context(connection).pool
                except (MissingExtraError, ValueError) as error:
                    raise RunError(str(error)) from error
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
            self.table.add(
                Member(name, self.iteration + 1, Network(trained.config, _arrays(trained.weights)))
            )
        missing = self.table.missing()
        entries = [
            Entry(
                self.table.members[row].network,
                self.table.members[column].network,
                self.rules,
                self.config.payoff_deals,
                self.config.seed + PAYOFF_SEED,
            )
            for row, column in missing
        ]
        for where, value in zip(missing, self._executor.map(payoff, entries), strict=True):
            self.table.payoffs[where] = value
        self.iteration += 1
        self._restart_exploiters()
        return {"seconds": time.perf_counter() - begin, **self._metrics()}

    def _segment(self, index: int, name: str) -> TrainingSegment:
        config = self.config
        before = self._learners.get(name)
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
            iteration=0 if before is None else before.iteration,
            state=None if before is None else before.state,
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
                (member.name, member.generation, _shared(member.network)) for member in self.table.members
            ],
            "payoffs": [
                (row, column, value.mean, value.half_width)
                for (row, column), value in self.table.payoffs.items()
            ],
        }

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        trainer = PPOTrainer(self.config.learner(0))
        shape = trainer.network.config
        if iteration and set(state["learners"]) != set(self.config.names):
            raise ValueError(f"it has the learners {', '.join(state['learners'])}")
        for values in state["learners"].values():
            trainer.restore(values["iteration"], {**values["state"], **_NO_SNAPSHOTS})
            trainer.network.load_state_dict(values["weights"])
        self.iteration = iteration
        self._learners = {
            name: Trained(values["iteration"], values["state"], shape, values["weights"], {})
            for name, values in state["learners"].items()
        }
        self._restarts = dict(state["restarts"])
        self.table = Table()
        for name, born, weights in state["members"]:
            self.table.add(Member(name, born, Network(shape, _arrays(weights))))
        for row, column, mean, half_width in state["payoffs"]:
            self.table.payoffs[row, column] = Estimate(float(mean), float(half_width))
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
        cycles = find_cycles(self.table.matrix())
        write_atomic(out / "league.json", table_json(self.table, cycles))

    @contextmanager
    def display(self, console: Console) -> Iterator[Callable[[Metrics], None]]:
        """The table after every generation."""

        def show_generation(metrics: Metrics) -> None:
            console.print(
                f"generation {self.iteration} of {self.config.generations}, {metrics['seconds']:.0f} s"
            )
            show(self.table, console)

        yield show_generation


_SHOWN: Final = ("policy_loss", "value_loss", "entropy", "approx_kl", "explained_variance")


def _arrays(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: value.numpy() for name, value in weights.items()}


def _shared(network: Network) -> dict[str, Tensor]:
    """The weights of a network in its own memory; they never change."""
    return {name: torch.from_numpy(value) for name, value in network.tensors.items()}


def _tensors(network: Network) -> dict[str, Tensor]:
    return {name: torch.from_numpy(value.copy()) for name, value in network.tensors.items()}


def train_league(config: LeagueConfig, console: Console) -> tuple[Population, Path]:
    """Start or continue a population; see `tienlen_train.loop.run_in_folder`.

    The folder has the files of every run, `league.json` with the table, and the policies of all members.
    """

    def make() -> Population:
        PPOTrainer.prepare_process(config)
        PPOTrainer(config.learner(0))  # refuses unknown agents and files of other rules
        return Population(config)

    return run_in_folder(make, config, console)


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Train a population, and report who exploits whom."""
    config = parse_run_args(LeagueConfig, "Train a population of main learners and exploiters.", argv)
    console = make_console()
    population, out = train_league(config, console)
    best = population.table.best()
    console.print(f"run folder: {out}")
    console.print(f"hardest to exploit: policy:{out / 'policies' / best.label}.safetensors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
