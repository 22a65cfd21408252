"""Playing rounds for training: every decision of the learning seats, with what followed from it.

Rounds are played from the deal to the end, so an iteration begins and ends with nothing in between: no
trajectory is cut, no value is guessed beyond the end, and an iteration depends on its seed and the weights
alone. A decision with one legal action is played without asking anybody and is no part of a trajectory; games
are taken on from choice to choice, so that a step asks about every game that is not over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_agents.networks.features import Inputs, Reader
from tienlen_env.engine.agent import Agent, View, history_of
from tienlen_env.engine.batch import Batch, Reward
from tienlen_env.games.common.game import AnyRules

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]

# Chooses for n decisions: int64 (n,), indices into the ragged actions, and float32 (n,), log-probabilities.
Act = Callable[[Inputs], tuple[IntArray, FloatArray]]
# Asked about n decisions while all hands are known: float32 (N,), something about each legal action.
Judge = Callable[[Batch, IntArray, Inputs], FloatArray]
# What only a critic may see of n decisions: uint8 (n, H) of 0 and 1.
Reveal = Callable[[Batch, IntArray], npt.NDArray[np.uint8]]
LEARNER = 0


@dataclass(frozen=True)
class Trajectories:
    """n decisions of learning seats in the order of play, with N legal actions in all.

    Attributes:
        inputs: what the network read.
        hidden: uint8 (n, H), what only a critic may see; see `Features`.
        chosen: int64 (n,), indices into the ragged actions.
        log_probability: float32 (n,), of what was chosen.
        judged: float32 (N,), what the judge said of each legal action; (0,) without one.
        reward: float32 (n,), all that the seat got between this decision and its next one.
        follower: int64 (n,), the next decision of the same seat in the same game, -1 for none.
        game, seat: int64 (n,), whose decision it is.
        step: int64 (n,), ascending; decisions of one step do not follow one another.
        scores: float32 (B, P), the rewards of all seats over the game.
        seconds_acting: spent in policies.
    """

    inputs: Inputs
    hidden: npt.NDArray[np.uint8]
    chosen: IntArray
    log_probability: FloatArray
    judged: FloatArray
    reward: FloatArray
    follower: IntArray
    game: IntArray
    seat: IntArray
    step: IntArray
    scores: FloatArray
    seconds_acting: float

    def __len__(self) -> int:
        """n."""
        return len(self.chosen)


class Step(NamedTuple):
    """The learner's decisions of one step; see `Trajectories`, but `chosen` counts from the step's first."""

    inputs: Inputs
    hidden: npt.NDArray[np.uint8]
    chosen: IntArray
    log_probability: FloatArray
    judged: FloatArray
    game: IntArray
    seat: IntArray


@dataclass(frozen=True)
class Rounds:
    """B rounds as they were played, to be joined with others.

    Attributes:
        steps: the learner's decisions.
        reward: float32 (n,), see `Trajectories`, as for the others.
        scores: float32 (B, P).
        seconds_acting: spent in policies.
    """

    steps: list[Step]
    reward: FloatArray
    scores: FloatArray
    seconds_acting: float


def play_rounds(
    rules: AnyRules,
    keys: npt.ArrayLike,
    controllers: IntArray,
    policies: Sequence[Act],
    reader: Reader,
    opponents: Sequence[Agent],
    *,
    reward: Reward = "zero_sum",
    reveal: Reveal | None = None,
    judge: Judge | None = None,
) -> Rounds:
    """Play B rounds to the end.

    Args:
        rules: the variant.
        keys: int64 (B,) deal keys.
        controllers: int64 (B, P), who has the seat: an index into `policies` and, after them, `opponents`.
        policies: choose by the inputs of `reader`. The first is the learner: its decisions are kept.
        reader: makes the inputs.
        opponents: agents that look for themselves.
        reward: reward scheme.
        reveal: what a critic sees beyond the inputs; None for nothing.
        judge: asked about every decision of a learning seat.

    Raises:
        IllegalPlayError: an opponent chose what the rules refuse.
        ValueError: `controllers` of another shape or naming somebody who is not there.
    """
    keys = np.asarray(keys)
    batch = Batch(rules, len(keys), reward=reward, kept=max(reader.history, history_of(opponents)))
    num_games, num_players = batch.num_games, batch.num_players
    num_policies, num_controllers = len(policies), len(policies) + len(opponents)
    if (
        controllers.shape != (num_games, num_players)
        or not ((controllers >= 0) & (controllers < num_controllers)).all()
    ):
        raise ValueError(f"controllers: expected {(num_games, num_players)} of 0..{num_controllers - 1}")
    batch.deal(keys)
    last = np.full((num_games, num_players), -1)
    scores = np.zeros((num_games, num_players), np.float32)
    steps: list[Step] = []
    paid: list[tuple[IntArray, FloatArray]] = []
    num_kept, seconds = 0, 0.0
    games = np.flatnonzero(batch.num_legal() == 1)
    actions = batch.select(games).legal_actions().action  # the only one each; from here on there is a choice
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
        who = controllers[games, batch.state.turn[games]]
        order = np.argsort(who, kind="stable")
        games = games[order]
        actions = np.empty(games.size, np.int64)
        # Each controller's decisions lie together, the policies' first: they are read all at once.
        ends = np.searchsorted(who[order], np.arange(num_controllers), side="right").tolist()
        begins = [0, *ends[:-1]]
        num_read = ends[num_policies - 1]
        if num_read:
            inputs = reader.read(View.in_place(batch, games[:num_read]))
        for index, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            if begin == end:
                continue
            if index >= num_policies:
                actions[begin:end] = opponents[index - num_policies].act(
                    View.in_place(batch, games[begin:end])
                )
                continue
            own = inputs.part(begin, end)
            before = time.perf_counter()
            chosen, log_probability = policies[index](own)
            seconds += time.perf_counter() - before
            actions[begin:end] = own.action[chosen]
            if index != LEARNER:
                continue
            mine = games[:end]
            seat = batch.state.turn[mine]
            last[mine, seat] = num_kept + np.arange(mine.size)
            hidden = np.empty((mine.size, 0), np.uint8) if reveal is None else reveal(batch, mine)
            judged = np.empty(0, np.float32) if judge is None else judge(batch, mine, own)
            steps.append(Step(own, hidden, chosen, log_probability, judged, mine, seat))
            num_kept += mine.size
    reward_of = np.zeros(num_kept, np.float32)
    for decision, amount in paid:
        np.add.at(reward_of, decision, amount)
    return Rounds(steps, reward_of, scores, seconds)


def join(parts: Sequence[Rounds], run: Callable[..., Iterable[Any]] = map) -> Trajectories:
    """The decisions of several parts; their games are numbered on. `run` is `map`, perhaps on all threads."""
    steps = [step for part in parts for step in part.steps]
    size = [len(step.chosen) for step in steps]
    num_actions = np.array([len(step.inputs.action) for step in steps])
    first_action = np.repeat(np.cumsum(num_actions) - num_actions, size)
    first_game = np.repeat(
        np.cumsum([0, *(len(part.scores) for part in parts[:-1])]), [len(part.reward) for part in parts]
    )
    inputs = Inputs(*run(np.concatenate, list(zip(*(step.inputs for step in steps), strict=True))))
    _, hidden, chosen, log_probability, judged, game, seat = (
        [getattr(step, name) for step in steps] for name in Step._fields
    )
    game, seat = np.concatenate(game) + first_game, np.concatenate(seat)
    number = np.concatenate([np.arange(len(part.steps)) for part in parts])
    return Trajectories(
        inputs._replace(start=inputs.start + first_action),
        np.concatenate(hidden),
        np.concatenate(chosen) + first_action,
        np.concatenate(log_probability),
        np.concatenate(judged),
        np.concatenate([part.reward for part in parts]),
        followers(game, seat),
        game,
        seat,
        np.repeat(number, size),
        np.concatenate([part.scores for part in parts]),
        sum(part.seconds_acting for part in parts),
    )


def followers(game: IntArray, seat: IntArray) -> IntArray:
    """The next decision of the same seat in the same game, -1 for none: int64 (n,), of n in order of play."""
    order = np.lexsort((seat, game))  # stable
    game, seat = game[order], seat[order]
    goes_on = (game[1:] == game[:-1]) & (seat[1:] == seat[:-1])
    follower = np.full(len(order), -1)
    follower[order[:-1][goes_on]] = order[1:][goes_on]
    return follower


def advantages(
    trajectories: Trajectories, values: FloatArray, gae_lambda: float
) -> tuple[FloatArray, FloatArray]:
    """Generalised advantage estimates within each (game, seat); rewards are not discounted.

    Args:
        trajectories: n decisions.
        values: float32 (n,), what the critic expects from each decision on.
        gae_lambda: trace decay; 1 is the return less the value.

    Returns:
        ``(advantage, value_target)``, float32 (n,) each.

    Source: Schulman et al., High-dimensional continuous control using generalized advantage estimation, 2016.
    """
    reward, follower, step = trajectories.reward, trajectories.follower, trajectories.step
    advantage = np.zeros(len(trajectories) + 1, np.float32)  # the last one stands for "no follower"
    value = np.append(values, np.float32(0))
    # Backwards over steps: a decision and its follower are never of one step. Parts that were joined have the
    # same step numbers, so all decisions of a step are taken together.
    order = np.argsort(-step, kind="stable")
    ends = np.flatnonzero(np.diff(step[order], append=np.iinfo(np.int64).min)) + 1
    begin = 0
    for end in ends:
        now = order[begin:end]
        after = follower[now]
        delta = reward[now] + value[after] - value[now]
        advantage[now] = delta + gae_lambda * advantage[after]
        begin = end
    advantage = advantage[:-1]
    return advantage, advantage + values
