"""Training on a device, with the processor as the device: the same loop, another machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from tienlen_agents.networks.network import NetworkConfig
from tienlen_env.games.registry import get_rules
from tienlen_gpu.machine import HostMachine
from tienlen_gpu.players import ScoreArgs, best_item, draw_item, key_of, uniform
from tienlen_gpu.rollout import DeviceActor
from tienlen_train import loop, trainer
from tienlen_train.dmc import DMCConfig, DMCTrainer
from tienlen_train.learner import DeviceTrajectories, advantages
from tienlen_train.network import ActionNetwork, segment_log_softmax
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.rollout import PolicyWeights, RolloutJob, Trajectories, rollout

RULES = get_rules("cardgames")
SMALL: dict[str, Any] = {"state_width": 16, "action_width": 8}
MACHINE = HostMachine()


def a_policy(seed: int) -> PolicyWeights:
    """A small network whose scores depend on the inputs: no two actions of a decision have the same."""
    torch.manual_seed(seed)
    network = ActionNetwork(NetworkConfig.of(RULES, record=True, prior="heuristic", **SMALL))
    torch.nn.init.normal_(network.score.weight)
    return PolicyWeights(0, network.config, network.state_dict())


def a_job(num_games: int = 12, **settings: Any) -> RolloutJob:
    """Games of two policies and the rule-based agent; the policies nearly always take their best action."""
    rng = np.random.default_rng(5)
    return RolloutJob(
        **{
            "rules": RULES,
            "keys": rng.integers(-(2**63), 2**63, num_games, np.int64),
            "seat_policies": rng.integers(0, 3, (num_games, 4)),
            "policies": (a_policy(1), a_policy(2)),
            "opponents": ("heuristic",),
            "opponent_seeds": (1,),
            "inverse_temperature": 1e5,
            "critic": "hands",
            **settings,
        }
    )


def to_host(played: DeviceTrajectories) -> Trajectories:
    """The same trajectories in the processor's memory."""
    tensors: dict[str, Any] = {**vars(played), **played.inputs._asdict()}
    width = a_policy(1).config.action_inputs
    tensors["action_features"] = tensors["action_features"].view(torch.int16)[:, :width]
    columns = {
        name: tensor.contiguous().numpy()
        for name, tensor in tensors.items()
        if isinstance(tensor, torch.Tensor)
    }
    columns["action_features"] = columns["action_features"].view(np.uint16)
    sizes = np.diff(played.ends, prepend=0)
    more = {
        "scores": played.scores,
        "winning_actions": np.empty(0, np.uint8),
        "teacher_probabilities": np.empty(0, np.float32),
        "step": np.repeat(np.arange(len(sizes)), sizes),
    }
    return Trajectories.of({**columns, **more}, seconds_acting=0.0)


@pytest.fixture(scope="module")
def played() -> DeviceTrajectories:
    return DeviceActor(MACHINE).rollout(a_job())


def test_a_rollout_is_that_of_the_processor(played: DeviceTrajectories) -> None:
    found, wanted = to_host(played), rollout(a_job())
    assert len(found) == len(wanted) > 100
    for name in wanted.inputs._fields:
        assert np.array_equal(getattr(found.inputs, name), getattr(wanted.inputs, name)), name
    for name in ("privileged", "chosen", "reward", "next_index", "game", "seat", "step", "scores"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    assert np.allclose(found.log_probability, wanted.log_probability, atol=1e-3)


@pytest.mark.nightly
def test_longer_rollouts_are_those_of_the_processor() -> None:
    """Critic's playouts and the returns of all actions, too, which take long to compile."""
    # At this temperature two actions with nearly the same score are no draw, either.
    job = a_job(300, critic="playout", with_action_values=True, inverse_temperature=1e7)
    found, wanted = to_host(DeviceActor(MACHINE).rollout(job)), rollout(job)
    for name in wanted.inputs._fields:
        assert np.array_equal(getattr(found.inputs, name), getattr(wanted.inputs, name)), name
    for name in ("privileged", "action_values", "chosen", "reward", "next_index", "scores"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name


def test_advantages_are_those_of_the_processor(played: DeviceTrajectories) -> None:
    values = np.random.default_rng(0).normal(size=len(played)).astype(np.float32)
    wanted = advantages(to_host(played), values, gamma=0.9, gae_lambda=0.7)
    found = advantages(played, torch.from_numpy(values), gamma=0.9, gae_lambda=0.7)
    for one, other in zip(found, wanted, strict=True):
        assert np.allclose(one.numpy(), other, atol=1e-6)


def test_gradient_steps_are_those_of_the_processor(
    played: DeviceTrajectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same trajectories and minibatches give the same weights, up to the order of sums."""
    config = PPOConfig(num_games=12, batch_size=64, shards=1, threads=1, precision="fp32", **SMALL)
    here, there = PPOTrainer(config), PPOTrainer(config, actor=DeviceActor(MACHINE))
    assert there.actor is not None
    assert here.actor is None
    order = np.random.default_rng(3).permutation(len(played))
    parts = np.array_split(order, 4)
    monkeypatch.setattr(trainer, "minibatches", lambda *_: [parts] * 2)
    wanted = here.learn(to_host(played))
    picked = played.picked([torch.from_numpy(part) for part in parts])
    monkeypatch.setattr(trainer, "minibatches", lambda *_: [picked] * 2)
    found = there.learn(played)
    assert found == pytest.approx(wanted, rel=1e-3, abs=1e-5)
    moved = 0.0
    torch.manual_seed(config.seed)
    before = PPOTrainer(config)
    for one, other, old in zip(there.weights, here.weights, before.weights, strict=True):
        assert torch.allclose(one, other, atol=2e-5)
        moved = max(moved, float((other - old).detach().abs().max()))
    assert moved > 1e-3  # the steps did something


class OnMachine(PPOTrainer):
    """A run that plays and learns on this machine."""

    def __init__(self, config: PPOConfig) -> None:
        super().__init__(config, actor=DeviceActor(MACHINE))


class Interrupted(OnMachine):
    """One that is interrupted in its third iteration."""

    def play_and_learn(self) -> dict[str, float]:
        if self.iteration == 2:
            self.play()
            raise KeyboardInterrupt
        return super().play_and_learn()


@pytest.mark.parametrize(
    ("trainer_of", "config_of"), [(PPOTrainer, PPOConfig), (DMCTrainer, DMCConfig)], ids=["ppo", "dmc"]
)
def test_learning_takes_no_tensor_of_a_device_for_an_array(
    trainer_of: Any, config_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tensors here are the processor's, which NumPy takes; those of a device it refuses, as here."""

    def refuse(*_: Any) -> None:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    config = config_of(num_games=8, batch_size=64, threads=1, **SMALL)
    run = trainer_of(config, actor=DeviceActor(MACHINE))
    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    assert np.isfinite(list(run.iterate().values())).all()


def test_a_resumed_run_is_an_uninterrupted_one(tmp_path: Path) -> None:
    config = PPOConfig(
        num_games=8,
        batch_size=64,
        precision="fp32",
        decisions=10**9,
        stop_after=3,
        eval_every=0,
        snapshot_every=1,
        threads=1,
        **SMALL,
    )
    console = Console(quiet=True)
    whole, _ = loop.train(OnMachine, replace(config, out=str(tmp_path / "a")), console)
    runs = {name: replace(config, out=str(tmp_path / name)) for name in ("b", "c")}
    for stopped in runs.values():
        with pytest.raises(KeyboardInterrupt):
            loop.train(Interrupted, stopped, console)
    resumed, _ = loop.train(OnMachine, replace(runs["b"], resume=True), console)
    assert resumed.num_decisions == whole.num_decisions
    for one, other in zip(resumed.weights, whole.weights, strict=True):
        assert torch.equal(one, other)
    # The checkpoint is one of the processor's, too.
    here, _ = loop.train(PPOTrainer, replace(runs["c"], resume=True), console)
    assert here.iteration == 3


def test_draws_follow_the_softmax() -> None:
    logits = torch.tensor([0.0, 1.0, -2.0, 0.5, 3.0, 3.0])
    start, num = torch.tensor([0, 3, 4]), torch.tensor([3, 1, 2])
    owner = torch.repeat_interleave(torch.arange(3), num)
    wanted = segment_log_softmax(0.5 * logits, owner, 3)
    counts, num_draws = np.zeros(6), 4000
    for block in range(num_draws):
        index, value = torch.empty(3, dtype=torch.int64), torch.empty(3)
        args = ScoreArgs(logits, start, num, torch.arange(3), key_of(7), block, 0.5, index, value)
        MACHINE.launch(draw_item, 3, args)
        counts[index.numpy()] += 1
        assert torch.allclose(value, wanted[index], atol=1e-6)
    probability = wanted.exp().numpy()
    error = np.sqrt(probability * (1 - probability) / num_draws)
    assert (np.abs(counts / num_draws - probability) <= 4.5 * error + 1e-9).all()


def test_the_best_action_is_the_first_of_the_highest() -> None:
    logits = torch.tensor([1.0, 2.0, 2.0, -3.0, 0.0, -1.0])
    start, num = torch.tensor([0, 3, 4]), torch.tensor([3, 1, 2])
    index, lead = torch.empty(3, dtype=torch.int64), torch.empty(3)
    MACHINE.launch(best_item, 3, ScoreArgs(logits, start, num, start, 0, 0, 1.0, index, lead))
    assert index.tolist() == [1, 3, 4]
    assert lead[0] == 0
    assert lead[1] > 1e9
    assert lead[2] == 1


def test_draws_are_uniform_and_depend_on_every_argument() -> None:
    draws = [uniform(key, counter, block) for key in (1, -2) for counter in range(50) for block in range(20)]
    assert len(set(draws)) == 2000
    assert all(0 <= draw < 1 for draw in draws)
    assert abs(np.mean(draws) - 0.5) < 0.03
    assert abs(np.var(draws) - 1 / 12) < 0.01


def test_scores_that_are_not_finite_end_the_run() -> None:
    broken = a_policy(1)
    broken.weights["score.bias"].fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="not finite"):
        DeviceActor(MACHINE).rollout(a_job(2, policies=(broken, a_policy(2))))


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"baselines": "heuristic random", "critic": "playout"}, ""),
        ({"baselines": "greedy"}, "the agent greedy"),
        ({"env": "thirteens"}, "the features of thirteens"),
        ({"endgame_coef": 1.0}, "the endgame solver"),
        ({"teachers": "champion"}, "the teachers"),
    ],
)
def test_what_a_device_does_not_have_is_named(settings: dict[str, Any], missing: str) -> None:
    config = PPOConfig(**settings, num_games=2, threads=1, precision="fp32", **SMALL)
    trainer = PPOTrainer(config, actor=DeviceActor(MACHINE))
    assert trainer.missing_on_device == missing
    assert (trainer.actor is None) == bool(missing)
    assert missing in trainer.description


@pytest.mark.parametrize("returns", ["played", pytest.param("counterfactual", marks=pytest.mark.nightly)])
def test_dmc_learns_on_a_machine(returns: Any) -> None:
    config = DMCConfig(num_games=4, batch_size=64, threads=1, precision="fp32", returns=returns, **SMALL)
    trainer = DMCTrainer(config, actor=DeviceActor(MACHINE))
    metrics = trainer.iterate()
    assert trainer.actor is not None
    assert trainer.num_decisions > 30
    assert metrics["loss"] > 0
    assert metrics["entropy"] > 0
