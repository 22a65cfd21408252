"""Rollouts on a device: the rounds of a `RolloutJob`, with the reward after each decision of a learning seat.

The decisions, their inputs and their rewards are those of `tienlen_train.rollout`; only the policies' draws
differ. A draw is a function of the seed, the game and the step, so it depends on nothing that another game
does. Nothing of a trajectory leaves the device. In each step the processor waits for it once, to learn how
many decisions and actions there are. The algorithms' losses and the learner are the same in both places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

import tienlen_agents
from tienlen_agents.networks.features import Features, Inputs, Reader, features_of
from tienlen_agents.networks.features.base import Computed
from tienlen_agents.parallel import Chooser, has_chooser
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_gpu import cuda_machine
from tienlen_gpu.machine import TorchMachine
from tienlen_gpu.players import NetworkInputs, can_choose, choose_by, chooser_of, draw_item, key_of, logits_of
from tienlen_gpu.rounds import Rounds, Turns, decisions_of, owner_of
from tienlen_train.learner import DeviceTrajectories
from tienlen_train.rollout import LEARNER, RolloutJob, check_seats, network_on


class _Table(NamedTuple):
    """What plays one kind of job; it is kept from iteration to iteration."""

    rounds: Rounds
    reader: Reader
    hidden: Computed | None
    outcome: Computed | None
    action_values: Computed | None


class DeviceActor:
    """Plays rollouts on a machine.

    Args:
        machine: where.

    Attributes:
        device: of the machine.
    """

    def __init__(self, machine: TorchMachine) -> None:
        self.machine = machine
        self.device = machine.device
        self._table: tuple[tuple[object, ...], _Table] | None = None
        self._choosers: dict[tuple[str, AnyRules], Chooser] = {}

    def lacks(
        self, features: Features, options: Mapping[str, object], opponents: Sequence[str], *, variants: bool
    ) -> str:
        """See `tienlen_train.doors.Actor`."""
        game = features.game
        missing = {
            f"the features of {game}": not features.on_device,
            "several variants": variants,
            f"playouts of {game}": options.get("critic") == "playout" and features.outcome is None,
            f"action values of {game}": options.get("with_action_values") and features.returns is None,
            "the endgame solver": options.get("with_winning_actions"),
            "the teachers": options.get("teachers"),
        }
        missing |= {f"the agent {name}": not can_choose(tienlen_agents.load(name)) for name in opponents}
        return next((name for name, is_missing in missing.items() if is_missing), "")

    def rollout(self, job: RolloutJob) -> DeviceTrajectories:
        """Play the rounds of a job to the end.

        Raises:
            FloatingPointError: the scores of a policy are not finite.
            ValueError: a rule-based opponent plays on the processor alone.
        """
        table = self._table_of(job)
        play = _Play(self.machine, table, job, self._opponents(job))
        return play.run()

    def _table_of(self, job: RolloutJob) -> _Table:
        config = job.policies[LEARNER].config
        key = (job.rules, len(job.keys), job.reward, config, job.critic, job.with_action_values)
        if self._table is None or self._table[0] != key:
            self._table = None  # frees its memory first
            machine, rules = self.machine, job.rules
            features, reader = features_of(rules), config.reader(machine)
            rounds = Rounds(
                machine, rules, len(job.keys), reward=job.reward,
                history_length=max(reader.history, config.history),
            )  # fmt: skip
            codes = (
                None if job.critic == "own" else features.hidden,
                features.outcome if job.critic == "playout" else None,
                features.returns if job.with_action_values else None,
            )
            computed = (None if code is None else Computed(machine, rules, code) for code in codes)
            self._table = key, _Table(rounds, reader, *computed)
        return self._table[1]

    def _opponents(self, job: RolloutJob) -> list[Chooser]:
        found = []
        for name, seed in zip(job.opponents, job.opponent_seeds, strict=True):
            agent: Agent = tienlen_agents.load(name)
            if has_chooser(agent):  # draws nothing, and its memory is large
                key = name, job.rules
                if key not in self._choosers:
                    self._choosers[key] = chooser_of(agent, self.machine, job.rules, seed)
                found.append(self._choosers[key])
            else:
                found.append(chooser_of(agent, self.machine, job.rules, seed))
        return found


def cuda_actor(device: torch.device) -> DeviceActor:
    """The actor of the current CUDA device (`tienlen_train.doors.MakeActor`).

    Raises:
        DeviceError: there is no device.
    """
    return DeviceActor(cuda_machine())


class _Play:
    """One rollout."""

    def __init__(
        self, machine: TorchMachine, table: _Table, job: RolloutJob, opponents: list[Chooser]
    ) -> None:
        self.machine, self.table, self.job = machine, table, job
        self.rounds = table.rounds
        self.opponents = opponents
        self.dtype = torch.bfloat16 if job.precision == "bf16" else torch.float32
        self.networks = [network_on(policy, machine.device).eval() for policy in job.policies]
        for network in self.networks:
            network.for_device = True
        self.key = key_of(*job.seed, job.shard)
        num_seats = self.rounds.num_games * self.rounds.num_players
        self.last: Tensor = torch.full((num_seats,), -1, device=machine.device)
        self.scores: Tensor = machine.zeros(num_seats, np.float32)
        self.is_finite: Tensor = torch.ones((), dtype=torch.bool, device=machine.device)
        self.steps: list[dict[str, Tensor]] = []  # the columns of the learner's decisions
        self.ends: list[int] = []
        self.num_kept = self.num_actions = 0

    def run(self) -> DeviceTrajectories:
        """Play to the end; the learner's decisions."""
        rounds, job = self.rounds, self.job
        num_actors = len(job.policies) + len(job.opponents)
        shape = rounds.num_games, rounds.num_players
        check_seats(job.seat_policies, shape, num_actors)
        actor = self.machine.array(job.seat_policies)
        rounds.deal(job.keys, skip_forced=True)
        with (
            torch.no_grad(),
            torch.autocast(self.machine.device.type, torch.bfloat16, enabled=self.dtype == torch.bfloat16),
        ):
            for step, _, turns in rounds.steps(actor, num_actors, skip_forced=True):
                rounds.play(turns.decisions.games, self.act(turns, step), skip_forced=True)
            if not self.steps:  # no learner had a choice
                empty = torch.empty(0, dtype=torch.int64, device=self.machine.device)
                none = Turns(decisions_of(empty, empty, 0), [0] * num_actors, [0] * num_actors)
                self.act(none, 0, keep=True)
        if not bool(self.is_finite):
            raise FloatingPointError("the scores of the policy are not finite")
        return self.joined()

    def act(self, turns: Turns, step: int, *, keep: bool = False) -> Tensor:
        """The actions of all decisions of a step, int64 (n,); those of the learner are recorded."""
        position, num_policies = self.rounds.position, len(self.networks)
        actions: Tensor = self.machine.empty(len(turns.decisions.games), np.int64)
        read = turns.part(0, num_policies - 1)
        if len(read.games) or keep:
            inputs = self.table.reader.read_at(position, read, self.job.rules)
            rows = NetworkInputs.of(inputs, read, self.dtype)
        begin = first = 0
        for index, (size, num_actions) in enumerate(zip(turns.sizes, turns.num_actions, strict=True)):
            end, last = begin + size, first + num_actions
            if size == 0 and not (keep and index == LEARNER):
                continue
            if index >= num_policies:
                games = turns.decisions.games[begin:end]
                self.opponents[index - num_policies].choose(position, games, step, actions[begin:end])
            else:
                own, part = turns.part(index, index), rows.part(slice(begin, end), slice(first, last))
                logits = logits_of(self.networks[index], part)
                self.is_finite &= torch.isfinite(logits).all()
                chosen, log_probability = choose_by(
                    draw_item, self.machine, logits, own,
                    key=self.key, block=step, inverse_temperature=self.job.inverse_temperature,
                )  # fmt: skip
                actions[begin:end] = part.action[chosen]
                if index == LEARNER:
                    self.keep(own.games, inputs, (size, num_actions), chosen, log_probability)
            begin, first = end, last
        return actions

    def keep(
        self,
        games: Tensor,
        inputs: Inputs,
        size: tuple[int, int],
        chosen: Tensor,
        log_probability: Tensor,
    ) -> None:
        """Record the learner's decisions of a step, the first `size` of its inputs."""
        rounds, table = self.rounds, self.table
        num, num_actions = size
        own: Any = inputs
        seat = rounds.turn[games]
        where = games * rounds.num_players + seat
        rewards = rounds.rewards.view(-1)
        paid = rewards[where]
        rewards[where] = 0
        self.scores[where] += paid
        previous = self.last[where]
        self.last[where] = self.num_kept + torch.arange(num, device=games.device)
        self.num_kept += num
        self.ends.append(self.num_kept)
        hidden = [part(rounds.position, games) for part in (table.hidden, table.outcome) if part is not None]
        values: Tensor = self.machine.empty(0, np.float32)
        action = own.action[:num_actions]
        if table.action_values is not None:
            owner = owner_of(decisions_of(games, own.num_legal[:num], num_actions))
            values = table.action_values(rounds.position, games, owner, action)
        self.steps.append(
            {
                "observation": own.observation[:num],
                "segment_start": own.segment_start[:num] + self.num_actions,
                "num_legal": own.num_legal[:num],
                "action": action,
                "action_features": own.action_features[:num_actions].view(torch.bfloat16),
                "prior": own.prior[:num_actions],
                "privileged": torch.cat(hidden, 1) if hidden else self.machine.empty((num, 0), np.uint8),
                "chosen": chosen + self.num_actions,
                "log_probability": log_probability,
                "action_values": values,
                "game": games,
                "seat": seat,
                "previous": previous,  # int64 (num,): the seat's decision before, -1 for none
                "paid": paid,  # float32 (num,): its rewards since then
            }
        )
        self.num_actions += num_actions

    def joined(self) -> DeviceTrajectories:
        """The decisions of all steps."""
        num = self.num_kept
        columns: Any = {name: torch.cat([step[name] for step in self.steps]) for name in self.steps[0]}
        inputs = Inputs(*(columns.pop(name) for name in Inputs._fields))
        previous, paid = columns.pop("previous"), columns.pop("paid")

        # A reward belongs to the seat's decision before it; index `num` takes those of no decision.
        device = previous.device
        reward = torch.zeros(num + 1, device=device)
        next_index = torch.full((num + 1,), -1, device=device)
        at = torch.where(previous < 0, num, previous)
        reward[at] = paid
        next_index[at] = torch.arange(num, device=device)
        rewards = self.rounds.rewards.view(-1)
        reward[torch.where(self.last < 0, num, self.last)] = rewards
        scores = (self.scores + rewards).view(self.rounds.num_games, self.rounds.num_players)
        return DeviceTrajectories(
            inputs=inputs,
            reward=reward[:num],
            next_index=next_index[:num],
            scores=scores.cpu().numpy(),
            ends=self.ends,
            dtype=self.dtype,
            **columns,
        )
