"""Agents on a device: those that choose by a body of their own, random play, and networks."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tienlen_agents.networks.features import Inputs
from tienlen_agents.parallel import Body, Chooser, DecisionArrays, GameArrays, has_chooser
from tienlen_env.engine.agent import Agent, RandomAgent
from tienlen_env.games.common import floats
from tienlen_env.games.common.arrays import IntArray, Spec
from tienlen_env.games.common.bits import philox
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.registry import game_of
from tienlen_gpu.machine import TorchMachine
from tienlen_gpu.rounds import owner_of
from tienlen_train.network import ActionNetwork, aligned


class ScoreArgs(NamedTuple):
    """The scores of n decisions with N legal actions, and the choices.

    Attributes:
        logits: float32 (N,).
        segment_start: int64 (n,), where each decision's actions begin.
        num_legal: int64 (n,), their number.
        games: int64 (n,), the number of each decision's game: the counter of its draw.
        key: of the draws; a signed word.
        block: of the draws; another number in every step of the games.
        inverse_temperature: factor on the scores.
        chosen: int64 (n,), overwritten: index of the choice among the N.
        value: float32 (n,), overwritten: see `draw_item` and `best_item`.
    """

    logits: Any
    segment_start: Any
    num_legal: Any
    games: Any
    key: int
    block: int
    inverse_temperature: float
    chosen: Any
    value: Any


def uniform(key: int, counter: int, block: int) -> Any:
    """A draw in [0, 1), a multiple of 2**-53, as a function of its arguments; see `philox`."""
    high, low, _, _ = philox(key, counter, block)
    return ((high >> 5) * 67108864.0 + (low >> 6)) / 9007199254740992.0


def draw_item(item: int, slot: int, args: ScoreArgs) -> None:
    """Draw an action by the softmax of the scores; `value` is its log-probability.

    Sums are in float64.
    """
    start = args.segment_start[item]
    end = start + args.num_legal[item]
    best = args.inverse_temperature * float(args.logits[start])
    for i in range(start + 1, end):
        best = max(best, args.inverse_temperature * float(args.logits[i]))
    total = 0.0
    for i in range(start, end):
        total += floats.exp(args.inverse_temperature * float(args.logits[i]) - best)
    left = total * uniform(args.key, args.games[item], args.block)
    at = end - 1
    for i in range(start, end - 1):
        left -= floats.exp(args.inverse_temperature * float(args.logits[i]) - best)
        if left < 0:
            at = i
            break
    args.chosen[item] = at
    args.value[item] = args.inverse_temperature * float(args.logits[at]) - best - floats.log(total)


def best_item(item: int, slot: int, args: ScoreArgs) -> None:
    """Choose the first action with the highest score; `value` is its lead over the next highest one."""
    start = args.segment_start[item]
    end = start + args.num_legal[item]
    chosen = start
    for i in range(start + 1, end):
        if args.logits[i] > args.logits[chosen]:
            chosen = i
    lead = 1e30
    for i in range(start, end):
        if i != chosen:
            lead = min(lead, float(args.logits[chosen]) - float(args.logits[i]))
    args.chosen[item] = chosen
    args.value[item] = lead


class RandomArgs(NamedTuple):
    """Arguments of the body that chooses uniformly: the batch, n of its games, and the draws of `uniform`."""

    rows: IntArray
    spec: Spec
    games: Any
    key: int
    block: int
    out: Any


@cache
def _random_body(game: AnyGame) -> Body:
    choose_legal = game.kernels.legal.choose_legal

    def random_item(item: int, slot: int, args: RandomArgs) -> None:
        game_index = args.games[item]
        draw = uniform(args.key, game_index, args.block)
        args.out[item] = choose_legal(args.rows[game_index], args.spec, draw)

    return random_item


class RandomChooser:
    """Uniform choices among the legal actions; draws are functions of the key, the game and the step.

    Args:
        machine: where.
        rules: the variant.
        key: of the draws.
    """

    def __init__(self, machine: TorchMachine, rules: AnyRules, key: int) -> None:
        self._machine = machine
        self._body = _random_body(game_of(rules))
        self._key = key

    def choose(self, position: GameArrays, games: Tensor, step: int, out: Tensor) -> None:
        """Choose for n decisions (see `Chooser`)."""
        args = RandomArgs(position.rows, position.spec, games, self._key, step, out)
        self._machine.launch(self._body, len(games), args)


def can_choose(agent: Agent) -> bool:
    """Whether `chooser_of` takes the agent."""
    return type(agent) is RandomAgent or has_chooser(agent)


def chooser_of(agent: Agent, machine: TorchMachine, rules: AnyRules, seed: int) -> Chooser:
    """An agent on a machine.

    Args:
        agent: see `can_choose`.
        machine: where.
        rules: the variant.
        seed: of its draws, if it draws.

    Raises:
        ValueError: the agent plays on the processor alone.
    """
    if type(agent) is RandomAgent:
        return RandomChooser(machine, rules, key_of(seed))
    if has_chooser(agent):
        found: Chooser = agent.chooser(machine, rules)  # type: ignore[attr-defined]
        return found
    raise ValueError(f"agent {agent.name!r} plays on the processor alone, not on a device")


def key_of(*entropy: int) -> int:
    """A key for `uniform`: a signed word."""
    words = np.random.SeedSequence(entropy).generate_state(1, np.uint64)
    return int(words.view(np.int64)[0])


class NetworkInputs(NamedTuple):
    """What a network reads of n decisions with N legal actions; tensors.

    Attributes:
        observation: (n, S'), `aligned`.
        action_features: (N, X'), `aligned`.
        owner: int64 (N,), ascending: the decision of each action.
        prior: float32 (N,).
        action: int64 (N,), action ids.
    """

    observation: Tensor
    action_features: Tensor
    owner: Tensor
    prior: Tensor
    action: Tensor

    @classmethod
    def of(cls, inputs: Inputs, decisions: DecisionArrays, dtype: torch.dtype) -> NetworkInputs:
        """From what a reader on a machine returned."""
        read: Any = inputs
        features = read.action_features.view(torch.bfloat16).to(dtype)
        return cls(aligned([read.observation], dtype), features, owner_of(decisions), read.prior, read.action)

    def part(self, decisions: slice, actions: slice) -> NetworkInputs:
        """The inputs of some decisions, by the slices of them and of their actions."""
        owner = self.owner[actions]
        return NetworkInputs(
            self.observation[decisions],
            self.action_features[actions],
            owner - decisions.start if decisions.start else owner,
            self.prior[actions],
            self.action[actions],
        )


def logits_of(network: ActionNetwork, inputs: NetworkInputs) -> Tensor:
    """The network's scores, prior included, float32 (N,)."""
    return network(  # type: ignore[no-any-return]
        inputs.observation, inputs.action_features, inputs.owner, inputs.prior
    )


def choose_by(
    body: Body,
    machine: TorchMachine,
    logits: Tensor,
    decisions: DecisionArrays,
    *,
    key: int,
    block: int,
    inverse_temperature: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Choose by scores: ``(index, value)``, int64 (n,) and float32 (n,); see `ScoreArgs`.

    Args:
        body: `draw_item` or `best_item`.
        machine: where.
        logits: float32 (N,).
        decisions: n.
        key: of the draws of `draw_item`.
        block: of the draws.
        inverse_temperature: factor on the scores.
    """
    num = len(decisions.games)
    index, value = machine.empty(num, np.int64), machine.empty(num, np.float32)
    args = ScoreArgs(
        logits, decisions.segment_start, decisions.num_legal, decisions.games,
        key, block, float(inverse_temperature), index, value,
    )  # fmt: skip
    machine.launch(body, num, args)
    return index, value
