"""Several learners in a process group: the gradient step of one process."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from tests.clusters import SMALL
from tienlen_train.cluster.learners import DistributedLearner
from tienlen_train.ppo import PPOConfig, PPOTrainer

NUM_LEARNERS = 2


def settings(shards: int) -> PPOConfig:
    return PPOConfig(**{**SMALL, "num_games": 32, "shards": shards})


def learn(trainer: PPOTrainer) -> dict[str, float]:
    """Two iterations; the metrics of the second."""
    for _ in range(2):
        metrics = trainer.play_and_learn()
        trainer.iteration += 1
    del metrics["outside_network"]
    return metrics


def learn_together(rank: int, store: str, shards: int) -> tuple[dict[str, float], dict[str, Any]]:
    """One of the learners; the metrics and the weights."""
    config = settings(shards)
    PPOTrainer.prepare_process(config)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=NUM_LEARNERS)
    try:
        trainer = PPOTrainer(config)
        trainer.learner = learner = DistributedLearner(trainer.learner.model, config, trainer.device)
        metrics = learn(trainer)
        learner.close()
        return metrics, learner.model.state_dict()
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize(("shards", "tolerance"), [(2, 0.0), (5, 1e-5)])
def test_two_learners_are_one(tmp_path: Path, shards: int, tolerance: float) -> None:
    store = str(tmp_path / "store")
    with ProcessPoolExecutor(NUM_LEARNERS, get_context("spawn")) as processes:
        jobs = [processes.submit(learn_together, rank, store, shards) for rank in range(NUM_LEARNERS)]
        (metrics, weights), _ = [job.result(timeout=300) for job in jobs]
    alone = PPOTrainer(settings(shards))
    assert metrics == pytest.approx(learn(alone), rel=tolerance, abs=tolerance)
    for name, value in alone.learner.model.state_dict().items():
        torch.testing.assert_close(weights[name], value, rtol=tolerance, atol=tolerance)
