"""Search in any game: uniform worlds by the game's own resampling, rollouts by a baseline or at random.

The game must have the kernel ``resample_hidden``. A world is the key that the kernel draws from.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tienlen_agents.rule_based.rollout import RolloutGame, new_rollout
from tienlen_agents.search.interface import Decision, Options, SearchGame, SearchSetup, Workspace
from tienlen_agents.search.randomness import absorb, draw_below, random_word, set_seed
from tienlen_env.engine.backends.per_game import columns, kernels, legal
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import ActionFields, ByteArray, IntArray, Row, Spec
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.common.spec import ROW_SIZE
from tienlen_env.games.common.specialise import GIVEN, specialise
from tienlen_env.games.registry import game_of


class Baseline(NamedTuple):
    """A compiled policy for rollouts and default actions.

    Attributes:
        choose: see `tienlen_agents.rule_based.rollout.RolloutGame`.
        policy: an array that it reads.
    """

    choose: Callable[..., int]
    policy: Any


class UniformMemory(NamedTuple):
    """Arrays of the uniform search.

    Attributes:
        observation: uint8 (O,), scratch.
    """

    observation: ByteArray


resample_hidden: Callable[[Row, Spec, int, int], None] = GIVEN
has_baseline: bool = GIVEN


def choose(policy: Row, spec: Spec, actions: ActionFields, row: Row, ids: Row, cards: Row) -> int:
    """The choice in a game without a baseline: a random one."""
    kernels.update_legal(row, spec, actions)
    return draw_below(policy, legal.list_legal(row, spec, actions, ids, cards, 0))


def default_action(decision: Decision, workspace: Workspace, memory: UniformMemory) -> int:
    """The index of the baseline's choice; -1 without a baseline."""
    if not has_baseline:
        return -1
    line = workspace.line
    for column in range(line.row.shape[0]):
        line.row[column] = decision.row[column]
    index = choose(line.policy, line.spec, line.actions, line.row, line.ids, line.cards)
    for i in range(decision.actions.shape[0]):
        if decision.actions[i] == line.ids[index]:
            return i
    return -1


def solve(decision: Decision, workspace: Workspace, memory: UniformMemory, default: int) -> int:
    """No position is known to be solved."""
    return -1


def begin(decision: Decision, options: Options, workspace: Workspace, memory: UniformMemory) -> float:
    """Seed the stream by what the seat to act sees."""
    line, state = workspace.line, options.seed
    seat = decision.row[columns.turn]
    kernels.observe(decision.row, line.spec, line.actions, seat, memory.observation, 0)
    for i in range(memory.observation.shape[0]):
        state = absorb(state, memory.observation[i])
    set_seed(workspace.stream, state)
    return 1.0


def draw(decision: Decision, options: Options, workspace: Workspace, memory: UniformMemory) -> None:
    """The next world is a key."""
    workspace.world[0] = random_word(workspace.stream)


def fill(row: Row, world: Row, spec: Spec, seat: int) -> None:
    """Sample the hidden cards from the key."""
    resample_hidden(row, spec, seat, world[0])


@cache
def _search_game(game: AnyGame, baseline: Callable[..., int] | None, plays_on: bool) -> SearchGame:
    """The functions of the search for a game."""
    kernels, columns = game.kernels, game.columns
    given: dict[str, object] = {"kernels": kernels, "legal": kernels.legal, "columns": columns}
    given |= {"resample_hidden": kernels.resample_hidden, "has_baseline": baseline is not None}
    policy = specialise(choose, **given) if baseline is None else baseline
    functions = specialise((default_action, solve, begin, draw, fill), **given, choose=policy)
    rollout = RolloutGame(kernels.play, policy, columns.turn, columns.place, plays_on)
    return SearchGame(rollout, kernels.update_legal, kernels.legal.list_legal, *functions)


def setup(
    game: AnyGame, rules: AnyRules, baseline: Baseline | None = None, *, reward: str = ""
) -> SearchSetup:
    """The functions and arrays for a variant of a game.

    Args:
        game: a game with the kernel ``resample_hidden``.
        rules: the variant.
        baseline: of rollouts and default actions; None: rollouts are uniformly random.
        reward: what is maximised; empty for the game's first reward scheme.

    Raises:
        WrongGameError: the game has no such kernel.
    """
    if game.kernels.resample_hidden is None:
        raise WrongGameError(f"search: the game {game.name} has no kernel resample_hidden to draw worlds by")
    reward = reward or game.rewards[0]
    spec, actions = game.build_spec(rules, reward=reward)
    stream: IntArray = np.ones(1, np.int64)
    line = new_rollout(stream if baseline is None else baseline.policy, spec, actions)
    functions = _search_game(game, baseline and baseline.choose, game.pays_late(rules, reward))
    memory = UniformMemory(np.zeros(game.observation(rules, 0).size, np.uint8))
    return SearchSetup(functions, line, int(spec[ROW_SIZE]), 1, stream, memory, reward)


def setup_with(baseline: Baseline) -> Callable[..., SearchSetup]:
    """A setup with a game's own baseline, for `tienlen_env.games.registry.register`."""
    return lambda rules, reward="": setup(game_of(rules), rules, baseline, reward=reward)
