"""Train MaskablePPO (sb3-contrib) in self-play and compare it with the rule-based baselines.

    python -m tienlen_train.ppo_sb3                       # about five minutes on two cores
    python -m tienlen_train.ppo_sb3 --out runs/a --resume # continue a run that was stopped, exactly

One learning seat a game; the other seats are drawn at every deal from a pool: the rule-based baselines, the
policy as it is, and older snapshots of it. Every iteration starts from fresh deals and draws all its
randomness from (seed, iteration), so the weights, the optimiser and the snapshots of a checkpoint are the
whole state of a run, and a resumed run follows the same curve as an unbroken one.
"""

from __future__ import annotations

import io
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import ConstantSchedule

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.networks.features import features_of
from tienlen_agents.networks.sb3_policy import PolicyAgent
from tienlen_env.engine.agent import Agent
from tienlen_env.envs.sb3 import TienLenVecEnv
from tienlen_env.games.registry import get_rules
from tienlen_train.config import parse_args
from tienlen_train.runs import RunError, RunFolder, sole_run, write_atomic


@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Settings of a run; the defaults are the five-minute run of ``make train``.

    Attributes:
        rules: preset of the rules, which names the game, too (``"thirteens"``).
        num_players: seats at the table.
        decisions: decisions of the learning seats to train on; forced moves do not count.
        num_games: games played side by side.
        num_steps: decisions of each game in one iteration.
        batch_size: decisions in one gradient step.
        num_epochs: passes over the decisions of an iteration.
        learning_rate: of Adam at the start; it falls linearly to a tenth.
        gae_lambda: trace decay of the advantage estimate; rewards are not discounted.
        clip_range: PPO's clip of the probability ratio.
        entropy: weight of the entropy bonus.
        hidden: units of the shared layer and of each head's layer.
        baseline_share: share of the opponents that are rule-based baselines.
        snapshot_share: share that are older snapshots; the rest are the policy as it is.
        snapshot_every: iterations between snapshots.
        num_snapshots: snapshots that are kept, the oldest dropped first.
        eval_every: iterations between quick comparisons with the baselines; 0 for none.
        eval_deals: deals of a quick comparison, each in all seatings.
        final_deals: held-out deals of the comparison at the end; 0 for none.
        checkpoint_every: iterations between checkpoints.
        seed: of everything.
        threads: torch threads; more than one slows down on a machine that does other work too.
        out: run folder; None makes one under runs/ from the time.
        resume: continue the run in `out`.
    """

    rules: str = "cardgames"
    num_players: int = 4
    decisions: int = 1_000_000
    num_games: int = 256
    num_steps: int = 32
    batch_size: int = 2048
    num_epochs: int = 4
    learning_rate: float = 5e-4
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    entropy: float = 0.03
    hidden: int = 256
    baseline_share: float = 0.5
    snapshot_share: float = 0.2
    snapshot_every: int = 10
    num_snapshots: int = 8
    eval_every: int = 20
    eval_deals: int = 100
    final_deals: int = 1000
    checkpoint_every: int = 10
    seed: int = 1
    threads: int = 1
    out: str | None = None
    resume: bool = False


class Trainer:
    """A run: the model, the opponents' pool and the loop."""

    def __init__(self, config: PPOConfig, folder: RunFolder) -> None:
        self.config = config
        self.folder = folder
        self.iteration = 0
        self.num_games = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        torch.manual_seed(config.seed)
        self.venv = TienLenVecEnv(
            config.num_games,
            rules=get_rules(config.rules, config.num_players),
            reward="zero_sum",
            skip_forced=True,
            seed=config.seed,
        )
        self.model = MaskablePPO(
            "MlpPolicy",
            self.venv,
            learning_rate=config.learning_rate,
            n_steps=config.num_steps,
            batch_size=config.batch_size,
            n_epochs=config.num_epochs,
            gamma=1.0,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_range,
            ent_coef=config.entropy,
            policy_kwargs={
                "net_arch": {"pi": [config.hidden, config.hidden], "vf": [config.hidden]},
                "activation_fn": torch.nn.ReLU,
            },
            seed=config.seed,
            stats_window_size=1_000_000,
            device="cpu",
        )
        self.model.set_logger(Logger(None, []))  # its numbers go to the run folder, with the others
        self.rivals = features_of(self.venv.rules).rivals
        self.baselines: list[Agent] = [tienlen_agents.load(name) for name in self.rivals]
        self.snapshots: deque[dict[str, Any]] = deque(maxlen=config.num_snapshots)

    @property
    def num_iterations(self) -> int:
        """Iterations of the whole run."""
        return -(-self.config.decisions // (self.config.num_games * self.config.num_steps))

    @property
    def learning_rate(self) -> float:
        """Falls linearly from the start value to a tenth."""
        return self.config.learning_rate * (1 - 0.9 * self.iteration / self.num_iterations)

    def agent(self, *, sample: bool) -> PolicyAgent:
        """The policy as it is, as an agent of its own."""
        return PolicyAgent.from_model(self.model, sample=sample, name="ppo_sb3")

    def set_opponents(self) -> None:
        """Fill the pool: baselines, older snapshots, the policy as it is."""
        config = self.config
        old = [self._as_agent(weights) for weights in self.snapshots]
        snapshot_share = config.snapshot_share if old else 0.0
        shares = [config.baseline_share / len(self.baselines)] * len(self.baselines)
        shares += [snapshot_share / max(len(old), 1)] * len(old)
        pool = [*self.baselines, *old, self.agent(sample=True)]
        seeds = np.random.default_rng((config.seed, self.iteration)).integers(2**31, size=len(pool))
        for opponent, seed in zip(pool, seeds.tolist(), strict=True):
            opponent.reset(seed)
        self.venv.set_opponents(pool, [*shares, 1 - sum(shares)])

    def _as_agent(self, weights: dict[str, Any]) -> PolicyAgent:
        now = {k: v.clone() for k, v in self.model.policy.state_dict().items()}
        self.model.policy.load_state_dict(weights)
        snapshot = self.agent(sample=True)
        self.model.policy.load_state_dict(now)
        return snapshot

    def iterate(self) -> dict[str, float]:
        """Play `num_steps` decisions in every game, then learn from them; the measures of both."""
        config = self.config
        start, start_cpu = time.perf_counter(), time.process_time()
        seed = int(np.random.default_rng((config.seed, self.iteration, 1)).integers(2**31))
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002  (stable-baselines3 shuffles its batches with the global generator)
        self.set_opponents()
        self.venv.seed(seed)
        self.model._last_obs = None  # start from fresh deals
        self.model.ep_info_buffer = None  # the statistics of this iteration alone
        self.model.lr_schedule = ConstantSchedule(self.learning_rate)
        self.model.learn(config.num_games * config.num_steps, reset_num_timesteps=False, log_interval=1)
        self.iteration += 1
        if self.iteration % config.snapshot_every == 0:
            self.snapshots.append({k: v.clone() for k, v in self.model.policy.state_dict().items()})
        logged = self.model.logger.name_to_value
        num_games = len(self.model.ep_info_buffer)
        self.num_games += num_games
        seconds = time.perf_counter() - start
        self.seconds += seconds
        self.cpu_seconds += time.process_time() - start_cpu
        return {
            "decisions": self.iteration * config.num_games * config.num_steps,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "decisions_per_second": config.num_games * config.num_steps / seconds,
            "reward": float(np.mean([e["r"] for e in self.model.ep_info_buffer])) if num_games else 0.0,
            **{k.partition("/")[2]: float(v) for k, v in logged.items() if k.startswith("train/")},
        }

    def evaluate(self, num_deals: int) -> dict[str, float]:
        """Mean points against three of each rival, on deals that no training or final comparison uses."""
        found = {}
        for name in self.rivals:
            result = arena.match(
                self.agent(sample=False),
                tienlen_agents.load(name),
                rules=self.venv.rules,
                num_deals=num_deals,
                seed=self.config.seed + 1_000_000,
            )
            found[f"points_v_{name}"] = result.scores[0].points.mean
        return found

    def save(self) -> None:
        """Write a checkpoint."""
        self.folder.save_checkpoint(
            self.iteration,
            {
                "policy": self.model.policy.state_dict(),
                "optimizer": self.model.policy.optimizer.state_dict(),
                "num_timesteps": self.model.num_timesteps,
                "num_updates": self.model._n_updates,
                "num_games": self.num_games,
                "seconds": self.seconds,
                "cpu_seconds": self.cpu_seconds,
                "snapshots": list(self.snapshots),
            },
        )

    def restore(self) -> bool:
        """Continue from the newest whole checkpoint; False if there is none."""
        found = self.folder.load_checkpoint()
        if found is None:
            return False
        self.iteration, state = found
        self.model.policy.load_state_dict(state["policy"])
        self.model.policy.optimizer.load_state_dict(state["optimizer"])
        self.model.num_timesteps = state["num_timesteps"]
        self.model._n_updates = state["num_updates"]
        self.num_games = state["num_games"]
        self.seconds = state["seconds"]
        self.cpu_seconds = state["cpu_seconds"]
        self.snapshots.extend(state["snapshots"])
        return True


def train(config: PPOConfig, console: Console) -> tuple[Trainer, Path]:
    """Run or continue the training; the trainer and its run folder.

    Once it returns, the folder's ``policy.zip`` is the policy of its last checkpoint.

    Raises:
        RunError: the run folder cannot be used, or written to.
    """
    torch.set_num_threads(config.threads)
    # The checks of torch's distributions cost a tenth of the time and never find anything here.
    torch.distributions.Distribution.set_default_validate_args(False)
    rules = get_rules(config.rules, config.num_players)
    out = Path(config.out or f"runs/ppo_sb3-{time.strftime('%Y%m%d-%H%M%S')}")
    with sole_run(out):
        folder = RunFolder(out, config, rules, resume=config.resume)
        trainer = Trainer(config, folder)
        if config.resume and trainer.restore():
            console.print(f"continuing {out} after iteration {trainer.iteration}")
        folder.trim_metrics(trainer.iteration)
        per_iteration = config.num_games * config.num_steps
        console.print(
            f"training on {rules.name}, {rules.num_players} players, {trainer.num_iterations} iterations of "
            f"{per_iteration:,} decisions; run folder {out}"
        )
        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[games]:,} games"),
            TextColumn("{task.fields[rate]:,.0f} decisions/s"),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console) as progress:
            task = progress.add_task(
                "training",
                total=trainer.num_iterations,
                completed=trainer.iteration,
                games=0,
                rate=0.0,
                score="",
            )
            scores: dict[str, float] = {}
            while trainer.iteration < trainer.num_iterations:
                metrics = trainer.iterate()
                done = trainer.iteration == trainer.num_iterations
                if config.eval_every and trainer.iteration % config.eval_every == 0 and not done:
                    scores = trainer.evaluate(config.eval_deals)
                    metrics.update(scores)
                folder.log({"iteration": trainer.iteration, "time": time.time(), **metrics})
                if trainer.iteration % config.checkpoint_every == 0 or done:
                    trainer.save()
                progress.update(
                    task,
                    completed=trainer.iteration,
                    games=trainer.num_games,
                    rate=metrics["decisions_per_second"],
                    score=" ".join(f"{v:.2f} v. {k.removeprefix('points_v_')}" for k, v in scores.items()),
                )
        # Written last and at every return, so it is the policy of the last checkpoint whatever came before.
        buffer = io.BytesIO()
        trainer.model.save(buffer)
        write_atomic(out / "policy.zip", buffer.getvalue())
    return trainer, out


def main(argv: list[str] | None = None) -> None:
    """Train, compare over duplicate deals, print the table and leave the run folder."""
    config = parse_args(PPOConfig, "Train MaskablePPO in self-play and compare it with the baselines.", argv)
    console = Console()
    try:
        trainer, out = train(config, console)
    except RunError as error:
        raise SystemExit(f"error: {error}") from error
    if config.final_deals:
        report = arena.compare(
            trainer.agent(sample=False),
            [tienlen_agents.load(name) for name in ("random", *trainer.rivals)],
            rules=trainer.venv.rules,
            num_deals=config.final_deals,
            seed=config.seed + 2_000_000,
        )
        report.print(console)
        report.write(out)
    console.print(f"run folder: {out}")


if __name__ == "__main__":
    main()
