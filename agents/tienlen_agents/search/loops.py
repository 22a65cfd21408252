"""The loops of a search over sampled deals, for any game: `search_loops` compiles them for one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from tienlen_agents.rule_based.rollout import RolloutGame, apply_to, play_out
from tienlen_agents.search import estimates
from tienlen_agents.search.estimates import MAX_LISTED, NUM_SERIES
from tienlen_agents.search.halving import (
    IS_OPEN,
    NUM_CANDIDATES,
    NUM_WORLDS,
    eliminate,
    exact_bonus,
    keep_all,
    num_after,
    num_steps,
    num_worlds_after,
    start as start_halving,
)
from tienlen_agents.search.interface import Decision, Estimates, Options, SearchGame, Workspace
from tienlen_agents.search.ismcts import NODE_FIELDS, VISITS, Tree, find_child, iterate
from tienlen_agents.search.randomness import absorb
from tienlen_env.engine.backends import jit
from tienlen_env.games.common.arrays import FloatArray, IntArray, Spec
from tienlen_env.games.common.bits import shift_right
from tienlen_env.games.common.floats import exp
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.specialise import GIVEN, each, specialise

RESULT_BITS: Final = 13  # of rollouts that are remembered
UNLIKELY: Final = 10.0  # nats below the likeliest world, where a choice looks at no world
LISTED_SHARE: Final = 16  # worlds are listed up to as many budgets; late in a round that is less work

search_game: SearchGame = GIVEN
rollout_game: RolloutGame = GIVEN


class SearchLoops(NamedTuple):
    """What Python calls of a search; this module has each, for any game."""

    resolve: Callable[[Decision, Workspace, object], tuple[int, int]]
    search: Callable[[Decision, Options, Workspace, object], int]
    start: Callable[[Decision, Options, Workspace, object, int], float]
    sample_worlds: Callable[[Decision, Options, Workspace, object, int], None]
    eliminate: Callable[[Decision, Options, Workspace, int], int]
    evaluate: Callable[[Decision, Options, Workspace, object, Estimates], int]
    begin_estimate: Callable[[Decision, Options, Workspace, object], int]
    list_worlds: Callable[[Decision, Options, Workspace, object, IntArray, FloatArray], None]
    draw_worlds: Callable[[Decision, Options, Workspace, object, bool, IntArray], None]
    fill_rows: Callable[[IntArray, IntArray, Spec, int], None]
    grow: Callable[[Decision, Options, Workspace, object, Tree, IntArray], int]


def fill_source(decision: Decision, workspace: Workspace) -> None:
    """Write the state before the decision, in the current world, to ``workspace.source``."""
    for column in range(workspace.source.shape[0]):
        workspace.source[column] = decision.row[column]
    search_game.fill(workspace.source, workspace.world, workspace.line.spec, decision.row[rollout_game.turn])


@noinline
def evaluate_world(decision: Decision, options: Options, workspace: Workspace, memory: object) -> None:
    """Append the values of all candidates in the current world.

    A chain can return to a world: the results of earlier rollouts are reused.
    """
    num, seat = workspace.sizes[NUM_CANDIDATES], decision.row[rollout_game.turn]
    first = workspace.sizes[NUM_WORLDS] * num
    world_key, is_filled = 0, False
    for i in range(workspace.world.shape[0]):
        world_key = absorb(world_key, workspace.world[i])
    for k in range(num):
        index = workspace.candidates[k]
        # Two of the rollouts of a decision have the same 64-bit key with a probability below 2**-40.
        key = absorb(world_key, 1 + decision.actions[index])
        slot = shift_right(key, 64 - RESULT_BITS)
        if workspace.played[slot] != key:
            if not is_filled:
                fill_source(decision, workspace)
                is_filled = True
            line = workspace.line
            apply_to(
                workspace.source, line.row, workspace.source.shape[0], line.spec, line.actions,
                decision.actions[index], decision.cards[index], line.rewards,
            )  # fmt: skip
            if options.has_models:
                search_game.play_out(line, workspace.world, memory, seat)
            else:
                play_out(line, seat)
            is_first = line.row[rollout_game.place + seat] == 0
            workspace.earned[slot] = line.rewards[seat] + (options.first_place_bonus if is_first else 0.0)
            workspace.played[slot] = key
        workspace.values[first + k] = workspace.earned[slot]
    workspace.sizes[NUM_WORLDS] += 1


def begin_search(decision: Decision, options: Options, workspace: Workspace, memory: object) -> float:
    """Prepare to draw worlds; returns the factor on the budget in worlds, 0 where there is one world only."""
    for i in range(workspace.played.shape[0]):
        workspace.played[i] = 0
    scale = search_game.begin(decision, options, workspace, memory)
    workspace.sizes[IS_OPEN] = 1 if scale > 0 else 0
    return scale


def sample_worlds(
    decision: Decision, options: Options, workspace: Workspace, memory: object, num_worlds: int
) -> None:
    """Draw the next worlds and evaluate the candidates in each."""
    for _ in range(num_worlds):
        search_game.draw(decision, options, workspace, memory)
        evaluate_world(decision, options, workspace, memory)


def resolve(decision: Decision, workspace: Workspace, memory: object) -> tuple[int, int]:
    """The index of the baseline's choice, -1 for none; and of the action of a solved position, else -1."""
    default = search_game.default_action(decision, workspace, memory)
    return default, search_game.solve(decision, workspace, memory, default)


def search(decision: Decision, options: Options, workspace: Workspace, memory: object) -> int:
    """The index of the action to take."""
    default = decision.default
    if default < 0:
        default = search_game.default_action(decision, workspace, memory)
        solved = search_game.solve(decision, workspace, memory, default)
        if solved >= 0:
            return solved
    if start_halving(decision, options, workspace, default) == 1 and not options.lists_worlds:
        return int(workspace.candidates[0])
    scale = begin_search(decision, options, workspace, memory)
    if options.lists_worlds and scale > 0:
        listed = search_game.num_worlds(decision, workspace, memory)
        if 0 < listed <= min(LISTED_SHARE * options.worlds, MAX_LISTED):
            best = best_of_all(decision, options, workspace, memory, listed)
            if best >= 0:
                return best
            start_halving(decision, options, workspace, default)
    elif options.lists_worlds:
        keep_all(decision, workspace)  # the values of one world are exact, too
    steps = num_steps(workspace.sizes[NUM_CANDIDATES]) if scale > 0 else 1
    for step in range(steps):
        wanted = num_worlds_after(options, scale, steps - 1 - step) if scale > 0 else 1
        if workspace.sizes[NUM_CANDIDATES] > 1:
            missing = wanted - workspace.sizes[NUM_WORLDS]
            sample_worlds(decision, options, workspace, memory, missing)
            eliminate(decision, options, workspace, num_after(step, steps, workspace.sizes[NUM_CANDIDATES]))
    return int(workspace.candidates[0])


def start(decision: Decision, options: Options, workspace: Workspace, memory: object, default: int) -> float:
    """Begin a search step by step, with the index of the default action; returns the factor on the budget."""
    start_halving(decision, options, workspace, default)
    return begin_search(decision, options, workspace, memory)


def begin_estimate(decision: Decision, options: Options, workspace: Workspace, memory: object) -> int:
    """Make all actions candidates; the number of worlds if all are listed, 0 if they are sampled."""
    start_halving(decision, options, workspace, search_game.default_action(decision, workspace, memory))
    begin_search(decision, options, workspace, memory)
    num = search_game.num_worlds(decision, workspace, memory)
    return num if num <= MAX_LISTED else 0


def add_world(
    decision: Decision, options: Options, workspace: Workspace, memory: object, series: int, weight: float
) -> None:
    """Evaluate all actions in the current world, and add what they earn to the sums of a series."""
    workspace.sizes[NUM_WORLDS] = 0
    evaluate_world(decision, options, workspace, memory)
    for k in range(workspace.sizes[NUM_CANDIDATES]):
        workspace.series[series, k] += weight * workspace.values[k]


def clear(workspace: Workspace, series: int) -> None:
    """Make the sums of a series 0."""
    for k in range(workspace.sizes[NUM_CANDIDATES]):
        workspace.series[series, k] = 0.0


def multiply(workspace: Workspace, series: int, factor: float) -> None:
    """Multiply the sums of a series."""
    for k in range(workspace.sizes[NUM_CANDIDATES]):
        workspace.series[series, k] *= factor


def evaluate_all(
    decision: Decision, options: Options, workspace: Workspace, memory: object, listed: int, least: float
) -> bool:
    """Write what the candidates earn in all worlds to the first series, by how likely each world is.

    Worlds whose logarithm is below `least` are left out. False: no world is possible.
    """
    clear(workspace, 0)
    total, largest = 0.0, -math.inf
    for w in range(listed):
        log_weight = search_game.next_world(decision, options, workspace, memory, w == 0)
        if log_weight > largest:  # the weights are relative to the largest one
            factor = exp(largest - log_weight)
            multiply(workspace, 0, factor)
            total, largest = total * factor, log_weight
        if log_weight > -math.inf and log_weight >= least:
            weight = exp(log_weight - largest)
            add_world(decision, options, workspace, memory, 0, weight)
            total += weight
    if total > 0:
        multiply(workspace, 0, 1 / total)
    return total > 0


@noinline
def best_of_all(
    decision: Decision, options: Options, workspace: Workspace, memory: object, listed: int
) -> int:
    """The index of the best action by all worlds, -1 if none is possible; the prior drops no action."""
    num, largest = keep_all(decision, workspace), -math.inf
    for w in range(listed):
        largest = max(largest, search_game.next_world(decision, options, workspace, memory, w == 0))
    if not evaluate_all(decision, options, workspace, memory, listed, largest - UNLIKELY):
        return -1
    best, most = 0, -math.inf
    for k in range(num):
        score = workspace.series[0, k] + exact_bonus(decision, options, workspace, k)
        if score > most:
            best, most = k, score
    return best


def evaluate(
    decision: Decision, options: Options, workspace: Workspace, memory: object, out: Estimates
) -> int:
    """Estimate what all actions earn, without a prior; returns the number of worlds."""
    listed = begin_estimate(decision, options, workspace, memory)
    num, size = workspace.sizes[NUM_CANDIDATES], estimates.series_size(options.worlds)
    if listed > 0 and evaluate_all(decision, options, workspace, memory, listed, -math.inf):
        estimates.summarise_exact(workspace.series, num, out)
        return listed
    for series in range(NUM_SERIES):
        clear(workspace, series)
    for series in range(NUM_SERIES):
        search_game.restart(decision, options, workspace, memory)
        for _ in range(size):
            search_game.draw(decision, options, workspace, memory)
            add_world(decision, options, workspace, memory, series, 1 / size)
    estimates.summarise(workspace.series, num, options.reward_unit / (size * NUM_SERIES), out)
    return size * NUM_SERIES


def list_worlds(
    decision: Decision, options: Options, workspace: Workspace, memory: object, out: IntArray,
    logs: FloatArray,
) -> None:  # fmt: skip
    """Write all worlds, int64 (n, W), and how likely they are, float64 (n,) (`SearchGame.next_world`)."""
    for w in range(out.shape[0]):
        logs[w] = search_game.next_world(decision, options, workspace, memory, w == 0)
        for i in range(out.shape[1]):
            out[w, i] = workspace.world[i]


def draw_worlds(
    decision: Decision, options: Options, workspace: Workspace, memory: object, is_new: bool, out: IntArray
) -> None:
    """Write the next worlds, int64 (n, W); `is_new`: of a new series."""
    if is_new:
        search_game.restart(decision, options, workspace, memory)
    for w in range(out.shape[0]):
        search_game.draw(decision, options, workspace, memory)
        for i in range(out.shape[1]):
            out[w, i] = workspace.world[i]


def fill_rows(rows: IntArray, worlds: IntArray, spec: Spec, seat: int) -> None:
    """Write worlds (n, W) into the hidden columns of states (n, ROW)."""
    for b in range(rows.shape[0]):
        search_game.fill(rows[b], worlds[b], spec, seat)


def grow(
    decision: Decision, options: Options, workspace: Workspace, memory: object, tree: Tree, visits: IntArray
) -> int:
    """Search by ISMCTS: the index of the action to take; `visits` gets those of each action."""
    default = search_game.default_action(decision, workspace, memory)
    solved = search_game.solve(decision, workspace, memory, default)
    if solved >= 0:
        return solved
    search_game.begin(decision, options, workspace, memory)
    line = workspace.line
    for column in range(NODE_FIELDS):
        tree.nodes[0, column] = 0
    tree.size[0] = 1
    for _ in range(options.worlds):
        search_game.draw(decision, options, workspace, memory)
        fill_source(decision, workspace)
        for column in range(workspace.source.shape[0]):
            line.row[column] = workspace.source[column]
        for player in range(line.rewards.shape[0]):
            line.rewards[player] = 0
        iterate(tree, line, workspace.stream, options.explore)
    best = 0
    for i in range(decision.actions.shape[0]):
        node = find_child(tree.nodes, 0, decision.actions[i])
        visits[i] = tree.nodes[node, VISITS] if node != 0 else 0
    for i in range(decision.actions.shape[0]):
        # Among equal values: the default action, then the first.
        if visits[i] + (i == default) > visits[best] + (best == default):
            best = i
    return best


@cache
def search_loops(game: SearchGame) -> SearchLoops:
    """The loops for a game, compiled when first called."""
    functions = SearchLoops(
        resolve, search, start, sample_worlds, eliminate, evaluate, begin_estimate, list_worlds, draw_worlds,
        fill_rows, grow,
    )  # fmt: skip
    return each(specialise(functions, search_game=game, rollout_game=game.rollout), jit.loop)
