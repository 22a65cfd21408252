"""Rollouts: rounds played for training, with the reward after each decision of a learning seat.

Rounds are played from the deal to the end. So no trajectory is truncated, no value is bootstrapped, and an
iteration depends on its seed and the weights alone. Decisions with one legal action are played
automatically and are not part of a trajectory; every step advances all games to their next decision with a
choice.

Teachers are agents that say what they would do in some decisions of a rollout, as targets for the policy. The
policy plays, so it learns in the positions that it meets itself, not in those of its teachers.

`rollout` is a pure function of a `RolloutJob`. Jobs and results can be pickled, so other processes and
machines can run them.

Sources: Ross, Gordon, Bagnell, A reduction of imitation learning and structured prediction to no-regret
online learning, 2011; Rusu et al., Policy distillation, 2016.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import tienlen_agents
from tienlen_agents.external.seeds import set_seed_key
from tienlen_agents.networks.features import Features, Inputs, Reader, features_of
from tienlen_agents.networks.general import fitted_config, fitted_weights
from tienlen_agents.networks.network import NetworkConfig, general_inputs, log_softmax, sample
from tienlen_env.engine.agent import Agent, ScoringAgent, View, check_plays, choose, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import AnyArray, ByteArray, Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_train.network import ActionNetwork, as_bfloat16, segment_log_softmax

# Chooses for n decisions: int64 (n,), indices into the ragged actions, and float32 (n,), log-probabilities.
Act = Callable[[Inputs], tuple[IntArray, Float32Array]]
Critic = Literal["playout", "hands", "own"]
# Makes a column of `Trajectories` for n decisions of a step, from the batch, games int64 (n,) and the inputs.
MakeColumn = Callable[[Batch, IntArray, Inputs], AnyArray]
LEARNER: Final = 0  # index of the policy that learns
CHOICE_LOGIT: Final = 30.0  # what an agent without probabilities adds to the score of its choice

# The columns of `Trajectories` with an item for each legal action; `scores` has one for each game, the others
# one for each decision.
PER_ACTION: Final = frozenset(
    {"action", "action_features", "prior", "action_values", "winning_actions", "teacher_probabilities"}
)


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
        seed_key: of the seeds of opponents and teachers in other processes; empty if there are none.
        seed: of the policies' draws: entropy of a `numpy.random.SeedSequence` ...
        shard: ... and its spawn key.
        reward: reward scheme.
        reward_scale: rewards and scores are divided by it.
        inverse_temperature: factor on the logits of the policies.
        critic: the critic's inputs beyond those of the policy: ``"own"``: nothing; ``"hands"``: the hidden
            cards; ``"playout"``: these, and the final places if all seats follow the baseline from here.
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
    seed_key: str = ""
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


@dataclass(frozen=True, kw_only=True)
class Trajectories:
    """n decisions of learning seats in the order of play, with N legal actions in total.

    Attributes:
        inputs: the inputs of the network.
        privileged: uint8 (n, H), inputs of the critic alone; see `RolloutJob.critic`.
        chosen: int64 (n,), indices into the ragged actions.
        log_probability: float32 (n,), of the chosen actions.
        action_values: float32 (N,), estimated return of each legal action; (0,) if there are none.
        winning_actions: uint8 (N,), 0 for a legal action that gives away a proven win, otherwise 1; (0,) if
            they were not looked for.
        teacher_probabilities: float32 (N,), what the teachers would do (`Teachers`); 0
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
    privileged: ByteArray
    chosen: IntArray
    log_probability: Float32Array
    action_values: Float32Array = field(default_factory=lambda: np.empty(0, np.float32))
    winning_actions: ByteArray = field(default_factory=lambda: np.empty(0, np.uint8))
    teacher_probabilities: Float32Array = field(default_factory=lambda: np.empty(0, np.float32))
    reward: Float32Array
    next_index: IntArray
    game: IntArray
    seat: IntArray
    step: IntArray
    scores: Float32Array
    seconds_acting: float

    def __len__(self) -> int:
        """n."""
        return len(self.chosen)

    def steps(self) -> list[IntArray]:
        """The decisions of each step; joined rollouts have the same step numbers."""
        order = np.argsort(self.step, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.step[order])) + 1)

    def columns(self) -> dict[str, AnyArray]:
        """All arrays by name, those of the inputs first."""
        names = (field.name for field in fields(self) if field.name not in ("inputs", "seconds_acting"))
        return {**self.inputs._asdict(), **{name: getattr(self, name) for name in names}}

    @classmethod
    def of(cls, columns: Mapping[str, AnyArray], seconds_acting: float) -> Self:
        """The trajectories with other `columns`."""
        inputs = Inputs(*(columns[name] for name in Inputs._fields))
        others = {name: array for name, array in columns.items() if name not in Inputs._fields}
        return cls(inputs=inputs, seconds_acting=seconds_acting, **others)


def rollout(job: RolloutJob) -> Trajectories:
    """Play the rounds of a job to the end.

    Raises:
        IllegalPlayError: an opponent chose an illegal action.
        ValueError: the job's arrays do not fit, or the game lacks what the critic or the algorithm needs.
    """
    features, teachers = features_of(job.rules), _teachers(job)
    columns: dict[str, MakeColumn] = {}
    if job.critic != "own":
        columns["privileged"] = _privileged(features, job.critic)
    if job.with_action_values:
        if features.returns is None:
            raise ValueError(f"with_action_values=True: unavailable for {features.game}")
        columns["action_values"] = features.on_host(features.returns)
    if job.with_winning_actions:
        if features.winning_actions is None:
            raise ValueError(f"with_winning_actions=True: unavailable for {features.game}")
        columns["winning_actions"] = features.winning_actions(job.rules)
    if teachers is not None:
        columns["teacher_probabilities"] = teachers.probabilities
    rng = np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=(job.shard,)))
    learner = job.policies[LEARNER].config
    policies = [policy_fn(_for_variant(policy, job), rng, job) for policy in job.policies]
    opponents = [copy.deepcopy(_loaded(name)) for name in job.opponents]
    set_seed_key(opponents, job.seed_key)
    for opponent, seed in zip(opponents, job.opponent_seeds, strict=True):
        opponent.reset(seed)
    trajectories = play_rounds(
        job.rules,
        job.keys,
        job.seat_policies,
        policies,
        (fitted_config(learner, job.rules) if learner.is_general else learner).reader(),
        opponents,
        reward=job.reward,
        columns=columns,
        history=0 if teachers is None else teachers.history,
    )
    if job.reward_scale != 1:
        for amounts in (trajectories.reward, trajectories.scores, trajectories.action_values):
            amounts /= np.float32(job.reward_scale)
    return generalised(trajectories, job, learner.num_rule_inputs) if learner.is_general else trajectories


def _teachers(job: RolloutJob) -> Teachers | None:
    if not job.teachers:
        return None
    # They draw from a sequence of its own: the policies play the same rounds without them.
    seeds = np.random.SeedSequence(job.seed, spawn_key=(job.shard, 1))
    agents = [copy.deepcopy(_loaded(name)) for name in job.teachers]
    set_seed_key(agents, job.seed_key)
    return Teachers(teachers_of(job.rules, agents), job.teacher_share, np.random.default_rng(seeds))


def _for_variant(policy: PolicyWeights, job: RolloutJob) -> PolicyWeights:
    """A policy as it plays the job's variant: a general network is fitted to it."""
    if not policy.config.is_general:
        return policy
    weights = {name: value.numpy() for name, value in policy.weights.items()}
    own = fitted_weights(policy.config, weights, job.rules, job.reward)
    return PolicyWeights(
        policy.version,
        fitted_config(policy.config, job.rules),
        {name: torch.from_numpy(value) for name, value in own.items()},
    )


def generalised(trajectories: Trajectories, job: RolloutJob, num_rule_inputs: int) -> Trajectories:
    """The trajectories of a variant with the inputs of a general network, and of its critic.

    The network reads the first `num_rule_inputs` of the inputs that describe the rules. The scores of seats
    that the table does not have are NaN.
    """
    features = features_of(job.rules)
    general = general_inputs(features.game)
    inputs, privileged = trajectories.inputs, trajectories.privileged
    rule_inputs = general.rule_inputs(job.rules, job.reward)[:num_rule_inputs]
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


def network_on(policy: PolicyWeights, device: torch.device) -> ActionNetwork:
    """A policy's network on a device, for its forward pass alone."""
    with torch.device("meta"):  # its initial weights are not needed
        network = ActionNetwork(policy.config)
    network.load_state_dict(policy.weights, assign=True)
    return network.to(device)


def policy_fn(policy: PolicyWeights, rng: np.random.Generator, job: RolloutJob) -> Act:
    """A function that draws actions from a policy."""
    device = torch.device(job.device)
    dtype = torch.bfloat16 if job.precision == "bf16" else torch.float32
    network = network_on(policy, device)

    def act(inputs: Inputs) -> tuple[IntArray, Float32Array]:
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


def _privileged(features: Features, critic: Critic) -> MakeColumn:
    """`Trajectories.privileged` for the critics ``"hands"`` and ``"playout"``."""
    parts = [features.on_host(features.hidden)]
    if critic == "playout":
        if features.outcome is None:
            raise ValueError(f"critic={critic!r}: the final places of {features.game} cannot be predicted")
        parts.append(features.on_host(features.outcome))
    return lambda batch, games, _: np.concatenate([part(batch, games) for part in parts], axis=1)


def num_privileged(features: Features, rules: AnyRules, critic: Critic, *, general: bool) -> int:
    """The number of features that `RolloutJob.critic` adds; `general`: for a general network."""
    if critic == "own":
        return 0
    if general:
        inputs = general_inputs(features.game)
        num_hidden, num_outcome = inputs.privileged_columns(rules).size, inputs.outcome_columns(rules).size
    else:
        num_hidden = features.hidden.num_features(rules)
        num_outcome = features.outcome.num_features(rules) if features.outcome else 0
    return num_hidden + (num_outcome if critic == "playout" else 0)


def play_rounds(
    rules: AnyRules,
    keys: npt.ArrayLike,
    seat_policies: IntArray,
    policies: Sequence[Act],
    reader: Reader,
    opponents: Sequence[Agent],
    *,
    reward: str = "zero_sum",
    columns: Mapping[str, MakeColumn] = MappingProxyType({}),
    history: int = 0,
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
        columns: what is recorded of each decision of the learner besides what every run needs.
        history: number of plays that the batch must store for these columns.

    Raises:
        IllegalPlayError: an opponent chose an illegal action.
        ValueError: `seat_policies` has another shape, or an index out of range.
    """
    keys = np.asarray(keys)
    history = max(reader.history, history_of(opponents), history)
    batch = Batch(rules, len(keys), reward=reward, history_length=history)
    num_games, num_players = batch.num_games, batch.num_players
    num_policies, num_actors = len(policies), len(policies) + len(opponents)
    check_seats(seat_policies, (num_games, num_players), num_actors)
    batch.deal(keys)
    loop = RoundLoop(batch, [*[None] * num_policies, *opponents], seat_policies, skip_forced=True, copy=False)
    last = np.full((num_games, num_players), -1)  # index of each seat's last decision
    scores = np.zeros((num_games, num_players), np.float32)
    steps: list[Trajectories] = []
    paid: list[tuple[IntArray, Float32Array]] = []  # decisions, and the rewards that followed them
    num_kept, seconds = 0, 0.0

    def keep(inputs: Inputs, chosen: IntArray, log_probability: Float32Array, games: IntArray) -> None:
        size = len(games)
        found: dict[str, Any] = {"privileged": np.empty((size, 0), np.uint8)}
        found |= {name: column(batch, games, inputs) for name, column in columns.items()}
        steps.append(
            Trajectories(
                inputs=inputs,
                chosen=chosen,
                log_probability=log_probability,
                reward=np.zeros(size, np.float32),
                next_index=np.full(size, -1),
                game=games,
                seat=batch.state.turn[games],
                step=np.full(size, len(steps)),
                scores=np.empty((0, num_players), np.float32),
                seconds_acting=0.0,
                **found,
            )
        )

    def play(games: IntArray, actions: IntArray) -> None:
        nonlocal scores
        loop.play(games, actions)
        scores += loop.rewards
        game, seat = np.nonzero(loop.rewards)
        decision = last[game, seat]
        known = decision >= 0
        paid.append((decision[known], loop.rewards[game, seat][known]))

    forced = np.flatnonzero(batch.count_legal() == 1)  # the remaining decisions have a choice
    play(forced, batch.first_legal(forced))
    for games, who in loop:
        order = np.argsort(who, kind="stable")
        games = games[order]
        actions = np.empty(games.size, np.int64)
        # The decisions of one actor are adjacent; those of networks come first, and one call reads them all.
        ends = np.searchsorted(who[order], np.arange(num_actors), side="right").tolist()
        num_read = ends[num_policies - 1]
        if num_read:
            inputs = reader.read(View(batch, games[:num_read], copy=False))
        for index, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            mine = games[begin:end]
            if not mine.size:
                continue
            if index >= num_policies:
                actions[begin:end] = loop.ask(index, mine)
                continue
            own = inputs.part(begin, end)
            before = time.perf_counter()
            chosen, log_probability = policies[index](own)
            seconds += time.perf_counter() - before
            actions[begin:end] = own.action[chosen]
            if index == LEARNER:
                last[mine, batch.state.turn[mine]] = num_kept + np.arange(mine.size)
                keep(own, chosen, log_probability, mine)
                num_kept += mine.size
        play(games, actions)
    if not steps:  # no learner had a choice
        none = np.empty(0, np.int64)
        keep(reader.read(View(batch, none, copy=False)), none, np.empty(0, np.float32), none)
    found = join(steps)
    for decision, amount in paid:
        np.add.at(found.reward, decision, amount)
    next_index = next_indices(found.game, found.seat)
    return replace(found, next_index=next_index, scores=scores, seconds_acting=seconds)


def check_seats(seat_policies: IntArray, shape: tuple[int, int], num_actors: int) -> None:
    """Refuse `RolloutJob.seat_policies` of another shape, or with an index out of range.

    Raises:
        ValueError: it is so.
    """
    if seat_policies.shape != shape or not ((seat_policies >= 0) & (seat_policies < num_actors)).all():
        raise ValueError(f"seat_policies: expected {shape} of 0..{num_actors - 1}")


def join(parts: Sequence[Trajectories], run: Callable[..., Iterable[AnyArray]] = map) -> Trajectories:
    """Join the decisions of several rollouts; games get new numbers, steps do not.

    Args:
        parts: the rollouts, at least one.
        run: copies the arrays, as `map` does.
    """
    if len(parts) == 1:
        return parts[0]
    every = [part.columns() for part in parts]
    arrays = [[columns[name] for columns in every] for name in every[0]]
    joined = dict(zip(every[0], run(np.concatenate, arrays), strict=True))
    sizes = [len(part) for part in parts]

    def offsets(lengths: Sequence[int]) -> IntArray:
        return np.repeat(np.cumsum([0, *lengths[:-1]]), sizes)

    first_action = offsets([len(part.inputs.action) for part in parts])
    joined["segment_start"] += first_action
    joined["chosen"] += first_action
    joined["game"] += offsets([len(part.scores) for part in parts])
    next_index = joined["next_index"]
    joined["next_index"] = np.where(next_index < 0, -1, next_index + offsets(sizes))
    return Trajectories.of(joined, sum(part.seconds_acting for part in parts))


def next_indices(game: IntArray, seat: IntArray) -> IntArray:
    """int64 (n,): the next decision of the same seat in the same game, -1 for none; n in order of play."""
    order = np.lexsort((seat, game))  # stable
    game, seat = game[order], seat[order]
    continues = (game[1:] == game[:-1]) & (seat[1:] == seat[:-1])
    found = np.full(len(order), -1)
    found[order[:-1][continues]] = order[1:][continues]
    return found


# ---------------------------------------------------------------- teachers


def teachers_of(rules: AnyRules, agents: Sequence[Agent]) -> list[Agent]:
    """Those of the agents that play a variant.

    Raises:
        ValueError, WrongGameError: none does; the message is that of the first.
    """
    batch = Batch(rules, 1)
    found: list[Agent] = []
    refusals: list[ValueError | WrongGameError] = []
    for agent in agents:
        try:
            check_plays([agent], batch)
            found.append(agent)
        except (ValueError, WrongGameError) as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    return found


class Teachers:
    """Agents that are asked in some decisions of the policy, drawn at random.

    What they would do is a probability of each legal action, proportional to the geometric mean of theirs. An
    agent without probabilities (`ScoringAgent`) counts as sure of its choice.

    Args:
        agents: the teachers; they are reset.
        share: of the decisions that they judge.
        rng: draws these, and the agents' seeds.

    Attributes:
        history: number of plays that a batch must store for the agents.
    """

    def __init__(self, agents: Sequence[Agent], share: float, rng: np.random.Generator) -> None:
        self._agents = agents
        self._share = share
        self._rng = rng
        self.history = history_of(agents)
        for agent in agents:
            agent.reset(int(rng.integers(2**31)))

    def probabilities(self, batch: Batch, games: IntArray, inputs: Inputs) -> Float32Array:
        """The teachers' probabilities, float32 (N,); 0 where the teachers are not asked.

        Args:
            batch: the games, which are not changed.
            games: int64 (n,), the indices of n games.
            inputs: what the reader gives for these n decisions.

        Raises:
            ValueError: a teacher chose an illegal action.
        """
        is_asked = self._rng.random(len(games)) < self._share
        found = np.zeros(len(inputs.action), np.float32)
        if not is_asked.any():
            return found
        view = View(batch, games[is_asked], copy=False)
        scores = np.mean([_scores(agent, view) for agent in self._agents], axis=0)
        found[np.repeat(is_asked, inputs.num_legal)] = np.exp(log_softmax(scores, view.legal_actions.start))
        return found


def _scores(agent: Agent, view: View) -> Float32Array:
    """The log-probabilities of the legal actions, float32 (N,), but for a constant in each decision."""
    if isinstance(agent, ScoringAgent):
        return agent.log_probabilities(view)
    legal = view.legal_actions
    is_chosen = legal.action == np.repeat(choose(agent, view), view.num_legal)
    if is_chosen.sum() != len(view):
        raise ValueError(f"teacher {agent.name!r}: it chose an illegal action")
    return np.where(is_chosen, CHOICE_LOGIT, 0).astype(np.float32)
