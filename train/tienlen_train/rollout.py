"""Rollouts: rounds played for training, with the reward after each decision of a learning seat.

Rounds are played from the deal to the end. So no trajectory is truncated, no value is bootstrapped, and an
iteration depends on its seed and the weights alone. Decisions with one legal action are played
automatically and are not part of a trajectory; every step advances all games to their next decision with a
choice.

`rollout` is a pure function of a `RolloutJob`. Jobs and results can be pickled, so other processes and
machines can run them.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import tienlen_agents
from tienlen_agents.device.network import ActionNetwork, as_bfloat16, segment_log_softmax
from tienlen_agents.networks.features import (
    ActionValuesFn,
    Features,
    Inputs,
    PrivilegedFn,
    Reader,
    WinningActionsFn,
    features_of,
)
from tienlen_agents.networks.general import specialised_config, specialised_weights
from tienlen_agents.networks.network import NetworkConfig, general_inputs, sample
from tienlen_env.engine.agent import Agent, View, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.game import AnyRules
from tienlen_train.executor import Executor
from tienlen_train.teacher import Teachers, teachers_of

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
BitArray = npt.NDArray[np.uint8]

# Chooses for n decisions: int64 (n,), indices into the ragged actions, and float32 (n,), log-probabilities.
Act = Callable[[Inputs], tuple[IntArray, FloatArray]]
Critic = Literal["playout", "hands", "own"]
LEARNER: Final = 0  # index of the policy that learns


class PolicyWeights(NamedTuple):
    """A policy.

    Attributes:
        version: the iteration after which it had these weights.
        config: the shape of its network.
        weights: the network's parameters by name, on the CPU; they must not change during a rollout.
    """

    version: int
    config: NetworkConfig
    weights: Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class RolloutJob:
    """Everything that determines a rollout of B rounds.

    Attributes:
        rules: the variant.
        keys: int64 (B,), deal keys.
        seat_policies: int64 (B, P), the policy of each seat: an index into `policies`, then `opponents`.
        policies: the learner (see `LEARNER`) and older policies.
        opponents: agents by their names in `tienlen_agents.load` ...
        opponent_seeds: ... and the seed of each.
        seed: of the policies' draws: entropy of a `numpy.random.SeedSequence` ...
        shard: ... and its spawn key.
        reward: reward scheme.
        reward_scale: rewards and scores are divided by it.
        inverse_temperature: factor on the logits of the policies.
        critic: the critic's inputs beyond those of the policy, see `make_privileged_fn`.
        with_action_values: whether every legal action of the learner gets an estimate of its return.
        with_winning_actions: whether the actions that keep a proven win are found, see
            `tienlen_agents.networks.features.Features.winning_actions`.
        teachers: agents by their names in `tienlen_agents.load` that are asked in some of the learner's
            decisions what they would do; those that do not play these rules are not asked.
        teacher_share: share of the decisions that the teachers judge.
        device: torch device of the policies.
        precision: of their forward passes.
    """

    rules: AnyRules
    keys: IntArray
    seat_policies: IntArray
    policies: tuple[PolicyWeights, ...]
    opponents: tuple[str, ...] = ()
    opponent_seeds: tuple[int, ...] = ()
    seed: tuple[int, ...] = (0,)
    shard: int = 0
    reward: str = "zero_sum"
    reward_scale: float = 1.0
    inverse_temperature: float = 1.0
    critic: Critic = "own"
    with_action_values: bool = False
    with_winning_actions: bool = False
    teachers: tuple[str, ...] = ()
    teacher_share: float = 0.0
    device: str = "cpu"
    precision: Literal["bf16", "fp32"] = "fp32"


@dataclass(frozen=True)
class Trajectories:
    """n decisions of learning seats in the order of play, with N legal actions in total.

    Attributes:
        inputs: the inputs of the network.
        privileged: uint8 (n, H), inputs of the critic alone; see `make_privileged_fn`.
        chosen: int64 (n,), indices into the ragged actions.
        log_probability: float32 (n,), of the chosen actions.
        action_values: float32 (N,), estimated return of each legal action; (0,) if there are none.
        winning_actions: uint8 (N,), 0 for a legal action that gives away a proven win, otherwise 1; (0,) if
            they were not looked for.
        teacher_probabilities: float32 (N,), what the teachers would do (`tienlen_train.teacher.Teachers`); 0
            for all actions of decisions that they did not judge; (0,) without teachers.
        reward: float32 (n,), all rewards of the seat between this decision and its next one.
        next_index: int64 (n,), the next decision of the same seat in the same game; -1 for none.
        game: int64 (n,), game of each decision.
        seat: int64 (n,), absolute seat of each decision.
        step: int64 (n,); the decisions of one step belong to different games.
        scores: float32 (B, P), the rewards of all seats over the round; NaN for seats that a smaller table
            of the same iteration does not have.
        seconds_acting: time spent in policies.
    """

    inputs: Inputs
    privileged: BitArray
    chosen: IntArray
    log_probability: FloatArray
    action_values: FloatArray
    winning_actions: BitArray
    teacher_probabilities: FloatArray
    reward: FloatArray
    next_index: IntArray
    game: IntArray
    seat: IntArray
    step: IntArray
    scores: FloatArray
    seconds_acting: float

    def __len__(self) -> int:
        """n."""
        return len(self.chosen)


class _Step(NamedTuple):
    """The learner's decisions of one step; see `Trajectories`, but `chosen` counts from the step's first."""

    inputs: Inputs
    privileged: BitArray
    chosen: IntArray
    log_probability: FloatArray
    action_values: FloatArray
    winning_actions: BitArray
    teacher_probabilities: FloatArray
    game: IntArray
    seat: IntArray


def rollout(job: RolloutJob) -> Trajectories:
    """Play the rounds of a job to the end.

    Raises:
        IllegalPlayError: an opponent chose an illegal action.
        ValueError: the job's arrays do not fit, or the game lacks what the critic or the algorithm needs.
    """
    features = features_of(job.rules)
    if job.with_action_values and features.action_values is None:
        raise ValueError(f"with_action_values=True: unavailable for {features.game}")
    if job.with_winning_actions and features.winning_actions is None:
        raise ValueError(f"with_winning_actions=True: unavailable for {features.game}")
    rng = np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=(job.shard,)))
    learner = job.policies[LEARNER].config
    policies = [policy_fn(_for_variant(policy, job), rng, job) for policy in job.policies]
    opponents = [copy.deepcopy(_loaded(name)) for name in job.opponents]
    for opponent, seed in zip(opponents, job.opponent_seeds, strict=True):
        opponent.reset(seed)
    trajectories = play_rounds(
        job.rules,
        job.keys,
        job.seat_policies,
        policies,
        (specialised_config(learner, job.rules) if learner.is_general else learner).reader(),
        opponents,
        reward=job.reward,
        privileged_fn=make_privileged_fn(features, job.critic),
        action_values_fn=features.action_values if job.with_action_values else None,
        winning_actions_fn=features.winning_actions(job.rules)
        if job.with_winning_actions and features.winning_actions is not None
        else None,
        teachers=_teachers(job),
    )
    if job.reward_scale != 1:
        for amounts in (trajectories.reward, trajectories.scores, trajectories.action_values):
            amounts /= np.float32(job.reward_scale)
    return generalised(trajectories, job) if learner.is_general else trajectories


def _teachers(job: RolloutJob) -> Teachers | None:
    if not job.teachers:
        return None
    # They draw from a sequence of its own: the policies play the same rounds without them.
    seeds = np.random.SeedSequence(job.seed, spawn_key=(job.shard, 1))
    agents = [copy.deepcopy(_loaded(name)) for name in job.teachers]
    return Teachers(teachers_of(job.rules, agents), job.teacher_share, np.random.default_rng(seeds))


def _for_variant(policy: PolicyWeights, job: RolloutJob) -> PolicyWeights:
    """A policy as it plays the job's variant: a general network is specialised for it."""
    if not policy.config.is_general:
        return policy
    weights = {name: value.numpy() for name, value in policy.weights.items()}
    own = specialised_weights(policy.config.game, weights, job.rules, job.reward)
    return PolicyWeights(
        policy.version,
        specialised_config(policy.config, job.rules),
        {name: torch.from_numpy(value) for name, value in own.items()},
    )


def generalised(trajectories: Trajectories, job: RolloutJob) -> Trajectories:
    """The trajectories of a variant with the inputs of a general network, and of its critic.

    The scores of seats that the table does not have are NaN.
    """
    features = features_of(job.rules)
    general = general_inputs(features.game)
    inputs, privileged = trajectories.inputs, trajectories.privileged
    rule_inputs = general.rule_inputs(job.rules, job.reward)
    observation = np.empty((len(trajectories), general.num_state_inputs + len(rule_inputs)), np.uint8)
    observation[:, : general.num_state_inputs] = general.state_columns(job.rules).expand(inputs.observation)
    observation[:, general.num_state_inputs :] = rule_inputs
    if job.critic != "own":
        hands, outcome = general.privileged_columns(job.rules), general.outcome_columns(job.rules)
        num_hands = len(hands.index)
        parts = [hands.expand(privileged[:, :num_hands])]
        if job.critic == "playout":
            parts.append(outcome.expand(privileged[:, num_hands:]))
        privileged = np.concatenate(parts, axis=1)
    no_seats = ((0, 0), (0, general.num_players - job.rules.num_players))
    return replace(
        trajectories,
        inputs=inputs._replace(
            observation=observation,
            action_features=general.action_columns(job.rules).expand(inputs.action_features),
        ),
        privileged=privileged,
        scores=np.pad(trajectories.scores, no_seats, constant_values=np.nan),
    )


@cache
def _loaded(name: str) -> Agent:
    """An agent as a template: rollouts play copies of it."""
    return tienlen_agents.load(name)


def policy_fn(policy: PolicyWeights, rng: np.random.Generator, job: RolloutJob) -> Act:
    """A function that draws actions from a policy."""
    device = torch.device(job.device)
    dtype = torch.bfloat16 if job.precision == "bf16" else torch.float32
    with torch.device("meta"):  # its initial weights are not needed
        network = ActionNetwork(policy.config)
    network.load_state_dict(policy.weights, assign=True)
    network.to(device)

    def act(inputs: Inputs) -> tuple[IntArray, FloatArray]:
        segment_ids = torch.from_numpy(inputs.segment_ids).to(device)
        with (
            torch.inference_mode(),
            torch.autocast(device.type, torch.bfloat16, enabled=job.precision == "bf16"),
        ):
            logits = network(
                torch.from_numpy(inputs.observation).to(device, dtype),
                as_bfloat16(inputs.action_features).to(device, dtype),
                segment_ids,
                torch.from_numpy(inputs.prior).to(device),
            )
            log_probability = (
                segment_log_softmax(job.inverse_temperature * logits, segment_ids, len(inputs.num_legal))
                .cpu()
                .numpy()
            )
        if not np.isfinite(log_probability).all():
            raise FloatingPointError("the scores of the policy are not finite")
        chosen = sample(log_probability, inputs.segment_start, rng)
        return chosen, log_probability[chosen]

    return act


def make_privileged_fn(features: Features, critic: Critic) -> PrivilegedFn | None:
    """The inputs of a critic beyond those of the policy, as a function for one batch.

    Args:
        features: of the game.
        critic: ``"own"``: nothing; ``"hands"``: the hidden cards; ``"playout"``: these, and the final places
            if all seats follow the baseline from here.

    Raises:
        ValueError: ``"playout"`` is unavailable for the game.
    """
    if critic == "own":
        return None
    hidden = features.privileged_features()
    if critic == "hands":
        return hidden
    outcome = features.rollout_outcome
    if outcome is None:
        raise ValueError(f"critic={critic!r}: the final places of {features.game} cannot be predicted")
    return lambda batch, games: np.concatenate([hidden(batch, games), outcome(batch, games)], axis=1)


def num_privileged(features: Features, rules: AnyRules, critic: Critic) -> int:
    """H, the number of features that `make_privileged_fn` adds."""
    if critic == "own":
        return 0
    num_hidden = features.num_privileged(rules)
    return num_hidden if critic == "hands" else num_hidden + features.num_outcome(rules)


def num_general_privileged(features: Features, rules: AnyRules, critic: Critic) -> int:
    """`num_privileged` of a general network's critic, from any variant of the game."""
    if critic == "own":
        return 0
    general = general_inputs(features.game)
    num_hidden = general.privileged_columns(rules).size
    return num_hidden if critic == "hands" else num_hidden + general.outcome_columns(rules).size


def play_rounds(
    rules: AnyRules,
    keys: npt.ArrayLike,
    seat_policies: IntArray,
    policies: Sequence[Act],
    reader: Reader,
    opponents: Sequence[Agent],
    *,
    reward: str = "zero_sum",
    privileged_fn: PrivilegedFn | None = None,
    action_values_fn: ActionValuesFn | None = None,
    winning_actions_fn: WinningActionsFn | None = None,
    teachers: Teachers | None = None,
) -> Trajectories:
    """Play B rounds to the end.

    Args:
        rules: the variant.
        keys: int64 (B,) deal keys.
        seat_policies: int64 (B, P), the policy of each seat: an index into `policies`, then `opponents`.
        policies: choose by the inputs of `reader`. The first is the learner: its decisions are recorded.
        reader: makes the inputs.
        opponents: agents that read views themselves.
        reward: reward scheme.
        privileged_fn: computes the inputs of the critic alone; None for no such inputs.
        action_values_fn: estimates the return of every legal action of the learner; None for no estimates.
        winning_actions_fn: finds the actions of the learner that keep a proven win; None: not looked for.
        teachers: are asked in some decisions of the learner; None: there are none.

    Raises:
        IllegalPlayError: an opponent chose an illegal action.
        ValueError: `seat_policies` has another shape, or an index out of range.
    """
    keys = np.asarray(keys)
    history = max(reader.history, history_of(opponents), 0 if teachers is None else teachers.history)
    batch = Batch(rules, len(keys), reward=reward, history_length=history)
    num_games, num_players = batch.num_games, batch.num_players
    num_policies, num_actors = len(policies), len(policies) + len(opponents)
    if (
        seat_policies.shape != (num_games, num_players)
        or not ((seat_policies >= 0) & (seat_policies < num_actors)).all()
    ):
        raise ValueError(f"seat_policies: expected {(num_games, num_players)} of 0..{num_actors - 1}")
    batch.deal(keys)
    last = np.full((num_games, num_players), -1)  # index of each seat's last decision
    scores = np.zeros((num_games, num_players), np.float32)
    steps: list[_Step] = []
    paid: list[tuple[IntArray, FloatArray]] = []
    num_kept, seconds = 0, 0.0

    def keep(inputs: Inputs, chosen: IntArray, log_probability: FloatArray, games: IntArray) -> None:
        steps.append(
            _Step(
                inputs,
                np.empty((games.size, 0), np.uint8) if privileged_fn is None else privileged_fn(batch, games),
                chosen,
                log_probability,
                np.empty(0, np.float32)
                if action_values_fn is None
                else action_values_fn(batch, games, inputs),
                np.empty(0, np.uint8)
                if winning_actions_fn is None
                else winning_actions_fn(batch, games, inputs),
                np.empty(0, np.float32) if teachers is None else teachers.probabilities(batch, games, inputs),
                games,
                batch.state.turn[games],
            )
        )

    games = np.flatnonzero(batch.count_legal() == 1)
    actions = batch.first_legal(games)  # the only legal action; the remaining decisions have a choice
    while True:
        rewards = np.zeros_like(scores)
        batch.play_on(games, actions, rewards)
        scores += rewards
        game, seat = np.nonzero(rewards)
        decision = last[game, seat]
        known = decision >= 0
        paid.append((decision[known], rewards[game, seat][known]))

        games = np.flatnonzero(batch.state.turn >= 0)
        if not games.size:
            break
        who = seat_policies[games, batch.state.turn[games]]
        order = np.argsort(who, kind="stable")
        games = games[order]
        actions = np.empty(games.size, np.int64)
        # The decisions of one actor are adjacent; those of networks come first, and one call reads them all.
        ends = np.searchsorted(who[order], np.arange(num_actors), side="right").tolist()
        begins = [0, *ends[:-1]]
        num_read = ends[num_policies - 1]
        if num_read:
            inputs = reader.read(View(batch, games[:num_read], copy=False))
        for index, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            if begin == end:
                continue
            if index >= num_policies:
                actions[begin:end] = opponents[index - num_policies].act(
                    View(batch, games[begin:end], copy=False)
                )
                continue
            own = inputs.part(begin, end)
            before = time.perf_counter()
            chosen, log_probability = policies[index](own)
            seconds += time.perf_counter() - before
            actions[begin:end] = own.action[chosen]
            if index == LEARNER:
                mine = games[:end]
                last[mine, batch.state.turn[mine]] = num_kept + np.arange(mine.size)
                keep(own, chosen, log_probability, mine)
                num_kept += mine.size
    if not steps:  # no learner had a choice
        none = np.empty(0, np.int64)
        keep(reader.read(View(batch, none, copy=False)), none, np.empty(0, np.float32), none)
    reward_of = np.zeros(num_kept, np.float32)
    for decision, amount in paid:
        np.add.at(reward_of, decision, amount)
    return _joined_steps(steps, reward_of, scores, seconds)


def _joined_steps(
    steps: Sequence[_Step], reward: FloatArray, scores: FloatArray, seconds: float
) -> Trajectories:
    size = [len(step.chosen) for step in steps]
    num_actions = np.array([len(step.inputs.action) for step in steps])
    first_action = np.repeat(np.cumsum(num_actions) - num_actions, size)
    inputs = Inputs(*map(np.concatenate, zip(*(step.inputs for step in steps), strict=True)))
    game = np.concatenate([step.game for step in steps])
    seat = np.concatenate([step.seat for step in steps])
    return Trajectories(
        inputs=inputs._replace(segment_start=inputs.segment_start + first_action),
        privileged=np.concatenate([step.privileged for step in steps]),
        chosen=np.concatenate([step.chosen for step in steps]) + first_action,
        log_probability=np.concatenate([step.log_probability for step in steps]),
        action_values=np.concatenate([step.action_values for step in steps]),
        winning_actions=np.concatenate([step.winning_actions for step in steps]),
        teacher_probabilities=np.concatenate([step.teacher_probabilities for step in steps]),
        reward=reward,
        next_index=next_indices(game, seat),
        game=game,
        seat=seat,
        step=np.repeat(np.arange(len(steps)), size),
        scores=scores,
        seconds_acting=seconds,
    )


def join(parts: Sequence[Trajectories], executor: Executor | None = None) -> Trajectories:
    """Join the decisions of several rollouts; games get new numbers, steps do not.

    Args:
        parts: the rollouts, at least one.
        executor: copies the arrays; None for the calling thread.
    """
    if len(parts) == 1:
        return parts[0]
    columns = list(zip(*(part.inputs for part in parts), strict=True))
    inputs = Inputs(
        *(map(np.concatenate, columns) if executor is None else executor.map(np.concatenate, columns))
    )
    sizes = [len(part) for part in parts]

    def offsets(lengths: Sequence[int]) -> IntArray:
        return np.repeat(np.cumsum([0, *lengths[:-1]]), sizes)

    first_action = offsets([len(part.inputs.action) for part in parts])
    next_index = np.concatenate([part.next_index for part in parts])
    return Trajectories(
        inputs=inputs._replace(segment_start=inputs.segment_start + first_action),
        privileged=np.concatenate([part.privileged for part in parts]),
        chosen=np.concatenate([part.chosen for part in parts]) + first_action,
        log_probability=np.concatenate([part.log_probability for part in parts]),
        action_values=np.concatenate([part.action_values for part in parts]),
        winning_actions=np.concatenate([part.winning_actions for part in parts]),
        teacher_probabilities=np.concatenate([part.teacher_probabilities for part in parts]),
        reward=np.concatenate([part.reward for part in parts]),
        next_index=np.where(next_index < 0, -1, next_index + offsets(sizes)),
        game=np.concatenate([part.game for part in parts]) + offsets([len(part.scores) for part in parts]),
        seat=np.concatenate([part.seat for part in parts]),
        step=np.concatenate([part.step for part in parts]),
        scores=np.concatenate([part.scores for part in parts]),
        seconds_acting=sum(part.seconds_acting for part in parts),
    )


def next_indices(game: IntArray, seat: IntArray) -> IntArray:
    """int64 (n,): the next decision of the same seat in the same game, -1 for none; n in order of play."""
    order = np.lexsort((seat, game))  # stable
    game, seat = game[order], seat[order]
    continues = (game[1:] == game[:-1]) & (seat[1:] == seat[:-1])
    found = np.full(len(order), -1)
    found[order[:-1][continues]] = order[1:][continues]
    return found
