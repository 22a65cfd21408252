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
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
from rich.console import Console
from torch import Tensor

from tienlen_agents import arena
from tienlen_agents.arena.league import find_cycles
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.extras import MissingExtraError
from tienlen_agents.networks.network import Network, NetworkAgent, NetworkConfig
from tienlen_agents.ranges import Range
from tienlen_env.games.common.game import AnyRules
from tienlen_train.command import RunError, command
from tienlen_train.config import COUNT, DEALS, setting
from tienlen_train.executor import Executor, ThreadExecutor
from tienlen_train.league_table import Member, Table, show, table_json
from tienlen_train.opponent_pool import Snapshot
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.runs import (
    RunFolder,
    check_resumable,
    parse_run_args,
    restoring,
    sole_run,
    write_atomic,
    writing,
)

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
    eval_every: int = 0

    def __post_init__(self) -> None:
        """Refuse the settings of a single run that a population does not have."""
        super().__post_init__()
        for names, reason in (
            (("staleness", "actors"), "a learner of a population trains in one process"),
            (("stop_after", "checkpoint_every"), "a population is saved after each of its generations"),
            (("eval_every", "eval_deals", "final_deals"), "the table of payoffs measures a population"),
            (("snapshot_every", "num_snapshots"), "the population takes the place of snapshots"),
        ):
            for name in names:
                default = type(self).__dataclass_fields__[name].default
                if getattr(self, name) != default:
                    self.refuse(name, f"expected the default, {default}: {reason}")

    def learner(self, index: int) -> PPOConfig:
        """The settings of a learner: the main learners first, then the exploiters."""
        shared = {field.name: getattr(self, field.name) for field in fields(PPOConfig)}
        shared.update(
            seed=self.seed + 1000 * index,
            snapshot_every=10**9,  # the population takes the place of the learner's own snapshots
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


class Stretch(NamedTuple):
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
    """What `train_stretch` returns.

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


def train_stretch(stretch: Stretch) -> Trained:
    """Train a learner for the iterations of a generation; depends on the stretch alone."""
    PPOTrainer.prepare_process(stretch.config)
    trainer = PPOTrainer(stretch.config)
    if stretch.state is not None:
        trainer.restore(stretch.iteration, {**stretch.state, **_NO_SNAPSHOTS})
    if stretch.start is not None:
        trainer.network.load_state_dict(stretch.start)
    trainer.pool.snapshots = [Snapshot(*opponent) for opponent in stretch.opponents]
    metrics: dict[str, float] = {}
    for _ in range(stretch.iterations):
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


class Population:
    """The learners and their past selves.

    Args:
        config: the settings.
        executor: runs the parts of a generation.

    Attributes:
        generation: number of generations that are over.
        table: the members and their payoffs.
    """

    def __init__(self, config: LeagueConfig, executor: Executor) -> None:
        self.config = config
        self.rules = config.variant()
        self.generation = 0
        self.table = Table()
        self._executor = executor
        self._learners: dict[str, Trained] = {}
        self._restarts: dict[str, Mapping[str, Tensor]] = {}

    def advance(self) -> None:
        """Train all learners for one generation, and play the new entries of the table."""
        names = self.config.names
        stretches = [self._stretch(index, name) for index, name in enumerate(names)]
        for name, trained in zip(names, self._executor.map(train_stretch, stretches), strict=True):
            self._learners[name] = trained
            self.table.add(
                Member(name, self.generation + 1, Network(trained.config, _arrays(trained.weights)))
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
        self.generation += 1
        self._restart_exploiters()

    def _stretch(self, index: int, name: str) -> Stretch:
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
        return Stretch(
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
            if member.name in names and member.generation == self.generation
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

    def restore(self, generation: int, state: Mapping[str, Any]) -> None:
        """Continue from a checkpoint.

        Raises:
            DivergenceError: it has weights that are not finite.
            KeyError, TypeError, ValueError, AttributeError, RuntimeError: it is not the state of such a run;
                the population cannot be used any more.
        """
        trainer = PPOTrainer(self.config.learner(0))
        shape = trainer.network.config
        if generation and set(state["learners"]) != set(self.config.names):
            raise ValueError(f"it has the learners {', '.join(state['learners'])}")
        for values in state["learners"].values():
            trainer.restore(values["iteration"], {**values["state"], **_NO_SNAPSHOTS})
            trainer.check_finite({})
            trainer.network.load_state_dict(values["weights"])
        self.generation = generation
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
        if born != [(name, number) for number in range(1, generation + 1) for name in self.config.names]:
            raise ValueError("it has other members")
        if self.table.missing() or len(self.table.payoffs) != len(born) * (len(born) - 1):
            raise ValueError("its table is not complete")

    def metrics(self) -> dict[str, float]:
        """Figures of the last generation, by learner."""
        found = {}
        for name, trained in self._learners.items():
            found[f"{name}_decisions"] = float(trained.state["num_decisions"])
            found.update((f"{name}_{key}", trained.metrics[key]) for key in _SHOWN if key in trained.metrics)
        return found


_SHOWN: Final = ("policy_loss", "value_loss", "entropy", "approx_kl", "explained_variance")


def _arrays(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: value.numpy() for name, value in weights.items()}


def _shared(network: Network) -> dict[str, Tensor]:
    """The weights of a network in its own memory; they never change."""
    return {name: torch.from_numpy(value) for name, value in network.tensors.items()}


def _tensors(network: Network) -> dict[str, Tensor]:
    return {name: torch.from_numpy(value.copy()) for name, value in network.tensors.items()}


@contextmanager
def _executor(config: LeagueConfig) -> Iterator[Executor]:
    """Where the generations are computed.

    Raises:
        RunError: there is no cluster at the address, or ray is not installed.
    """
    if config.cluster is None:
        yield ThreadExecutor(config.threads)
        return
    from tienlen_agents.cluster import connect

    try:
        connection = connect(config.cluster, config.agent_names(), packages=["tienlen_train"], quiet=True)
        executor = connection.__enter__()
    except (MissingExtraError, ValueError) as error:
        raise RunError(str(error)) from error
    try:
        yield executor.pool
    finally:
        connection.__exit__(None, None, None)


def train_league(
    config: LeagueConfig, console: Console, *, after: Callable[[Population], None] = lambda _: None
) -> tuple[Population, Path]:
    """Start or continue a population; returns it and its folder.

    The folder has the files of every run, `league.json` with the table, and the policies of all members. When
    it returns, table and policies are those of the last checkpoint; the same holds when it is interrupted by
    Ctrl-C or SIGTERM, after the last complete generation.

    Args:
        config: the settings.
        console: shows the table after every generation.
        after: is called after every generation.

    Raises:
        RunError: the folder cannot be used or written to, or there is no cluster at the address.
        DivergenceError: a loss, a weight or a metric is not finite; the last checkpoint is of before.
        ValueError: invalid settings.
    """
    if config.resume and config.out is not None:
        check_resumable(Path(config.out))
    PPOTrainer.prepare_process(config)
    PPOTrainer(config.learner(0))  # refuses unknown agents and files of other rules before a folder is made
    out = Path(config.out or f"runs/league-{time.strftime('%Y%m%d-%H%M%S')}")
    _stop.clear()
    with (
        sole_run(out, POLICIES),
        _executor(config) as executor,
        RunFolder(out, config, config.variant(), resume=config.resume) as folder,
    ):
        run = _Run(Population(config, executor), folder)
        run.begin(console)
        try:
            run.loop(console, after)
        except KeyboardInterrupt as error:
            _stop.set()
            run.save_last()
            error.add_note(f"{out} holds generation {run.population.generation}: continue with --resume")
            raise
        except BaseException:
            _stop.set()
            raise
    return run.population, out


class _Run:
    """A population in its run folder.

    Every generation writes its metrics, then the checkpoint, then the table and the policies, so that what a
    kill leaves undone is done when the run continues from the checkpoint.
    """

    def __init__(self, population: Population, folder: RunFolder) -> None:
        self.population = population
        self.folder = folder
        self._saved = -1  # generation of the last checkpoint
        self._last: tuple[int, dict[str, Any]] = -1, {}  # the state after the last complete generation

    def begin(self, console: Console) -> None:
        """Load the last checkpoint, or write the first one, before the first generation.

        A folder without a checkpoint has therefore lost it, if it holds a run.

        Raises:
            RunError: the checkpoint or the metrics are not those of such a run.
        """
        population, folder, config = self.population, self.folder, self.population.config
        found = folder.load_checkpoint() if config.resume else None
        if found is None:
            self._save(population.state())
            folder.trim_metrics(0)
            return
        with restoring(folder.checkpoint_path(found[0])):
            population.restore(*found)
        if config.new_metrics:
            folder.begin_new_metrics(population.generation)
        folder.trim_metrics(population.generation)
        self._saved, self._last = population.generation, found
        write(population, folder.path)
        console.print(f"continuing {folder.path} after generation {population.generation}")

    def loop(self, console: Console, after: Callable[[Population], None]) -> None:
        """All generations that are left."""
        population = self.population
        while population.generation < population.config.generations:
            begin = time.perf_counter()
            population.advance()
            state, seconds = population.state(), time.perf_counter() - begin
            line = {"iteration": population.generation, "time": time.time(), "seconds": seconds}
            self.folder.log({**line, **population.metrics()})
            self._save(state)
            console.print(
                f"generation {population.generation} of {population.config.generations}, {seconds:.0f} s"
            )
            show(population.table, console)
            after(population)

    def _save(self, state: dict[str, Any]) -> None:
        self._last = self.population.generation, state
        self.folder.save_checkpoint(*self._last)
        self._saved = self.population.generation
        write(self.population, self.folder.path)

    def save_last(self) -> None:
        """Write the checkpoint, the table and the policies of the last complete generation.

        An interrupt may have come in the middle of a generation, so the population goes back to that one.
        """
        self.population.restore(*self._last)
        if self._saved != self.population.generation:
            self.folder.save_checkpoint(*self._last)
        write(self.population, self.folder.path)
        self.folder.trim_metrics(self.population.generation)


def write(population: Population, out: Path) -> None:
    """Write the table, the policies of the present generation, and those that are missing.

    Raises:
        RunError: the disk is full or the folder cannot be written.
    """
    for member in population.table.members:
        path = out / POLICIES / f"{member.label}.safetensors"
        if member.generation == population.generation or not path.exists():
            with writing(path):
                NetworkAgent(member.network, member.label).save(path)
    cycles = find_cycles(population.table.matrix())
    write_atomic(out / "league.json", table_json(population.table, cycles))


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Train a population, and report who exploits whom."""
    config = parse_run_args(LeagueConfig, "Train a population of main learners and exploiters.", argv)
    console = Console()
    population, out = train_league(config, console)
    best = population.table.best()
    console.print(f"run folder: {out}")
    console.print(f"hardest to exploit: policy:{out / 'policies' / best.label}.safetensors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
