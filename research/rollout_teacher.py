"""Train a general network of Tiến lên by what all of its actions earn in rollouts of small models.

    python -m research.rollout_teacher FILE --minutes 60 --out policy.safetensors

The network plays rounds against itself, and some rounds alone against the rule-based agent. Each legal action
of its decisions is played out once, in the true deal, by the models of players that the champion's search has
(`tienlen_agents.search.tienlen_players`). The deals that agree with what a player knows, each as often as it
comes up, are what its decisions are played in; so the mean over many decisions is what an action earns under
exactly that belief, with all actions compared in the same deal. The network learns the logits of FILE plus
`--alpha` times what an action earns, by least squares; a constant in each decision is free. Under rules with
payments it earns these, and a stake counts like a point.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

import tienlen_agents
from research.players import new_line, rules_of
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.general import reward_of
from tienlen_agents.networks.network import general_inputs, log_softmax, sample
from tienlen_agents.rule_based.heuristic import splits
from tienlen_agents.rule_based.rollout import Rollout
from tienlen_agents.search import tienlen_players as players
from tienlen_agents.search.tienlen_players import PlayerModels
from tienlen_env import Batch, View
from tienlen_env.engine.backends import jit
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.registry import has_payments
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen.rules import Rules
from tienlen_train.network import ActionNetwork, as_bfloat16, segment_log_softmax

VARIANTS: Final = [
    "cardgames", "cardgames:3", "cardgames:2", "mobile", "mobile:3", "mobile:2", "foicica", "pagat", "south",
    "south_count", "north", "south_winner", "bga",
]  # fmt: skip
LEAST_LOG: Final = -10.0  # of the network's log-probabilities
LAST_PART: Final = 0.3  # of the run; the result is the mean of the networks after each iteration of it
BATCH: Final = 1024


class TriedDecisions(NamedTuple):
    """Decisions of a network, with more than one legal action each.

    Attributes:
        observation: uint8 (n, ...), as a general network reads it.
        features: bits of bfloat16 (N, ...), of the actions.
        prior: float32 (N,).
        num_legal: int64 (n,).
        before: float32 (N,), log-probabilities of the network that the training started from.
        earned: float32 (N,), points.
    """

    observation: Tensor
    features: Tensor
    prior: Tensor
    num_legal: IntArray
    before: Tensor
    earned: Tensor


@jit.loop
def try_all(line, models, rows, seats, as_baseline, scratch, earned) -> None:  # type: ignore[no-untyped-def]
    """Play out each legal action.

    Args:
        line: arrays of the rollouts.
        models: of players.
        rows: int64 (n, ROW), the states, all hands included.
        seats: int64 (n,), who acts.
        as_baseline: int64 (n,), masks of the seats that play as the rule-based agent.
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
            players.play_out(line, models, as_baseline[b], seats[b])
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
        rewards = np.zeros((rounds, rules.num_players), np.float32)
        own = rng.integers(rules.num_players, size=rounds)
        is_alone = rng.random(rounds) < share
        network, parts = agent.network_for(rules), []
        while len(games := np.flatnonzero(batch.turn >= 0)):
            view = View(batch, games)
            legal, seats = view.legal_actions, batch.turn[games].copy()
            actions = legal.action[legal.start].copy()
            is_other = is_alone[games] & (seats != own[games])
            if is_other.any():
                actions[is_other] = self.heuristic.act(view.select(np.flatnonzero(is_other)))
            free = np.flatnonzero((view.num_legal > 1) & ~is_other)
            if len(free):
                _, inputs = agent._inputs_of(view.select(free))
                start, num = inputs.segment_start, np.repeat(inputs.num_legal, inputs.num_legal)
                chances = np.exp(log_softmax(network.logits(inputs), start))
                mixed = np.log((1 - explore) * chances + explore / num).astype(np.float32)
                actions[free] = inputs.action[sample(mixed, start, rng)]
                before = log_softmax(self.start.logits(inputs), start)
                earned = np.zeros(len(inputs.action))
                rows = batch.kernel_arrays.rows[games[free], : len(self.line.row)].copy()
                others = np.where(is_alone[games[free]], ~(1 << seats[free]), 0)
                try_all(self.line, models, rows, seats[free], others, self.scratch, earned)
                earned /= self.unit
                parts.append(
                    (
                        inputs.observation.copy(), inputs.action_features.copy(), inputs.prior.copy(),
                        inputs.num_legal.copy(), before, earned,
                    )
                )  # fmt: skip
            batch.step_games(games, actions, rewards)
        observation, features, prior, num_legal, before, earned = map(
            np.concatenate, zip(*parts, strict=True)
        )
        config = agent.network.config
        general = general_inputs(config.game, config.pieces)
        full = np.empty((len(observation), general.num_state_inputs + config.num_rule_inputs), np.uint8)
        full[:, : general.num_state_inputs] = general.state_columns(rules).expand(observation)
        rule_inputs = general.rule_inputs(rules, reward_of(rules))[: config.num_rule_inputs]
        full[:, general.num_state_inputs :] = rule_inputs
        return TriedDecisions(
            torch.from_numpy(full),
            as_bfloat16(general.action_columns(rules).expand(features)),
            torch.from_numpy(prior),
            num_legal,
            torch.from_numpy(before),
            torch.from_numpy(earned.astype(np.float32)),
        )


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
    begin = np.cumsum(lessons.num_legal) - lessons.num_legal
    losses, gains = [], []
    for chosen in np.array_split(order, max(len(order) // BATCH, 1)):
        chosen = np.sort(chosen)
        num = lessons.num_legal[chosen]
        rows = np.repeat(begin[chosen] - (np.cumsum(num) - num), num) + np.arange(num.sum())
        owner = torch.from_numpy(np.repeat(np.arange(len(chosen)), num))
        logits = network(
            lessons.observation[chosen].float(), lessons.features[rows].float(), owner, lessons.prior[rows]
        )
        before, earned = lessons.before[rows], lessons.earned[rows]
        # Half of the weight is the policy's, half is equal for all actions.
        weight = 0.5 / torch.from_numpy(num)[owner] + 0.5 * before.exp()
        error = (logits - before.clamp(min=LEAST_LOG)) / alpha - earned
        mean = torch.zeros(len(chosen)).index_add(0, owner, weight * error)
        loss = (weight * (error - mean[owner]) ** 2).sum() / len(chosen)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        now = segment_log_softmax(logits.detach(), owner, len(chosen)).exp()
        losses.append(float(loss.detach()))
        gains.append(float(((now - before.exp()) * earned).sum()) / len(chosen))
    return LearningStep(float(np.mean(losses)), float(np.mean(gains)))


def add_to_mean(mean: dict[str, Tensor], network: ActionNetwork, count: int) -> None:
    """Make the mean of some networks that of one more, the `count`-th."""
    for name, value in network.state_dict().items():
        found = mean.setdefault(name, torch.zeros_like(value))
        found += (value - found) / count


def main() -> None:
    """Train a network, and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("start", type=Path, help="the general network to start from")
    parser.add_argument("--rules", nargs="+", default=VARIANTS, help="every other iteration has the first")
    parser.add_argument("--rounds", type=int, default=1000, help="of an iteration")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--alpha", type=float, default=30.0, help="for each point")
    parser.add_argument("--learning-rate", type=float, default=4e-4)
    parser.add_argument("--baseline-share", type=float, default=0.15)
    parser.add_argument("--explore", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    rng, models = np.random.default_rng(options.seed), players.load_models()
    start = NetworkAgent.load(options.start)
    tables = [VariantTable(rules_of(text), start) for text in options.rules]
    network = ActionNetwork.of(start.network)
    trained = [weights for weights in network.parameters() if weights.requires_grad]
    optimizer = torch.optim.Adam(trained, options.learning_rate)
    mean: dict[str, Tensor] = {}
    begun, total, iteration, copies, done = time.monotonic(), 0, 0, 0, 0.0
    while done < 1:
        others = tables[1:] or tables
        table = tables[0] if iteration % 2 == 0 else others[iteration // 2 % len(others)]
        for group in optimizer.param_groups:
            group["lr"] = options.learning_rate * max(1 - done, 0.03)
        lessons = table.play(
            NetworkAgent(network.to_network()), models, options.rounds, options.baseline_share,
            options.explore, int(rng.integers(1 << 40)),
        )  # fmt: skip
        num = len(lessons.num_legal)
        progress = learn(network, optimizer, lessons, options.alpha, rng.permutation(num))
        total, iteration = total + num, iteration + 1
        if done >= 1 - LAST_PART:
            copies += 1
            add_to_mean(mean, network, copies)
        spent = time.monotonic() - begun
        done = spent / (60 * options.minutes)
        print(
            f"{iteration} {table.rules.name}:{table.rules.num_players} {spent:.0f} s, {total:,} decisions:"
            f" loss {progress.loss:.4f}, gain {progress.gain:+.4f}",
            flush=True,
        )
        if iteration % 10 == 0:
            NetworkAgent(network.to_network()).save(options.out)
    if mean:
        network.load_state_dict(mean)
    NetworkAgent(network.to_network()).save(options.out)


if __name__ == "__main__":
    main()
