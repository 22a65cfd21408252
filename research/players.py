"""Train the small models of players that a search uses (`tienlen_agents.search.tienlen_players`).

    python -m research.players network champion:worlds=0 --out models.json
    python -m research.players self_play policy:FILE policy:FILE --out models.json
    python -m research.players against_baseline --out models.json

Each variant of `--rules` is a preset, with a number of players as in ``cardgames:3``; the first counts most.

`network` and `self_play` learn to foresee the plays of some agents, each against its own kind: the
cross-entropy of what they played. `against_baseline` learns to beat three rule-based agents. In its own games
it tries each legal action of each of its decisions, plays the round out, and makes the better ones likelier
(policy gradient over all actions, with entropy). Each writes its model into the file `--out` and keeps the
others that are there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

import tienlen_agents
from tienlen_agents.files import write_atomic
from tienlen_agents.rule_based.heuristic import decide, playout, splits
from tienlen_agents.rule_based.rollout import Rollout, new_rollout
from tienlen_agents.search import tienlen_players as players
from tienlen_agents.search.tienlen_players import NUM_INPUTS, PlayerModel, PlayerModels
from tienlen_env import Batch, View
from tienlen_env.engine.agent import history_of
from tienlen_env.engine.backends import jit
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.games.common.arrays import Float32Array, IntArray
from tienlen_env.games.common.floats import exp
from tienlen_env.games.registry import get_rules
from tienlen_env.games.tienlen import kernels, state as R
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec

WIDTH: Final = 64
ACTIONS: Final = 80  # of the decisions of one seat in a round, on average at most
DECISIONS: Final = 14
ALL_BASELINES: Final = players.BASELINE * players.EVERY_SEAT
BATCH: Final = 4096
DIGITS: Final = 6  # of a weight in the file
VARIANTS: Final = [
    "cardgames", "cardgames:3", "cardgames:2", "mobile", "mobile:3", "mobile:2", "foicica", "pagat", "south",
    "south_count", "north", "bga",
]  # fmt: skip


class Examples(NamedTuple):
    """Decisions with more than one legal action.

    Attributes:
        inputs: float32 (actions, NUM_INPUTS), those of each decision one after the other.
        target: float32 (actions,), 1 for what was played; or what the action earned.
        num_legal: int64 (decisions,).
    """

    inputs: Tensor
    target: Tensor
    num_legal: Tensor


def rules_of(text: str) -> Rules:
    """The rules of a preset, with a number of players as in ``cardgames:3``.

    Raises:
        ValueError: these are not rules of Tiến lên.
    """
    preset, _, players = text.partition(":")
    rules = get_rules(preset, int(players) if players else None)
    if not isinstance(rules, Rules):
        raise ValueError(f"{text}: expected rules of Tiến lên")
    return rules


def new_line(rules: Rules, reward: str = "points") -> Rollout:
    """Arrays to ask the rule-based agent, and for rollouts with a reward scheme."""
    spec, actions = build_spec(rules, reward=reward)
    line = new_rollout(decide.new_workspace(), spec, actions)
    splits.set_rules(line.policy, spec)
    return line


# ---------------------------------------------------------------- compiled


@jit.loop
def read_inputs(line, inputs, rows, out) -> None:  # type: ignore[no-untyped-def]
    """Write the inputs of all legal actions of each state (n, ROW), one after the other."""
    at = 0
    for b in range(rows.shape[0]):
        row = rows[b]
        kernels.update_legal(row, line.spec, line.actions)
        end = kernels.list_legal(row, line.spec, line.actions, line.ids, line.cards, 0)
        view = decide.public_view(line.spec, row)
        context = decide.compute_context(line.policy, line.spec, view)
        players.describe_decision(line, inputs, view, context)
        for i in range(end):
            players.describe_action(line, inputs, view, context, line.ids[i], line.cards[i])
            for k in range(NUM_INPUTS):
                out[at + i, k] = inputs[k]
        at += end


@jit.loop
def try_actions(line, game, models, asked, rows, seats, draws, scratch, inputs, earned, num_legal):  # type: ignore[no-untyped-def]
    """Play rounds with a model in one seat, and try each action of its decisions.

    Args:
        line: arrays of the rollouts.
        game: arrays of the rounds.
        models: ``against_baseline`` is the model.
        asked: scratch, see `tienlen_agents.search.tienlen_players.new_inputs`.
        rows: int64 (n, ROW), the rounds.
        seats: int64 (n,), the model's seat in each.
        draws: float64 (decisions,), numbers in 0..1 that choose the model's actions.
        scratch: int64 (2, A), of actions.
        inputs: float32 (actions, NUM_INPUTS), written.
        earned: float32 (actions,), written: points of the round.
        num_legal: int64 (decisions,), written.

    Returns:
        The numbers of decisions and of actions; what there is no room for is left out.
    """
    model, ids, cards = models.against_baseline, scratch[0], scratch[1]
    decisions, actions = 0, 0
    for g in range(rows.shape[0]):
        row, seat = game.row, seats[g]
        for column in range(row.shape[0]):
            row[column] = rows[g, column]
        while row[R.TURN] >= 0 and row[R.PLACE + seat] < 0:
            if row[R.TURN] != seat:
                index = playout.choose_index(game.policy, game.spec, game.actions, row, game.ids, game.cards)
                kernels.play(row, game.spec, game.actions, game.ids[index], game.cards[index], game.rewards)
                continue
            kernels.update_legal(row, game.spec, game.actions)
            end = kernels.list_legal(row, game.spec, game.actions, ids, cards, 0)
            chosen = 0
            if end > 1:
                if actions + end > inputs.shape[0] or decisions >= num_legal.shape[0]:
                    return decisions, actions
                view = decide.public_view(game.spec, row)
                context = decide.compute_context(game.policy, game.spec, view)
                players.describe_decision(game, asked, view, context)
                players.share(model, asked)
                largest = -1e30
                for i in range(end):
                    players.describe_action(game, asked, view, context, ids[i], cards[i])
                    liking = players.liking(model, asked)
                    for k in range(NUM_INPUTS):
                        inputs[actions + i, k] = asked[k]
                    earned[actions + i] = liking
                    largest = max(largest, float(liking))
                total = 0.0
                for i in range(end):
                    total += exp(earned[actions + i] - largest)
                left = draws[decisions] * total
                for i in range(end):
                    left -= exp(earned[actions + i] - largest)
                    if left < 0:
                        chosen = i
                        break
                for i in range(end):
                    for column in range(row.shape[0]):
                        line.row[column] = row[column]
                    for player in range(line.rewards.shape[0]):
                        line.rewards[player] = 0
                    kernels.play(line.row, line.spec, line.actions, ids[i], cards[i], line.rewards)
                    players.play_out(line, models, asked, ALL_BASELINES, seat)
                    earned[actions + i] = line.rewards[seat]
                num_legal[decisions] = end
                decisions, actions = decisions + 1, actions + end
            kernels.play(row, game.spec, game.actions, ids[chosen], cards[chosen], game.rewards)
    return decisions, actions


@jit.loop
def play_rounds(line, models, inputs, rows, seats, out) -> None:  # type: ignore[no-untyped-def]
    """The points of a seat of each round if it plays by the model, and the others as the rule-based agent."""
    for g in range(rows.shape[0]):
        for column in range(line.row.shape[0]):
            line.row[column] = rows[g, column]
        for player in range(line.rewards.shape[0]):
            line.rewards[player] = 0
        players.play_out(line, models, inputs, ALL_BASELINES, seats[g])
        out[g] = line.rewards[seats[g]]


# ---------------------------------------------------------------- networks


def new_network() -> nn.Sequential:
    """An untrained network with the shape of a `PlayerModel`."""
    return nn.Sequential(nn.Linear(NUM_INPUTS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))


def scale_of(examples: Examples) -> tuple[Tensor, Tensor]:
    """The mean and the standard deviation of each input."""
    return examples.inputs.mean(0), examples.inputs.std(0) + 1e-6


def weights_of(network: nn.Sequential, scale: tuple[Tensor, Tensor]) -> dict[str, Any]:
    """Weights as the file has them; the scale of the inputs goes into the first layer."""
    first, last = (layer for layer in network if isinstance(layer, nn.Linear))
    mean, deviation = (part.double() for part in scale)
    matrix = first.weight.detach().double() / deviation
    found = {
        "first": matrix.T,
        "bias": first.bias.detach().double() - matrix @ mean,
        "last": last.weight.detach()[0],
    }
    return {name: np.round(value.double().numpy(), DIGITS).tolist() for name, value in found.items()}


def model_of(network: nn.Sequential, scale: tuple[Tensor, Tensor]) -> PlayerModel:
    """The network as a search plays it."""
    return players.model_of(weights_of(network, scale))


def log_probabilities(
    network: nn.Sequential, scale: tuple[Tensor, Tensor], examples: Examples, chosen: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Of the actions of some decisions: log-probabilities, their decisions, and which actions they are."""
    ends = examples.num_legal.cumsum(0)
    num_legal = examples.num_legal[chosen]
    decision = torch.repeat_interleave(torch.arange(len(chosen)), num_legal)
    first = num_legal.cumsum(0) - num_legal
    rows = (ends - examples.num_legal)[chosen][decision] + torch.arange(len(decision)) - first[decision]
    liking = network((examples.inputs[rows] - scale[0]) / scale[1]).squeeze(-1)
    largest = torch.full((len(chosen),), -1e9).scatter_reduce(0, decision, liking.detach(), "amax")
    total = torch.zeros(len(chosen)).index_add(0, decision, (liking - largest[decision]).exp())
    return liking - (largest + total.log())[decision], decision, rows


# ---------------------------------------------------------------- other players


def plays_of(name: str, rules: Rules, rounds: int, seed: int) -> Examples:
    """Decisions of an agent among its own kind, and what it played."""
    agent = tienlen_agents.load(name)
    agent.reset(seed)
    batch = Batch(rules, rounds, history_length=history_of([agent]))
    batch.reset(seed)
    line = new_line(rules)
    rows, played = [], []
    loop = RoundLoop(batch, [agent], [0] * batch.num_players)
    for waiting in loop:
        is_free = View(batch, waiting.games).num_legal > 1
        before = batch.kernel_arrays.rows[waiting.games[is_free], : len(line.row)]
        answers = np.asarray(loop.answers(waiting))
        rows.append(before.copy())
        played.append(answers[is_free])
        loop.play(waiting.games, answers)
    states = Batch(rules, sum(map(len, rows)))
    states.kernel_arrays.rows[:] = np.concatenate(rows)
    legal = states.list_legal()
    inputs: Float32Array = np.zeros((len(legal.action), NUM_INPUTS), np.float32)
    read_inputs(line, players.new_inputs(), states.kernel_arrays.rows, inputs)
    target = legal.action == np.concatenate(played)[legal.game]
    num_legal: IntArray = np.diff(np.append(legal.start, len(legal.action)))
    return Examples(
        torch.from_numpy(inputs), torch.from_numpy(target.astype(np.float32)), torch.from_numpy(num_legal)
    )


def joined(parts: list[Examples]) -> Examples:
    """All examples of several parts."""
    return Examples(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def train_to_foresee(examples: Examples, epochs: int, held_out: float = 0.1) -> dict[str, Any]:
    """Learn what was played; prints the cross-entropy of decisions that were held out."""
    network, scale = new_network(), scale_of(examples)
    order = torch.randperm(len(examples.num_legal))
    num_held = int(held_out * len(order))
    held, taught = order[:num_held], order[num_held:]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    steps = epochs * -(-len(taught) // (BATCH // 2))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for epoch in range(epochs):
        for chosen in torch.split(taught[torch.randperm(len(taught))], BATCH // 2):
            logs, _, rows = log_probabilities(network, scale, examples, chosen)
            loss = -(logs * examples.target[rows]).sum() / len(chosen)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            logs, _, rows = log_probabilities(network, scale, examples, held)
            print(
                f"epoch {epoch + 1}: {-(logs * examples.target[rows]).sum() / len(held):.4f} nats a decision,"
                f" {examples.num_legal[held].double().log().mean():.4f} by chance",
                flush=True,
            )
    return weights_of(network, scale)


# ---------------------------------------------------------------- against the rule-based agent


def points_of(model: PlayerModel, line: Rollout, rules: Rules, rounds: int, seed: int) -> tuple[float, float]:
    """Points of the model alone against rule-based agents, and half of a 95 % interval by deal."""
    batch = Batch(rules, rounds)
    batch.reset(seed)
    models, inputs = PlayerModels(model, model, model), players.new_inputs()
    points = np.zeros((batch.num_players, rounds))
    for seat in range(batch.num_players):
        play_rounds(line, models, inputs, batch.kernel_arrays.rows, np.full(rounds, seat), points[seat])
    means = points.mean(0)
    return float(means.mean()), float(1.96 * means.std() / rounds**0.5)


def train_against_baseline(
    variants: list[Rules], iterations: int, rounds: int, rate: float, entropy: float, seed: int
) -> dict[str, Any]:
    """Learn to beat rule-based agents; prints the points of the policy."""
    lines = [(new_line(rules), new_line(rules)) for rules in variants]
    network = new_network()
    last = network[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.mul_(0.1)  # so that it begins with nearly equal chances
    scale = scale_of(joined([plays_of("heuristic", rules, 500, seed) for rules in variants]))
    optimizer = torch.optim.Adam(network.parameters())
    rng = np.random.default_rng(seed)
    inputs = np.zeros((rounds * ACTIONS, NUM_INPUTS), np.float32)
    earned, num_legal = np.zeros(rounds * ACTIONS, np.float32), np.zeros(rounds * DECISIONS, np.int64)
    scratch = np.zeros((2, max(len(line.ids) for line, _ in lines)), np.int64)
    for iteration in range(iterations):
        model = model_of(network, scale)
        # Every other iteration has the first variant, the others have the rest in turn.
        which = 0 if iteration % 2 == 0 else (iteration // 2 + 1) % len(variants)
        (line, game), num_players = lines[which], variants[which].num_players
        batch = Batch(variants[which], rounds)
        batch.reset(seed + 1 + iteration)
        decisions, actions = try_actions(
            line, game, PlayerModels(model, model, model), players.new_inputs(), batch.kernel_arrays.rows,
            np.arange(rounds) % num_players, rng.random(len(num_legal)), scratch, inputs, earned, num_legal,
        )  # fmt: skip
        examples = Examples(
            torch.from_numpy(inputs[:actions]), torch.from_numpy(earned[:actions]),
            torch.from_numpy(num_legal[:decisions]),
        )  # fmt: skip
        left = 1 - iteration / iterations
        for group in optimizer.param_groups:
            group["lr"] = rate * (left + 0.03)
        for _ in range(2):
            for chosen in torch.split(torch.randperm(decisions), BATCH):
                logs, _, rows = log_probabilities(network, scale, examples, chosen)
                chances = logs.exp()
                gain = (chances * (examples.target[rows] - entropy * left * logs)).sum() / len(chosen)
                optimizer.zero_grad()
                (-gain).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        if iteration % 20 == 19 or iteration + 1 == iterations:
            for rules, (line, _) in zip(variants, lines, strict=True):
                mean, half = points_of(model_of(network, scale), line, rules, 4000, seed)
                print(
                    f"{iteration + 1}: {rules.name}, {rules.num_players} players: {mean:.4f} ± {half:.4f}",
                    flush=True,
                )
    return weights_of(network, scale)


def main() -> None:
    """Train a model, and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", choices=PlayerModels._fields)
    parser.add_argument(
        "agents", nargs="*", default=["champion:worlds=0"], help="whose plays `network` or `self_play` learns"
    )
    parser.add_argument("--rules", nargs="+", default=VARIANTS, help="the first counts most")
    parser.add_argument("--rounds", type=int, default=6000, help="of each agent, or of an iteration")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--rate", type=float, default=0.004)
    parser.add_argument("--entropy", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.epochs < 1 or options.iterations < 1 or options.rounds < len(options.rules):
        parser.error("--epochs, --iterations: expected 1 or more; --rounds: at least one for each of --rules")
    variants = [rules_of(text) for text in options.rules]
    known = json.loads(options.out.read_text("utf-8")) if options.out.exists() else {}  # before any work
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    if options.model != "against_baseline":
        parts = []
        for name in options.agents:
            for rules in variants[:1] if name.startswith("policy:") else variants:
                rounds = options.rounds if rules is variants[0] else options.rounds // len(variants)
                parts.append(plays_of(name, rules, rounds, options.seed))
        weights = train_to_foresee(joined(parts), options.epochs)
    else:
        weights = train_against_baseline(
            variants, options.iterations, options.rounds, options.rate, options.entropy, options.seed
        )
    write_atomic(options.out, (json.dumps(known | {options.model: weights}) + "\n").encode())


if __name__ == "__main__":
    main()
