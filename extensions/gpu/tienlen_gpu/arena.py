"""An executor of the arena that plays on a device: many thousand games at once, every decision there.

The deals, the seats and the choices of a `tienlen_agents.parallel.Chooser` are those of the other
executors, and so are the points. A network computes its scores by other sums there, which differ in the last
bits; where its best two actions are closer than `CLOSE`, the loops of
`tienlen_agents.networks.inference` decide, as in the other executors. Agents that draw (``random``, and a
network with ``sample``) draw other numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, cast

import numpy as np
import torch
from torch import Tensor

import tienlen_agents
from tienlen_agents.arena.chunk import Chunk, Job, chunk_of, games_of, seed_of
from tienlen_agents.arena.play import Played
from tienlen_agents.arena.run import ArenaSettings
from tienlen_agents.arena.tasks import Task, play_task
from tienlen_agents.executors import Executor, ItemT, ResultT
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import Inputs, features_by_name
from tienlen_agents.networks.network import Network, first_best
from tienlen_agents.parallel import DecisionArrays, GameArrays
from tienlen_agents.settings import Config
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, main_reward
from tienlen_gpu import cuda_machine
from tienlen_gpu.machine import TorchMachine
from tienlen_gpu.players import (
    NetworkInputs,
    best_item,
    can_choose,
    choose_by,
    chooser_of,
    draw_item,
    key_of,
    logits_of,
)
from tienlen_gpu.rounds import Rounds
from tienlen_train.network import ActionNetwork

GAMES_AT_ONCE: Final = 1 << 17
CLOSE: Final = 1e-3  # the sums of a network's score differ by about 1e-5


# An agent at the tables of a device: int64 (n,), legal action ids for n decisions of the games at a position.
# The last argument is the number of steps since the deal.
DeviceAct = Callable[[GameArrays, DecisionArrays, int], Tensor]


class DeviceNetwork:
    """A `NetworkAgent` on a device.

    Args:
        agent: its network and whether it draws.
        machine: where.
        rules: the variant.
        seed: of its draws.

    Raises:
        ValueError: it was made for other rules, or it reads past plays.
    """

    def __init__(self, agent: NetworkAgent, machine: TorchMachine, rules: AnyRules, seed: int) -> None:
        self._host: Network = agent.network_for(rules)
        config = self._host.config
        if config.history:
            raise ValueError(f"{agent.name} reads past plays in observations, which the device does not show")
        self._sample = agent.sample
        self._machine = machine
        self._rules = rules
        self._reader = config.reader(machine)
        self.history = self._reader.history
        self._network = ActionNetwork.of(self._host).to(machine.device).eval()
        self._network.for_device = True
        self._key = key_of(seed)

    def act(self, position: GameArrays, decisions: DecisionArrays, step: int) -> Tensor:
        """See `DeviceAct`."""
        inputs = self._reader.read_at(position, decisions, self._rules)
        rows = NetworkInputs.of(inputs, decisions, torch.float32)
        logits = logits_of(self._network, rows)
        body = draw_item if self._sample else best_item
        index, lead = choose_by(body, self._machine, logits, decisions, key=self._key, block=step)
        if not self._sample:
            close = torch.nonzero(lead < CLOSE).squeeze(1)
            if len(close):
                index[close] = self._decided(inputs, close)
        return rows.action[index]

    def _decided(self, inputs: Inputs, close: Tensor) -> Tensor:
        """The choices of some decisions by the processor's loops: indices into the ragged actions."""
        every: Any = inputs
        start = every.segment_start[close]
        num_legal = every.num_legal[close]
        own_start = torch.cumsum(num_legal, 0) - num_legal
        rows = torch.arange(int(num_legal.sum()), device=close.device)
        rows += torch.repeat_interleave(start - own_start, num_legal)
        features = every.action_features.view(torch.int16)[rows, : self._host.config.action_inputs]

        def host(tensor: Tensor) -> Any:
            return tensor.cpu().numpy()

        some = Inputs(
            host(every.observation[close]),
            host(own_start),
            host(num_legal),
            host(every.action[rows]),
            np.ascontiguousarray(host(features)).view(np.uint16),
            host(every.prior[rows]),
        )
        found = first_best(self._host.logits(some), some.segment_start)
        chosen: Tensor = start + torch.from_numpy(found - some.segment_start).to(close.device)
        return chosen


def why_not(agent: Agent) -> str:
    """Why an agent cannot play on a device, in a few words; empty if it can."""
    if isinstance(agent, NetworkAgent):
        if not features_by_name(agent.network.config.game).on_device:
            return f"the features of {agent.network.config.game} are computed on the processor alone"
        return ""
    return "" if can_choose(agent) else f"agent {agent.name!r} plays on the processor alone"


class DeviceExecutor(Executor):
    """Plays tasks of the arena on a device (see `tienlen_agents.executors.Executor`).

    It takes as many tasks of a match-up in advance as it can play at once. An agent's time is its share of
    the decisions.

    Args:
        machine: where.
        games_at_once: the number of games.

    Attributes:
        header: part of the header of a run's file: agents that draw play other games here.
    """

    header = MappingProxyType({"draws": "device"})

    def __init__(self, machine: TorchMachine, games_at_once: int = GAMES_AT_ONCE) -> None:
        self._machine = machine
        self._games_at_once = games_at_once

    def check(self, settings: Config) -> None:
        """Refuse what the device does not compute.

        Raises:
            ValueError: it is a training run, or wants blunders, records or past plays in observations.
        """
        if not isinstance(settings, ArenaSettings):
            raise ValueError("executor cuda: it plays in the arena alone; training has --actor cuda")
        if settings.blunder_deals or settings.records or settings.history:
            raise ValueError("executor cuda: expected no blunders, records and history")

    def unordered(
        self, function: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Iterator[tuple[ItemT, ResultT]]:
        """Play the tasks of the arena, those of a match-up together.

        Raises:
            ValueError: an agent plays on the processor alone, or the function is not the arena's.
        """
        if function is not play_task:
            raise ValueError("executor cuda: it plays the tasks of the arena alone")
        played: Any = self._play(iter(cast(Iterable[Task], items)))
        yield from played

    def _play(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, Chunk]]:
        next_task = next(tasks, None)
        while next_task is not None:
            some, num_games = [next_task], 0
            while True:
                num_games += len(games_of(some[-1].job).keys)
                next_task = next(tasks, None)
                if (
                    next_task is None
                    or (next_task.match_up, next_task.names) != (some[0].match_up, some[0].names)
                    or num_games >= self._games_at_once
                ):
                    break
                some.append(next_task)
            agents = [tienlen_agents.load(name) for name in some[0].names]
            chunks = play_jobs(self._machine, agents, [task.job for task in some])
            yield from zip(some, chunks, strict=True)


@contextmanager
def connect(
    where: str, agents: Sequence[str], *, say: Callable[[str], None], at_once: int | None = None
) -> Iterator[DeviceExecutor]:
    """The executor ``cuda`` (`tienlen_agents.executors.Opener`).

    Raises:
        ValueError: an agent plays on the processor alone.
        DeviceError: there is no device.
    """
    if where:
        raise ValueError(f"executor cuda:{where}: expected cuda alone")
    for name in agents:
        if problem := why_not(tienlen_agents.load(name)):
            raise ValueError(f"executor cuda: {problem}")
    yield DeviceExecutor(cuda_machine())


def play_jobs(machine: TorchMachine, agents: Sequence[Agent], jobs: Sequence[Job]) -> list[Chunk]:
    """Play jobs of one match-up, all their games at once.

    Args:
        machine: where.
        agents: E agents.
        jobs: what to play; all with the same rules.

    Raises:
        ValueError: see `DeviceExecutor`; or a job wants what the device does not compute.
    """
    rules = jobs[0].rules
    for job in jobs:
        if job.history or job.num_records or job.blunder_deals > job.first_deal:
            raise ValueError("history, records and blunders: expected 0 on a device")
    for agent in agents:
        if problem := why_not(agent):
            raise ValueError(problem)
    begin = time.perf_counter()
    players, history_length = [], 0
    for i, agent in enumerate(agents):
        act, history = _player(agent, machine, rules, seed_of(jobs[0], i))
        players.append(act)
        history_length = max(history_length, history)
    games = [games_of(job) for job in jobs]
    sizes = [len(one.keys) for one in games]
    rounds = Rounds(machine, rules, sum(sizes), reward=main_reward(rules), history_length=history_length)
    rounds.deal(np.concatenate([one.keys for one in games]), skip_forced=False)
    seats = machine.array(np.concatenate([one.seats for one in games]))
    first = machine.array(np.repeat(np.arange(len(jobs)) * len(agents), sizes))
    names = ", ".join(repr(agent.name) for agent in agents)
    check = partial(game_of(rules).check_decisions, rules, who=names)
    decisions = _play(rounds, players, seats, first, len(jobs), check)
    seconds = (time.perf_counter() - begin) * decisions / max(1, int(decisions.sum()))
    ends = np.cumsum(sizes)[:-1]
    places, points = (np.split(machine.host(array), ends) for array in (rounds.places, rounds.points))
    units = [None] * len(jobs) if rounds.units is None else np.split(machine.host(rounds.units), ends)
    return [
        chunk_of(
            job,
            one,
            Played(own_places, own_points, own_units, decisions[i], seconds[i], tuple(() for _ in agents)),
            np.zeros((0, len(agents), 2), np.int64),
        )
        for i, (job, one, own_places, own_points, own_units) in enumerate(
            zip(jobs, games, places, points, units, strict=True)
        )
    ]


def _player(agent: Agent, machine: TorchMachine, rules: AnyRules, seed: int) -> tuple[DeviceAct, int]:
    """An agent on the device, and the number of plays that the games must store for it."""
    if isinstance(agent, NetworkAgent):
        network = DeviceNetwork(agent, machine, rules, seed)
        return network.act, network.history
    chooser = chooser_of(agent, machine, rules, seed)

    def act(position: GameArrays, decisions: DecisionArrays, step: int) -> Tensor:
        out: Tensor = machine.empty(len(decisions.games), np.int64)
        chooser.choose(position, decisions.games, step, out)
        return out

    return act, 0


def _play(
    rounds: Rounds,
    players: Sequence[DeviceAct],
    seats: Tensor,
    first: Tensor,
    num_jobs: int,
    check: Callable[[int], None],
) -> Any:
    """Play all rounds to the end; int64 (J, E), the decisions of each agent in each job.

    Args:
        rounds: dealt.
        players: E agents.
        seats: int64 (B, P), the agent in each seat.
        first: int64 (B,), the index of a game's job, times E.
        num_jobs: J.
        check: refuses a number of decisions that no round has (`Game.check_decisions`).
    """
    num = len(players)
    tally = torch.zeros(num_jobs * num + 1, dtype=torch.int64, device=seats.device)
    one = torch.ones_like(first)
    with torch.no_grad():
        for step, who, turns in rounds.steps(seats, num, skip_forced=False):
            tally.scatter_add_(0, torch.where(rounds.turn >= 0, first + who, num_jobs * num), one)
            check(step + 1)
            parts = [turns.part(group, group) for group in range(num + 1)]
            chosen = chain(
                (
                    act(rounds.position, part, step)
                    for act, part in zip(players, parts[:num], strict=True)
                    if len(part.games)
                ),
                [rounds.first_legal(parts[num].games)],
            )
            rounds.play(turns.decisions.games, torch.cat(list(chosen)), skip_forced=False)
    return tally[:-1].view(num_jobs, num).cpu().numpy()
