"""Playing rounds for training: every decision of the learning seats, with what followed from it.

Rounds are played from the deal to the end, so an iteration begins and ends with nothing in between: no
trajectory is cut, no value is guessed beyond the end, and an iteration depends on its seed and the weights
alone. A decision with one legal action is played without asking anybody and is no part of a trajectory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from agents.features import Inputs, Reader
from tienlen_env.agent import Agent, View, history_of
from tienlen_env.core.definition import AnyRules
from tienlen_env.engine import Batch, Reward

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
        num_decisions: of all seats, forced ones and opponents' included.
        scores: float32 (B, P), the rewards of all seats over the game.
        seconds_acting: spent in `act`.
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
    num_decisions: int
    scores: FloatArray
    seconds_acting: float

    def __len__(self) -> int:
        """n."""
        return len(self.chosen)


def play_rounds(
    rules: AnyRules,
    keys: npt.ArrayLike,
    controllers: IntArray,
    act: Act,
    reader: Reader,
    opponents: Sequence[Agent],
    rng: np.random.Generator,
    *,
    reward: Reward = "zero_sum",
    reveal: Reveal | None = None,
    judge: Judge | None = None,
) -> Trajectories:
    """Play B rounds to the end.

    Args:
        rules: the variant.
        keys: int64 (B,) deal keys.
        controllers: int64 (B, P): `LEARNER` (0), or 1 + the index of the opponent that has the seat.
        act: chooses for the learning seats.
        reader: makes the inputs of `act`.
        opponents: who has the other seats.
        rng: draws forced moves (there is nothing to draw; it keeps the batch call uniform).
        reward: reward scheme.
        reveal: what a critic sees beyond the inputs; None for nothing.
        judge: asked about every decision of a learning seat.

    Raises:
        IllegalPlayError: an opponent chose what the rules refuse.
        ValueError: `controllers` of another shape or naming an opponent that is not there.
    """
    keys = np.asarray(keys)
    batch = Batch(rules, len(keys), reward=reward, kept=max(reader.history, history_of(opponents)))
    num_games, num_players = batch.num_games, batch.num_players
    if (
        controllers.shape != (num_games, num_players)
        or not ((controllers >= 0) & (controllers <= len(opponents))).all()
    ):
        raise ValueError(f"controllers: expected {(num_games, num_players)} of 0..{len(opponents)}")
    batch.deal(keys)
    last = np.full((num_games, num_players), -1)
    scores = np.zeros((num_games, num_players), np.float32)
    kept: list[tuple[np.ndarray, ...]] = []
    paid: list[tuple[IntArray, FloatArray]] = []
    links: list[tuple[IntArray, IntArray]] = []
    num_kept = num_actions = num_decisions = step = 0
    seconds = 0.0
    while True:
        turn = batch.state.turn
        running = turn >= 0
        if not running.any():
            break
        num_decisions += int(running.sum())
        actions = batch.sample(rng)
        free = np.flatnonzero(batch.num_legal() > 1)
        who = controllers[free, turn[free]]
        mine = free[who == LEARNER]
        if mine.size:
            view = View(batch, mine)
            inputs = reader.read(view)
            begin = time.perf_counter()
            chosen, log_probability = act(inputs)
            seconds += time.perf_counter() - begin
            actions[mine] = inputs.action[chosen]
            seat = turn[mine]
            index = num_kept + np.arange(mine.size)
            links.append((last[mine, seat], index))
            last[mine, seat] = index
            kept.append(
                (
                    inputs.observation,
                    inputs.start + num_actions,
                    inputs.num_legal,
                    inputs.action,
                    inputs.after,
                    inputs.prior,
                    np.empty((mine.size, 0), np.uint8) if reveal is None else reveal(batch, mine),
                    chosen + num_actions,
                    log_probability,
                    np.empty(0, np.float32) if judge is None else judge(batch, mine, inputs),
                    mine,
                    seat.copy(),
                    np.full(mine.size, step),
                )
            )
            num_kept += mine.size
            num_actions += len(inputs.action)
        for index_of, opponent in enumerate(opponents, 1):
            theirs = free[who == index_of]
            if theirs.size:
                actions[theirs] = opponent.act(View(batch, theirs))
        rewards, _ = batch.step(actions)
        scores += rewards
        game, seat = np.nonzero(rewards)
        decision = last[game, seat]
        known = decision >= 0
        paid.append((decision[known], rewards[game, seat][known]))
        step += 1
    columns = [np.concatenate(column) for column in zip(*kept, strict=True)]
    reward_of = np.zeros(num_kept, np.float32)
    for decision, amount in paid:
        np.add.at(reward_of, decision, amount)
    follower = np.full(num_kept, -1)
    for before, after in links:
        has_one = before >= 0
        follower[before[has_one]] = after[has_one]
    return Trajectories(
        Inputs(*columns[:6]),
        columns[6],
        columns[7],
        columns[8],
        columns[9],
        reward_of,
        follower,
        *columns[10:],
        num_decisions,
        scores,
        seconds,
    )


def join(parts: Sequence[Trajectories]) -> Trajectories:
    """Several trajectories as one; games are numbered on."""
    num_actions = num_decisions = num_games = 0
    shifted = []
    for part in parts:
        shifted.append(
            replace(
                part,
                inputs=part.inputs._replace(start=part.inputs.start + num_actions),
                chosen=part.chosen + num_actions,
                follower=np.where(part.follower < 0, -1, part.follower + num_decisions),
                game=part.game + num_games,
            )
        )
        num_actions += len(part.inputs.action)
        num_decisions += len(part)
        num_games += len(part.scores)
    inputs = Inputs(*(np.concatenate(column) for column in zip(*(p.inputs for p in shifted), strict=True)))
    arrays = [
        np.concatenate([getattr(p, name) for p in shifted])
        for name in (
            "hidden",
            "chosen",
            "log_probability",
            "judged",
            "reward",
            "follower",
            "game",
            "seat",
            "step",
        )
    ]
    return Trajectories(
        inputs,
        *arrays,
        sum(p.num_decisions for p in parts),
        np.concatenate([p.scores for p in parts]),
        sum(p.seconds_acting for p in parts),
    )


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
