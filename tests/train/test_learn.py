"""What PPO learns with by definition: losses, advantages, minibatches, gradient steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tienlen_agents.executors import Threads
from tienlen_train.learner import DeviceTrajectories, Learner, Model, advantages, minibatches
from tienlen_train.network import as_bfloat16
from tienlen_train.ppo import PPOConfig, PPOTrainer

SETTINGS: dict[str, Any] = {
    "num_games": 12, "batch_size": 64, "state_width": 16, "action_width": 16, "critic_width": 16,
    "baseline_share": 0.0, "snapshot_share": 0.0, "threads": 1, "precision": "fp32", "update_epochs": 2,
    "gamma": 0.9, "gae_lambda": 0.7, "clip_coef": 0.05, "ent_coef": 0.03, "vf_coef": 0.7,
}  # fmt: skip
ALL = {
    "kl_coef": 0.4,
    "endgame_coef": 0.3,
    "teachers": "heuristic",
    "teacher_coef": 0.6,
    "teacher_share": 0.5,
}


def seen(
    trainer: PPOTrainer, played: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, list[Any], dict[str, float]]:
    """The loss that `learn` gives to the learner, its minibatches, and what `learn` returns."""
    found: list[Any] = []

    def train(loss: Any, epochs: Any) -> list[float]:
        found.extend([loss, list(epochs)])
        extra = bool(trainer.config.endgame_coef) + bool(trainer.config.teachers)
        return [float(i) for i in range(1, 6 + extra)]

    monkeypatch.setattr(trainer.learner, "train", train)
    metrics = trainer.learn(played)
    return found[0], found[1], metrics


def by_definition(trainer: PPOTrainer, played: Any, chosen: list[int]) -> tuple[float, list[float]]:
    """The loss of some decisions and its parts, one decision after the other."""
    config, model, inputs = trainer.config, trainer.learner.model, played.inputs
    observation = torch.from_numpy(inputs.observation).float()
    privileged = torch.from_numpy(played.privileged).float()
    scale = float(np.nanstd(played.scores)) + 1e-8
    with torch.no_grad():
        values = model.critic(torch.cat([observation, privileged], 1)).squeeze(1).double().numpy()
    advantage = np.zeros(len(played) + 1)
    for i in reversed(np.argsort(played.step, kind="stable").tolist()):
        after = played.next_index[i]
        next_value = values[after] * scale if after >= 0 else 0.0
        delta = float(played.reward[i]) + config.gamma * next_value - values[i] * scale
        trace = config.gamma * float(config.gae_lambda or 0)
        advantage[i] = delta + trace * (advantage[after] if after >= 0 else 0.0)
    advantage = advantage[:-1]
    target = advantage / scale + values
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    rows = []
    for i in chosen:
        begin = int(inputs.segment_start[i])
        part = slice(begin, begin + int(inputs.num_legal[i]))
        features = as_bfloat16(inputs.action_features[part]).float()
        with torch.no_grad():
            logits = model.network(
                observation[[i]], features.float(), torch.zeros(len(features), dtype=torch.int64),
                torch.from_numpy(inputs.prior[part]), None,
            )  # fmt: skip
        logs = torch.log_softmax(logits.double(), 0).numpy()
        log_ratio = float(logs[played.chosen[i] - begin]) - float(played.log_probability[i])
        ratio, gain = np.exp(log_ratio), advantage[i]
        clipped = min(max(ratio, 1 - config.clip_coef), 1 + config.clip_coef)
        row = [
            -min(ratio * gain, clipped * gain),
            (values[i] - target[i]) ** 2,
            -float((np.exp(logs) * logs).sum()),
            ratio - 1 - log_ratio,
            float(abs(ratio - 1) > config.clip_coef),
        ]
        if played.winning_actions.size:
            row.append(-np.log(max(float((np.exp(logs) * played.winning_actions[part]).sum()), 1e-30)))
        if played.teacher_probabilities.size:
            row.append(-float((logs * played.teacher_probabilities[part]).sum()) / config.teacher_share)
        rows.append(row)
    parts = np.mean(rows, axis=0).tolist()
    entropy = config.ent_coef * trainer.lr_factor
    total = parts[0] - entropy * parts[2] + config.kl_coef * parts[3]
    total += sum(c * p for c, p in zip((config.endgame_coef, config.teacher_coef), parts[5:], strict=False))
    return (trainer.iteration >= config.critic_warmup) * total + config.vf_coef * parts[1], parts


@pytest.mark.parametrize(
    ("settings", "iteration"),
    [({}, 0), (ALL, 3), ({"critic": "own", "critic_warmup": 2}, 1), ({"critic_warmup": 2}, 2)],
)
def test_the_loss_by_its_definition(
    settings: dict[str, Any], iteration: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = PPOTrainer(PPOConfig(**{**SETTINGS, "stop_after": 10, **settings}))
    played: Any = trainer.play()
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in trainer.learner.model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    trainer.iteration = iteration
    loss, epochs, metrics = seen(trainer, played, monkeypatch)
    rate = trainer.config.learning_rate * trainer.lr_factor
    assert [group["lr"] for group in trainer.learner.optimizer.param_groups] == [pytest.approx(rate)]
    names = ["policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction"]
    names += ["endgame_loss", "teacher_loss"] if settings is ALL else []
    assert list(metrics) == [*names, "explained_variance"]
    assert [metrics[name] for name in names] == list(range(1, len(names) + 1))
    decisions = np.random.default_rng(1).permutation(len(played))[:70]
    total, parts = loss(trainer.learner.model, decisions)
    expected, expected_parts = by_definition(trainer, played, decisions.tolist())
    np.testing.assert_allclose(parts.tolist(), expected_parts, rtol=2e-4, atol=2e-5)
    assert float(total.detach()) == pytest.approx(expected, rel=2e-4, abs=2e-5)
    assert 0 < expected_parts[4] < 1  # some ratios are clipped, and some are not
    assert len(epochs) == trainer.config.update_epochs
    for epoch in epochs:
        assert sorted(np.concatenate(epoch).tolist()) == list(range(len(played)))


def test_explained_variance_by_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = PPOTrainer(PPOConfig(**SETTINGS))
    played: Any = trainer.play()
    tensors = trainer.tensors(played)
    values = trainer.values(tensors) * (float(np.std(played.scores)) + 1e-8)
    _, returns = advantages(played, values, gamma=0.9, gae_lambda=0.7)
    _, _, metrics = seen(trainer, played, monkeypatch)
    expected = 1 - np.var(returns.astype(float) - values) / np.var(returns.astype(float))
    assert metrics["explained_variance"] == pytest.approx(expected, abs=1e-4)


def test_minibatches_are_whole_passes_in_an_order_of_their_seed() -> None:
    trainer = PPOTrainer(PPOConfig(**SETTINGS))
    played: Any = trainer.play()
    n = len(played)
    for size, num in ((n, 1), (n * 3, 1), (n // 4, 4), (2 * n // 3, 2)):
        epochs = [list(epoch) for epoch in minibatches(played, (1, 2), size, 3)]
        assert [len(epoch) for epoch in epochs] == [num] * 3
        for epoch in epochs:
            assert sorted(np.concatenate(epoch).tolist()) == list(range(n))
            sizes = [len(part) for part in epoch]
            assert max(sizes) - min(sizes) <= 1
        assert epochs[0][0].tolist() != epochs[1][0].tolist()
        again = next(minibatches(played, (1, 2), size, 1))
        other = next(minibatches(played, (1, 3), size, 1))
        assert again[0].tolist() == epochs[0][0].tolist() != other[0].tolist()


class OnDevice:
    """Ten decisions on a device."""

    device = torch.device("cpu")

    def __len__(self) -> int:
        return 10

    def picked(self, parts: Any) -> list[list[int]]:
        return [part.tolist() for part in parts]


def test_minibatches_of_a_device_are_whole_passes_in_an_order_of_their_seed() -> None:
    played: Any = OnDevice()
    for size, sizes in ((10, [10]), (30, [10]), (4, [5, 5]), (3, [4, 3, 3])):
        epochs = list(minibatches(played, (1, 2), size, 3))
        assert [[len(part) for part in epoch] for epoch in epochs] == [sizes] * 3
        assert all(sorted(k for part in epoch for k in part) == list(range(10)) for epoch in epochs)
        assert epochs[0] != epochs[1]
        again, other = (next(minibatches(played, (1, seed), size, 1)) for seed in (2, 3))
        assert again == epochs[0] != other


def test_advantages_of_a_device_are_those_of_the_processor() -> None:
    played: Any = PPOTrainer(PPOConfig(**SETTINGS)).play()
    values = np.random.default_rng(1).normal(size=len(played)).astype(np.float32)
    there: Any = SimpleNamespace(
        reward=torch.from_numpy(played.reward),
        next_index=torch.from_numpy(played.next_index),
        steps=played.steps,
    )
    expected = advantages(played, values, gamma=0.9, gae_lambda=0.7)
    found = advantages(there, torch.from_numpy(values), gamma=0.9, gae_lambda=0.7)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-6, atol=1e-6)


def test_minibatches_of_a_device_know_their_number_of_actions() -> None:
    played: Any = SimpleNamespace(inputs=SimpleNamespace(num_legal=torch.tensor([2, 3, 1, 4])))
    parts = [torch.tensor([0, 2]), torch.tensor([3])]
    found = DeviceTrajectories.picked(played, parts)
    assert [(picked.index.tolist(), picked.num_actions) for picked in found] == [([0, 2], 3), ([3], 4)]


def test_values_are_the_same_on_a_device() -> None:
    model = PPOTrainer(PPOConfig(**SETTINGS)).learner.model
    num_inputs = model.critic[0].in_features
    num_own = model.network.config.state_inputs
    drawn = torch.rand(5, num_inputs, generator=torch.Generator().manual_seed(1))
    observation, privileged = drawn[:, :num_own], drawn[:, num_own:]
    expected = model.values(observation, privileged)
    model.network.for_device = True
    with_columns_of_0 = torch.cat([observation, torch.zeros(5, 7)], 1)
    found = model.values(with_columns_of_0, privileged)
    torch.testing.assert_close(found, expected)


def test_defaults_of_ppo_are_those_of_its_help() -> None:
    config = PPOConfig()
    found = config.learning_rate, config.ent_coef, config.critic_width, config.critic_warmup
    assert found == (3e-3, 0.01, 256, 0)
    assert PPOConfig(teachers="greedy heuristic").agent_names()[-2:] == ("greedy", "heuristic")


def test_the_agent_of_a_rollout_draws() -> None:
    trainer = PPOTrainer(PPOConfig(**SETTINGS))
    assert trainer.drawing_agent().sample
    assert not trainer.agent().sample


def test_steps_of_a_device() -> None:
    played: Any = SimpleNamespace(ends=[3, 5, 9])
    assert DeviceTrajectories.steps(played) == [slice(0, 3), slice(3, 5), slice(5, 9)]


class Line(Model):
    """One weight, without a network."""

    def __init__(self, *, weight: float = 1.0) -> None:
        torch.nn.Module.__init__(self)
        self.weight = torch.nn.Parameter(torch.tensor([weight, 0.0]))


@pytest.mark.parametrize("num_shards", [1, 2, 3])
def test_a_step_follows_the_gradient_of_the_mean(num_shards: int) -> None:
    """The first step of Adam is as long as the learning rate, whatever the shards are."""
    config = PPOConfig(**{**SETTINGS, "learning_rate": 0.25, "max_grad_norm": 2.0})
    map_here = Threads().map
    learner = Learner(Line(), config, torch.device("cpu"), map_here, num_shards)
    x = torch.arange(7.0)

    def loss(model: Line, decisions: Any) -> tuple[torch.Tensor, torch.Tensor]:
        part = x[torch.from_numpy(decisions)]
        return (model.weight[0] * part).mean(), torch.stack([part.mean(), torch.tensor(float(len(part)))])

    gradients: list[float] = []
    step = learner.optimizer.step

    def seen_step(*args: Any) -> None:
        (parameter,) = learner.model.parameters()
        gradients.append(float(parameter.grad[0]))  # type: ignore[index]
        step(*args)

    learner.optimizer.step = seen_step  # type: ignore[method-assign,assignment]
    metrics = learner.step(loss, np.arange(3))
    assert gradients == [pytest.approx(1.0)]
    sizes = [len(part) for part in np.array_split(np.arange(3), num_shards)]
    assert metrics.tolist() == [pytest.approx(1.0), pytest.approx(sum(size * size / 3 for size in sizes))]
    assert learner.model.weight.tolist()[0] == pytest.approx(0.75, abs=1e-4)
    means = learner.train(loss, [[np.arange(7)], [np.arange(3), np.arange(4)]])
    assert gradients[1] == pytest.approx(2.0, abs=1e-4)  # the mean is 3: cut to the norm
    assert gradients[2:] == [pytest.approx(1.0), pytest.approx(1.5)]
    assert means[0] == pytest.approx((3.0 + 1.0 + 1.5) / 3)
    learner.set_learning_rate(0.0)
    before = learner.model.weight.tolist()
    learner.step(loss, np.arange(4))
    assert learner.model.weight.tolist() == before
    other = Learner(Line(weight=9.0), config, torch.device("cpu"), map_here, 1)
    state = learner.state()
    other.restore(state)
    assert other.model.weight.tolist() == before
    assert other.optimizer.state_dict()["state"][0]["step"] == 5
