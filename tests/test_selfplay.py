"""The training scripts: runs that repeat themselves, survive a kill and learn."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import agents
from agents import arena
from agents.network import NetworkAgent
from tienlen_env.agent import View
from tienlen_env.engine import Batch
from train.config import field_help
from train.dmc import DMCConfig, DMCTrainer
from train.ppo import PPOConfig, PPOTrainer
from train.selfplay import SelfPlayConfig, Trainer

TINY: dict[str, Any] = {
    "num_games": 12,
    "batch_size": 64,
    "state_width": 16,
    "action_width": 16,
    "snapshot_every": 1,
    "eval_every": 0,
    "checkpoint_every": 1,
    "final_deals": 4,
    "threads": 1,
    "precision": "fp32",
}
ALGORITHMS: list[tuple[type[Trainer], type[SelfPlayConfig], dict[str, Any]]] = [
    (PPOTrainer, PPOConfig, {"critic_width": 16}),
    (PPOTrainer, PPOConfig, {"critic_width": 16, "prior": "none", "critic": "own", "reward": "win"}),
    (DMCTrainer, DMCConfig, {}),
    (DMCTrainer, DMCConfig, {"returns": "counterfactual", "prior": "none"}),
]


def a_trainer(which: int, **settings: Any) -> Trainer:
    make, config, own = ALGORITHMS[which]
    return make(config(**{**TINY, **own, **settings}))


def weights_of(trainer: Trainer) -> list[np.ndarray]:
    return [p.detach().numpy().copy() for p in trainer.learner.parameters()]


def comparable(metrics: dict[str, float]) -> str:
    timed = ("time", "seconds", "cpu_seconds", "decisions_per_second", "outside_network")
    return repr({k: v for k, v in metrics.items() if k not in timed})


@pytest.mark.parametrize("config", [PPOConfig, DMCConfig])
def test_every_field_has_its_help(config: type[SelfPlayConfig]) -> None:
    assert set(field_help(config)) == set(config.__dataclass_fields__)


@pytest.mark.parametrize("which", range(len(ALGORITHMS)))
def test_resume_is_exact_with_any_number_of_threads(which: int) -> None:
    unbroken = a_trainer(which)
    wanted = [comparable(unbroken.iterate()) for _ in range(4)]
    first = a_trainer(which, threads=2)
    found = [comparable(first.iterate()) for _ in range(2)]
    second = a_trainer(which, threads=2)
    second.restore(first.iteration, first.state())
    found += [comparable(second.iterate()) for _ in range(2)]
    assert found == wanted
    for a, b in zip(weights_of(unbroken), weights_of(second), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(second.snapshots) == 4


def test_snapshots_are_played_against() -> None:
    trainer = a_trainer(0, snapshot_share=0.6, baseline_share=0.2)
    for _ in range(3):
        trainer.iterate()
    controllers, opponents = trainer.controllers(np.random.default_rng(0))
    assert [o.name.split()[0] for o in opponents] == ["heuristic", "snapshot", "snapshot"]
    assert set(np.unique(controllers)) <= {0, 1, 2, 3}
    assert ((controllers == 0).any(axis=1)).all()  # somebody learns in every game
    assert any(trainer.snapshot_scores)


def test_the_policy_improves_on_a_tiny_budget() -> None:
    """From uniform play, a few iterations of pure learning beat three random players clearly."""
    trainer = a_trainer(1, num_games=200, batch_size=512, learning_rate=3e-3, state_width=64)
    for _ in range(8):
        trainer.iterate()
    result = arena.match(trainer.agent(), agents.load("random"), num_deals=100, seed=3)
    assert result.scores[0].first.mean > 0.5  # parity is a quarter


def test_bf16_plays_nearly_as_fp32_does() -> None:
    trainers = [a_trainer(0, precision=p) for p in ("fp32", "bf16")]
    played = [t.play() for t in trainers]
    first = [t.inputs.observation[0] for t in played]
    assert np.array_equal(*first)
    # The first decision is of the same game; the untrained network has the same opinion in both.
    np.testing.assert_allclose(played[0].log_probability[:5], played[1].log_probability[:5], atol=0.02)


def test_starting_from_a_file(tmp_path: Path) -> None:
    trainer = a_trainer(0)
    trainer.iterate()
    path = tmp_path / "policy.safetensors"
    trainer.agent().save(path)
    again = a_trainer(0, start_from=str(path))
    for a, b in zip(trainer.network.parameters(), again.network.parameters(), strict=True):
        assert torch.equal(a, b)
    again.iterate()
    with pytest.raises(ValueError, match="other rules"):
        a_trainer(0, start_from=str(path), rules="pagat")


def curve(folder: Path) -> list[str]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [comparable(json.loads(line)) for line in lines]


def test_a_killed_run_goes_on_to_the_same_curve(tmp_path: Path) -> None:
    settings = {**TINY, "critic_width": 16, "decisions": 6000}
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in settings.items()]
    command = [sys.executable, "-m", "train.ppo", *flags]

    def run(out: Path, *extra: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, "--out", str(out), *extra],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(__file__).parents[1],
        )

    killed = run(tmp_path / "killed")
    for _ in range(1200):
        if list((tmp_path / "killed" / "checkpoints").glob("*.pt")) or killed.poll() is not None:
            break
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    output, _ = killed.communicate()
    assert killed.returncode == -signal.SIGKILL, output
    resumed = run(tmp_path / "killed", "--resume")
    output, _ = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, output
    assert "continuing" in output
    unbroken = run(tmp_path / "unbroken")
    output, _ = unbroken.communicate(timeout=300)
    assert unbroken.returncode == 0, output
    assert curve(tmp_path / "killed") == curve(tmp_path / "unbroken")
    for name in ("policy.safetensors", "arena.json", "arena.csv", "arena.png", "config.json"):
        assert (tmp_path / "killed" / name).stat().st_size > 0
    agent = agents.load(f"policy:{tmp_path / 'killed' / 'policy.safetensors'}")
    assert isinstance(agent, NetworkAgent)
    batch = Batch("cardgames", 3)
    batch.reset(0)
    assert agent.act(View(batch)).shape == (3,)
