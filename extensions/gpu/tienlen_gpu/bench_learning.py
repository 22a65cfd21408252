"""Rows of `tienlen_gpu.bench`: acting, learning and the arena on a device.

Every function takes a machine, and sizes, so that tests run it on the processor. Compilation is not in a
figure: each function plays a small part first. A figure is a rate or a time by the clock on the wall, and
ends when the device has finished.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch

from tienlen_agents import arena
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.shipped import shipped
from tienlen_env.games.registry import get_rules
from tienlen_gpu import cuda_machine
from tienlen_gpu.arena import DeviceExecutor
from tienlen_gpu.bench_environment import BenchRow, Figure, GpuConfig
from tienlen_gpu.machine import TorchMachine
from tienlen_gpu.players import NetworkInputs, choose_by, draw_item, key_of, logits_of
from tienlen_gpu.rollout import DeviceActor
from tienlen_gpu.rounds import Rounds
from tienlen_train.loop import prepared_process
from tienlen_train.network import ActionNetwork
from tienlen_train.ppo import PPOConfig, PPOTrainer

# The run of `make train` with the minibatches of a device; everything else is the same.
DEVICE_RUN: Final[Mapping[str, Any]] = {"num_games": 4096, "batch_size": 16384}
# A network of about 470,000 weights, and many games: what a device is for.
LARGE_RUN: Final[Mapping[str, Any]] = {
    "num_games": 65536,
    "batch_size": 32768,
    "update_epochs": 2,
    "state_width": 296,
    "action_width": 144,
    "snapshot_share": 0.0,
}


def wait(machine: TorchMachine) -> None:
    """Wait until the device has finished."""
    if machine.device.type == "cuda":
        torch.cuda.synchronize(machine.device)


def network_file() -> str:
    """The file of the champion's network that plays cardgames alone: devices play no general networks."""
    return str(shipped()["cardgames", "medium"])


def acting(machine: TorchMachine, num_games: int) -> Figure:
    """Decisions a second of the champion's network in all seats, drawn from its policy, in whole rounds."""
    agent = NetworkAgent.load(network_file())
    config = agent.network.config
    rules = get_rules(config.rules, config.num_players)
    reader = config.reader(machine)
    network = ActionNetwork.of(agent.network).to(machine.device).eval()
    network.for_device = True
    dtype = torch.bfloat16 if machine.device.type == "cuda" else torch.float32

    def play(num: int, seed: int) -> tuple[int, float]:
        rounds = Rounds(
            machine, rules, num, reward="zero_sum", history_length=max(reader.history, config.history)
        )
        keys = np.random.default_rng(seed).integers(-(2**63), 2**63, num, np.int64)
        seats = torch.zeros((num, rounds.num_players), dtype=torch.int64, device=machine.device)
        total = 0
        wait(machine)
        begin = time.perf_counter()
        with torch.no_grad(), torch.autocast(machine.device.type, dtype, enabled=dtype != torch.float32):
            rounds.deal(keys, skip_forced=True)
            for step, _, turns in rounds.steps(seats, 1, skip_forced=True):
                inputs = reader.read_at(rounds.position, turns.decisions, rules)
                rows = NetworkInputs.of(inputs, turns.decisions, dtype)
                logits, key = logits_of(network, rows), key_of(seed)
                index, _ = choose_by(draw_item, machine, logits, turns.decisions, key=key, block=step)
                rounds.play(turns.decisions.games, rows.action[index], skip_forced=True)
                total += len(turns.decisions.games)
        wait(machine)
        return total, time.perf_counter() - begin

    play(min(num_games, 256), 0)
    total, seconds = play(num_games, 1)
    details = {"games": num_games, "decisions": total, "weights": network.num_weights, "dtype": str(dtype)}
    return Figure(total / seconds, details)


@prepared_process()
def learning(machine: TorchMachine | None, iterations: int, settings: Mapping[str, Any]) -> Figure:
    """Decisions a second of PPO: played, and learned from.

    Args:
        machine: where; None for the processor, as ``--device cpu``.
        iterations: that are measured; one is played before.
        settings: of the run.
    """
    config = PPOConfig(**{"device": "cpu", "decisions": 10**12, **settings})
    trainer = PPOTrainer(config, actor=actor_on(machine))
    trainer.iterate()
    before, seconds = trainer.num_decisions, trainer.seconds
    metrics = [trainer.iterate() for _ in range(iterations)]
    decisions = trainer.num_decisions - before
    weights = sum(p.numel() for p in trainer.weights)
    timed: dict[str, Any] = {
        name: sum(one[name] for one in metrics) / iterations
        for name in ("seconds_playing", "seconds_learning")
        if name in metrics[0]
    }
    details: dict[str, Any] = {
        "decisions": decisions,
        "policy_weights": trainer.network.num_weights,
        "all_weights": weights,
        **settings,
        **timed,
    }
    return Figure(decisions / (trainer.seconds - seconds), details)


def actor_on(machine: TorchMachine | None) -> DeviceActor | None:
    """What plays the rollouts there."""
    return None if machine is None else DeviceActor(machine)


@prepared_process()
def training_run(
    machine: TorchMachine, settings: Mapping[str, Any], num_deals: int = 2500
) -> tuple[Figure, Figure]:
    """Seconds of a whole run, and its points alone against three of the rule-based agent at the end."""
    config = PPOConfig(**{"device": "cpu", **settings})
    few = replace(config, num_games=min(config.num_games, 64), batch_size=256, shards=1)
    PPOTrainer(few, actor=actor_on(machine)).iterate()  # compiles
    trainer = PPOTrainer(config, actor=actor_on(machine))
    while not trainer.is_done:
        trainer.iterate()
    result = arena.match(
        trainer.agent(), "heuristic", rules=trainer.rules, num_deals=num_deals, seed=config.seed + 2_000_000
    )
    points = result.scores[0].points
    details: dict[str, Any] = {
        "decisions": trainer.num_decisions,
        "iterations": trainer.iteration,
        **settings,
    }
    strength = {"interval": points.half_width, "deals": num_deals}
    return Figure(trainer.seconds, details), Figure(points.mean, strength)


def match_seconds(agents: Sequence[str], num_deals: int, scale: float = 1.0, **options: Any) -> Figure:
    """Seconds of a match of the first agent against three of the second, each deal in four seatings.

    Args:
        agents: their names.
        num_deals: of the match.
        scale: factor on the seconds.
        options: of `arena.match`: where it is played.
    """
    arena.match(*agents, num_deals=min(num_deals, 64), seed=1, **options)
    begin = time.perf_counter()
    result = arena.match(*agents, num_deals=num_deals, **options)
    seconds = time.perf_counter() - begin
    return Figure(scale * seconds, {"deals": num_deals, "points": result.scores[0].points.mean})


# ---------------------------------------------------------------- the rows of `make bench-gpu`


def rows(config: GpuConfig) -> list[BenchRow]:
    """The rows of acting, learning and the arena, each beside the same work on all cores of the processor."""
    cores = os.cpu_count() or 1
    kept: dict[str, Figure] = {}  # the run and its points are one measurement

    def run_of(which: str) -> Figure:
        if not kept:
            kept["seconds"], kept["points"] = training_run(cuda_machine(), DEVICE_RUN)
        return kept[which]

    def match(*agents: str) -> Figure:
        return match_seconds(agents, 100_000, executor=DeviceExecutor(cuda_machine()))

    on_processor = {**LARGE_RUN, "num_games": 2048, "batch_size": 8192, "threads": cores, "shards": cores}
    heuristic, champions = "heuristic", f"policy:{network_file()}"
    return [
        BenchRow(
            "acting by the champion's network",
            "decisions/s",
            lambda _: acting(cuda_machine(), 1 << 17),
            goal=20e6,
        ),
        BenchRow(
            "PPO, 470,000 weights, two epochs",
            "decisions/s",
            lambda _: learning(cuda_machine(), 2, LARGE_RUN),
            goal=3e6,
        ),
        BenchRow(
            f"PPO, the same on {cores} cores",
            "decisions/s",
            lambda _: learning(None, 1, on_processor),
            needs_device=False,
        ),
        BenchRow(
            "the six million decisions of make train",
            "s",
            lambda _: run_of("seconds"),
            goal=10,
            less_is_better=True,
        ),
        BenchRow("points of that policy v. 3 heuristic", "points", lambda _: run_of("points"), goal=1.60),
        BenchRow(
            "arena, 100,000 deals x 4, heuristic v. random",
            "s",
            lambda _: match(heuristic, "random"),
            goal=10,
            less_is_better=True,
        ),
        BenchRow(
            "arena, 100,000 deals x 4, champion's network v. heuristic",
            "s",
            lambda _: match(champions, heuristic),
            goal=60,
            less_is_better=True,
        ),
        BenchRow(
            f"arena, the same on {cores} cores (5,120 deals, scaled)",
            "s",
            lambda _: match_seconds((champions, heuristic), 5120, 100_000 / 5120, workers=cores),
            needs_device=False,
        ),
    ]
