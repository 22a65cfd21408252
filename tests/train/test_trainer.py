"""The training scripts: runs that repeat themselves, survive a kill and learn."""

from __future__ import annotations

import copy
import errno
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import tienlen_agents
from tests.high_card import HIGH_CARD
from tests.strangers import install, notes_of
from tienlen_agents import arena, files
from tienlen_agents.executors import Processes
from tienlen_agents.external.seeds import hashed_seed
from tienlen_agents.networks import features
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import NetworkConfig
from tienlen_agents.settings import ConfigError, field_help, settings_of
from tienlen_env.engine.agent import Agent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.games import registry
from tienlen_env.games.common.arrays import Float32Array
from tienlen_env.games.registry import get_rules
from tienlen_train import ppo
from tienlen_train.best_response import BestResponseConfig, BestResponseTrainer
from tienlen_train.config import RunError, SelfPlayConfig
from tienlen_train.dmc import DMCConfig, DMCTrainer
from tienlen_train.loop import make_console, train
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.rollout import RolloutJob, Teachers, Trajectories, join, rollout, teachers_of
from tienlen_train.trainer import SelfPlayTrainer

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
ALGORITHMS: list[tuple[type[SelfPlayTrainer], type[SelfPlayConfig], dict[str, Any]]] = [
    (PPOTrainer, PPOConfig, {"critic_width": 16}),
    (PPOTrainer, PPOConfig, {"critic_width": 16, "prior": "none", "critic": "own", "reward": "win"}),
    (DMCTrainer, DMCConfig, {}),
    (DMCTrainer, DMCConfig, {"returns": "counterfactual", "prior": "none"}),
    (PPOTrainer, PPOConfig, {"critic_width": 16, "env": "thirteens"}),
    (DMCTrainer, DMCConfig, {"rules": "thirteens_manual", "num_players": 3}),
    (
        PPOTrainer,
        PPOConfig,
        {"critic_width": 16, "critic": "playout", "endgame_coef": 0.5, "teachers": "heuristic"},
    ),
]


def a_trainer(which: int, **settings: Any) -> SelfPlayTrainer:
    make, config, own = ALGORITHMS[which]
    return make(config(**{**TINY, **own, **settings}))


def weights_of(trainer: SelfPlayTrainer) -> list[np.ndarray]:
    return [p.detach().numpy().copy() for p in trainer.learner.model.parameters()]


def comparable(metrics: dict[str, float]) -> str:
    timed = ("time", "seconds", "cpu_seconds", "decisions_per_second", "outside_network")
    return repr({k: v for k, v in metrics.items() if k not in timed})


@pytest.mark.parametrize("config", [PPOConfig, DMCConfig])
def test_every_field_has_its_help(config: type[SelfPlayConfig]) -> None:
    assert set(field_help(config)) == set(settings_of(config))


def test_a_run_says_its_precision_and_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    trainer, console = a_trainer(0, decisions=1_200_000, precision="fp32"), make_console()
    console.print(f"training on {trainer.description}, with a folder whose name is {'long ' * 30}")
    with trainer.display(console) as show:
        for _ in range(3):  # the first iteration compiles
            show({"decisions_per_second": 10_000.0})
    first, second, *others = capsys.readouterr().out.splitlines()
    assert "1,200,000 decisions, in float32" in first  # one line, as the output is not a terminal
    assert first.endswith("long long ")
    assert second == "about 2.0 minutes to go, at 10,000 decisions/s"
    assert others == []


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
    assert [snapshot.version for snapshot in second.pool.snapshots] == [1, 2, 3, 4]


def test_snapshots_are_played_against() -> None:
    trainer = a_trainer(0, snapshot_share=0.6, baseline_share=0.2)
    for _ in range(3):
        trainer.iterate()
    who, snapshots = trainer.pool.seat(np.random.default_rng(0), num_players=4)
    assert len(set(snapshots)) == 2
    assert set(snapshots) <= set(trainer.pool.snapshots)
    assert set(np.unique(who)) <= {0, 1, 2, 3}  # the learner, two snapshots, the heuristic
    assert (who != 0).any()
    assert ((who == 0).any(axis=1)).all()  # a seat learns in every game
    assert any(snapshot.score for snapshot in trainer.pool.snapshots)


def test_the_endgame_loss_teaches_proven_wins() -> None:
    """With the other losses all but switched off, the probability of the winning actions grows."""
    settings = {"num_games": 100, "batch_size": 256, "learning_rate": 3e-3, "prior": "none", "ent_coef": 0.0}
    trainer = a_trainer(0, **settings, endgame_coef=1000.0, snapshot_share=0.0, baseline_share=0.0)
    losses = [trainer.iterate()["endgame_loss"] for _ in range(8)]
    assert min(losses[-3:]) > 0
    assert np.mean(losses[-3:]) < 0.7 * losses[0]


def test_the_endgame_loss_needs_a_solver() -> None:
    assert "endgame_loss" not in a_trainer(0).iterate()
    with pytest.raises(ConfigError, match="endgame_coef: expected 0: thirteens has no endgame solver"):
        a_trainer(4, endgame_coef=1.0)
    paid = a_trainer(0, rules="south", reward="payments", endgame_coef=1.0)
    assert paid.iterate()["endgame_loss"] == pytest.approx(0, abs=1e-6)


def test_the_policy_learns_from_its_teachers() -> None:
    """With the other losses all but switched off, the policy comes closer to what the teacher chooses."""
    settings = {"num_games": 60, "batch_size": 256, "learning_rate": 3e-3, "prior": "none", "ent_coef": 0.0}
    taught = {"teachers": "heuristic", "teacher_coef": 1000.0, "teacher_share": 0.5}
    trainer = a_trainer(0, **settings, **taught, snapshot_share=0.0, baseline_share=0.0)
    losses = [trainer.iterate()["teacher_loss"] for _ in range(8)]
    assert np.mean(losses[-3:]) < 0.6 * losses[0]
    assert "teacher_loss" not in a_trainer(0).iterate()


@pytest.mark.parametrize(
    ("settings", "teachers"),
    [
        ({}, "search:worlds=2"),
        ({}, "champion heuristic"),
        ({"rules": "south", "reward": "payments"}, "champion"),
    ],
)
def test_teachers_are_asked_in_a_share_of_the_decisions(settings: dict[str, Any], teachers: str) -> None:
    """The rounds are those that are played without them."""
    plain = a_trainer(0, **settings).play()
    taught = a_trainer(0, **settings, teachers=teachers, teacher_share=0.4).play()
    assert plain.teacher_probabilities.size == 0
    assert np.array_equal(plain.chosen, taught.chosen)
    assert np.array_equal(plain.log_probability, taught.log_probability)
    totals = np.add.reduceat(taught.teacher_probabilities, taught.inputs.segment_start)
    is_asked = totals > 0
    np.testing.assert_allclose(totals[is_asked], 1, rtol=1e-5)
    assert abs(is_asked.mean() - 0.4) < 0.1


def test_teachers_agree_on_the_geometric_mean() -> None:
    batch = Batch("cardgames", 12, history_length=1)
    batch.deal(np.arange(12))
    for _ in range(5):
        batch.step(batch.first_legal(np.arange(12)))
    games = np.flatnonzero((batch.count_legal() > 1) & (np.arange(12) != 3))
    view, greedy = View(batch, games), tienlen_agents.load("greedy")
    networks = [a_trainer(0, seed=seed).agent() for seed in (1, 2)]
    inputs = NetworkConfig.of(batch.rules).reader().read(view)
    assert len(games) > 4

    def found(*agents: Agent) -> Float32Array:
        return Teachers(agents, 1.0, np.random.default_rng(0)).probabilities(batch, games, inputs)

    log_a, log_b = (network.log_probabilities(view) for network in networks)
    np.testing.assert_allclose(found(networks[0]), np.exp(log_a), rtol=1e-4)
    means = np.split(np.exp((log_a + log_b) / 2), inputs.segment_start[1:])
    wanted = np.concatenate([mean / mean.sum() for mean in means])
    np.testing.assert_allclose(found(*networks), wanted, rtol=1e-4)
    assert np.array_equal(inputs.action[found(greedy) > 0.99], greedy.act(view))


def test_a_variant_has_the_teachers_that_play_it() -> None:
    own, every = (tienlen_agents.load(f"champion:size={size},worlds=0") for size in ("medium", "general"))
    trickster = tienlen_agents.load("trickster")
    assert teachers_of(get_rules("cardgames"), [own, every, trickster]) == [own, every]
    assert teachers_of(get_rules("cardgames", 3), [own, every]) == [every]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"teachers": "nobody"}, "teachers: .*nobody"),
        ({"teachers": "trickster"}, "teachers: .*trickster"),
        ({"teachers": "champion:size=medium", "num_players": 3}, "teachers: champion: there is no policy"),
    ],
)
def test_somebody_must_teach_every_variant(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        a_trainer(0, **settings)


def test_the_policy_improves_on_a_tiny_budget() -> None:
    """From uniform play, a few iterations of pure learning beat three random players clearly."""
    trainer = a_trainer(1, num_games=200, batch_size=512, learning_rate=3e-3, state_width=64)
    for _ in range(8):
        trainer.iterate()
    result = arena.match(trainer.agent(), tienlen_agents.load("random"), num_deals=100, seed=3)
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
    with pytest.raises(ValueError, match="made for the cardgames rules with 4 players, not for pagat with 4"):
        a_trainer(0, start_from=str(path), rules="pagat")


def test_a_game_is_named_by_env_or_by_its_rules() -> None:
    assert PPOConfig().variant() == get_rules("cardgames")
    assert PPOConfig(env="tienlen", rules="foicica").variant() == get_rules("foicica")
    assert PPOConfig(env="thirteens", num_players=5).variant() == get_rules("thirteens", 5)
    assert PPOConfig(rules="thirteens_manual").variant() == get_rules("thirteens_manual")
    with pytest.raises(ValueError, match=r"env: expected one of tienlen, thirteens.*, got 'bridge'"):
        PPOConfig(env="bridge").variant()
    with pytest.raises(ValueError, match="rules='foicica': expected one of thirteens, thirteens_manual"):
        PPOConfig(env="thirteens", rules="foicica").variant()


def test_each_game_is_trained_against_its_own_players() -> None:
    assert a_trainer(0).pool.baselines == ("heuristic",)
    trainer = a_trainer(4)
    assert trainer.pool.baselines == ("trickster",)
    assert trainer.eval_opponents == ("trickster",)
    with pytest.raises(ValueError, match="rollouts are not available for thirteens"):
        a_trainer(3, env="thirteens")


def test_ppo_learns_alike_from_large_and_small_points() -> None:
    """Points that count ten times as much, and a critic that has seen nothing: the same steps."""
    trainers = [a_trainer(4) for _ in range(2)]
    played = trainers[0].play()
    rich = replace(played, reward=10 * played.reward, scores=10 * played.scores)
    for trainer, rounds in zip(trainers, (played, rich), strict=True):
        torch.nn.init.zeros_(trainer.learner.model.critic[-1].weight)
        torch.nn.init.zeros_(trainer.learner.model.critic[-1].bias)
        trainer.learn(rounds)
    for a, b in zip(*(weights_of(t) for t in trainers), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("which", [0, 3, 4, 6])
def test_a_rollout_is_a_function_of_its_job(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickled jobs, played in another order, give the trajectories that the run itself gets."""
    trainer = a_trainer(which, snapshot_share=0.4)
    for _ in range(2):
        trainer.iterate()
    sent: list[bytes] = []

    def keep(job: RolloutJob) -> Trajectories:
        sent.append(pickle.dumps(job))
        return rollout(job)

    monkeypatch.setattr("tienlen_train.trainer.rollout", keep)
    wanted = trainer.play()
    trainer.iterate()  # a job has its own weights
    assert len(sent) == 4
    jobs = [pickle.loads(data) for data in sent[:2]]
    assert jobs[0].policies[0].version == 2
    found = join([pickle.loads(pickle.dumps(rollout(job))) for job in reversed(jobs)][::-1])
    for name in (
        "chosen",
        "log_probability",
        "reward",
        "next_index",
        "privileged",
        "action_values",
        "winning_actions",
        "teacher_probabilities",
        "scores",
    ):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    for ours, theirs in zip(found.inputs, wanted.inputs, strict=True):
        assert np.array_equal(ours, theirs)


def test_processes_can_play_the_rollouts() -> None:
    config = PPOConfig(**{**TINY, "critic_width": 16})
    alone, apart = PPOTrainer(config), PPOTrainer(config, Processes(1))
    assert comparable(alone.iterate()) == comparable(apart.iterate())


def test_a_game_without_features_is_trained_on_the_plain_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features._FEATURES._found, "tienlen", features.generic_features("tienlen"))
    trainer = PPOTrainer(PPOConfig(**{**TINY, "critic_width": 16, "snapshot_share": 0.5}))
    assert trainer.network.config.prior == "none"
    assert trainer.network.config.action_inputs == Batch("cardgames", 1).num_actions
    assert trainer.pool.baselines == ()
    assert trainer.eval_opponents == ("random",)
    for _ in range(2):
        trainer.iterate()
    agent = trainer.agent()
    batch = Batch("cardgames", 5)
    batch.reset(1)
    batch.step(agent.act(View(batch)))
    with pytest.raises(ValueError, match="not available"):
        DMCTrainer(DMCConfig(**{**TINY, "returns": "counterfactual"}))


def test_a_game_from_outside_is_trained_by_its_name(tmp_path: Path) -> None:
    settings = {**TINY, "decisions": 500, "eval_every": 2, "critic_width": 16}
    settings |= {"env": "high_card", "num_players": 3, "eval_deals": 4}
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in settings.items()]
    assert ppo.main([*flags, "--out", str(tmp_path)]) == 0
    policy = tienlen_agents.load(f"policy:{tmp_path / 'policy.safetensors'}")
    result = arena.match(policy, "random", rules="high_card", num_deals=20, seed=5)
    assert result.num_games == 60
    assert (tmp_path / "arena.json").is_file()


def test_a_package_registers_the_features_of_its_game(monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(features.generic_features("high_card"), eval_opponents=("random", "greedy"))
    monkeypatch.setattr(registry, "_parts", {})
    registry.register(HIGH_CARD, features=own)
    registry.register(HIGH_CARD, features=own)
    assert features.features_of(get_rules("high_card")) is own
    with pytest.raises(ValueError, match="'high_card' has another features already"):
        registry.register(HIGH_CARD, features=features.generic_features("high_card"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'feature': expected a part of a game"):
        registry.register(HIGH_CARD, feature=own)


def test_resume_takes_the_settings_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not given is the folder's; what changes the result may not differ from it."""
    settings = {**TINY, "critic_width": 16, "final_deals": 0, "rules": "south", "num_players": 3}
    settings["stop_after"] = 1
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in settings.items()]
    out, again = tmp_path / "run", ["--out", str(tmp_path / "run"), "--resume"]
    ppo.main([*flags, "--out", str(out)])
    for wrong in ("--clip-coef=0.3", "--rules=north"):
        with pytest.raises(SystemExit, match=wrong.strip("-").partition("=")[0].replace("-", "_")):
            ppo.main([*again, wrong])
    assert len(curve(out)) == 1
    ppo.main([*again, "--stop-after=2", "--threads=2"])
    ppo.main([*flags, "--stop-after=2", "--out", str(tmp_path / "whole")])
    assert curve(out) == curve(tmp_path / "whole")
    assert "on south, 3 players" in " ".join(capsys.readouterr().out.split())
    (out / "config.json").write_text("{")
    with pytest.raises(SystemExit, match="is damaged"):
        ppo.main(again)


def curve(folder: Path) -> list[str]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [comparable(json.loads(line)) for line in lines]


def test_thirteens_is_trained_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run, the same one taken up from an earlier checkpoint, and what it leaves."""
    settings = {**TINY, "critic_width": 16, "decisions": 1500, "env": "thirteens"}
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in settings.items()]
    out = tmp_path / "run"
    ppo.main([*flags, "--out", str(out)])
    whole = curve(out)
    checkpoints = sorted((out / "checkpoints").glob("*.pt"))
    assert len(whole) > 3
    for path in (*checkpoints[-2:], out / "policy.safetensors"):
        path.unlink()
    ppo.main(["--out", str(out), "--resume"])
    assert curve(out) == whole
    printed = "".join(capsys.readouterr().out.split())  # whatever the width of the terminal
    assert f"afteriteration{len(whole) - 2}training" in printed
    assert "trickster" in printed
    policy = tienlen_agents.load(f"policy:{out / 'policy.safetensors'}")
    result = arena.match(policy, "trickster", rules="thirteens", num_deals=4)
    assert result.num_games == 16


def test_a_critic_cannot_look_ahead_where_nobody_can() -> None:
    with pytest.raises(ValueError, match="final places of thirteens"):
        PPOTrainer(PPOConfig(**{**TINY, "critic_width": 16, "env": "thirteens", "critic": "playout"}))


class Stopped(BaseException):
    """A kill, as far as one process can play it to itself."""


def policy_weights(folder: Path) -> dict[str, np.ndarray]:
    return NetworkAgent.load(folder / "policy.safetensors").network.tensors


@pytest.mark.parametrize(
    ("make", "config"),
    [(PPOTrainer, PPOConfig), (DMCTrainer, DMCConfig), (BestResponseTrainer, BestResponseConfig)],
)
@pytest.mark.parametrize(
    ("stop", "seen", "told"),
    [
        (Stopped(), Stopped, "^$"),
        (OSError(errno.ENOSPC, "No space left on device"), RunError, r"policy\.safetensors: No space left"),
    ],
    ids=["killed", "disk full"],
)
def test_a_run_stopped_before_its_policy_is_written_leaves_the_last_one_when_resumed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: type[SelfPlayTrainer],
    config: type[SelfPlayConfig],
    stop: BaseException,
    seen: type[BaseException],
    told: str,
) -> None:
    settings = {**TINY, "stop_after": 3, "seed": 2}
    if make is BestResponseTrainer:
        settings["agent"] = "random"
    console = Console(quiet=True)
    train(make, config(**settings, out=str(tmp_path / "whole")), console)
    wanted = policy_weights(tmp_path / "whole")

    out, write = tmp_path / "stopped", files.write_atomic

    def stop_at_the_last(path: Path, data: bytes) -> None:
        if path.name == "policy.safetensors" and (out / "checkpoints" / "000003.pt").exists():
            raise stop
        write(path, data)

    with monkeypatch.context() as patched:
        patched.setattr("tienlen_agents.networks.agent.write_atomic", stop_at_the_last)
        with pytest.raises(seen, match=told):
            train(make, config(**settings, out=str(out)), console)
    before = policy_weights(out)
    assert any(not np.array_equal(before[name], weights) for name, weights in wanted.items())

    trainer, _ = train(make, config(**settings, out=str(out), resume=True), console)
    assert trainer.iteration == 3
    found = policy_weights(out)
    assert found.keys() == wanted.keys()
    for name, weights in wanted.items():
        assert np.array_equal(found[name], weights), name


def test_an_opponent_in_another_process_gets_seeds_that_tell_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their key is in the checkpoints, so that a run that goes on is the same."""
    for name, value in install(tmp_path).items():
        monkeypatch.setenv(name, value)
    mine: dict[str, Any] = {"baselines": "stranger:isolate=1", "baseline_share": 0.9, "snapshot_share": 0.0}
    trainer = a_trainer(0, num_games=4, shards=1, **mine)
    planned = [trainer.plan(iteration).opponent_seeds[0] for iteration in (1, 2)]
    trainer.iterate()
    state = copy.deepcopy(trainer.state())
    second = trainer.iterate()
    seeds = {note["seed"] for note in notes_of(tmp_path / "notes") if "seed" in note}
    assert seeds & {hashed_seed(trainer.seed_key, seed) for seed in planned}
    assert not seeds & set(planned)
    again = a_trainer(0, num_games=4, shards=1, **mine)
    assert again.seed_key != trainer.seed_key
    again.restore(1, state)
    assert again.seed_key == trainer.seed_key
    assert comparable(again.iterate()) == comparable(second)
    assert "seed_key" not in a_trainer(0).state()
