"""Speed of choosing by a network: compiled inference and torch, in one run.

    python -m tienlen_train.benchmarks.inference
    python -m tienlen_train.benchmarks.inference --policy runs/a/policy.safetensors --batches "1 64"

For each batch size there are two lines: the forward pass alone, and `NetworkAgent.act` as a whole, with
observations and features. Both are measured in turn in one process on one thread, on the same positions of
real rounds; times are medians of CPU time, because other programs influence it least. The command also counts
the decisions in which the two choose differently.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tienlen_agents.device.network import ActionNetwork, as_bfloat16
from tienlen_agents.networks import champion
from tienlen_agents.networks.features import Inputs
from tienlen_agents.networks.features.base import FloatArray
from tienlen_agents.networks.network import Network, NetworkAgent, first_best
from tienlen_agents.ranges import ExistingFile, several_files
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.registry import get_rules
from tienlen_train.command import command
from tienlen_train.config import ANY_SEED, COUNT, COUNT_OR_NONE, Config, Several, parse_args, setting


@dataclass(frozen=True, kw_only=True)
class InferenceBenchConfig(Config):
    """Settings of the benchmark.

    Attributes:
        policy: files of networks, separated by blanks; empty for the shipped ones.
        batches: numbers of decisions at a time, separated by blanks.
        decisions: number of decisions with a choice for the comparison of both; 0 for none.
        repeats: of each measurement.
        seed: of the deals.
    """

    policy: str = setting("", ExistingFile(several=True))
    batches: str = setting("1 4096", Several(COUNT))
    decisions: int = setting(100_000, COUNT_OR_NONE)
    repeats: int = setting(15, COUNT)
    seed: int = setting(1, ANY_SEED)


class TorchNetwork(Network):
    """A network that torch computes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.module = ActionNetwork.of(self).eval().requires_grad_(False)

    def logits(self, inputs: Inputs) -> FloatArray:
        """The network's scores, prior included, float32 (N,)."""
        with torch.inference_mode():
            logits: FloatArray = self.module(
                torch.from_numpy(inputs.observation).float(),
                as_bfloat16(inputs.action_features).float(),
                torch.from_numpy(inputs.segment_ids),
                torch.from_numpy(inputs.prior),
            ).numpy()
        return logits


def positions(agent: NetworkAgent, num_games: int, num_moves: int, seed: int) -> View:
    """Decisions with a choice from rounds of the agent, after a number of moves."""
    config = agent.network.config
    batch = Batch(get_rules(config.rules, config.num_players), num_games, history_length=1)
    batch.reset(seed)
    for _ in range(num_moves):
        games = np.flatnonzero(batch.state.turn >= 0)
        actions = np.full(num_games, NO_ACTION)
        actions[games] = agent.act(View(batch, games))
        batch.step(actions)
    view = View(batch, np.flatnonzero(batch.state.turn >= 0))
    return view.select(np.flatnonzero(view.num_legal > 1))


def medians(ways: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Seconds of CPU time of several functions, measured in turn."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(repeats + 1):
        for way, found in zip(ways, times, strict=True):
            begin = time.thread_time()
            way()
            found.append(time.thread_time() - begin)
    return [float(np.median(found[1:])) for found in times]  # the first ones compile


def measure(players: Sequence[NetworkAgent], size: int, config: InferenceBenchConfig) -> list[str]:
    """Both lines of a batch size; the first agent uses torch."""
    view = positions(players[0], 2 * size + 200, 14, config.seed)
    assert len(view) >= size
    # Several small batches in a row, because one is too short to measure.
    parts = [range(begin, begin + size) for begin in range(0, max(1, 200 // size) * size, size)]
    views = [view.select(np.array(part)) for part in parts if part.stop <= len(view)]
    read = players[0].network.config.reader().read
    inputs = [read(some) for some in views]

    def alone(player: NetworkAgent) -> None:
        for some in inputs:
            player.logits(some)

    def whole(player: NetworkAgent) -> None:
        for some in views:
            # As from an environment: no property of the view has been computed yet.
            player.act(View(*some.source))

    lines = []
    for what, way in (("network alone", alone), ("act", whole)):
        ways = [lambda way=way, player=player: way(player) for player in players]
        by_torch, compiled = medians(ways, config.repeats)
        num = size * len(views)
        lines.append(
            f"  {size:>5} at a time, {what:<14}{num / by_torch:12,.0f}{num / compiled:12,.0f}"
            f"{by_torch / compiled:8.2f}"
        )
    return lines


def differences(players: Sequence[NetworkAgent], config: InferenceBenchConfig) -> tuple[int, int]:
    """The number of decisions in which the two choose differently, and the number of all."""
    different = total = number = 0
    while total < config.decisions:
        for moves in range(0, 40, 4):
            view = positions(players[0], 2000, moves, config.seed + 1000 + number)
            inputs = players[0].network.config.reader().read(view)
            chosen = [first_best(player.logits(inputs), inputs.segment_start) for player in players]
            different += int((chosen[0] != chosen[1]).sum())
            total += len(view)
        number += 1
    return different, total


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    config = parse_args(InferenceBenchConfig, __doc__ or "", argv)
    torch.set_num_threads(1)
    paths = several_files(config.policy) or [str(path) for path in champion.shipped().values()]
    networks = [NetworkAgent.load(path) for path in paths]
    print(f"{'decisions a second':<34}{'torch':>12}{'compiled':>12}{'ratio':>8}")
    for path, compiled in zip(paths, networks, strict=True):
        network = compiled.network
        players = [NetworkAgent(TorchNetwork(network.config, network.tensors), "torch"), compiled]
        print(path, flush=True)
        for size in map(int, config.batches.split()):
            for line in measure(players, size, config):
                print(line, flush=True)
        if config.decisions:
            different, total = differences(players, config)
            print(f"  {different} of {total:,} choices differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
