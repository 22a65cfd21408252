"""Runs of one policy: a trainer that plays whole rounds with an `ActionNetwork` in all learning seats.

The rounds are those of `tienlen_train.rollout`, the opponents those of `tienlen_train.opponent_pool`.

Every iteration draws its randomness from (seed, iteration), so the weights, the optimiser and the snapshots
of a checkpoint are the whole state of a run, and a resumed run gives the same results as an uninterrupted
one.

An algorithm is a trainer with a method that learns from an iteration's trajectories.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, Generic

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from tienlen_agents.executors import Executor, ItemT, ResultT, Threads
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import features_of
from tienlen_env.errors import DeviceError
from tienlen_env.games.common.arrays import IntArray
from tienlen_train.config import DivergenceError, SelfPlayConfig
from tienlen_train.doors import Actor, actor_of, evaluators_of
from tienlen_train.evaluation import command_to_play, final_comparison, quick_comparison
from tienlen_train.learner import (
    AnyTrajectories,
    DeviceTrajectories,
    Learner,
    Loss,
    ModelT,
    TrajectoryTensors,
    minibatches,
)
from tienlen_train.loop import Metrics, TrainingTask, progress_bar
from tienlen_train.network import ActionNetwork, first_network
from tienlen_train.opponent_pool import IterationPlan, OpponentPool, check_agents, plans_state, restored_plans
from tienlen_train.rollout import PolicyWeights, RolloutJob, join, rollout
from tienlen_train.runs import writing
from tienlen_train.variants import ShardVariant, mixed_variant, parse_variants, reward_scale

LARGEST: Final = 1e10  # a weight; beyond it products of layers leave the range of float32


class SelfPlayTrainer(TrainingTask, Generic[ModelT]):
    """A run of one policy: an `ActionNetwork` has all learning seats.

    Args:
        config: the settings.
        executor: runs rollouts; None for threads of this process.
        actor: plays the rollouts, and the run learns on its device; None for what the settings say.

    Attributes:
        eval_opponents: names of the agents that the policy is compared with, alone against three of each; at
            the end also with random.
        num_decisions: number of decisions so far.
        num_games: number of games so far.
        seconds: wall time of all iterations so far.
        cpu_seconds: processor time of all iterations so far.
        scores: the last quick comparison.
        variants: of a general network, None for ``mixed``; None for a network of one variant.
        actor: plays in place of the executor; None if the executor plays.
        learner: the model and its optimiser.
        pool: the opponents.
        seed_key: of the seeds of opponents and teachers in other processes; empty if there are none.
        waiting: the plans that have been started and not yet learned.
        last_staleness: iterations between the weights that played last and the learner's.
    """

    policy_file: ClassVar[str] = "policy.safetensors"
    config: SelfPlayConfig

    def __init__(
        self, config: SelfPlayConfig, executor: Executor | None = None, actor: Actor | None = None
    ) -> None:
        super().__init__(config)
        self.features = features_of(self.rules)
        self.eval_opponents: Sequence[str] = self.features.eval_opponents
        self.num_decisions = 0
        self.num_games = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.scores: Metrics = {}
        try:
            self.evaluators = evaluators_of(config.evaluators.split(), self.rules)
        except ValueError as error:
            config.refuse("evaluators", f"expected some that measure these rules: {error}")
        if config.device == "cuda" and not torch.cuda.is_available():
            config.refuse("device", "expected auto or cpu, because torch finds no CUDA device here")
        self.device = torch.device(
            ("cuda" if torch.cuda.is_available() else "cpu") if config.device == "auto" else config.device
        )
        if actor is not None:
            self.device = actor.device
        self.dtype = torch.bfloat16 if _use_bf16(config, self.device) else torch.float32
        self.threads = Threads(config.threads)
        self.executor = executor or self.threads
        self.variants = None if config.variants is None else parse_variants(config.variants)
        self.pool = OpponentPool(config, config.baseline_names())
        played = [found.rules for found in self.variants or () if found is not None] or [self.rules]
        self.seed_key = check_agents(
            self.pool.baselines, config.rollout_options().get("teachers", ()), played
        )
        self.missing_on_device = ""
        self.actor = self._make_actor(actor)
        torch.manual_seed(config.seed)
        model = self.make_model(self.make_network())
        self.learner = Learner(model, config, self.device, self.map_here, len(self.parts()))
        self.network.for_device = self.actor is not None
        self.waiting: deque[IterationPlan] = deque()
        self.last_staleness = 0

    def _make_actor(self, actor: Actor | None) -> Actor | None:
        """What plays in place of the executor; None for the executor."""
        config = self.config
        try:
            if actor is None and config.executor is None:
                actor = actor_of(config.actor, self.device)
        except (DeviceError, ValueError) as error:
            if config.actor is not None:
                config.refuse("actor", f"expected another: {error}")
            if config.device == "cuda":
                config.refuse("device", f"expected auto or cpu: {error}")
            self.missing_on_device = str(error)
            return None
        if actor is None:
            return None
        self.missing_on_device = actor.lacks(
            self.features,
            config.rollout_options(),
            self.pool.baselines,
            variants=self.variants is not None,
        )
        return None if self.missing_on_device else actor

    @contextmanager
    def workplace(self, console: Console) -> Iterator[None]:
        """Where the games are played: in this process, or by the executor that the settings name."""
        with self.opened_executor(console) as executor:
            here, self.executor = self.executor, executor or self.executor
            try:
                yield
            finally:
                self.executor = here

    def map_here(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """Results of threads of this process; the executor gets work meanwhile."""
        self.executor.poll()
        return self.threads.map(function, items)

    def make_network(self) -> ActionNetwork:
        """The policy's network at the start of the run."""
        return first_network(self.config, self.rules, is_general=self.variants is not None)

    @abstractmethod
    def make_model(self, network: ActionNetwork) -> ModelT:
        """The trained model."""

    @abstractmethod
    def learn(self, played: AnyTrajectories) -> dict[str, float]:
        """Improve the model by what an iteration has played; the metrics."""

    def tensors(self, played: AnyTrajectories) -> TrajectoryTensors:
        """What an iteration has played, as tensors on the device of the run."""
        if isinstance(played, DeviceTrajectories):
            return played
        return TrajectoryTensors.of(played, self.device, self.dtype)

    def take_steps(
        self, loss: Loss[ModelT], names: Sequence[str], played: AnyTrajectories
    ) -> dict[str, float]:
        """Gradient steps on the decisions of an iteration; the means of the metrics of the steps, by name."""
        config = self.config
        self.learner.set_learning_rate(config.learning_rate * self.lr_factor)
        seed = (config.seed, self.iteration, 1)
        epochs = minibatches(played, seed, config.batch_size, config.update_epochs)
        return dict(zip(names, self.learner.train(loss, epochs), strict=True))

    def autocast(self) -> torch.autocast:
        """The precision of forward passes."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype == torch.bfloat16)

    @property
    def weights(self) -> Iterable[Tensor]:
        """The weights of the policy and of what is trained with it."""
        return self.learner.model.parameters()

    @property
    def network(self) -> ActionNetwork:
        """The policy's network."""
        return self.learner.model.network

    def policy_weights(self) -> dict[str, Tensor]:
        """A copy of the weights of the policy, on the CPU."""
        return {name: value.detach().cpu().clone() for name, value in self.network.state_dict().items()}

    def agent(self) -> NetworkAgent:
        """A copy of the current policy."""
        return NetworkAgent(self.network.to_network(), self.name)

    def drawing_agent(self) -> NetworkAgent:
        """The current policy with the probabilities of its actions, if it is one that draws them."""
        return self.agent()

    @property
    def description(self) -> str:
        """A description of the run, for the console."""
        network, where, precision = self.network, "", "float32"
        if self.actor is not None:
            where = f", on {self.device}"
        elif self.missing_on_device:
            missing = self.missing_on_device
            where = f", learning on {self.device}, games on the processor (not on {self.device}: {missing})"
        if self.dtype == torch.bfloat16:
            precision = "bfloat16"
        elif self.config.precision == "auto":
            precision += f" (this {self.device.type} has no bfloat16, which is about twice as fast)"
        return (
            f"{super().description}, prior {network.config.prior}, {network.num_weights:,} weights, "
            f"{self.config.decisions:,} decisions{where}, in {precision}"
        )

    @property
    def progress(self) -> float:
        """0 at the start, 1 at the end."""
        return min(self.num_decisions / self.config.decisions, 1.0)

    @property
    def is_done(self) -> bool:
        """Whether the run has ended."""
        return self.progress == 1 or 0 < self.config.stop_after <= self.iteration

    @property
    def lr_factor(self) -> float:
        """Factor on the learning rate: 1 at the start, falls linearly to a tenth at the end."""
        return 1 - 0.9 * self.progress

    def advance(self) -> Metrics:
        """An iteration, and every few iterations a quick comparison; the metrics."""
        metrics, every = self.iterate(), self.config.eval_every
        is_due = every > 0 and self.iteration % every == 0
        if is_due and not self.is_done:
            self.scores = self.evaluate()
            metrics.update(self.scores)
        if is_due or self.is_done:
            for evaluate in self.evaluators:
                metrics.update(evaluate(self.drawing_agent()))
        return metrics

    def iterate(self) -> dict[str, float]:
        """Play and learn once; the metrics.

        Raises:
            DivergenceError: see `check_finite`.
        """
        begin, begin_cpu, before = time.perf_counter(), time.process_time(), self.num_decisions
        try:
            metrics = self.play_and_learn()
        except FloatingPointError as error:
            raise self._divergence(str(error)) from error
        self.check_finite(metrics)
        seconds = time.perf_counter() - begin
        self.iteration += 1
        self.seconds += seconds
        self.cpu_seconds += time.process_time() - begin_cpu
        config = self.config
        if config.snapshot_share > 0 and self.iteration % config.snapshot_every == 0:
            self.pool.add(self.iteration, self.policy_weights())
        return {
            "decisions": self.num_decisions,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "decisions_per_second": (self.num_decisions - before) / seconds,
            **metrics,
        }

    def play_and_learn(self) -> dict[str, float]:
        """One iteration, which adds to `num_decisions` and `num_games`; its metrics."""
        begin = time.perf_counter()
        played = self.play()
        middle = time.perf_counter()
        metrics = self.learn(played)
        end = time.perf_counter()
        self.num_decisions += len(played)
        self.num_games += self.config.num_games
        if isinstance(played, DeviceTrajectories):
            return {"seconds_playing": middle - begin, "seconds_learning": end - middle, **metrics}
        num_parallel = self.config.shards if self.config.threads > 1 else 1
        in_network = played.seconds_acting / num_parallel + end - middle
        about = self.executor.metrics(self.last_staleness)
        return {"outside_network": 1 - in_network / (end - begin), **metrics, **about}

    def play(self) -> AnyTrajectories:
        """Play the rounds of an iteration; those of the next `staleness` iterations are started as well."""
        while len(self.waiting) <= self.config.staleness:
            self.waiting.append(self.plan(self.iteration + len(self.waiting)))
        for waiting in self.waiting:
            if waiting.results is list:  # new, or of a checkpoint
                waiting.results = self.start(waiting)
        plan = self.waiting.popleft()
        self.last_staleness = self.iteration - plan.version
        parts = plan.results()
        played: AnyTrajectories = parts[0] if self.actor is not None else join(parts, self.map_here)
        self.pool.update_scores(plan.seating, played.scores)
        return played

    def start(self, plan: IterationPlan) -> Callable[[], list[Any]]:
        """Start to play a plan; a function that waits for the rollouts."""
        jobs, actor = self.jobs(plan), self.actor
        if actor is not None:
            return lambda: [actor.rollout(job) for job in jobs]
        return self.executor.start(rollout, jobs)

    def plan(self, iteration: int) -> IterationPlan:
        """What is played in an iteration, with the present weights."""
        config = self.config
        rng = np.random.default_rng((config.seed, iteration))
        keys = rng.integers(-(2**63), 2**63, config.num_games, np.int64)
        seating = self.pool.seat(rng, self._table_sizes(iteration))
        opponent_seeds = tuple(int(rng.integers(2**31)) for _ in self.pool.baselines)
        return IterationPlan(iteration, keys, seating, opponent_seeds, self.iteration, self.policy_weights())

    def parts(self) -> list[IntArray]:
        """The games of each shard: indices. On a device many threads compute one shard."""
        num_shards = self.config.shards if self.actor is None else 1
        return np.array_split(np.arange(self.config.num_games), num_shards)

    def variant_of(self, iteration: int, shard: int) -> ShardVariant:
        """What a shard plays in an iteration."""
        if self.variants is None:
            return ShardVariant(self.rules, self.config.reward)
        found = self.variants[(iteration * self.config.shards + shard) % len(self.variants)]
        if found is not None:
            return found
        return mixed_variant(self.rules, np.random.default_rng((self.config.seed, iteration, shard, 2)))

    def _table_sizes(self, iteration: int) -> int | IntArray:
        """The number of seats, or of each game."""
        if self.variants is None:
            return self.rules.num_players
        sizes = [self.variant_of(iteration, shard).rules.num_players for shard in range(self.config.shards)]
        return np.repeat(sizes, [len(part) for part in self.parts()])

    def jobs(self, plan: IterationPlan) -> list[RolloutJob]:
        """The jobs of a plan, one for each shard; a device has one."""
        config = self.config
        shape = self.network.config
        policies = (
            PolicyWeights(plan.version, shape, plan.weights),
            *(PolicyWeights(one.version, shape, one.weights) for one in plan.seating.snapshots),
        )
        variants = [self.variant_of(plan.iteration, shard) for shard in range(len(self.parts()))]
        return [
            RolloutJob(
                rules=variant.rules,
                keys=plan.keys[part],
                seat_policies=plan.seating.seat_policies[part, : variant.rules.num_players],
                policies=policies,
                opponents=self.pool.baselines,
                opponent_seeds=plan.opponent_seeds,
                seed_key=self.seed_key,
                seed=(config.seed, plan.iteration),
                shard=shard,
                reward=variant.reward,
                reward_scale=1.0 if self.variants is None else reward_scale(variant),
                **config.rollout_options(),
                device=str(self.device),
                precision="bf16" if self.dtype == torch.bfloat16 else "fp32",
            )
            for shard, (part, variant) in enumerate(zip(self.parts(), variants, strict=True))
        ]

    def check_finite(self, metrics: Mapping[str, float]) -> None:
        """Refuse to go on with numbers that are not finite, or weights that will soon make such numbers.

        Raises:
            DivergenceError: a metric is not finite, or a weight is not in -LARGEST..LARGEST.
        """
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise self._divergence(f"{name} is {value}")
        for weights in self.weights:
            if not bool((weights.detach().abs() <= LARGEST).all()):  # False for NaN, too
                raise self._divergence(f"a weight is not in -{LARGEST:g}..{LARGEST:g}")

    def _divergence(self, what: str) -> DivergenceError:
        return DivergenceError(
            f"the run has diverged in iteration {self.iteration + 1}: {what}. The checkpoints and the policy "
            "are of before; start another run with a smaller --learning-rate"
        )

    def evaluate(self) -> dict[str, float]:
        """The quick comparison, on deals of its own.

        Returns:
            See `quick_comparison`.
        """
        return quick_comparison(self.agent(), self.eval_opponents, self.config, self.variants)

    def report(self, out: Path, console: Console) -> None:
        """Compare the policy on held-out duplicate deals; print and write the result table."""
        final_comparison(self.agent(), self.eval_opponents, self.config, self.variants, out, console)

    def state(self) -> dict[str, Any]:
        """The contents of a checkpoint."""
        return {
            **self.learner.state(),
            "num_decisions": self.num_decisions,
            "num_games": self.num_games,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            **self.pool.state(),
            **plans_state(self.waiting),
            **({"seed_key": self.seed_key} if self.seed_key else {}),
        }

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.iteration = iteration
        self.num_decisions = int(state["num_decisions"])
        self.num_games = int(state["num_games"])
        self.seconds = float(state["seconds"])
        self.cpu_seconds = float(state["cpu_seconds"])
        self.learner.restore(state)
        self.pool.restore(state)
        self.seed_key = state.get("seed_key", self.seed_key)
        self.waiting = deque(restored_plans(state, self.pool))
        self.check_finite({})

    def save(self, out: Path) -> None:
        """Write the current policy to the run folder."""
        path = out / self.policy_file
        with writing(path):
            self.agent().save(path)

    @contextmanager
    def display(self, console: Console) -> Iterator[Callable[[Metrics], None]]:
        """See `progress_bar`; with the last quick comparison."""
        with progress_bar(console, self.config.decisions, self.num_decisions) as show:

            def show_iteration(metrics: Metrics) -> None:
                has_units = any(name.startswith("units_v_") for name in self.scores)
                figure = "units_v_" if has_units else "points_v_"
                score = "  ".join(
                    f"{value:.2f} v. {name.removeprefix(figure)}"
                    for name, value in self.scores.items()
                    if name.startswith(figure)
                )
                rate = metrics["decisions_per_second"]
                show(self.num_decisions, self.num_games, rate, self.iteration, score, self.is_done)

            yield show_iteration

    def finish(self, out: Path, console: Console) -> None:
        """Compare the policy with other agents, and say how to play with it."""
        if self.config.final_deals:
            self.report(out, console)
        console.print(f"run folder: {out}")
        if command := command_to_play(out / self.policy_file, self.rules):
            console.print(f"play with it: {command}", markup=False, highlight=False, soft_wrap=True)


def _use_bf16(config: SelfPlayConfig, device: torch.device) -> bool:
    if config.precision != "auto":
        return config.precision == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu._is_avx512_bf16_supported())
