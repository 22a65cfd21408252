"""What a search reads and writes: a decision, its options, the arrays of a search, and a game's functions.

All of it can be passed to compiled code. A *world* is a determinization: one assignment of everything that
the seat to act cannot see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tienlen_agents.rule_based.rollout import Rollout, RolloutGame
from tienlen_env.engine.agent import ScoringAgent, View
from tienlen_env.games.common.arrays import FloatArray, IntArray


@runtime_checkable
class BeliefAgent(ScoringAgent, Protocol):
    """A prior that also estimates who holds which card."""

    def log_probabilities_and_card_weights(self, view: View) -> tuple[npt.NDArray[np.float32], FloatArray]:
        """`ScoringAgent.log_probabilities`, and card weights.

        Args:
            view: n decisions.

        Returns:
            float32 (N,) and float64 (n, opponents, C): how likely each opponent holds each card, relative to
            the other opponents and to the undealt cards, whose weights are 1. The opponent who plays next
            comes first. Each is 0.0001..10000, C is 52. (n, 0, 0) if the agent cannot say.
        """


class Decision(NamedTuple):
    """A decision to search (n legal actions).

    Attributes:
        row: int64 (ROW,), the state. A game's functions may read only what the seat to act can see.
        history: int64 (K,), the last plays as the state stores them, newest first; empty in most games.
        actions: int64 (n,), the legal actions.
        cards: int64 (n,), their cards.
        log_prior: float64 (n,), logarithms of the prior's probabilities; zeros without a prior.
        card_weights: float64 (opponents, C), see `BeliefAgent`; (0, 0) for none. A game's functions may
            ignore it.
        default: index of the action that is taken unless the search finds a better one; -1: the game's
            baseline chooses it.
    """

    row: IntArray
    history: IntArray
    actions: IntArray
    cards: IntArray
    log_prior: FloatArray
    card_weights: FloatArray
    default: int = -1


class Options(NamedTuple):
    """Settings of a search; see `tienlen_agents.search.SearchAgent` for the meaning of each.

    Attributes:
        seed: of the random numbers, a signed 64-bit word.
        worlds: budget.
        inference: how much a past play that deviates from the opponent model counts against a world.
        mcmc_effort: factor on the length of the Markov chain.
        first_place_bonus: reward for the first place, beside the game's own.
        prior_weight: weight of the bonus of the default action or of the prior.
        floor: log-probability below which a prior drops an action.
        has_prior: whether there is a prior.
        explore: weight of the confidence bound in ISMCTS, in the unit of the reward.
        reward_unit: units of the reward that weigh like a point.
        baseline_share: how likely an opponent is to play as the baseline. If it does not, it is taken for a
            player of one of the game's own models of other players; 1 in a game without them.
        known_effort: `mcmc_effort` where it is nearly sure that all opponents play as the baseline; 0: the
            search does not ask whether they do. Where it asks, both efforts are those of 32 worlds; with
            more worlds the chain is longer.
        has_models: whether such models play the rollouts: of those who do not play as the baseline, and of
            the seat to act.
        lists_worlds: whether few worlds are listed, each with its probability, and not sampled. A prior then
            drops no action, a part of it is the uniform policy, and a game may leave out card weights.
    """

    seed: int
    worlds: int
    inference: float
    mcmc_effort: float = 1.0
    first_place_bonus: float = 0.0
    prior_weight: float = 0.0
    floor: float = 0.0
    has_prior: bool = False
    explore: float = 0.0
    reward_unit: float = 1.0
    baseline_share: float = 1.0
    known_effort: float = 0.0
    has_models: bool = False
    lists_worlds: bool = False


class Estimates(NamedTuple):
    """What each of n legal actions earns on average; float64 (n,) each, in the reward's unit.

    All actions are evaluated in the same worlds. Half widths are of 95 % intervals. They are 0 where all
    worlds were evaluated, and in no other place but the loss of the best action.

    Attributes:
        mean: the mean over the worlds.
        half_width: of the mean.
        loss: how much more the best action earns. Other worlds than those that judge it have chosen it
            (`tienlen_agents.search.estimates`), so a loss may be below 0.
        loss_half_width: of the loss.
    """

    mean: FloatArray
    half_width: FloatArray
    loss: FloatArray
    loss_half_width: FloatArray


class Workspace(NamedTuple):
    """Arrays of one search at a time, for one variant with A actions.

    Attributes:
        line: arrays of the rollouts.
        source: int64 (C,), the columns of the state before the decision, in the current world.
        world: int64 (W,), the current world.
        stream: int64 (1,), random numbers.
        played: int64 (2 ** RESULT_BITS,), keys of the rollouts that were made: world and action.
        earned: float64, what they earned.
        sizes: int64 (4,), see `tienlen_agents.search.halving`.
        candidates: int64 (A,), indices of the actions in contention, ascending.
        values: float64 (V,), what each candidate earned in each world, one row a world.
        scores: float64 (A,), scratch.
        order: int64 (A,), scratch.
        series: float64 (NUM_SERIES, A), the means of series of worlds, see `tienlen_agents.search.estimates`.
    """

    line: Rollout
    source: IntArray
    world: IntArray
    stream: IntArray
    played: IntArray
    earned: FloatArray
    sizes: IntArray
    candidates: IntArray
    values: FloatArray
    scores: FloatArray
    order: IntArray
    series: FloatArray


def no_restart(decision: Decision, options: Options, workspace: Workspace, memory: object) -> None:
    """Nothing to do: each world is drawn without regard to those before."""


def no_list(decision: Decision, workspace: Workspace, memory: object) -> int:
    """The worlds cannot be listed."""
    return 0


def no_next_world(
    decision: Decision, options: Options, workspace: Workspace, memory: object, is_first: bool
) -> float:
    """There is none."""
    return 0.0


def no_play_out(line: Rollout, world: IntArray, memory: object, seat: int) -> None:
    """There are no models of players."""


class SearchGame(NamedTuple):
    """A game's functions for a search: plain functions, which `tienlen_env.engine.backends.jit` compiles.

    `memory` is a NamedTuple of the game's own arrays.

    Attributes:
        rollout: the game and the policy of its rollouts, the baseline.
        update_legal: the game's kernel.
        list_legal: the game's kernel.
        default_action: ``(decision, workspace, memory)``: index of the baseline's choice, -1 for none. It is
            called first.
        solve: ``(decision, workspace, memory, default)``: index of the action that is taken without a search,
            because the position is solved; -1: search.
        begin: ``(decision, options, workspace, memory)``: prepare to draw worlds and seed
            ``workspace.stream`` by what the seat to act can see. Returns the factor on the budget in worlds;
            0 where there is one world only.
        draw: ``(decision, options, workspace, memory)``: write the next world to ``workspace.world``.
        fill: ``(row, world, spec, seat)``: write a world into the hidden columns of a state.
        restart: ``(decision, options, workspace, memory)``: after `begin`, start a new series of worlds,
            independent of those drawn before.
        num_worlds: ``(decision, workspace, memory)``: after `begin`, how often `next_world` can be called; 0:
            the worlds cannot be listed.
        next_world: ``(decision, options, workspace, memory, is_first)``: write the first or next of all
            worlds to ``workspace.world``. Returns the logarithm of how likely it is, up to a constant;
            minus infinity for an impossible one. Rollouts in a game with this function are not random.
        play_out: ``(line, world, memory, seat)``: play ``line.row``, a state of a world, on until `seat` has
            all its rewards, with models of players (`Options.has_models`).
    """

    rollout: RolloutGame
    update_legal: Callable[..., None]
    list_legal: Callable[..., int]
    default_action: Callable[..., int]
    solve: Callable[..., int]
    begin: Callable[..., float]
    draw: Callable[..., None]
    fill: Callable[..., None]
    restart: Callable[..., None] = no_restart
    num_worlds: Callable[..., int] = no_list
    next_world: Callable[..., float] = no_next_world
    play_out: Callable[..., None] = no_play_out


class SearchSetup(NamedTuple):
    """A game's functions and arrays for the search of one variant; each search at a time has its own.

    Attributes:
        game: the functions.
        line: arrays of the rollouts; ``line.spec`` is for single rounds, without history.
        num_columns: C, columns of a state that a rollout starts from.
        world_size: W, numbers of a world.
        stream: int64 (1,), random numbers; ``line.policy`` may be the same array.
        memory: the game's own arrays, a NamedTuple.
        reward: what is maximised, a reward scheme of the game.
        reward_unit: units of that reward that weigh like a point in the options of a search.
    """

    game: SearchGame
    line: Rollout
    num_columns: int
    world_size: int
    stream: IntArray
    memory: Any
    reward: str = "points"
    reward_unit: float = 1.0
