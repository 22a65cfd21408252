"""Train MaskablePPO (sb3-contrib) in self-play and compare it with the rule-based baselines.

    python -m tienlen_train.ppo_sb3                       # about five minutes on two cores
    python -m tienlen_train.ppo_sb3 --out runs/a --resume # continue a run that was stopped, exactly

One seat of each game learns; the other seats are drawn at every deal from a pool: the rule-based baselines,
the current policy, and older snapshots of it. Every iteration starts from fresh deals and draws all its
randomness from (seed, iteration), so the weights, the optimiser and the snapshots of a checkpoint are the
whole state of a run, and a resumed run follows the same curve as an unbroken one.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import ConstantSchedule

import tienlen_agents
from tienlen_agents.networks.network import NetworkConfig
from tienlen_agents.networks.sb3_policy import PolicyAgent
from tienlen_agents.settings import COUNT, SHARE, Range, setting
from tienlen_env.engine.agent import Agent
from tienlen_env.envs.sb3 import OneSeatVecEnv
from tienlen_train.config import COEFFICIENT, LEARNING_RATE, WIDTH, RunConfig
from tienlen_train.loop import Trainer, training_command
from tienlen_train.runs import write_atomic

# What a model remembers of its last iteration; a model that was restored from a checkpoint has none of it.
PASSING: Final = (
    "_total_timesteps",
    "_num_timesteps_at_start",
    "start_time",
    "_last_obs",
    "_last_episode_starts",
    "_last_original_obs",
    "_episode_num",
    "_current_progress_remaining",
    "ep_info_buffer",
    "ep_success_buffer",
    "lr_schedule",
)


@dataclass(frozen=True, kw_only=True)
class MaskablePPOConfig(RunConfig):
    """Settings of a run; the defaults are a run of about five minutes.

    Attributes:
        num_games: games played side by side.
        num_steps: decisions of each game in one iteration.
        batch_size: decisions in one gradient step.
        update_epochs: passes over the decisions of an iteration.
        learning_rate: of Adam at the start; it falls linearly to a tenth.
        gamma: discount from one decision of a seat to its next.
        gae_lambda: trace decay of the advantage estimate.
        clip_coef: PPO's clip of the probability ratio.
        ent_coef: coefficient of the entropy bonus.
        vf_coef: coefficient of the value loss.
        max_grad_norm: maximum norm of a gradient, by clipping.
        hidden: units of the shared layer and of each head's layer.
        baseline_share: share of the opponents that are rule-based baselines.
        snapshot_share: share that are older snapshots; the rest are the current policy.
        snapshot_every: iterations between snapshots.
        num_snapshots: number of stored snapshots; the oldest is dropped first.
        threads: torch threads; more than one is slower if other programs run.
    """

    # With another number of threads torch adds in another order.
    may_change: ClassVar[frozenset[str]] = RunConfig.may_change - {"threads"}
    decisions: int = 1_000_000
    num_games: int = setting(256, Range(1, 1_000_000))
    num_steps: int = setting(32, Range(1, 1_000_000))
    batch_size: int = setting(2048, Range(2))
    update_epochs: int = setting(4, Range(1, 1000))
    learning_rate: float = setting(5e-4, LEARNING_RATE)
    gamma: float = setting(1.0, SHARE)
    gae_lambda: float = setting(0.95, SHARE)
    clip_coef: float = setting(0.2, Range(0, 1, above=True))
    ent_coef: float = setting(0.03, COEFFICIENT)
    vf_coef: float = setting(0.5, COEFFICIENT)
    max_grad_norm: float = setting(0.5, Range(0, above=True))
    hidden: int = setting(256, WIDTH)
    baseline_share: float = setting(0.5, SHARE)
    snapshot_share: float = setting(0.2, SHARE)
    snapshot_every: int = setting(10, COUNT)
    num_snapshots: int = setting(8, Range(1, 10_000))
    eval_deals: int = 100
    final_deals: int = 1000
    threads: int = 1

    def __post_init__(self) -> None:
        """Check the settings that depend on one another, too."""
        super().__post_init__()
        if self.num_games * self.num_steps < 2:
            self.refuse("num_steps", "expected two decisions an iteration or more")
        if self.baseline_share + self.snapshot_share > 1:
            most_share = 1 - self.baseline_share
            self.refuse("snapshot_share", f"expected 0..{most_share:g}, what baseline_share leaves")


class MaskablePPOTrainer(Trainer):
    """A run of MaskablePPO."""

    name: ClassVar[str] = "ppo_sb3"
    policy_file: ClassVar[str] = "policy.zip"
    policy_options: ClassVar[str] = ",trust=1"
    has_mixed_tables: ClassVar[bool] = True
    config: MaskablePPOConfig

    def __init__(self, config: MaskablePPOConfig) -> None:
        super().__init__(config)
        torch.manual_seed(config.seed)
        self.venv = OneSeatVecEnv(
            config.num_games,
            rules=self.rules,
            copy=False,
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
            n_epochs=config.update_epochs,
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_coef,
            ent_coef=config.ent_coef,
            vf_coef=config.vf_coef,
            max_grad_norm=config.max_grad_norm,
            policy_kwargs={
                "net_arch": {"pi": [config.hidden, config.hidden], "vf": [config.hidden]},
                "activation_fn": torch.nn.ReLU,
            },
            seed=config.seed,
            stats_window_size=1_000_000,
            device="cpu",
        )
        if pieces := NetworkConfig.of(self.rules).pieces:  # saved with the model; `PolicyAgent` reads it
            self.model.observation_pieces = pieces
        self.model.set_logger(Logger(None, []))  # its metrics go to the run folder
        self.baselines: list[Agent] = [tienlen_agents.load(name) for name in self.eval_opponents]
        self.snapshots: deque[dict[str, Any]] = deque(maxlen=config.num_snapshots)

    @classmethod
    def prepare_process(cls, config: RunConfig) -> None:
        """Set the number of torch threads, and disable the checks of its distributions."""
        torch.set_num_threads(config.threads)
        # They take a tenth of the time, and the inputs are always valid here.
        torch.distributions.Distribution.set_default_validate_args(False)

    @property
    def weights(self) -> Iterable[torch.Tensor]:
        """The weights of actor and critic."""
        found: Iterable[torch.Tensor] = self.model.policy.parameters()
        return found

    @property
    def num_iterations(self) -> int:
        """Iterations of the whole run."""
        return -(-self.config.decisions // (self.config.num_games * self.config.num_steps))

    @property
    def description(self) -> str:
        """A description of the run, for the console."""
        per_iteration = self.config.num_games * self.config.num_steps
        return f"{super().description}, {self.num_iterations} iterations of {per_iteration:,} decisions"

    @property
    def lr_factor(self) -> float:
        """Factor on the learning rate: 1 at the start, falls linearly to a tenth."""
        return 1 - 0.9 * self.iteration / self.num_iterations

    def agent(self, *, sample: bool = False) -> PolicyAgent:
        """A copy of the current policy."""
        return PolicyAgent.from_model(self.model, sample=sample, name="ppo_sb3")

    def save(self, out: Path) -> None:
        """Write the current policy to the run folder; the same policy gives the same bytes."""
        buffer, plain = io.BytesIO(), io.BytesIO()
        self.model.save(buffer, exclude=PASSING)
        # The same entries without the time when they were written.
        with zipfile.ZipFile(buffer) as saved, zipfile.ZipFile(plain, "w") as file:
            for name in saved.namelist():
                file.writestr(zipfile.ZipInfo(name), saved.read(name))
        write_atomic(out / self.policy_file, plain.getvalue())

    def set_opponents(self) -> None:
        """Fill the pool: baselines, older snapshots, the current policy."""
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

    def play_and_learn(self) -> dict[str, float]:
        """Play `num_steps` decisions in every game, then learn from them; the metrics."""
        config = self.config
        seed = int(np.random.default_rng((config.seed, self.iteration, 1)).integers(2**31))
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002  (stable-baselines3 shuffles its batches with the global generator)
        self.set_opponents()
        self.venv.seed(seed)
        self.model._last_obs = None  # start from fresh deals
        self.model.ep_info_buffer = None  # the statistics of this iteration alone
        self.model.lr_schedule = ConstantSchedule(config.learning_rate * self.lr_factor)
        self.model.learn(config.num_games * config.num_steps, reset_num_timesteps=False, log_interval=1)
        self.num_decisions = self.model.num_timesteps
        logged = dict(self.model.logger.name_to_value)
        if not math.isfinite(logged.get("train/explained_variance", 0.0)):
            del logged["train/explained_variance"]  # not defined where all returns are equal
        num_games = len(self.model.ep_info_buffer)
        self.num_games += num_games
        return {
            "reward": float(np.mean([e["r"] for e in self.model.ep_info_buffer])) if num_games else 0.0,
            **{k.partition("/")[2]: float(v) for k, v in logged.items() if k.startswith("train/")},
        }

    def end_iteration(self) -> None:
        """Take a snapshot, every few iterations."""
        if self.iteration % self.config.snapshot_every == 0:
            self.snapshots.append({k: v.clone() for k, v in self.model.policy.state_dict().items()})

    def state(self) -> dict[str, Any]:
        """The contents of a checkpoint."""
        return {
            **super().state(),
            "policy": self.model.policy.state_dict(),
            "optimizer": self.model.policy.optimizer.state_dict(),
            "num_timesteps": self.model.num_timesteps,
            "num_updates": self.model._n_updates,
            "snapshots": list(self.snapshots),
        }

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        super().restore(iteration, state)
        self.model.policy.load_state_dict(state["policy"])
        self.model.policy.optimizer.load_state_dict(state["optimizer"])
        self.model.num_timesteps = state["num_timesteps"]
        self.model._n_updates = state["num_updates"]
        self.snapshots = deque(state["snapshots"], maxlen=self.config.num_snapshots)
        self.check_finite({})


main = training_command(
    MaskablePPOTrainer, MaskablePPOConfig, "Train MaskablePPO in self-play; compare it with the baselines."
)


if __name__ == "__main__":
    sys.exit(main())
