"""Train a general network of Tiến lên by what all of its actions earn in rollouts of small models.

    python -m research.rollout_teacher FILE --minutes 60 --out policy.safetensors
    python -m research.rollout_teacher FILE --minutes 6 --workers 15 --device cuda --out policy.safetensors

The network plays rounds against itself, and some rounds alone against the rule-based agent. Each legal action
of its decisions is played out once, in the true deal, by the models of players that the champion's search has
(`tienlen_agents.search.tienlen_players`). The deals that agree with what a player knows, each as often as it
comes up, are what its decisions are played in; so the mean over many decisions is what an action earns under
exactly that belief, with all actions compared in the same deal. The network learns the logits of FILE plus
`--alpha` times what an action earns, by least squares; a constant in each decision is free. Under rules with
payments it earns these, and a stake counts like a point; the rule-based agent, which knows of payments, plays
all seats of those rollouts.
"""

from __future__ import annotations

import argparse
import copy
import multiprocessing
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.pool import AsyncResult
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import tienlen_agents
from research.players import VARIANTS, new_line, rules_of
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.general import reward_of
from tienlen_agents.networks.network import general_inputs, log_softmax, sample
from tienlen_agents.rule_based.heuristic import playout, splits
from tienlen_agents.rule_based.rollout import Rollout
from tienlen_agents.search import tienlen_players as players
from tienlen_agents.search.tienlen_players import PlayerModels
from tienlen_env import Batch, View
from tienlen_env.engine.backends import jit
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.games.common.arrays import Float32Array, FloatArray, IntArray
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.registry import has_payments
from tienlen_env.games.tienlen import kernels, state as R
from tienlen_env.games.tienlen.rules import Rules
from tienlen_train.network import ActionNetwork, as_bfloat16, segment_log_softmax

TAUGHT: Final = [*VARIANTS, "south_winner"]
LEAST_LOG: Final = -10.0  # of the network's log-probabilities
LAST_PART: Final = 0.3  # of the run; the result is the mean of the networks after each iteration of it
BATCH: Final = 1024


class TriedDecisions(NamedTuple):
    """Decisions of a network, with more than one legal action each.

    Attributes:
        observation: uint8 (n, ...), as a general network reads it.
        features: uint16 (N, ...), of the actions: bits of bfloat16.
        prior: float32 (N,).
        num_legal: int64 (n,).
        before: float32 (N,), log-probabilities of the network that the training started from.
        earned: float64 (N,), points; float32 once all are known.
    """

    observation: NDArray[np.uint8]
    features: NDArray[np.uint16]
    prior: Float32Array
    num_legal: IntArray
    before: Float32Array
    earned: FloatArray


@noinline
def play_as_baseline(line: Rollout) -> None:
    """Play ``line.row`` to the end of the round; all seats play as the rule-based agent."""
    row = line.row
    while row[R.TURN] >= 0:
        index = playout.choose_index(line.policy, line.spec, line.actions, row, line.ids, line.cards)
        kernels.play(row, line.spec, line.actions, line.ids[index], line.cards[index], line.rewards)


WITHOUT_MODELS: Final = -1  # all players, the seat to act too, play as the rule-based agent


@jit.loop
def try_all(line, models, inputs, rows, seats, kinds, scratch, earned) -> None:  # type: ignore[no-untyped-def]
    """Play out each legal action.

    Args:
        line: arrays of the rollouts.
        models: of players.
        inputs: scratch, see `tienlen_agents.search.tienlen_players.new_inputs`.
        rows: int64 (n, ROW), the states, all hands included.
        seats: int64 (n,), who acts.
        kinds: int64 (n,), of the players, or `WITHOUT_MODELS`.
        scratch: int64 (2, A).
        earned: float64 (N,), written.
    """
    ids, cards, at = scratch[0], scratch[1], 0
    for b in range(rows.shape[0]):
        for column in range(line.row.shape[0]):
            line.row[column] = rows[b, column]
        kernels.update_legal(line.row, line.spec, line.actions)
        end = kernels.list_legal(line.row, line.spec, line.actions, ids, cards, 0)
        for i in range(end):
            for column in range(line.row.shape[0]):
                line.row[column] = rows[b, column]
            for player in range(line.rewards.shape[0]):
                line.rewards[player] = 0
            kernels.play(line.row, line.spec, line.actions, ids[i], cards[i], line.rewards)
            if kinds[b] == WITHOUT_MODELS:
                play_as_baseline(line)
            else:
                players.play_out(line, models, inputs, kinds[b], seats[b])
            earned[at + i] = line.rewards[seats[b]]
        at += end


class VariantTable:
    """Where a network learns: a variant, and arrays to play it.

    Args:
        rules: the variant.
        start: the network that the training starts from.
    """

    def __init__(self, rules: Rules, start: NetworkAgent) -> None:
        self.rules = rules
        self.reward = "payments" if has_payments(rules) else "points"
        self.line: Rollout = new_line(rules, self.reward)
        self.unit = splits.stake_of(self.line.spec) if self.reward == "payments" else 1
        self.start = start.network_for(rules)
        self.scratch = np.zeros((2, len(self.line.ids)), np.int64)
        self.inputs = players.new_inputs()
        self.heuristic = tienlen_agents.load("heuristic")

    def play(
        self, agent: NetworkAgent, models: PlayerModels, rounds: int, share: float, explore: float, seed: int
    ) -> TriedDecisions:
        """Play rounds with a network, and try all actions of its decisions.

        Args:
            agent: a general network.
            models: play the rollouts.
            rounds: how many.
            share: of the rounds in which it is alone against the rule-based agent.
            explore: share of actions that are drawn uniformly.
            seed: of deals and draws.
        """
        rng, rules = np.random.default_rng(seed), self.rules
        batch = Batch(rules, rounds, history_length=1, reward=reward_of(rules))
        batch.reset(rng)
        own = rng.integers(rules.num_players, size=(rounds, 1))
        is_alone = rng.random((rounds, 1)) < share
        seats = is_alone & (np.arange(rules.num_players) != own)
        parts = []
        loop = RoundLoop(batch, [None, self.heuristic], seats)
        for waiting in loop:
            actions = loop.answers(waiting)
            mine = np.flatnonzero(waiting.who == 0)
            free = mine[View(batch, waiting.games[mine]).num_legal > 1]
            if len(free):
                games = waiting.games[free]
                actions[free], tried = self._try_decisions(agent, View(batch, games), explore, rng)
                kinds = players.EVERY_SEAT * np.where(is_alone[games, 0], players.BASELINE, players.NETWORK)
                if self.reward == "payments":
                    kinds[:] = WITHOUT_MODELS
                rows = batch.kernel_arrays.rows[games, : len(self.line.row)].copy()
                try_all(
                    self.line, models, self.inputs, rows, batch.turn[games].copy(), kinds, self.scratch,
                    tried.earned,
                )  # fmt: skip
                parts.append(tried)
            loop.play(waiting.games, actions)
        found = TriedDecisions(*map(np.concatenate, zip(*parts, strict=True)))
        config = agent.network.config
        general = general_inputs(config.game, config.pieces)
        full = np.empty((len(found.observation), general.num_state_inputs + config.num_rule_inputs), np.uint8)
        full[:, : general.num_state_inputs] = general.state_columns(rules).expand(found.observation)
        rule_inputs = general.rule_inputs(rules, reward_of(rules))[: config.num_rule_inputs]
        full[:, general.num_state_inputs :] = rule_inputs
        return found._replace(
            observation=full,
            features=general.action_columns(rules).expand(found.features),
            earned=(found.earned / self.unit).astype(np.float32),
        )

    def _try_decisions(
        self, agent: NetworkAgent, view: View, explore: float, rng: np.random.Generator
    ) -> tuple[IntArray, TriedDecisions]:
        """What the network plays in decisions with a choice, and these decisions; `earned` is empty yet."""
        _, inputs = agent._inputs_of(view)
        start, num = inputs.segment_start, np.repeat(inputs.num_legal, inputs.num_legal)
        network = agent.network_for(self.rules)
        chances = np.exp(log_softmax(network.logits(inputs), start))
        mixed = np.log((1 - explore) * chances + explore / num).astype(np.float32)
        tried = TriedDecisions(
            inputs.observation.copy(),
            inputs.action_features.copy(),
            inputs.prior.copy(),
            inputs.num_legal.copy(),
            log_softmax(self.start.logits(inputs), start),
            np.zeros(len(inputs.action)),
        )
        return inputs.action[sample(mixed, start, rng)], tried


class LearningStep(NamedTuple):
    """What is printed of an iteration: means over its decisions.

    Attributes:
        loss: squared points.
        gain: how much more the network's policy earns in the rollouts than the policy at the start.
    """

    loss: float
    gain: float


def learn(
    network: ActionNetwork,
    optimizer: torch.optim.Optimizer,
    lessons: TriedDecisions,
    alpha: float,
    order: IntArray,
) -> LearningStep:
    """Take a step of gradient descent for each batch of decisions in an order."""
    device = next(network.parameters()).device
    observation, prior, before, earned = (
        torch.from_numpy(array).to(device)
        for array in (lessons.observation, lessons.prior, lessons.before, lessons.earned)
    )
    features = as_bfloat16(lessons.features).to(device)
    begin = np.cumsum(lessons.num_legal) - lessons.num_legal
    losses, gains = [], []
    for chosen in np.array_split(order, max(len(order) // BATCH, 1)):
        chosen = np.sort(chosen)
        num = lessons.num_legal[chosen]
        first = np.repeat(begin[chosen] - (np.cumsum(num) - num), num)
        rows = torch.from_numpy(first + np.arange(num.sum())).to(device)
        owner = torch.from_numpy(np.repeat(np.arange(len(chosen)), num)).to(device)
        seen = observation[torch.from_numpy(chosen).to(device)]
        logits = network(seen.float(), features[rows].float(), owner, prior[rows])
        # Half of the weight is the policy's, half is equal for all actions.
        share = (1 / torch.from_numpy(num).to(device))[owner]
        weight = 0.5 * share.float() + 0.5 * before[rows].exp()
        error = (logits - before[rows].clamp(min=LEAST_LOG)) / alpha - earned[rows]
        mean = torch.zeros(len(chosen), device=device).index_add(0, owner, weight * error)
        loss = (weight * (error - mean[owner]) ** 2).sum() / len(chosen)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        now = segment_log_softmax(logits.detach(), owner, len(chosen)).exp()
        losses.append(loss.detach())
        gains.append(((now - before[rows].exp()) * earned[rows]).sum() / len(chosen))
    return LearningStep(float(torch.stack(losses).mean()), float(torch.stack(gains).mean()))


def add_to_mean(mean: dict[str, Tensor], network: ActionNetwork, count: int) -> None:
    """Make the mean of some networks that of one more, the `count`-th."""
    for name, value in network.state_dict().items():
        found = mean.setdefault(name, torch.zeros_like(value))
        found += (value - found) / count


class PlayTask(NamedTuple):
    """What a worker plays: arguments of `VariantTable.play`, and the number of a variant."""

    table: int
    agent: NetworkAgent
    rounds: int
    share: float
    explore: float
    seed: int


class Workshop:
    """The variants of a training, played in this process or in others.

    Args:
        variants: their texts.
        start: the network that the training starts from.
    """

    def __init__(self, variants: list[str], start: NetworkAgent) -> None:
        self.models = players.load_models()
        self.tables = [VariantTable(rules_of(text), start) for text in variants]

    def play(self, task: PlayTask) -> TriedDecisions:
        """Play the rounds of a task."""
        return self.tables[task.table].play(
            task.agent, self.models, task.rounds, task.share, task.explore, task.seed
        )


_in_worker: list[Workshop] = []


def _start_worker(variants: list[str], start: Path) -> None:
    torch.set_num_threads(1)
    _in_worker.append(Workshop(variants, NetworkAgent.load(start)))


def _play_in_worker(task: PlayTask) -> TriedDecisions:
    return _in_worker[0].play(task)


def decisions_of(
    tasks: Iterator[PlayTask], workers: int, variants: list[str], start: Path
) -> Iterator[tuple[int, TriedDecisions]]:
    """Play tasks in some processes, two ahead of each; in this one with one worker.

    Yields:
        The number of a variant, and its decisions.
    """
    if workers == 1:
        workshop = Workshop(variants, NetworkAgent.load(start))
        yield from ((task.table, workshop.play(task)) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers, _start_worker, (variants, start)) as pool:
        waiting: deque[tuple[int, AsyncResult[TriedDecisions]]] = deque()
        for task in tasks:
            waiting.append((task.table, pool.apply_async(_play_in_worker, (task,))))
            if len(waiting) >= 2 * workers:
                table, found = waiting.popleft()
                yield table, found.get()


def main() -> None:
    """Train a network, and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("start", type=Path, help="the general network to start from")
    parser.add_argument("--rules", nargs="+", default=TAUGHT, help="every other iteration has the first")
    parser.add_argument("--rounds", type=int, default=1000, help="of an iteration")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--alpha", type=float, default=30.0, help="for each point")
    parser.add_argument("--learning-rate", type=float, default=4e-4)
    parser.add_argument("--baseline-share", type=float, default=0.15)
    parser.add_argument("--explore", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes that play")
    parser.add_argument("--device", default="cpu", help="where the network learns")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.minutes <= 0:
        parser.error(f"--minutes {options.minutes:g}: expected more than 0")
    if not options.out.parent.is_dir():
        parser.error(f"--out {options.out}: its folder does not exist")
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(options.seed)
    network = ActionNetwork.of(NetworkAgent.load(options.start).network)
    playing = [NetworkAgent(network.to_network())]
    network = network.to(options.device)
    trained = [weights for weights in network.parameters() if weights.requires_grad]
    optimizer = torch.optim.Adam(trained, options.learning_rate)

    def tasks() -> Iterator[PlayTask]:
        number, others = 0, list(range(len(options.rules)))[1:] or [0]
        while True:
            table = 0 if number % 2 == 0 else others[number // 2 % len(others)]
            seed = int(rng.integers(1 << 40))
            yield PlayTask(table, playing[0], options.rounds, options.baseline_share, options.explore, seed)
            number += 1

    mean: dict[str, Tensor] = {}
    begun, total, iteration, copies, done = time.monotonic(), 0, 0, 0, 0.0
    for table, lessons in decisions_of(tasks(), options.workers, options.rules, options.start):
        for group in optimizer.param_groups:
            group["lr"] = options.learning_rate * max(1 - done, 0.03)
        num = len(lessons.num_legal)
        progress = learn(network, optimizer, lessons, options.alpha, rng.permutation(num))
        playing[0] = NetworkAgent(network.to_network())
        total, iteration = total + num, iteration + 1
        if done >= 1 - LAST_PART:
            copies += 1
            add_to_mean(mean, network, copies)
        spent = time.monotonic() - begun
        done = spent / (60 * options.minutes)
        print(
            f"{iteration} {options.rules[table]} {spent:.0f} s, {total:,} decisions:"
            f" loss {progress.loss:.4f}, gain {progress.gain:+.4f}",
            flush=True,
        )
        if iteration % 10 == 0 or done >= 1:
            found = copy.deepcopy(network)
            found.load_state_dict(mean or network.state_dict())
            NetworkAgent(found.to_network()).save(options.out)
        if done >= 1:
            break


if __name__ == "__main__":
    main()
