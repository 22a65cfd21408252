"""What every algorithm of this folder shares: the games, the opponents, the network, the loop of a run.

All seats learn, from whole rounds (`tienlen_train.rollout`); in a share of the games some seats are taken by
the rule-based baselines or by older snapshots, those more often that still score. Every iteration draws its
randomness from (seed, iteration), so the weights, the optimiser and the snapshots of a checkpoint are the
whole state of a run, and a resumed run follows the same curve as an unbroken one.

An algorithm is a `Trainer` with a way to `learn` from what was played.
"""

from __future__ import annotations

import copy
import ctypes
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.networks.features import Inputs, Prior, features_of
from tienlen_agents.networks.network import (
    ActionNetwork,
    NetworkAgent,
    NetworkConfig,
    as_bfloat16,
    sample,
    segment_log_softmax,
)
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import GAMES, game_of, get_rules
from tienlen_train.config import parse_args
from tienlen_train.progress import TrainingProgress
from tienlen_train.rollout import (
    LEARNER,
    FloatArray,
    IntArray,
    Judge,
    Reveal,
    Trajectories,
    join,
    play_rounds,
)
from tienlen_train.runs import RunError, RunFolder, sole_run, writing

NUM_SHARDS = 2  # of games and of every gradient step; fixed, so that results do not depend on `threads`


@dataclass(frozen=True, kw_only=True)
class SelfPlayConfig:
    """Settings that every algorithm has.

    Attributes:
        env: the game, "tienlen" or "thirteens"; None for the one of the rules.
        rules: preset of the rules; None for the game's first one.
        num_players: seats at the table; None for as many as the rules say.
        decisions: decisions of the learning seats to train on; forced moves do not count.
        stop_after: iterations after which the run ends before that; 0 for never.
        num_games: rounds played in one iteration.
        batch_size: decisions in one gradient step.
        num_epochs: passes over the decisions of an iteration.
        learning_rate: of Adam at the start; it falls linearly to a tenth.
        reward: what is learned: points, or only who is first.
        prior: what the network's scores are added to: nothing, or what the game's rule-based player thinks.
        prior_scale: how much it counts that an action is behind that player's best; None for the game's own.
        record: where the game has one, show the network what the others passed over and played.
        state_width: units of the trunk's layers.
        action_width: units of the layer where state and action meet.
        baseline_share: share of the games in which a rule-based baseline has some of the seats.
        baselines: names of these, with blanks between; None for the game's own.
        snapshot_share: share of the games in which an older snapshot has some of the seats.
        snapshot_every: iterations between snapshots.
        num_snapshots: snapshots that are kept, the oldest dropped first.
        opponent_seats: seats of the opponent in such a game; 0 draws one to all but one.
        start_from: a network file to start from, instead of an untrained one.
        eval_every: iterations between quick comparisons; 0 for none.
        eval_deals: deals of a quick comparison, each in all seatings.
        final_deals: held-out deals of the comparison at the end; 0 for none.
        checkpoint_every: iterations between checkpoints.
        seed: of everything.
        threads: processors that are used; the result is the same with any number.
        device: where the network learns; auto is cuda where there is one.
        precision: bf16 is two to five times as fast on processors that know it; auto asks the processor.
        out: run folder; None makes one under runs/ from the time.
        resume: continue the run in `out`.
    """

    env: str | None = None
    rules: str | None = None
    num_players: int | None = None
    decisions: int = 6_000_000
    stop_after: int = 0
    num_games: int = 1024
    batch_size: int = 4096
    num_epochs: int = 2
    learning_rate: float = 1e-3
    reward: Literal["zero_sum", "win"] = "zero_sum"
    prior: Prior = "heuristic"
    prior_scale: float | None = None
    record: bool = True
    state_width: int = 256
    action_width: int = 128
    baseline_share: float = 0.2
    baselines: str | None = None
    snapshot_share: float = 0.2
    snapshot_every: int = 10
    num_snapshots: int = 10
    opponent_seats: int = 0
    start_from: str | None = None
    eval_every: int = 20
    eval_deals: int = 250
    final_deals: int = 2500
    checkpoint_every: int = 10
    seed: int = 1
    threads: int = 2
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    out: str | None = None
    resume: bool = False

    def variant(self) -> AnyRules:
        """The rules that are meant.

        Raises:
            ValueError: there is no such game or preset, or the preset is of another game.
        """
        games = {game.name: game for game in GAMES}
        if self.env is not None and self.env not in games:
            raise ValueError(f"env={self.env!r}: expected one of {', '.join(games)}")
        game = games[self.env or GAMES[0].name]
        rules = get_rules(self.rules or next(iter(game.presets)), self.num_players)
        if self.env not in (None, game_of(rules).name):
            raise ValueError(f"rules={self.rules!r}: expected one of {', '.join(game.presets)}")
        return rules


class Batches:
    """The trajectories of an iteration as tensors, gathered by decision."""

    def __init__(self, trajectories: Trajectories, device: torch.device, dtype: torch.dtype) -> None:
        inputs = trajectories.inputs
        self.device = device
        self.observation = torch.from_numpy(inputs.observation).to(device, dtype)
        self.hidden = torch.from_numpy(trajectories.hidden).to(device, dtype)
        self.after = as_bfloat16(inputs.after).to(device, dtype)
        self.prior = torch.from_numpy(inputs.prior).to(device)
        self.start = inputs.start
        self.count = inputs.num_legal
        self.place = trajectories.chosen - inputs.start  # of the chosen action among the decision's own

    def rows(self, decisions: IntArray) -> tuple[Tensor, Tensor, IntArray]:
        """Where some decisions' actions are.

        Returns:
            ``(rows, owner, first)``: int64 (N,) indices into the ragged actions, whose action each is, and
            where each decision's begin among these.
        """
        count = self.count[decisions]
        first = np.cumsum(count) - count
        owner = np.repeat(np.arange(len(decisions)), count)
        rows = np.arange(len(owner)) + (self.start[decisions] - first)[owner]
        return self._tensor(rows), self._tensor(owner), first

    def gather(self, decisions: IntArray) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        """What the network reads of some decisions, where the chosen actions are, and the critic's part.

        Returns:
            ``(observation, after, owner, prior, chosen, hidden)``.
        """
        rows, owner, first = self.rows(decisions)
        index = self._tensor(decisions)
        return (
            self.observation.index_select(0, index),
            self.after.index_select(0, rows),
            owner,
            self.prior.index_select(0, rows),
            self._tensor(first + self.place[decisions]),
            self.hidden.index_select(0, index),
        )

    def _tensor(self, array: IntArray) -> Tensor:
        return torch.from_numpy(array).to(self.device)


class Trainer(ABC):
    """A run: the networks, the opponents' pool and one iteration after another.

    Args:
        config: the settings.
    """

    name: ClassVar[str]

    def __init__(self, config: SelfPlayConfig) -> None:
        self.config = config
        self.rules = config.variant()
        self.features = features_of(self.rules)
        # Whom it is compared with on the way, a table full of each; at the end with random, too.
        self.rivals: Sequence[str] = self.features.rivals
        self.device = torch.device(
            ("cuda" if torch.cuda.is_available() else "cpu") if config.device == "auto" else config.device
        )
        self.dtype = torch.bfloat16 if _use_bf16(config, self.device) else torch.float32
        self.iteration = 0
        self.num_decisions = 0
        self.num_games = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        torch.manual_seed(config.seed)
        self.learner = self.make_learner(self.make_network()).to(self.device)
        self.optimizer = torch.optim.Adam(
            self.learner.parameters(), lr=config.learning_rate, eps=1e-5, fused=True
        )
        # Each shard of a gradient step sums its gradients on its own copy of the same weights.
        self.shards = [self.learner, *(copy.deepcopy(self.learner) for _ in range(NUM_SHARDS - 1))]
        for shard in self.shards[1:]:
            for ours, theirs in zip(self.learner.parameters(), shard.parameters(), strict=True):
                theirs.data = ours.data
        names = self.features.baseline if config.baselines is None else config.baselines
        self.baselines: list[Agent] = [tienlen_agents.load(name) for name in names.split()]
        self.snapshots: list[dict[str, Tensor]] = []
        self.snapshot_scores: list[float] = []  # what we get against each, a running mean
        self.pool = ThreadPoolExecutor(config.threads) if config.threads > 1 else None

    def make_network(self) -> ActionNetwork:
        """The policy's network at the start of the run."""
        config = self.config
        if config.start_from:
            network = NetworkAgent.load(config.start_from).network
            if network.config.rules_digest != self.rules.digest():
                raise ValueError(f"start_from={config.start_from!r}: it was made for other rules")
            return network.train().requires_grad_(True)
        return ActionNetwork(
            NetworkConfig.of(
                self.rules,
                record=config.record,
                state_width=config.state_width,
                action_width=config.action_width,
                prior=config.prior,
                prior_scale=self.features.prior_scale if config.prior_scale is None else config.prior_scale,
            )
        )

    @abstractmethod
    def make_learner(self, network: ActionNetwork) -> nn.Module:
        """What is trained; its attribute `network` is the policy's."""

    @abstractmethod
    def learn(self, played: Trajectories) -> dict[str, float]:
        """Improve by what was played; the measures."""

    sharpness: float = 1.0  # of play in training: a factor on the network's scores
    make_reveal: Callable[[], Reveal] | None = None  # of what a critic sees beyond the inputs, for one batch
    judge: Judge | None = None  # asked about every decision while the hands are still known

    @property
    def network(self) -> ActionNetwork:
        """The policy's network."""
        network: ActionNetwork = self.learner.network  # type: ignore[assignment]
        return network

    @property
    def progress(self) -> float:
        """0 at the start, 1 at the end."""
        return min(self.num_decisions / self.config.decisions, 1.0)

    @property
    def is_done(self) -> bool:
        """Whether the run has ended."""
        return self.progress == 1 or 0 < self.config.stop_after <= self.iteration

    @property
    def falling(self) -> float:
        """1 at the start, a tenth at the end."""
        return 1 - 0.9 * self.progress

    def agent(self) -> NetworkAgent:
        """The policy as it is now, a copy."""
        network = copy.deepcopy(self.network).cpu().eval().requires_grad_(False)
        return NetworkAgent(network, self.name)

    def save_policy(self, path: Path) -> None:
        """Write the policy as it is now.

        Raises:
            RunError: the disk is full or the folder cannot be written; the old file is still there.
        """
        with writing(path):
            self.agent().save(path)

    def autocast(self) -> torch.autocast:
        """The precision of forward passes."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype == torch.bfloat16)

    def map(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Like ``list(map(...))``, on all threads."""
        if self.pool is None:
            return list(map(function, *columns))
        return list(self.pool.map(function, *columns))

    # ------------------------------------------------------------ playing

    def controllers(self, rng: np.random.Generator) -> tuple[IntArray, list[int]]:
        """Who has which seat in this iteration.

        Returns:
            ``(controllers, snapshots)``: int64 (B, P), see `play_rounds`: the learner, then the snapshots
            that play, then the baselines; and the indices of these snapshots.
        """
        config, num_players = self.config, self.rules.num_players
        chosen: list[int] = []
        if self.snapshots and config.snapshot_share > 0:
            # One for each shard of the games; those against which we get less are drawn more often.
            weight = np.exp(-2 * np.array(self.snapshot_scores))
            num = min(NUM_SHARDS, len(self.snapshots))
            chosen = rng.choice(len(self.snapshots), num, replace=False, p=weight / weight.sum()).tolist()
        shares = [config.snapshot_share if chosen else 0.0]
        shares += [config.baseline_share / len(self.baselines) for _ in self.baselines]
        kind = rng.choice(len(shares) + 1, config.num_games, p=[1 - sum(shares), *shares])
        snapshot = np.arange(config.num_games) * len(chosen) // config.num_games
        who = np.select([kind == 0, kind == 1], [LEARNER, 1 + snapshot], kind - 1 + len(chosen))
        seats = config.opponent_seats or rng.integers(1, num_players, config.num_games)
        order = rng.random((config.num_games, num_players)).argsort(axis=1)
        theirs = order < np.reshape(seats, (-1, 1))
        return np.where(theirs, who[:, None], LEARNER), chosen

    def snapshot(self, index: int) -> ActionNetwork:
        """An older policy's network."""
        with torch.device("meta"):  # its weights need not be made, only to be replaced
            network = ActionNetwork(self.network.config)
        network.load_state_dict(self.snapshots[index], assign=True)
        return network.to(self.device)

    def act(
        self, network: ActionNetwork, rng: np.random.Generator, inputs: Inputs
    ) -> tuple[IntArray, FloatArray]:
        """Draw actions by a policy (see `tienlen_train.rollout.Act`)."""
        owner = torch.from_numpy(inputs.owner).to(self.device)
        with torch.inference_mode(), self.autocast():
            logits = network(
                torch.from_numpy(inputs.observation).to(self.device, self.dtype),
                as_bfloat16(inputs.after).to(self.device, self.dtype),
                owner,
                torch.from_numpy(inputs.prior).to(self.device),
            )
            log_probability = (
                segment_log_softmax(self.sharpness * logits, owner, len(inputs.num_legal)).cpu().numpy()
            )
        chosen = sample(log_probability, inputs.start, rng)
        return chosen, log_probability[chosen]

    def play(self) -> Trajectories:
        """The rounds of an iteration."""
        config = self.config
        rng = np.random.default_rng((config.seed, self.iteration))
        keys = rng.integers(-(2**63), 2**63, config.num_games, np.int64)
        controllers, snapshots = self.controllers(rng)
        networks = [self.network, *(self.snapshot(index) for index in snapshots)]
        for baseline in self.baselines:
            baseline.reset(int(rng.integers(2**31)))
        rngs = rng.spawn(NUM_SHARDS)
        parts = np.array_split(np.arange(config.num_games), NUM_SHARDS)

        def play_part(part: IntArray, rng: np.random.Generator) -> Trajectories:
            return play_rounds(
                self.rules,
                keys[part],
                controllers[part],
                [partial(self.act, network, rng) for network in networks],
                self.network.config.reader(),
                copy.deepcopy(self.baselines),  # of which none need be safe to use by two threads
                reward=config.reward,
                reveal=None if self.make_reveal is None else self.make_reveal(),
                judge=self.judge,
            )

        played = join(self.map(play_part, parts, rngs), self.map)
        for index, snapshot in enumerate(snapshots, 1):
            games = (controllers == index).any(axis=1)
            mine = played.scores[games][controllers[games] == LEARNER]
            if mine.size:
                self.snapshot_scores[snapshot] += 0.3 * (float(mine.mean()) - self.snapshot_scores[snapshot])
        return played

    # ------------------------------------------------------------ learning

    def epochs(
        self,
        num_decisions: int,
        shard_loss: Callable[[nn.Module, IntArray, float], Tensor],
    ) -> Tensor:
        """Gradient steps on all decisions, `num_epochs` times in random batches.

        Args:
            num_decisions: n.
            shard_loss: ``(learner, decisions, weight)``: adds the gradients of `weight` times the mean loss
                of these decisions and returns its measures, float32 (m,), times the weight.

        Returns:
            float32 (m,), the mean of the measures.
        """
        config = self.config
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * self.falling
        rng = np.random.default_rng((config.seed, self.iteration, 1))
        num_batches = max(1, round(num_decisions / config.batch_size))
        totals, num_updates = torch.zeros(()), 0
        for _ in range(config.num_epochs):
            for chosen in np.array_split(rng.permutation(num_decisions), num_batches):
                parts = np.array_split(chosen, NUM_SHARDS)
                weights = [len(part) / len(chosen) for part in parts]
                measures = self.map(shard_loss, self.shards, parts, weights)
                self._update()
                totals = totals + sum(measures).cpu()
                num_updates += 1
        return totals / num_updates

    def _update(self) -> None:
        for shard in self.shards[1:]:
            for ours, theirs in zip(self.learner.parameters(), shard.parameters(), strict=True):
                ours.grad += theirs.grad  # type: ignore[operator]
            shard.zero_grad()
        nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def iterate(self) -> dict[str, float]:
        """Play and learn once; the measures of both."""
        begin, begin_cpu = time.perf_counter(), time.process_time()
        played = self.play()
        middle = time.perf_counter()
        measures = self.learn(played)
        end = time.perf_counter()
        config = self.config
        self.iteration += 1
        self.num_decisions += len(played)
        self.num_games += config.num_games
        self.seconds += end - begin
        self.cpu_seconds += time.process_time() - begin_cpu
        if config.snapshot_share > 0 and self.iteration % config.snapshot_every == 0:
            weights = {k: v.detach().cpu().clone() for k, v in self.network.state_dict().items()}
            self.snapshots = [*self.snapshots, weights][-config.num_snapshots :]
            self.snapshot_scores = [*self.snapshot_scores, 0.0][-config.num_snapshots :]
        in_network = played.seconds_acting / (NUM_SHARDS if self.pool else 1) + end - middle
        return {
            "decisions": self.num_decisions,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "decisions_per_second": len(played) / (end - begin),
            "outside_network": 1 - in_network / (end - begin),
            **measures,
        }

    # ------------------------------------------------------------ measuring and keeping

    def evaluate(self) -> dict[str, float]:
        """Points and first places against the rivals, on deals that nothing else uses."""
        found = {}
        for name in self.rivals:
            result = arena.match(
                self.agent(),
                tienlen_agents.load(name),
                rules=self.rules,
                num_deals=self.config.eval_deals,
                seed=self.config.seed + 1_000_000,
            )
            score = result.scores[0]
            found[f"points_v_{name}"] = score.points.mean
            found[f"firsts_v_{name}"] = score.first.mean
        return found

    def state(self) -> dict[str, Any]:
        """All that a checkpoint holds."""
        return {
            "learner": self.learner.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "num_decisions": self.num_decisions,
            "num_games": self.num_games,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "snapshots": self.snapshots,
            "snapshot_scores": self.snapshot_scores,
        }

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.iteration = iteration
        self.learner.load_state_dict(state["learner"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.num_decisions = state["num_decisions"]
        self.num_games = state["num_games"]
        self.seconds = state["seconds"]
        self.cpu_seconds = state["cpu_seconds"]
        self.snapshots = state["snapshots"]
        self.snapshot_scores = state["snapshot_scores"]


def _use_bf16(config: SelfPlayConfig, device: torch.device) -> bool:
    if config.precision != "auto":
        return config.precision == "bf16"
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    return bool(torch.cpu._is_avx512_bf16_supported())


def keep_memory() -> None:
    """Have the process keep the memory of large arrays that it frees, where the C library is glibc.

    It would be given back to the system and paged in anew in every iteration, which cost a tenth of the time.
    """
    trim_threshold, top_pad, mmap_max = -1, -2, -4  # of malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for setting, value in ((trim_threshold, 2**31 - 1), (top_pad, 2**26), (mmap_max, 0)):
        mallopt(setting, value)


def train(make_trainer: type[Trainer], config: SelfPlayConfig, console: Console) -> tuple[Trainer, Path]:
    """Run or continue a training; the trainer and its run folder.

    Once it returns, the folder's ``policy.safetensors`` is the policy of its last checkpoint.

    Raises:
        RunError: the run folder cannot be used, or written to.
        ValueError: settings that cannot be.
    """
    keep_memory()
    # Two OpenMP threads would meet at every operation; ours meet twice a gradient step.
    torch.set_num_threads(1)
    trainer = make_trainer(config)
    out = Path(config.out or f"runs/{trainer.name}-{time.strftime('%Y%m%d-%H%M%S')}")
    policy_path = out / "policy.safetensors"
    with sole_run(out):
        folder = RunFolder(out, config, trainer.rules, resume=config.resume)
        if config.resume and (found := folder.load_checkpoint()) is not None:
            trainer.restore(*found)
            # The run may have been stopped after it wrote the checkpoint and before it wrote the policy.
            trainer.save_policy(policy_path)
            console.print(f"continuing {out} after iteration {trainer.iteration}")
        folder.trim_metrics(trainer.iteration)
        console.print(
            f"training on {trainer.rules.name}, {trainer.rules.num_players} players, "
            f"prior {trainer.network.config.prior}, {trainer.network.num_weights:,} weights, "
            f"{config.decisions:,} decisions; run folder {out}"
        )
        with TrainingProgress(console, config.decisions, trainer.num_decisions) as progress:
            scores: dict[str, float] = {}
            while not trainer.is_done:
                metrics = trainer.iterate()
                done = trainer.is_done
                if config.eval_every and trainer.iteration % config.eval_every == 0 and not done:
                    scores = trainer.evaluate()
                    metrics.update(scores)
                folder.log({"iteration": trainer.iteration, "time": time.time(), **metrics})
                if trainer.iteration % config.checkpoint_every == 0 or done:
                    folder.save_checkpoint(trainer.iteration, trainer.state())
                    trainer.save_policy(policy_path)
                progress.update(
                    trainer.num_decisions,
                    trainer.num_games,
                    metrics["decisions_per_second"],
                    trainer.iteration,
                    scores,
                )
    return trainer, out


def run(
    make_trainer: type[Trainer],
    config_class: type[SelfPlayConfig],
    description: str,
    argv: Sequence[str] | None,
) -> None:
    """A training script: train, compare over duplicate deals, print the table and leave the run folder."""
    config = parse_args(config_class, description, argv)
    console = Console()
    try:
        trainer, out = train(make_trainer, config, console)
    except (RunError, ValueError) as error:
        raise SystemExit(f"error: {error}") from error
    if config.final_deals:
        report = arena.compare(
            trainer.agent(),
            [tienlen_agents.load(name) for name in ("random", *trainer.rivals)],
            rules=trainer.rules,
            num_deals=config.final_deals,
            seed=config.seed + 2_000_000,
            mixed=False,
        )
        report.print(console)
        report.write(out)
    console.print(f"run folder: {out}")
    console.print(f"play with it: tienlen_agents.load('policy:{out}/policy.safetensors')")
